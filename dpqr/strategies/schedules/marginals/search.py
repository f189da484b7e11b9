"""Search among marginals: what it knows before it begins, its state after whole batches of choices, and what is drawn
next. All of it follows from what was released."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import chain, combinations
from typing import Literal

import msgspec
import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.models.fit.local_fits import local_fit
from dpqr.strategies.plan import TINY, Plan
from dpqr.strategies.schedules.marginals.candidate_blocks import (
    candidate_levels,
    coarsen,
    fitted_together,
    widest,
    with_surrogates,
)
from dpqr.strategies.schedules.marginals.forecast import (
    NOISE,
    TUNING,
    BudgetAllocation,
    ExpectedError,
    NoiseSpread,
    estimated_records,
    first_marginals,
    remaining,
)
from dpqr.strategies.schedules.marginals.last_measurements import Interactions, LastMeasurements
from dpqr.strategies.transcript import Round
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

# Gaps: how far a measurement shows a block to be from its expected answers.

SPREAD = 1.51
"""Relative deviation of the square of a sum of sizes of noise over one cell, 2 sqrt(pi / 2 - 1): the sum's own is half
of that, and both fall with the root of the number of cells."""


class Gap(Struct, frozen=True, kw_only=True):
    """What one measurement shows of the gap between a block and its expected answers. All figures are L1 errors over n.

    moved: how far a fit to that measurement alone moves from the expected answers. error: what the noise leaves
    in the block, by forecast. passed: the part of a gap that the fit passes on. chance: sampling variation of as many
    records as were expected.
    """

    block: QueryBlock
    moved: float
    error: float
    passed: float
    chance: float

    @property
    def least(self) -> float:
        """Lower estimate of the gap: noise is subtracted in full, as if it never hid a part of the gap."""
        return max(0.0, self.moved - NOISE * self.error) / self.passed

    @property
    def squared(self) -> float:
        """Estimate of the squared gap: noise is independent of a gap of its size, so their squares add up.

        Below 0 where noise happened to move less than it mostly does.
        """
        return (self.moved**2 - (NOISE * self.error) ** 2) / self.passed**2

    @property
    def spread(self) -> float:
        """Standard deviation of `squared` where there is no gap."""
        return SPREAD * (NOISE * self.error / self.passed) ** 2 / float(np.sqrt(self.block.rows))


def largest_gap(block: QueryBlock) -> float:
    """The largest L1 error over n where columns were taken for independent: of a marginal each of two determines the
    other."""
    if not block.is_marginal:
        return NoiseSpread(block=block).largest_gap
    fewest = min(factor.matrix.rows for factor in block.factors)
    return 2.0 * (1.0 - 1.0 / fewest) if fewest > 1 else 2.0


def estimate_gap(drawn: Round, errors: ExpectedError, records: float) -> Gap | None:
    """The gap that a round shows; None: a draw was lost, or nothing was expected.

    Args:
        drawn: the round, with the expected answers to the measured block.
        errors: forecast errors of all blocks.
        records: n, as `errors` was made with.

    The gap is divided by the number of expected records: the hypothesis estimates n from more measurements than the
    first ones, and an error in n would look like a gap.
    """
    if drawn.measurement is None or not drawn.expected:
        return None
    block, deviation = drawn.measurement.blocks[0], drawn.measurement.law.deviation
    expected = np.maximum(drawn.expected[0], 0.0)
    values = np.asarray(drawn.measurement.values[0], dtype=np.float64)
    total = max(1.0, float(expected.sum()))
    moved = float(np.abs(local_fit(expected, values, max(deviation, 1e-6)) - expected).sum())
    error = errors.at(block, deviation) / records
    return Gap(
        block=block,
        moved=moved / total,
        error=error,
        passed=max(TUNING.least_passed, 1.0 - error),
        chance=NOISE * float(np.sqrt(expected).sum()) / total,
    )


# Stopping rule of the search: what the measurements of a batch show, and when further batches stop paying.


class BatchEvidence(Struct, frozen=True, kw_only=True):
    """Mean gap of a batch, and what may have hidden it. All figures are L1 errors over n.

    least: lower estimate of the gap. real: the gap beyond the error that earlier measurements propagate into these
    blocks. blur: what the measurements' own noise may have hidden. error: what that noise leaves in the blocks.

    The propagated error is subtracted because the last measurements correct it, whether these blocks are explored or
    not. Sampling variation of the records is never subtracted.
    """

    least: float
    real: float
    blur: float
    error: float

    @classmethod
    def of(cls, gaps: Sequence[Gap], graph: DependenceGraph) -> BatchEvidence:
        """What the gaps of one batch show.

        Args:
            gaps: one or more.
            graph: the pairs that were measured before them.
        """
        squared, propagated_error, chance, spread = np.mean(
            [(gap.squared, graph.propagated_error(gap.block.axes), gap.chance**2, gap.spread) for gap in gaps], axis=0
        )
        return cls(
            least=float(np.mean([gap.least for gap in gaps])),
            real=float(max(squared - propagated_error, min(squared, chance), 0.0)) ** 0.5,
            blur=float(spread) ** 0.5 / len(gaps) ** 0.25,
            error=float(np.mean([gap.error for gap in gaps])),
        )

    def unimproved(self, before: int, reached: float, price: float) -> int:
        """Batches in a row without improvement, `before` of them before this one.

        A batch improves nothing if its gap is below `price`. One that noise does not let decide is not counted; one
        whose measurement is mostly noise counts twice.

        Args:
            before: batches without improvement before this one.
            reached: final error of a block, L1 over n.
            price: error that a further block adds to its own and to the others' final measurements, L1 over n.
        """
        if self.real >= price:
            return 0
        if self.blur > TUNING.resolved * reached:
            return before
        return before + (2 if self.error > TUNING.noisy_error else 1)


# Dependence graph: how errors in measured pairs of columns propagate to other pairs.


class PairDependence(Struct, frozen=True, kw_only=True):
    """A measured pair of columns.

    error: L1 error over n that its noise leaves in it. coefficient: estimated Dobrushin coefficient, 0 for independent
    columns, 1 where each determines the other.
    """

    error: float
    coefficient: float


class DependenceGraph(Struct, frozen=True):
    """Measured pairs by column and other column. A function of what was released.

    A hypothesis estimates a pair (a, c) from (a, b) and (b, c). An error in (a, b) appears in (a, c), multiplied by at
    most the Dobrushin coefficient of P(c | b), for its rows sum to 0. So strongly dependent pairs propagate errors, and
    weakly dependent ones hardly any.
    """

    ends: Mapping[int, Mapping[int, PairDependence]] = msgspec.field(default_factory=dict)

    def joined(self, gaps: Sequence[Gap]) -> DependenceGraph:
        """This graph and the pairs among the measured blocks; a pair that was measured before is replaced."""
        ends = {axis: dict(others) for axis, others in self.ends.items()}
        for gap in gaps:
            if len(gap.block.axes) == 2:
                first, second = gap.block.axes
                # The gap as a part of the largest that two columns can have.
                part = max(gap.squared, 0.0) ** 0.5 / largest_gap(gap.block)
                edge = PairDependence(error=gap.error, coefficient=float(min(1.0, max(TUNING.weakest, part))))
                ends.setdefault(first, {})[second] = edge
                ends.setdefault(second, {})[first] = edge
        return DependenceGraph(ends)

    def propagated_error(self, axes: Axes) -> float:
        """Square of the L1 error over n that the measured pairs propagate into these columns.

        For every two of the columns it follows the path whose coefficients have the largest product; errors along a
        path are independent, so their squares add up.
        """
        found = 0.0
        for first, second in combinations(axes, 2):
            path = tuple(self._strongest(first, second))
            for place, edge in enumerate(path):
                part = edge.error
                for other in (*path[:place], *path[place + 1 :]):
                    part *= other.coefficient
                found += part**2
        return found

    def _strongest(self, first: int, second: int) -> Iterator[PairDependence]:
        """The pairs of the path whose coefficients have the largest product; none where there is no path."""
        waiting: list[tuple[float, int, int]] = [(-1.0, first, first)]
        came: dict[int, int] = {}
        while waiting and second not in came:
            coefficient, axis, before = heappop(waiting)
            if axis in came:
                continue
            came[axis] = before
            for other, edge in self.ends.get(axis, {}).items():
                if other not in came:
                    heappush(waiting, (coefficient * edge.coefficient, other, axis))
        while second in came and second != first:
            yield self.ends[second][came[second]]
            second = came[second]


MOST_SPREAD = 8.0
"""Of one over the shape of the law of gaps: the largest of a thousand has half of their sum."""


def spread_gaps(mean: float, largest: Sequence[float], count: int) -> FloatArray:
    """The gaps of so many blocks, from the largest to the least: of a Weibull law with this mean, whose largest ones
    are on average as large as those that were found.

    Args:
        mean: of all blocks, L1 over n.
        largest: estimates of the largest.

    >>> spread_gaps(0.1, [0.1, 0.1], 4).round(3).tolist()
    [0.1, 0.1, 0.1, 0.1]
    >>> spread_gaps(0.1, [0.3], 4).round(2).tolist()
    [0.3, 0.08, 0.02, 0.0]
    """
    logs = np.log(count / (np.arange(count) + 0.5))
    low, high = 0.0, MOST_SPREAD
    for _ in range(40):
        spread = (low + high) / 2
        gaps = logs**spread
        wider = gaps[: len(largest)].mean() * mean < np.mean(largest) * gaps.mean()
        low, high = (spread, high) if wider else (low, spread)
    found: FloatArray = mean * logs**low / (logs**low).mean()
    return found


class SearchState(Struct, frozen=True, kw_only=True):
    """After whole batches.

    left: share of the budget. gap: L1 error over n that the last batch showed. explored: blocks measured. graph: the
    pairs among them. unimproved: batches in a row without improvement. level: whose candidates are searched. batches:
    gaps that each batch of the last level showed, L1 over n. checked: whether the rest of the blocks was measured.
    """

    left: float
    gap: float = TUNING.first_gap
    explored: tuple[QueryBlock, ...] = ()
    graph: DependenceGraph = msgspec.field(default_factory=DependenceGraph)
    unimproved: int = 0
    level: int = 0
    batches: tuple[tuple[float, ...], ...] = ()
    checked: bool = False


class SelectionBatch(Struct, frozen=True, kw_only=True):
    """Choices from one hypothesis. size: how many; deviation: of each measurement; selection, measurement: shares."""

    size: int
    deviation: float
    selection: float
    measurement: float

    @property
    def cost(self) -> float:
        return self.size * (self.selection + self.measurement)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MarginalSearch:
    """What a search knows before its first batch.

    levels: the candidates, searched one level after the other. coarse: offered beside those of the first level.
    singles: one-way marginals by attribute. queried: the workload's blocks, marginals in place of those they answer
    with less noise; queries: as they were stated. unit: whose neighbours selections protect.
    records: n, estimated from the first measurements. spent: shares of the budget of the singles so far. started:
    whether the model holds tables of an earlier release. full_sets: what may be measured without a search, all blocks
    or the pairs below them, where the model has room for them together (`fitted_together`). roots: sums over the cells
    of the roots of their shares, by attribute. dependence: mean L1 error over n of one-way marginals on pairs, where it
    was measured.
    """

    levels: tuple[tuple[QueryBlock, ...], ...]
    coarse: tuple[QueryBlock, ...]
    singles: tuple[QueryBlock, ...]
    queried: tuple[QueryBlock, ...]
    queries: tuple[QueryBlock, ...]
    errors: ExpectedError
    budget: BudgetAllocation
    unit: PrivacyUnit
    records: float
    spent: tuple[float, ...]
    started: bool = False
    full_sets: Mapping[Literal["pairs", "blocks"], tuple[QueryBlock, ...]] = field(default_factory=dict)
    roots: Mapping[int, float] = field(default_factory=dict)
    dependence: float | None = None
    _last: LastMeasurements = field(init=False, repr=False)

    def __post_init__(self) -> None:
        last = LastMeasurements(
            singles=self.singles, spent=self.spent, queried=self.queried, errors=self.errors, budget=self.budget
        )
        object.__setattr__(self, "_last", last)

    def advanced(self, state: SearchState) -> tuple[SearchState, SelectionBatch | None]:
        """Past the levels that are not worth a batch, and the next batch; None: time for the last measurements."""
        while state.level < len(self.levels):
            if not self._clear(state):
                return replace(state, level=len(self.levels)), None
            batch = self.batch(state)
            if batch is not None:
                return state, batch
            state = replace(state, gap=TUNING.first_gap, unimproved=0, level=state.level + 1, batches=())
        return state, None

    def batch(self, state: SearchState) -> SelectionBatch | None:
        """The next choices of the level; None: it has no more that are worth it, or that noise would let see."""
        blocks, explored = self.offered(state.level), self._explored(state)
        names = {block.name for block in explored}
        waiting = [block for block in blocks if block.name not in names]
        spent = len(names) * len(blocks) > TUNING.work
        if not waiting or spent or state.unimproved >= TUNING.patience:
            return None
        size = min(1 + len(names) // TUNING.batch, len(waiting))
        even = state.left / len(blocks)
        # The share that measures a block to within the gap; to `fine_error` where that is cheap.
        gap = min(state.gap, TUNING.first_gap)
        within, fine = (
            self.budget.share(self.errors.deviation(waiting, error * self.records))
            for error in (TUNING.precision * gap, TUNING.fine_error)
        )
        enough = max(within, min(fine, TUNING.fine_part * even))
        share = min(enough, TUNING.batch_share * state.left / size)
        selection = min(self.budget.selection(max(TUNING.temperature * state.gap * self.records, 1e-6)), share)
        batch = SelectionBatch(
            size=size, deviation=self.budget.deviation_at(share), selection=selection, measurement=share
        )
        return batch if batch.cost <= state.left / 2 else None

    def louder(self, blocks: Sequence[QueryBlock]) -> FloatArray:
        """Noise of every block over that of a marginal at the same price, shape (blocks,)."""
        single = self.singles[0]
        each = (1.0 if block.is_marginal else self.budget.relative(block, single, self.unit) for block in blocks)
        return np.fromiter(each, dtype=np.float64, count=len(blocks))

    def expected_errors(self, blocks: Sequence[QueryBlock], deviation: float) -> FloatArray:
        """L1 errors in records, shape (blocks,), each measured at the price at which a marginal has this deviation."""
        return self.errors.each(blocks, deviation * self.louder(blocks))

    def offered(self, level: int) -> tuple[QueryBlock, ...]:
        """The candidates of a level."""
        return self.levels[level] if level else (*self.levels[level], *self.coarse)

    def _clear(self, state: SearchState) -> bool:
        """Whether noise lets the level be searched."""
        if self._explored(state):
            return True
        if state.level == 0:
            offered, deviation = self.offered(0), self.budget.deviation_at(TUNING.batch_share * state.left)
            errors = self.expected_errors(offered, deviation) / [largest_gap(block) for block in offered]
            return float(errors.min()) <= TUNING.hopeless * self.records
        blocks = self.levels[state.level]
        return self._reached(blocks, (*state.explored, *blocks), state.left) < TUNING.wide_error

    def _explored(self, state: SearchState) -> tuple[QueryBlock, ...]:
        """Those of the level."""
        names = {block.name for block in self.offered(state.level)}
        return tuple(block for block in state.explored if block.name in names)

    # The check: once, what the fit shows of the blocks that were not explored decides whether all are measured.

    def unexplored(self, state: SearchState) -> tuple[QueryBlock, ...]:
        """Marginals among all blocks that no explored one holds."""
        last = self.full_sets.get("blocks", ())
        widths = {len(block.axes) for block in last}
        explored = [block.axes for block in state.explored if block.is_marginal]
        held = {frozenset(part) for axes in explored for width in widths for part in combinations(axes, width)}
        return tuple(block for block in last if block.is_marginal and frozenset(block.axes) not in held)

    def check_share(self, state: SearchState, ended: bool) -> float:
        """Share of the budget for the error of the fit on the unexplored blocks; 0: it is not measured now.

        It is when as many blocks were explored as join all columns, or when the search has ended.
        """
        joined = state.level == len(self.levels) - 1 and len(self._explored(state)) >= len(self.singles) - 1
        if state.checked or not (ended or joined):
            return 0.0
        return self.error_share(self.unexplored(state), state.left)

    def error_share(self, blocks: Sequence[QueryBlock], left: float) -> float:
        """Share for the error of a fit on these marginals, a small part of what is left; 0: it is one alone, they have
        too many cells to be answered at once, or noise would hide it."""
        fine = self.budget.share(TUNING.fine_dependence * self.records)
        shown = len(blocks) > 1 and sum(block.cells for block in blocks) <= TUNING.table
        return min(fine, TUNING.largest_dependence * left) if shown and not self.hides_dependence(left) else 0.0

    def hides_dependence(self, left: float) -> bool:
        """Whether noise of a small part of what is left would hide the mean error of a fit on pairs."""
        return self.budget.share(TUNING.dependence * self.records) > TUNING.largest_dependence * left

    def checked(self, state: SearchState, error: float, ended: bool) -> SearchState:
        """The state after the check: as it was, or at the search's end with all blocks explored.

        Args:
            error: mean error of the fit on the unexplored blocks, L1 over n.
            ended: whether nothing more is explored otherwise.
        """
        last, unexplored = self.full_sets["blocks"], self.unexplored(state)
        names = {block.name for block in (*last, *self.coarse)}
        others = tuple(block for block in state.explored if block.name not in names)
        explored = len(state.explored) - len(others)
        rest = max(len(last) - explored, 1)
        # The error that noise of earlier measurements propagates into these blocks is no gap, as in `BatchEvidence`;
        # sampling variation of the records is one.
        variation = NOISE * float(np.mean([self._variation(block) for block in unexplored]))
        error = max(error**2 - self._propagated(state, unexplored), min(error, variation) ** 2) ** 0.5
        gaps = spread_gaps(error, state.batches[-1] if state.batches else (error,), rest)
        noise = TUNING.kept * self._reached(last, (*others, *last), state.left)

        # All are measured. Either way one-way marginals leave their noise too.
        columns, columns_of_all = (
            self._column_noise(self.split(measured, state.left), unexplored)
            for measured in (state.explored, (*others, *last))
        )
        each = np.hypot(left_of_gaps(gaps, noise, variation, weighed=error > variation), columns_of_all)
        everything = (explored * noise + float(each.sum())) / len(last)

        # The search ends, or goes on at the price of its next batch: the explored blocks explain a part of the others'
        # dependence. Largest gaps come first, so what remains is taken to fall as a power of how many were explored.
        power = 0.0
        if self.dependence is not None and explored:
            before = spread_gaps(self.dependence, [*chain(*state.batches)] or [self.dependence], len(last))
            power = math.log(min(1.0, max(error, TINY) / float(before[-rest:].mean()))) / math.log(1 + explored)
        batch, more_explored, searched = None if ended else self.batch(state), [0], list[float]()
        if batch is not None:
            most = min(rest, TUNING.work // len(self.offered(state.level)) - explored)
            more_explored += np.unique(np.geomspace(1, max(most, 1), 12).astype(np.int64)).tolist()
        price = batch.cost / batch.size if batch else 0.0
        for more in more_explored:
            if more * price >= state.left:
                break
            blocks_for_budget = (explored + more) / len(last) * state.left / (state.left - more * price)
            noise_of_explored = (explored + more) * noise * blocks_for_budget**self.budget.power
            remaining_gaps = gaps[more:] * (1 + more / (1 + explored)) ** power
            searched.append(noise_of_explored + float(np.hypot(remaining_gaps, columns).sum()))
        if everything >= min(searched) / len(last):
            return replace(state, checked=True)
        return replace(state, checked=True, explored=(*others, *last), level=len(self.levels))

    def _propagated(self, state: SearchState, blocks: Sequence[QueryBlock]) -> float:
        """Mean square of the L1 error over n that noise of measured pairs and one-way marginals leaves in blocks."""
        pairs = [state.graph.propagated_error(block.axes) for block in blocks]
        return float(np.mean(pairs)) + self._column_noise((), blocks) ** 2

    def _column_noise(self, last: Iterable[tuple[QueryBlock, float]], blocks: Sequence[QueryBlock]) -> float:
        """Root of the mean square of the L1 error over n that noise of one-way marginals leaves in blocks. Last
        measurements add to what is known of their columns."""
        spent = zip(self.singles, self.spent, strict=True)
        known = {one.axes[0]: self.budget.deviation_at(share) ** -2.0 for one, share in spent}
        for block, share in last:
            for factor in block.factors if block.is_marginal else ():
                known[factor.axes[0]] += self.budget.deviation_at(share) ** -2.0 * factor.matrix.cells / block.cells
        errors = {one.axes[0]: self.errors.at(one, known[one.axes[0]] ** -0.5) for one in self.singles}
        squares = {axis: (TUNING.kept * error / self.records) ** 2 for axis, error in errors.items()}
        return math.sqrt(np.mean([math.fsum(squares[axis] for axis in block.axes) for block in blocks]))

    def _variation(self, block: QueryBlock) -> float:
        """Sum over a marginal's cells of the deviations that so many independent records have, over n."""
        return math.prod(self.roots.get(axis, 1.0) for axis in block.axes) / math.sqrt(self.records)

    def split(self, measured: Sequence[QueryBlock], left: float) -> list[tuple[QueryBlock, float]]:
        """The last measurements and their shares of what is left, where these blocks were explored."""
        return self._last.split(measured, left)

    def reached(self, state: SearchState) -> float:
        """Mean error over n of the level's explored blocks if what is left were spent on the last measurements now."""
        explored = self._explored(state)
        return self._reached(explored, state.explored, state.left) if explored else 0.0

    def final(self, state: SearchState) -> list[tuple[QueryBlock, float]]:
        """The last measurements and their shares, `state` being where the search has ended."""
        apart = Interactions(
            singles=self.singles,
            spent=self.spent,
            queried=self.queried,
            errors=self.errors,
            budget=self.budget,
            unit=self.unit,
        )
        return apart.better(self._last.split(state.explored, state.left))

    def _reached(self, blocks: tuple[QueryBlock, ...], measured: tuple[QueryBlock, ...], left: float) -> float:
        return self._last.expected(blocks, measured, left) / self.records

    def after(self, state: SearchState, batch: SelectionBatch, drawn: Sequence[Round]) -> SearchState:
        """After all choices of the batch; one that was lost in a crash shows nothing, and is paid."""
        shown = [gap for one in drawn if (gap := estimate_gap(one, self.errors, self.records)) is not None]
        found = tuple(one.measurement.blocks[0] for one in drawn if one.measurement is not None)
        after = replace(
            state,
            left=state.left - batch.cost,
            gap=state.gap / 2,
            explored=(*state.explored, *found),
        )
        if not shown:
            return after
        evidence = BatchEvidence.of(shown, state.graph)
        # What a further block costs, L1 error over n: its own final error, or, if that is more, what each block of the
        # batch added to the sum over all explored ones.
        (few, one), (many, other) = ((len(self._explored(each)), self.reached(each)) for each in (state, after))
        price = max(other, (many * other - few * one) / (many - few))
        return replace(
            after,
            gap=max(evidence.least, after.gap),
            graph=state.graph.joined(shown),
            batches=(*state.batches, tuple(max(gap.squared, 0.0) ** 0.5 for gap in shown)),
            unimproved=evidence.unimproved(state.unimproved, other, price),
        )


