"""Noisy: what was measured of a block, unbiased, with the spread of its noise and an interval for the true answer."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np
from msgspec import Struct, field

from dpqr.kernel.arrays import FloatArray
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.noise.law import NoiseLaw
from dpqr.kernel.values import replace
from dpqr.models.hypothesis import Hypothesis, Unbiased
from dpqr.releases.answers.refits import answers_from
from dpqr.strategies.plan import Noun, Plan
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.strategy_matrices import Contrasts, interaction_cells, is_interaction, squared_norms
from dpqr.workload.workload import Measurement

LEVEL = Fraction(95, 100)
"""Each single interval covers the true answer with at least this probability over the noise of the run."""
EXACT = 1024
"""Bounds on a grid of 1 / EXACT are printed as they are."""
SHARES = (0.1, 0.6, 0.3)
"""Of 1 - LEVEL, for the first, second and third draw of a block of the opening, if the plan has a search phase."""
STAGED = 0.9
"""Of 1 - LEVEL, for all chosen draws of a query together, if the plan runs in stages: an opening has the rest."""
BETA = math.nextafter(float(1 - LEVEL), 0)
"""Of an interval: the probability, at most, that it misses."""


class Noisy(Struct, frozen=True, kw_only=True, eq=False):
    """One block's measured answers, every array of shape (rows,), in records (or the summed column's unit).

    values: unbiased; deviation: standard deviation of their noise; margin: half an interval. NaN where there is none.

    Which draw of a query counts is decided before its noise is drawn:

    | the plan             | the draw that counts                                                | shares of 1 - LEVEL |
    |----------------------|---------------------------------------------------------------------|---------------------|
    | has a search phase   | that of the last measurements, made without a selection; a selected | all of it           |
    |                      | draw before it only finds the block, and has no interval of its own |                     |
    | -, an opening block  | the last one of the opening, re-measurement and last measurements   | SHARES, by number   |
    | -, in stages         | of a query's chosen draws, k = 1, 2 ..., that of the narrowest one  | STAGED / (k (k + 1))|
    | opens, and no more   | a query that is not drawn itself: its sum over the smallest table   | all of it           |
    |                      | that holds all of its attributes (`summed_answers`)                 |                     |
    | any other            | the first; further draws of a query have the same law               | all of it           |

    Theorem. values +- margin misses the true answer with probability at most 1 - LEVEL, for every single query.
    Proof. Let draw t of the query be made in the event D_t, and s_t be its share; both are functions of what was
    released before draw t, and so is its law. Its noise Z_t is independent of all that, so Z_t misses the margin of
    level s_t (1 - LEVEL) with conditional probability at most that, and an interval is missed with probability at most
    sum over t of E[1(D_t) s_t (1 - LEVEL)] <= 1 - LEVEL, for the shares of a query add up to at most 1 on every path.
    It does not matter which of the draws with a share is shown, so it may be the last one, or the narrowest.

    Without shares the last draw's interval would be no theorem: whether a draw is the last one may depend on its own
    noise. Where one draw alone has a share, the shown value is unbiased, given that the query was drawn; of the blocks
    of the opening that is so but for what the choice to draw them again owes to their first noise.

    >>> Noisy(values=np.array([8.0]), deviation=np.array([1.0]), margin=np.array([2.0])).upper.tolist()
    [10.0]
    """

    values: FloatArray
    deviation: FloatArray
    margin: FloatArray

    @classmethod
    def absent(cls, rows: int) -> Noisy:
        """Nothing: millions of unmeasured queries take no memory for it."""
        none: FloatArray = np.broadcast_to(np.nan, (rows,))
        return cls(values=none, deviation=none, margin=none)

    @classmethod
    def drawn(cls, values: FloatArray, deviation: float, margin: float) -> Noisy:
        """By one draw: what its answers share takes no memory."""
        shared: list[FloatArray] = [np.broadcast_to(one, values.shape) for one in (deviation, margin)]
        return cls(values=values, deviation=shared[0], margin=shared[1])

    def with_row(self, row: int, drawn: Noisy) -> Noisy:
        """With the draw of a single answer: in place, but for arrays that are shared."""
        own = [each if each.flags.writeable else each.copy() for each in (self.values, self.deviation, self.margin)]
        for each, one in zip(own, (drawn.values, drawn.deviation, drawn.margin), strict=True):
            each[row] = one[0]
        return Noisy(values=own[0], deviation=own[1], margin=own[2])

    @property
    def lower(self) -> FloatArray:
        return _outward(self.values - self.margin, -np.inf)

    @property
    def upper(self) -> FloatArray:
        return _outward(self.values + self.margin, np.inf)


def measured_answers(plan: Plan, transcript: Transcript) -> dict[str, Noisy]:
    """Noisy answers by the name of the workload's block; see `Noisy` for the draw that counts.

    Privacy:
        Post-processing of the transcript.
    """
    blocks = plan.problem.workload.blocks
    ends = list(accumulate(block.rows for block in blocks))
    single = any(phase.single for phase in plan.named("selection"))
    counting = _Counting.of(plan)
    found: dict[str, Noisy] = {}
    for finished in transcript.rounds:
        if finished.measurement is None:
            continue
        parts = [(block, slice(0, block.rows)) for block in finished.measurement.blocks]
        if single and finished.choice is not None:
            position = bisect_right(ends, finished.choice)
            block, row = blocks[position], finished.choice - (ends[position] - blocks[position].rows)
            whole = finished.measurement.blocks[0].rows == block.rows
            parts = [(block, slice(0, block.rows) if whole else slice(row, row + 1))]
        for place, (block, rows) in enumerate(parts):
            share = counting.share(block.name, rows.start, selected=finished.choice is not None)
            if share is not None:
                kept, measured = found.get(block.name), finished.measurement
                scale = float(measured.blocks[place].scale)
                margin = measured.law.tail(BETA * share) * scale if share else np.nan
                if kept and counting.staged and finished.choice is not None and (kept.margin[rows] < margin).any():
                    continue  # an earlier draw has a narrower interval
                values = np.multiply(measured.values[place], scale)
                drawn = Noisy.drawn(values, measured.law.deviation * scale, margin)
                whole = rows.stop - rows.start == block.rows
                found[block.name] = drawn if whole else (kept or Noisy.absent(block.rows)).with_row(rows.start, drawn)
    return found


class _Counting(Struct, frozen=True, kw_only=True):
    """Which draws count, by the table of `Noisy`. staged: whether every choice is a stage's. drawn: how many draws with
    a share each query had so far; chosen: how many draws of stages, in addition."""

    searching: bool
    staged: bool
    opened: frozenset[str]
    drawn: Counter[tuple[str, int]] = field(default_factory=Counter)
    chosen: Counter[tuple[str, int]] = field(default_factory=Counter)

    @classmethod
    def of(cls, plan: Plan) -> _Counting:
        opened = frozenset(block.name for blocks in plan.opening for block in blocks)
        staged = plan.stop is not None and bool(plan.stop.stages)
        return cls(searching=plan.phase("search") is not None, staged=staged, opened=opened)

    def share(self, name: str, row: int, *, selected: bool) -> float | None:
        """The share of the next draw of a query; 0: it has no interval; None: an earlier one counts."""
        before = self.drawn[name, row]
        if self.staged and selected:
            self.chosen[name, row] += 1
            number = self.chosen[name, row]
            return STAGED / (number * (number + 1))
        if self.searching and selected:
            return None if before else 0.0
        shares = SHARES if self.searching and name in self.opened else (1.0,)
        self.drawn[name, row] += 1
        return shares[before] if before < len(shares) else None


def unbiased_answers(
    block: QueryBlock, hypothesis: Hypothesis, estimate: FloatArray, history: Sequence[Measurement]
) -> Noisy | None:
    """Estimates that are right on average, with a known spread, are the measured answers themselves.

    Such an estimate is a sum of c_i times the draws of one measurement and its deviation |c|_2 times theirs, so
    the law's bound on weighted sums gives the margin; the widest one of all laws that were drawn from serves for all.

    Args:
        estimate: the hypothesis' answers, in records, shape (block.rows,).
        history: all measurements.

    Returns:
        None for a hypothesis that is biased, or whose answers have no known spread.
    """
    deviations = hypothesis.deviations(block) if isinstance(hypothesis, Unbiased) else None
    if deviations is None:
        return None
    scaled = deviations * float(block.scale)
    # How many deviations of a weighted sum its margin takes; 0 where the noise is nothing.
    laws = [one.law for one in history]
    tails = [law.weighted_tail(BETA) / law.deviation if law.deviation > 0 else 0.0 for law in laws]
    widest = max(tails, default=np.nan)
    return Noisy(values=estimate, deviation=scaled, margin=scaled * widest)


def _outward(bounds: FloatArray, away: float) -> FloatArray:
    """Multiples of a power of two, as all bounds on counts are, came about exactly; others move by one rounding."""
    parts = bounds * EXACT
    return np.where(parts == np.round(parts), bounds, np.nextafter(bounds, away))


# Assembled: unbiased answers of pairs whose parts were measured apart, as sums of these parts.


class _Part(Struct, frozen=True, kw_only=True, eq=False):
    """What one draw adds to every cell. values: records. norms: of the draw's weights in a cell. law: None: public."""

    values: FloatArray
    norms: FloatArray
    law: NoiseLaw | None


