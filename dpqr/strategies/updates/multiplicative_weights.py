"""Multiplicative weights: a distribution over the universe, moved by exponential steps (Dwork and Roth 2014, 4.2)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray, IntArray, freeze
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.values import replace
from dpqr.models.averaging import Averaging, Evidence
from dpqr.models.compound import Joint, ModelAverage, RefinedDistribution
from dpqr.models.factored import FactoredDistribution
from dpqr.models.fit.descent import MEMORY
from dpqr.models.fit.evidence import LinearMeasurement, gather, lower_order, merge_measurements
from dpqr.models.fit.local_fits import Refinement, by_interaction, put_together
from dpqr.models.fit.maximum_entropy import MaximumEntropyFit
from dpqr.models.fit.misfit import MissedQueries, fit_with_sums
from dpqr.models.hypothesis import DenseDistribution, Hypothesis
from dpqr.models.junction_tree import cells, maximal_cliques, within
from dpqr.models.rows import LISTED, Tilt, WeightedRows
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.strategies.updates.interface import DENSE_LIMIT, SingleQuery, exponential_step, floor_of_log, logs_of, of_logs
from dpqr.strategies.updates.record_count import records_total
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

MOST_LISTED = 2**17
"""Cells up to which a fitted distribution is listed whole: every marginal is then one sum over a small array."""
MODEL_SIZE = 2**20
"""Bytes of the fitted model's tables; set by `python tests/benchmarks/marginals`."""