# The first one-way marginals: what they say of a search, and how exactly they are measured again before it.


def start_search(plan: Plan, released: Sequence[Measurement | None]) -> MarginalSearch:
    """What the first measurements of all attributes say of the rest."""
    problem = with_surrogates(plan.problem, plan.roles.check)
    levels = candidate_levels(problem)
    singles = tuple(candidate[0] for candidate in first_marginals(plan).blocks)
    counts = opening_counts(singles, released)
    budget = remaining(plan)
    records = max(1.0, float(problem.n or estimated_records(counts)))
    errors = ExpectedError.of((*chain(*levels), *singles), counts)
    coarse = (
        coarsen(levels[0], counts, errors, records, budget.deviation_at(TUNING.last / len(singles))) if levels else ()
    )
    full_sets: dict[Literal["pairs", "blocks"], tuple[QueryBlock, ...]] = (
        {"pairs": levels[0]} if len(levels) > 1 else {}
    )
    if levels:
        full_sets["blocks"] = widest(tuple(chain(*levels)))
    return MarginalSearch(
        levels=levels,
        coarse=coarse,
        singles=singles,
        queried=problem.workload.blocks,
        queries=plan.problem.workload.blocks,
        errors=errors.joined(ExpectedError.of(coarse, counts)) if coarse else errors,
        budget=budget,
        unit=problem.unit,
        records=records,
        spent=(float(TUNING.opening) / len(singles),) * len(singles),
        started=problem.start is not None,
        roots={axis: root_sum(values) for axis, values in counts.items()},
        full_sets={noun: blocks for noun, blocks in full_sets.items() if fitted_together(blocks, problem, plan.roles)},
    )