def assembled_answers(plan: Plan, transcript: Transcript) -> dict[str, Noisy]:
    """By the block's name, for pairs whose interaction was measured last: its cells, those of both columns' contrasts
    and the total, each spread evenly over what it does not ask.

    Theorem. values +- margin misses the true answer with probability at most 1 - LEVEL, for every single query.
    Proof. The last measurements are a fixed list once the search has ended, so which draws are summed, with which
    weights c, is decided before their noise is drawn. Each draw's part is within |c|_2 times its law's bound on
    weighted sums. At the level BETA over their number, all parts are, and bounds add up. Discrete Gaussian parts have
    moment generating functions below those of normal ones, which multiply: then squares of the bounds add up, each at
    the level BETA.

    Privacy:
        Post-processing of the transcript.
    """
    if plan.problem.unit.tables_apart:  # the parts are of tables that count different rows
        return {}
    drawn = [one.measurement for one in transcript.rounds if one.choice is None and one.measurement is not None]
    parts = {one.blocks[0].axes: one for one in drawn if not one.blocks[0].factors or is_interaction(one.blocks[0])}
    found = {}
    for block in plan.problem.workload.blocks:
        if block.is_marginal and len(block.axes) == 2 and block.axes in parts:
            held = _parts(block, parts, plan.problem.n if plan.problem.unit.rows_public else None)
            if held is not None:
                noisy = [(part.norms, part.law) for part in held if part.law is not None]
                squares = sum((norms * law.deviation) ** 2 for norms, law in noisy)
                values = sum(part.values for part in held)
                found[block.name] = Noisy(
                    values=np.ravel(values), deviation=np.sqrt(np.ravel(squares)), margin=np.ravel(_margin(noisy))
                )
    return found