Distribution = Joint | ModelAverage


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiplicativeWeights:
    """D_i <- D_i exp(-+ eta f(i)), renormalised; or the fixed point of such steps on all measurements at once.

    With a level (`theory`): one step a round on the newest measurement, eta = a/2 as printed, 4a in the sharp variant.
    Without: with `replay` the maximum-entropy fit to every measurement so far (the limit of unlimited replay, but for
    the noise; `MaximumEntropyFit`); else one step per measured block with eta = gap/2, as in MWEM.

    Under `replace` the number of records is problem.n. Under `add-remove` without a level it is estimated from the
    measured blocks, and is 0 before any of them, as is every answer: the first selection then looks for the largest
    counts, which is private like any other. Tables of an earlier release (`problem.start`) enter every fit as weak
    evidence.

    With `replay` the fit works on a junction tree over the measured blocks, so the domain may have any size. Without
    it, and in theory's steps, every cell of the domain is kept.

    Attributes:
        replay: whether every update refits all measurements.
        cells: the largest universe, or table of one block, that is kept cell by cell.
        model_size: bytes of the junction tree's tables; a block that alone needs more raises it. A measurement that
            would exceed it is left out of the model and refined by itself (`Refinement`).
        fit: the maximum-entropy fit.

    References:
        Hardt and Rothblum 2010; Hardt, Ligett and McSherry 2012 (MWEM).

    >>> MultiplicativeWeights(replay=False).cumulative
    False
    """

    name: ClassVar[str] = "multiplicative-weights"

    replay: bool = True
    cells: int = DENSE_LIMIT
    model_size: int = MODEL_SIZE
    fit: MaximumEntropyFit = field(default_factory=MaximumEntropyFit)

    @property
    def trust(self) -> tuple[str, ...]:
        return ()

    @property
    def cumulative(self) -> bool:
        return self.replay

    def start(self, problem: Problem) -> Distribution:
        """The uniform distribution, over the cells that the public facts allow."""
        refusal = self.footprint(problem).refusal
        if refusal is not None:
            raise InfeasiblePlan(refusal)
        whole = not self._fits_all(problem) or problem.domain.size <= MOST_LISTED
        kind = DenseDistribution if whole else FactoredDistribution
        first = kind.uniform(problem.domain.shape, float(problem.n or 0))
        bound = problem.domain.facts and self.applies_constraints(problem)
        return self.fitted(problem, first, (), self.counted(problem, first, ())) if bound else first

    def applies_constraints(self, problem: Problem) -> bool:
        """Whether every hypothesis satisfies the public facts of the domain."""
        return self._fits_all(problem)

    def takes_start(self, problem: Problem) -> bool:
        """Whether tables of an earlier release are fitted together with the measurements."""
        return self._fits_all(problem)

    def _fits_all(self, problem: Problem) -> bool:
        """Whether every update is a fit of all measurements."""
        return self.replay and problem.level is None

    def update(self, problem: Problem, hypothesis: Distribution, history: Sequence[Measurement]) -> Distribution:
        """The next distribution; `hypothesis` is left as it was."""
        if self._fits_all(problem):
            return self.fitted(problem, hypothesis, history, self.counted(problem, hypothesis, history))
        if not isinstance(hypothesis, DenseDistribution):
            raise InfeasiblePlan("single steps need a distribution that is kept cell by cell; use replay")
        if problem.level is not None:
            return _step(problem.level, hypothesis, SingleQuery.newest(problem, history))
        # One MWEM step per block: D_i <- D_i exp(f(i) (v - f(D)) / 2), rows of one block at once. It is divided by
        # the largest column sum, so that no cell moves further than one query alone would move it.
        total = max(self.counted(problem, hypothesis, history), 0.0)
        state = hypothesis.with_total(total)
        for block, values in zip(history[-1].blocks, history[-1].values, strict=True):
            if block.factors and total > 0.0:
                gaps = values - state.answer(block)
                spread = float(np.prod([float(factor.matrix.column_norm(1)) for factor in block.factors]))
                largest = float(max(block.largest_coefficient, 1))
                state = exponential_step(state, block, gaps / (2.0 * state.total * max(spread, 1.0) * largest))
        return state

    def counted(self, problem: Problem, hypothesis: Distribution, history: Sequence[Measurement]) -> float:
        """The number of records, as all measurements say (`records_total`)."""
        # The hypothesis' answers at one record; of a compound one its tree's.
        model = hypothesis
        while isinstance(model, RefinedDistribution | ModelAverage):
            model = model.model if isinstance(model, RefinedDistribution) else model.tree
        return records_total(problem, history, replace(model, total=1.0, _cache={}).answer)

    def fitted(
        self,
        problem: Problem,
        hypothesis: Distribution,
        history: Sequence[Measurement],
        total: float,
    ) -> Joint:
        """The fit to `history` at that total; below one record its shape is that of one record."""
        seen = self._whole(problem, gather(history, problem.domain.shape), total)
        return self._tree(problem, hypothesis.potentials, seen, total)

    def _whole(self, problem: Problem, measured: Evidence, total: float) -> Evidence:
        """What is fitted, from what was measured: interactions become marginals, tables of an earlier release join."""
        seen = put_together(measured, max(total, 1.0))
        if problem.start is not None:
            seen = merge_measurements([*seen, *problem.start.aged(seen, max(total, 1.0))])
        return seen

    def _tree(self, problem: Problem, potentials: Mapping[Hashable, FloatArray], seen: Evidence, total: float) -> Joint:
        """The maximum-entropy fit, from potentials of an earlier one."""
        shape = problem.domain.shape
        chosen, left = self._admitted(problem, seen)
        observed = merge_measurements([*chosen, *lower_order(left, 1)])
        cells_alone = all(block.is_marginal for block in problem.workload.blocks)
        fitted = replace(self.fit, shrinks_hidden=cells_alone).run(
            observed, shape, max(total, 1.0), potentials, problem.domain.facts
        )
        model: DenseDistribution | FactoredDistribution = replace(fitted, total=max(total, 0.0))
        if problem.domain.size <= MOST_LISTED:
            cells = freeze(fitted.probabilities())
            model = DenseDistribution(probabilities=cells, total=max(total, 0.0), potentials=fitted.potentials)
        if not left or model.total <= 0.0:
            return model
        if len(left) == 1 and left[0].order == len(shape):
            return _whole_table(model, left[0], shrinks_hidden=cells_alone)
        inside = frozenset(tuple(sorted(one.axes)) for one in chosen if one.block is None and one.order > 1)
        return RefinedDistribution(model=model, tables=Refinement(left=left, inside=inside, shrinks_hidden=cells_alone))

    def averaged(
        self,
        problem: Problem,
        hypothesis: Distribution,
        history: Sequence[Measurement],
        like: Hypothesis | None = None,
    ) -> Distribution:
        """The fit, averaged with latent classes by how well each predicts noise that it has not seen, and moved to meet
        measured queries that the average misses.

        Classes satisfy no structural zeros, so with these it is the fit alone.
        """
        if not self._fits_all(problem) or problem.domain.facts.axes or hypothesis.total < 1.0:
            return hypothesis
        tree = hypothesis.tree if isinstance(hypothesis, ModelAverage) else hypothesis
        measured, total = gather(history, problem.domain.shape), tree.total
        if not any(seen.order > 1 for seen in measured):
            return tree
        averaging = Averaging(
            # From nothing: potentials of the last fit have seen the noise that is held out.
            fit=lambda seen: self._tree(problem, {}, self._whole(problem, seen, total), total),
            whole=lambda seen: self._whole(problem, seen, total),
            shape=problem.domain.shape,
            total=total,
            joined=[block.axes for block in problem.workload.blocks],
            seed=problem.seed,
        )
        model: Distribution = tree
        other = like.model if isinstance(like, RefinedDistribution) else like
        if like is None:
            model = averaging.average(tree, measured)
        elif isinstance(other, ModelAverage):
            model = averaging.again(tree, measured, other)
        missed = MissedQueries.of(self._whole(problem, measured, total), model, problem.domain.shape)
        return RefinedDistribution(model=model, tables=missed) if missed else model

    def _admitted(
        self, problem: Problem, evidence: tuple[LinearMeasurement, ...]
    ) -> tuple[tuple[LinearMeasurement, ...], tuple[LinearMeasurement, ...]]:
        """The evidence that the model has room for, and the marginals that it has no room for."""
        shape, declared, limit = problem.domain.shape, problem.domain.facts.axes, self._limit(problem)
        if within(shape, declared, limit, frozenset(seen.axes for seen in evidence)):
            return evidence, ()
        admitted, groups = set[Axes](), declared
        possible = (seen for seen in evidence if within(shape, declared, limit, frozenset({seen.axes})))
        for seen in by_interaction(possible):
            if within(shape, groups, limit, frozenset({seen.axes})):
                admitted.add(seen.axes)
                groups = declared.union(admitted)
        left = tuple(seen for seen in evidence if seen.axes not in admitted and seen.block is None)
        return tuple(seen for seen in evidence if seen.axes in admitted), left

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Whether a model of these measured blocks has room for the candidate's too."""
        if not self._fits_all(problem):
            return True
        shape, more = problem.domain.shape, _groups(tuple(candidate))
        groups = _groups(tuple(measured)) | problem.domain.facts.axes
        declared = within(shape, groups, self.model_size // 8, more)
        return declared or within(shape, groups, self._limit(problem), more)

    def _limit(self, problem: Problem) -> int:
        """Cells of the model: what was declared, or what the widest block of the workload needs."""
        return max(self.model_size // 8, _least(problem.domain.shape, problem.workload.blocks))

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """floor(4 log|X| / a^2) as printed; floor(log|X| / (2 a^2)) in the sharp variant.

        Proof of the sharp one: with potential KL(x/n || D), a step eta against f with gap at least a lowers it by at
        least eta a - eta^2/8 (Hoeffding's lemma for f in [0, 1]), largest, 2 a^2, at eta = 4a; it starts at most at
        log|X| and is never negative. For a > 1/4 eta = 4a stays right: the lemma holds for every eta.
        """
        factor = Fraction(4) if level.variant == "printed" else Fraction(1, 2)
        return floor_of_log(problem.domain.size, factor / level.value**2)

    def mistakes_carried(self, problem: Problem, level: Level, finest: Level) -> int | None:
        """The same: KL(x/n || D) is at most log|X| at the start, and an update at any level b >= a lowers it by 2 b^2
        (as printed b^2 / 4), at least as much as one at a. Between levels nothing moves."""
        return self.mistakes(problem, level)

    def footprint(self, problem: Problem) -> Footprint:
        """Eight tensors of the model's size at the fit's peak, and the descent's memory of every measured answer.

        As if every query of the workload was measured once: what will be is not known before the run.
        """
        size = problem.domain.size
        if self._fits_all(problem):
            if _widest(problem).cells > self.cells:
                refusal = (
                    f"a query block looks at {_widest(problem).cells} cells together, and multiplicative weights keeps "
                    f"at most {self.cells} cell by cell; ask for fewer columns together or merge bins"
                )
                return Footprint(bytes=0, refusal=refusal)
            size = min(size, self._limit(problem))
        elif size > self.cells:
            refusal = (
                f"the domain has {size} cells, and multiplicative weights without replay keeps at most {self.cells} "
                "cell by cell; leave columns out of the domain file or merge bins"
            )
            return Footprint(bytes=0, refusal=refusal)
        return Footprint(bytes=8 * (8 * size + 2 * (MEMORY + 6) * problem.workload.rows))


def _whole_table(model: Joint, seen: LinearMeasurement, *, shrinks_hidden: bool) -> DenseDistribution:
    """The fit of all cells to one measured table of all columns, on the model of the rest.

    Why no `Refinement`: every answer is a sum over the one table, so no sums need to be held to the model's.
    """
    base = np.asarray(model.marginal(tuple(range(seen.order))), dtype=np.float64)
    values = seen.values.transpose(np.argsort(seen.axes))
    fitted = fit_with_sums(base, values, seen.deviation, hidden=shrinks_hidden)
    return DenseDistribution(
        probabilities=freeze(fitted / fitted.sum()), total=model.total, potentials=model.potentials
    )


@lru_cache(maxsize=4096)
def _groups(blocks: tuple[QueryBlock, ...]) -> frozenset[Axes]:
    return frozenset(block.axes for block in blocks)


@lru_cache(maxsize=64)
def _least(shape: tuple[int, ...], blocks: tuple[QueryBlock, ...]) -> int:
    """Cells of a model that holds the widest block and nothing else."""
    widest = max(blocks, key=lambda block: block.cells)
    return cells(shape, maximal_cliques(shape, [widest.axes]))


def _widest(problem: Problem) -> QueryBlock:
    return max(problem.workload.blocks, key=lambda block: block.cells)


def _step(level: Level, hypothesis: DenseDistribution, query: SingleQuery) -> DenseDistribution:
    """One step as in the source, on the logs of the weights: no weight vanishes for good by underflow."""
    cells = hypothesis.probabilities
    rate = float(level.value) * (0.5 if level.variant == "printed" else 4.0)
    expected = float((query.coefficients * cells).sum())
    sign = -1.0 if query.value < expected else 1.0
    return of_logs(logs_of(hypothesis) + (sign * rate) * query.coefficients, hypothesis.total)


# RowWeights: multiplicative weights over a bounded public list of rows, with replay of all measured tables.

STRENGTH = 0.25
"""Deviations of residual that a tilt of size one costs. Less than one: a surprise that was just measured should be no
surprise again. Set by `python tests/benchmarks/online.py --seeds 1`, which tries 1 as well."""
LARGEST_STEP = 1.0
"""Of a logarithm of weights in one step."""
SETTLED = 0.01
"""In deviations of the noise: where no answer moves further in a sweep over all tables, the fit ends."""


class RowWeights(Struct, frozen=True, kw_only=True, eq=False):
    """w_i <- w_i exp(t), t the tilt of the cell of a measured table that row i lies in, until all tables are met.

    The fixed point minimises sum (N p - y)^2 / (2 c s N) + KL(p || start), c = STRENGTH: a tilt of size one costs c
    deviations of residual. `MaximumEntropyFit` is the same over all cells of the domain, where this is over the listed
    rows alone.

    Attributes:
        start_rows: what the weights start from.
        sweeps: over all tables in one update, at most.

    References:
        Hardt and Rothblum 2010 (private multiplicative weights, over a bounded universe); Deming and Stephan 1940.

    >>> rows = WeightedRows(shape=(2,), codes=np.array([[0], [1]]), shares=np.array([0.5, 0.5]), total=100.0)
    >>> RowWeights(start_rows=rows).name
    'row-weights'
    """

    name: ClassVar[str] = "row-weights"
    cumulative: ClassVar[bool] = True

    start_rows: WeightedRows
    sweeps: int = 12

    @property
    def trust(self) -> tuple[str, ...]:
        if int(np.prod([float(size) for size in self.start_rows.shape])) <= LISTED:
            return ()
        return (f"the hypothesis weighs {LISTED:,} rows, not every cell of the domain: no mistake bound is proved",)

    def start(self, problem: Problem) -> WeightedRows:
        """The rows as they are."""
        return self.start_rows

    def update(self, problem: Problem, hypothesis: WeightedRows, history: Sequence[Measurement]) -> WeightedRows:
        """The weights after all tables, those that are new since `hypothesis` added to its tilts."""
        blocks = [
            (block, values, one.law.deviation)
            for one in history
            for block, values in zip(one.blocks, one.values, strict=True)
        ]
        tilts = list(hypothesis.tilts)
        for block, values, deviation in blocks[len(tilts) :]:
            wanted = values.astype(np.float64)
            if block.rows == 1:
                # A single query becomes a table of two cells: what it counts, and all else.
                scale = float(block.largest_coefficient or 1)
                places = (hypothesis.coefficients(block) == 0).astype(np.uint8)
                wanted = np.array([wanted[0] / scale, hypothesis.total - wanted[0] / scale])
                deviation = deviation / scale
            else:
                places = cells_of(hypothesis, block)
            small = places.astype(np.min_scalar_type(max(wanted.size - 1, 1)))
            tilts.append(Tilt(places=small, wanted=wanted, deviation=max(deviation, 1.0), logs=np.zeros(wanted.size)))
        # Sweeps over all tables: Newton's step of one table's tilts, the others fixed. The weights carry on from where
        # they are.
        shares, logs = hypothesis.shares, [tilt.logs for tilt in tilts]
        for _ in range(self.sweeps):
            furthest = 0.0
            for place, tilt in enumerate(tilts):
                own, ridge = logs[place], STRENGTH * tilt.deviation
                expected = hypothesis.total * np.bincount(tilt.places, weights=shares, minlength=own.size)
                step = (tilt.wanted - expected - ridge * own) / (expected + ridge)
                step = np.clip(step, -LARGEST_STEP, LARGEST_STEP)
                furthest = max(furthest, float(np.max(np.abs(step) * expected)) / tilt.deviation)
                logs[place] = own + step
                shares = shares * np.exp(step)[tilt.places]
                shares = shares / shares.sum()
            if furthest < SETTLED:
                break
        fitted = tuple(replace(tilt, logs=each) for tilt, each in zip(tilts, logs, strict=True))
        return replace(hypothesis, shares=shares, tilts=fitted)

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """None: replay over some of the cells has no proved bound."""
        return None

    def footprint(self, problem: Problem) -> Footprint:
        """Codes, shares, and a place in each measured table."""
        return Footprint(bytes=int(self.start_rows.codes.nbytes + 16 * len(self.start_rows.shares)))

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Every table has room."""
        return True


def cells_of(rows: WeightedRows, block: QueryBlock) -> IntArray:
    """Return the query of a block that counts each row, where each cell of the block is counted by exactly one.

    Raises:
        InfeasiblePlan: a block of other queries.
    """
    place = np.zeros(len(rows.codes), dtype=np.int64)
    for factor in block.factors:
        table = np.asarray(factor.matrix.table(0, factor.matrix.rows))
        if not (np.isin(table, (0, 1)).all() and (table.sum(axis=0) == 1).all()):
            raise InfeasiblePlan(f"query {block.name!r}: its queries overlap; weigh rows by one query at a time")
        place = place * factor.matrix.rows + table.argmax(axis=0)[rows.places(factor.axes)]
    return place