def left_of_gaps(gaps: FloatArray, noise: float, variation: float, *, weighed: bool) -> FloatArray:
    """What a fit to measurements of all blocks is forecast to leave of their gaps; L1 errors over n, like all of these.

    Best weights of a gap g and its noise q leave g q over the root of g^2 + q^2. Dependence is left so; sampling
    variation of the records is like nothing else, and stays, or is noise. Where noise of a cell is small beside its
    records the average of models weighs that, too: best weights of the whole gap then count for 1 less (about) the
    noise of a cell over the mean count of cells.

    Args:
        gaps: shape (blocks,).
        noise: of one block, were all measured.
        variation: of the records, in a block.
        weighed: whether gaps are more than sampling variation, so that there is something to weigh.

    >>> [left_of_gaps(np.array([0.05]), 0.1, 0.04, weighed=weighed).round(3) for weighed in (False, True)]
    [array([0.049]), array([0.045])]
    """
    shared = np.maximum(gaps**2 - variation**2, 0.0) ** 0.5
    apart: FloatArray = np.hypot(
        shared * noise / np.hypot(shared, noise + TINY), np.minimum(gaps, min(variation, noise))
    )
    whole = gaps * noise / np.hypot(gaps, noise + TINY)
    linear = max(0.0, 1.0 - noise / NOISE) if weighed else 0.0
    return apart + linear * (whole - apart)