def _parts(block: QueryBlock, parts: dict[tuple[int, ...], Measurement], records: int | None) -> list[_Part] | None:
    """Of one pair; None where one of them was lost."""
    first, second = block.axes
    rows, columns = (factor.matrix.cells for factor in block.factors)
    needed = [(first, second), (first,), (second,), *([()] if records is None else [])]
    if any(axes not in parts for axes in needed):
        return None
    both, one, other = (_part(parts[axes]) for axes in needed[:3])
    spread = [
        both,
        _Part(values=one.values[:, None] / columns, norms=one.norms[:, None] / columns, law=one.law),
        _Part(values=other.values / rows, norms=other.norms / rows, law=other.law),
    ]
    even = np.full((1, 1), 1.0 / (rows * columns))
    if records is not None:
        return [*spread, _Part(values=records * even, norms=0.0 * even, law=None)]
    total = parts[()]
    return [*spread, _Part(values=float(total.values[0][0]) * even, norms=even, law=total.law)]


def _part(measured: Measurement) -> _Part:
    """The cells of an interaction."""
    block, norms = measured.blocks[0], np.ones(())
    for factor in block.factors:
        assert isinstance(factor.matrix, Contrasts)
        weights = factor.matrix.coefficients / factor.matrix.squares[:, None]
        norms = np.multiply.outer(norms, np.sqrt((weights**2).sum(axis=0)))
    values = interaction_cells(block, measured.values[0].astype(np.float64))
    return _Part(values=values, norms=norms, law=measured.law)


def _margin(noisy: Sequence[tuple[FloatArray, NoiseLaw]]) -> FloatArray:
    if all(isinstance(law, DiscreteGaussian) for _, law in noisy):
        return np.sqrt(sum((norms * law.weighted_tail(BETA)) ** 2 for norms, law in noisy))
    bounds = [norms * law.weighted_tail(BETA / len(noisy)) for norms, law in noisy]
    return np.asarray(sum(bounds))


# Summed: unbiased answers of blocks that nobody measured, as sums of the cells of a wider table that was measured.

FIXED: frozenset[Noun] = frozenset({"opening", "left out", "persons", "errors", "bounds"})
"""Phases of plans that fix all measurements before any noise."""


def _fixed(plan: Plan, history: Sequence[Measurement]) -> bool:
    """Whether every measured table was decided before its own noise: by the plan, or by one count of the records."""
    counted = plan.named("stage") and len(history) == len(plan.opening) + 1
    return bool(counted) or {phase.noun for phase in plan.phases} <= FIXED