def root_sum(counts: FloatArray) -> float:
    """Sum over the cells of the roots of their shares of a one-way marginal."""
    positive = np.maximum(counts, 0.0)
    total = positive.sum()
    return float(np.sqrt(positive / total).sum()) if total > 0.0 else float(counts.size) ** 0.5


def opening_counts(singles: Sequence[QueryBlock], released: Sequence[Measurement | None]) -> dict[int, FloatArray]:
    """The first noisy one-way marginals; even counts for one that was lost.

    Args:
        released: their measurements, in their order; None: lost in a crash.

    Returns:
        By attribute, in records, shape (cells,).
    """
    found: dict[int, FloatArray] = {}
    for block, measured in zip(singles, released, strict=True):
        if measured is not None:
            found[block.axes[0]] = np.asarray(measured.values[0], dtype=np.float64)
    total = estimated_records(found)
    for block in singles:
        found.setdefault(block.axes[0], np.full(block.cells, total / block.cells))
    return found


def plan_remeasurement(known: MarginalSearch) -> tuple[MarginalSearch, tuple[tuple[QueryBlock, float], ...]]:
    """The first measurements that are made again before the search, with their further shares of the budget, and what
    is known after them. From the error that the first ones left; none where that is small enough."""
    loads = Counter(axis for block in known.queried for axis in block.axes)
    weights = [float(loads[block.axes[0]]) for block in known.singles]

    def error(further: Sequence[float]) -> float:
        shares = zip(known.singles, known.spent, further, strict=True)
        each = [known.errors.at(block, known.budget.combined(old, new)) for block, old, new in shares]
        return float(np.dot(weights, each)) / len(known.queried) / known.records

    further = [0.0] * len(known.singles)
    if known.levels and error(further) > TUNING.opening_error:
        for share in np.geomspace(float(TUNING.opening), TUNING.largest_opening, 12)[1:]:
            even = known.budget.deviation_at(share / len(weights))
            costs = [load * known.errors.at(block, even) for load, block in zip(weights, known.singles, strict=True)]
            further = known.budget.split(float(share) - float(TUNING.opening), costs, known.spent)
            if error(further) <= TUNING.opening_error:
                break
    spent = tuple(old + new for old, new in zip(known.spent, further, strict=True))
    shares = tuple((block, share) for block, share in zip(known.singles, further, strict=True) if share)
    return replace(known, spent=spent), shares