def summed_answers(plan: Plan, history: Sequence[Measurement]) -> dict[str, Noisy]:
    """By the block's name, where the plan fixes all that is measured, and a marginal over its attributes is among that.

    Theorem. values +- margin misses the true answer with probability at most 1 - LEVEL, for every single query.
    Proof. Before its noise it is decided which table is summed: the smallest one of a plan that chooses none; or the
    one that was measured after a count of the records, whose noise is independent of the table's. A query
    with integer coefficients c over its cells is off by S = sum of c_i draw_i, an integer, so a bound b on |S| may be
    cut to floor(b). The law bounds |S| by `weighted_tail` |c|_2; where all c_i are -1, 0 or 1, also by the `sum_tail`
    of |c|_2^2 draws, their number, or more draws. Which of the two is smaller is public.

    Privacy:
        Post-processing of the measurements.
    """
    if not _fixed(plan, history):
        return {}
    found: dict[str, Noisy] = {}
    tables = _by_column(history)
    for block in plan.problem.workload.blocks:
        source = _source(plan, block, tables)
        if source is not None:
            found[block.name] = _sum_of_cells(block, *source)
    return found


def summed_tests(plan: Plan, history: Sequence[Measurement], block: QueryBlock) -> tuple[FloatArray, float] | None:
    """Deviations of a block's answers as sums of a measured table's cells, in records, shape (rows,), and how many of
    its deviations a draw stays within at LEVEL; None where no table holds the block."""
    source = _source(plan, block, _by_column(history)) if _fixed(plan, history) else None
    if source is None:
        return None
    law = source[0].law
    factor = law.tail(BETA) / law.deviation if law.deviation > 0.0 else 0.0
    return _sum_of_cells(block, *source).deviation, factor


def narrower(noisy: Noisy, other: FloatArray) -> Noisy:
    """Without the margins that are wider than others, which are NaN where there are none.

    What is left out is never missed. So, over the noise of the run, an interval is shown and misses with probability at
    most 1 - LEVEL, as before, whatever decides which ones are shown.
    """
    return replace(noisy, margin=np.where(noisy.margin > other, np.nan, noisy.margin))


def is_own_table(plan: Plan, block: QueryBlock, other: QueryBlock) -> bool:
    """Whether answers to `block` are sums over the table of `other`, which may count other rows than a wider one does
    (`PrivacyUnit.tables_apart`)."""
    if plan.problem.unit.tables_apart:
        return set(block.axes) == set(other.axes)
    return set(block.axes) <= set(other.axes)


def is_answered_alone(plan: Plan, block: QueryBlock, measured: Collection[frozenset[int]]) -> bool:
    """Whether least squares answers a block from its own table: no table of fewer or more columns was measured beside
    it that counts other rows. measured: the columns of all tables that were."""
    own = frozenset(block.axes)
    return not plan.problem.unit.tables_apart or (
        own in measured and not any(other < own or other > own for other in measured)
    )


Tables = Mapping[int | None, Sequence[tuple[Measurement, int]]]
"""Measured marginals and their places in their measurements, smallest first: by each of their columns, and all of them
(None). Among a thousand columns few tables hold a given one."""


def _by_column(history: Sequence[Measurement]) -> Tables:
    held: dict[int | None, list[tuple[Measurement, int]]] = {None: []}
    every = [(measurement, place) for measurement in history for place in range(len(measurement.blocks))]
    for measurement, place in sorted(every, key=lambda one: one[0].blocks[one[1]].rows):
        block = measurement.blocks[place]
        if block.is_marginal and block.scale == 1:
            for axis in (None, *block.axes):
                held.setdefault(axis, []).append((measurement, place))
    return held


def _source(plan: Plan, block: QueryBlock, tables: Tables) -> tuple[Measurement, int] | None:
    """The measurement of the smallest marginal over all of a block's attributes, and its place in it."""
    near = min((tables.get(axis, ()) for axis in block.axes), key=len, default=tables[None])
    return next((one for one in near if is_own_table(plan, block, one[0].blocks[one[1]])), None)


def _sum_of_cells(block: QueryBlock, measurement: Measurement, place: int) -> Noisy:
    source, law, scale = measurement.blocks[place], measurement.law, float(block.scale)
    squares = squared_norms(block) * (source.cells // block.cells)
    # Bounds on |S|, for squared norms of c; a smaller one where all of c are -1, 0 or 1.
    bounds: FloatArray = np.sqrt(squares) * law.weighted_tail(BETA)
    if block.largest_coefficient <= 1:
        bounds = np.minimum(bounds, law.sum_tail(math.ceil(squares.max()), BETA))
    return Noisy(
        values=answers_from(block, source, measurement.values[place]) * scale,
        deviation=np.sqrt(squares) * (law.deviation * scale),
        margin=np.floor(bounds) * scale,
    )
