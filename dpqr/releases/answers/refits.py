"""Refits: by how much the released answers would be off, had the release's own rows been the table.

A parametric bootstrap. The same blocks are measured again, with new public noise of the same laws, around the counts of
the release's synthetic rows; the update rule refits; its answers are compared with those counts. What a search left out
has left no trace in the rows: `dpqr.releases.answers.errors` scales the errors of unmeasured blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.arrays import Axes, FloatArray, IntArray, freeze
from dpqr.kernel.noise.public import public_draws, public_normals, public_uniforms
from dpqr.kernel.plugins import is_builtin
from dpqr.models.compound import ProductDistribution
from dpqr.models.fit.buckets import BoxCounts, BucketCounts, draws_of, uneven_cells
from dpqr.models.fit.evidence import EarlierTables, gather
from dpqr.models.fit.local_fits import put_together
from dpqr.models.hypothesis import GroupEstimate, Hypothesis, LinearEstimate, Sampleable, prepare
from dpqr.releases.consistent import averaged
from dpqr.releases.loop import Outcome
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.ordered import box_counts
from dpqr.strategies.updates.least_squares import bucket_counts
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.trees import Tree
from dpqr.workload.workload import Measurement, round_answers


@dataclass(frozen=True, slots=True, kw_only=True)
class RefitTuning:
    """Set by `python tests/benchmarks/error_bars.py`; figures: tests/benchmarks/RESULTS.md."""

    most: int = 3  # refits
    linear: int = 12  # the same, where columns have histograms of their own: `ordered_bars.py`
    fewest: int = 1  # refits of a large workload: many answers of a size make up for few refits
    work: int = 3 * 2**18  # answers that all refits give and measure together, about
    block: int = 100  # answers that take as long as the least block
    own: int = 2  # refits from which an answer's own error is looked at beside that of its size
    doubt: float = 2.0  # deviations by which residuals exceed the refits' before that counts
    rows: int = 2**18  # synthetic rows, at most; more records are hardly rougher than the hypothesis


TUNING = RefitTuning()
LARGEST = 2**61
"""Of an answer, in its grid."""

AnswerBlock = Callable[[QueryBlock], FloatArray]
"""Answers to a block, in units of its grid, shape (rows,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RefitError:
    """Of one block, in records (or the summed column's unit).

    each: root mean square error of every answer, shape (rows,): that of the block's answers of similar size, raised
    where they are few; where there are enough refits, its own if that is larger. total: mean L1 error of the block.
    """

    each: FloatArray
    total: float


def can_refit(plan: Plan) -> str | None:
    """Why the errors of a plan's answers cannot be estimated by refits; None: they can. Public."""
    rule = plan.roles.update
    if not is_builtin(rule):
        return f"update rule {rule.name!r} is a third party's"
    if plan.problem.level is not None or not rule.cumulative:
        return "the update rule follows the measurements one by one, so a refit would take as long as the run"
    return None


def refit_errors(
    plan: Plan,
    outcome: Outcome,
    shown: Hypothesis,
    beside: Sequence[QueryBlock] = (),
    *,
    asked: Sequence[QueryBlock] | None = None,
    most: int = TUNING.most,
) -> Mapping[str, RefitError]:
    """Errors of all answers of a plan that `can_refit`, by the block's name.

    Args:
        outcome: of the run.
        shown: its hypothesis, as it is released.
        beside: blocks that nobody asked for, whose errors figures need.
        asked: other blocks than the workload's, to be answered in place of them.
        most: refits.

    Privacy:
        Post-processing, with public randomness: of the plan's seed, and of the numbers after it, one a measurement.
    """
    asked = plan.problem.workload.blocks if asked is None else asked
    blocks, history = (*asked, *beside), outcome.transcript.measurements
    if not history:
        return {}
    count, alike = refit_count(asked, history, most_refits(shown, most)), _has_histograms(shown)
    counted, merged = _stand_in(shown, plan.problem, blocks), merged_groups(shown, history)
    measured, draws = MeasuredBlocks.of(history), len(history) + (plan.problem.start is not None) + 2 * len(merged)
    found = {block.name: _BlockErrors.of(block, counted(block), measured.place(block)) for block in blocks}
    for number in range(count):
        seed = plan.problem.seed + 1 + number * draws
        if merged:
            counted = _stand_in(spread_unevenly(shown, merged, seed + draws - 2 * len(merged)), plan.problem, blocks)
        # The same blocks, with new noise of the same laws, rounded. The seeds from this one on, one a measurement.
        again = [_drawn(one, counted, seed + place) for place, one in enumerate(history)]
        started = replace(plan, problem=replace(plan.problem, start=_drawn_start(plan, history, shown, counted, seed)))
        # Potentials are a warm start that changes no answer; other rules start anew.
        rule, problem = started.roles.update, started.problem
        first = outcome.hypothesis if hasattr(outcome.hypothesis, "potentials") else rule.start(problem)
        refitted: Hypothesis | None = rule.update(problem, first, again)
        if refitted is not None:
            refitted = averaged(rule, problem, refitted, again, like=outcome.hypothesis)
        refitted = outcome.hypothesis if refitted is None else refitted
        prepare(refitted, blocks)
        for block in blocks:
            found[block.name].add(refitted.answer(block), counted(block), again)
    return {block.name: found[block.name].error(shown.answer(block), history, count, alike) for block in blocks}


@dataclass(slots=True, kw_only=True, eq=False)
class _BlockErrors:
    """What all refits show of one block, in units of its grid.

    counts: shape (rows,). place: of the measurement that answers it without the hypothesis. squares: summed over the
    refits, shape (rows,). total: summed L1 errors. residual: summed mean squares of what was measured less the answers.
    """

    block: QueryBlock
    counts: FloatArray
    place: tuple[int, int] | None
    squares: FloatArray
    total: float = 0.0
    residual: float = 0.0

    @classmethod
    def of(cls, block: QueryBlock, counts: FloatArray, place: tuple[int, int] | None) -> _BlockErrors:
        return cls(block=block, counts=counts, place=place, squares=np.zeros(block.rows))

    def add(self, answers: FloatArray, truth: FloatArray, history: Sequence[Measurement]) -> None:
        """One refit, what it should have answered, and the measurements that it was fitted to."""
        off = answers - truth
        self.squares += off * off
        self.total += float(np.abs(off).sum())
        self.residual += self._residual(answers, history)

    def error(self, answers: FloatArray, history: Sequence[Measurement], refits: int, alike: bool) -> RefitError:
        """Of the released answers, from those to the refits. alike: answers of one refit err together, where the block
        itself was not measured.

        Where the released answers are further from what was measured than refits are, they miss something that the
        release's own rows do not show: the mean square error is larger by the difference of the two mean squares.
        """
        squares, doubt = self.squares / refits, TUNING.doubt * (2.0 / self.block.rows) ** 0.5
        more = max(0.0, self._residual(answers, history) - self.residual / refits * (1.0 + doubt))
        mean, scale = float(squares.mean()), float(self.block.scale)
        times = (1.0 + more / mean) ** 0.5 if mean > 0.0 else 1.0
        together = alike and self.place is None
        each = _larger(squares, self.counts, refits, together) if mean > 0.0 else np.full(squares.shape, more**0.5)
        return RefitError(each=each * (times * scale), total=self.total / refits * times * scale)

    def _residual(self, answers: FloatArray, history: Sequence[Measurement]) -> float:
        if self.place is None:
            return 0.0
        one, index = history[self.place[0]], self.place[1]
        return float(np.mean((answers_from(self.block, one.blocks[index], one.values[index]) - answers) ** 2))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredBlocks:
    """Every measured block as (number of its measurement, less its place in it), by name; and marginals, with their
    attributes, by each of these and, under None, all."""

    named: Mapping[str, tuple[int, int]]
    marginals: Mapping[int | None, Sequence[tuple[tuple[int, int], Axes]]]

    @classmethod
    def of(cls, history: Sequence[Measurement]) -> MeasuredBlocks:
        named: dict[str, tuple[int, int]] = {}
        marginals: dict[int | None, list[tuple[tuple[int, int], Axes]]] = {}
        for number, measured in enumerate(history):
            for place, one in enumerate(measured.blocks):
                named[one.name] = max(named.get(one.name, (number, -place)), (number, -place))
                for axis in (None, *one.axes) if one.is_marginal else ():
                    marginals.setdefault(axis, []).append(((number, -place), one.axes))
        return cls(named=named, marginals=marginals)

    def place(self, block: QueryBlock) -> tuple[int, int] | None:
        """The last measurement, and the place in it, of a block of this name or of a marginal over all its
        attributes."""
        wide = min((self.marginals.get(axis, ()) for axis in (None, *block.axes)), key=len)
        found = [key for key, axes in wide if set(axes).issuperset(block.axes)]
        last = max([*found, *([self.named[block.name]] if block.name in self.named else [])], default=None)
        return None if last is None else (last[0], -last[1])


def answers_from(block: QueryBlock, source: QueryBlock, values: IntArray) -> FloatArray:
    """A block's answers, in its grid, from what was measured of itself, or of a marginal over its attributes."""
    if source.name == block.name:
        return values.astype(np.float64)
    sizes = [size for factor in source.factors for size in factor.sizes]
    answers: FloatArray = block.answer(GroupEstimate(axes=source.axes, cells=values.reshape(sizes).astype(np.float64)))
    return answers


def most_refits(shown: Hypothesis, most: int = TUNING.most) -> int:
    """As many as that, or as are quickly made where columns have histograms of their own."""
    return max(most, TUNING.linear) if _has_histograms(shown) else most


def _has_histograms(shown: Hypothesis) -> bool:
    return isinstance(shown, LinearEstimate | ProductDistribution)


def refit_count(blocks: Sequence[QueryBlock], history: Sequence[Measurement], most: int = TUNING.most) -> int:
    """How many refits, from public sizes."""
    work = sum(block.rows + TUNING.block for block in blocks)
    work += sum(block.rows + TUNING.block for one in history for block in one.blocks)
    return max(TUNING.fewest, min(most, TUNING.work // work))


def _stand_in(hypothesis: Hypothesis, problem: Problem, blocks: Sequence[QueryBlock]) -> AnswerBlock:
    """The counts that take the table's place: of synthetic rows, else of the hypothesis itself."""
    if not isinstance(hypothesis, Sampleable) or hypothesis.total > TUNING.rows:
        return hypothesis.answer
    codes = hypothesis.rows(max(0, round(hypothesis.total)), problem.seed)
    table = SparseHistogram(problem.domain.shape, codes, np.ones(len(codes), dtype=np.int64))
    table.prefetch([block.axes for block in blocks])
    return lambda block: block.answer(table).astype(np.float64)


def _drawn(measured: Measurement, counted: AnswerBlock, seed: int) -> Measurement:
    ends = np.cumsum([block.rows for block in measured.blocks])
    parts = np.split(public_draws(measured.law, seed, int(ends[-1])), ends[:-1])
    pairs = zip(measured.blocks, parts, strict=True)
    values = tuple(round_answers(counted(block) + part, LARGEST) for block, part in pairs)
    return Measurement(blocks=measured.blocks, values=values, law=measured.law)


def _drawn_start(
    plan: Plan, history: Sequence[Measurement], shown: Hypothesis, counted: AnswerBlock, seed: int
) -> EarlierTables | None:
    """The tables of the earlier release, if change and noise had moved them away from these counts by chance. The seed
    after those of the measurements."""
    start, shape = plan.problem.start, plan.problem.domain.shape
    if start is None:
        return None
    total = max(shown.total, 1.0)
    weak = start.aged(put_together(gather(history, shape), total), total)
    parts = np.split(
        public_normals(seed + len(history), sum(each.values.size for each in weak)),
        np.cumsum([each.values.size for each in weak])[:-1],
    )
    drawn = []
    for each, part in zip(weak, parts, strict=True):
        block = QueryBlock(name="", factors=tuple(Factor.identity(axis, shape[axis]) for axis in each.axes))
        values = (counted(block) + part * each.deviation).reshape(each.values.shape)
        drawn.append(replace(each, values=values))
    return EarlierTables(sha256=start.sha256, records=total, tables=tuple(drawn))


def _larger(squares: FloatArray, counts: FloatArray, refits: int, alike: bool) -> FloatArray:
    """The root of the larger of each answer's own mean square, and the mean of those of its size, by powers of two.

    The mean over few squares is itself uncertain, so it is raised as a normal interval of estimated deviation is
    (Student 1908), with as many degrees of freedom as squares; as refits, where answers err together, as prefixes do.
    """
    sizes = np.log2(1.0 + np.abs(counts)).astype(np.int64)
    cells = np.bincount(sizes)
    freedom = np.full(cells.shape, refits) if alike else np.maximum(cells, 1) * refits
    means = np.bincount(sizes, squares) / np.maximum(cells, 1) * _student(freedom) ** 2
    found: FloatArray = np.sqrt(np.maximum(squares, means[sizes]) if refits >= TUNING.own else means[sizes])
    return found


def _student(freedom: IntArray) -> FloatArray:
    """Student's quantile .975 over the normal one, for these degrees of freedom; two terms of its expansion.

    >>> _student(np.array([4, 1000])).round(2).tolist()
    [1.39, 1.0]
    """
    found: FloatArray = 1.0 + 1.21 / freedom + 1.44 / freedom**2
    return found


# Uneven: the released hypothesis with cells that its buckets may hide, in place of cells that are alike.

Buckets = dict[Axes, tuple[tuple[int, ...], BucketCounts, BoxCounts | None]]
"""By their attributes: sizes, counts of the buckets, and those of the boxes that chose them."""


def merged_groups(hypothesis: Hypothesis, history: Sequence[Measurement]) -> Buckets:
    """The groups of attributes whose cells were merged, and not measured one by one after that.

    Privacy:
        Post-processing of released values.
    """
    groups: tuple[GroupEstimate, ...] = ()
    if isinstance(hypothesis, LinearEstimate):
        groups = hypothesis.groups
    elif isinstance(hypothesis, ProductDistribution):
        groups = tuple(GroupEstimate(axes=(axis,), cells=cells) for axis, cells in hypothesis.apart.items())
    found: Buckets = {}
    for group in groups:
        held = [
            one for one in history if all(block.axes and set(block.axes) <= set(group.axes) for block in one.blocks)
        ]
        totals = [one for one in history if not any(block.axes for block in one.blocks)]
        known = bucket_counts(group, [*totals, *held]) if held else None
        if known is not None:
            # Counts of boxes: of the measurement before the last one, which is of the buckets; of a single one, its
            # own.
            chosen = held[max(len(held) - 2, 0)]
            matrix = chosen.blocks[0].factors[0].matrix
            boxed = isinstance(matrix, BucketMatrix) and isinstance(matrix.inner, Tree)
            shape = group.cells.shape
            found[group.axes] = (shape, known, box_counts(chosen, shape) if boxed else None)
    return found


def spread_unevenly(hypothesis: Hypothesis, merged: Buckets, seed: int) -> Hypothesis:
    """The hypothesis, with the cells of merged groups drawn from what is known of them (`uneven_cells`).

    Privacy:
        Post-processing, with public randomness: of two seeds, this one and the next, for every group of attributes.
    """
    drawn = {
        axes: freeze(
            uneven_cells(
                shape,
                known,
                boxes,
                public_uniforms(seed + 2 * place, draws_of(shape)),
                public_normals(seed + 2 * place + 1, draws_of(shape)),
            )
        )
        for place, (axes, (shape, known, boxes)) in enumerate(merged.items())
    }
    if isinstance(hypothesis, LinearEstimate):
        groups = (replace(one, cells=drawn.get(one.axes, one.cells)) for one in hypothesis.groups)
        return LinearEstimate(groups=tuple(groups))
    if isinstance(hypothesis, ProductDistribution):
        return replace(hypothesis, apart={axis: _shares(drawn.get((axis,)), p) for axis, p in hypothesis.apart.items()})
    return hypothesis


def _shares(cells: FloatArray | None, before: FloatArray) -> FloatArray:
    """Of the records in each cell; `before` where none were drawn."""
    records = 0.0 if cells is None else float(cells.sum())
    return before if cells is None or records <= 0.0 else freeze(cells / records)


# Hidden: by how much buckets of merged cells may hide the true answer of a linear function.

MOST_COEFFICIENTS = 2**24
"""Of all rows over all cells; of more nothing is said."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketMargins:
    """How far below and above its answer from the buckets' counts a row may truly be, in units of the block's scale,
    shape (rows,).

    >>> BucketMargins(below=np.array([0.5]), above=np.array([2.0])).most.tolist()
    [2.0]
    """

    below: FloatArray
    above: FloatArray

    @property
    def most(self) -> FloatArray:
        return np.maximum(self.below, self.above)


def bucket_margins(block: QueryBlock, hypothesis: Hypothesis, history: Sequence[Measurement]) -> BucketMargins | None:
    """What the last buckets of the block's columns hide; None where no cells were merged.

    The records of a bucket may all lie in the cell where a row counts most, or least, and the answer counts them by the
    bucket's mean. The counts of the buckets are the estimate's. Infinite where that is too much to work out.

    Privacy:
        Post-processing of released values.
    """
    # The last measured block of buckets over all of a block's columns.
    held = [
        one
        for measured in history
        for one in measured.blocks
        if len(one.factors) == 1
        and isinstance(one.factors[0].matrix, BucketMatrix)
        and set(block.axes) <= set(one.axes)
    ]
    source = held[-1] if held else None
    if source is None:
        return None
    merged = source.factors[0].matrix
    assert isinstance(merged, BucketMatrix), "a bucketed block has one merged factor"
    if block.rows * merged.cells > MOST_COEFFICIENTS:
        endless = np.full(block.rows, np.inf)
        return BucketMargins(below=endless, above=endless)
    order = np.argsort(merged.buckets, kind="stable")
    starts = np.flatnonzero(np.diff(merged.buckets[order], prepend=-1))
    sizes = np.diff(starts, append=merged.cells)
    all_sizes = source.factors[0].sizes
    factors = tuple(Factor.identity(axis, size) for axis, size in zip(source.axes, all_sizes, strict=True))
    cells = np.asarray(hypothesis.answer(QueryBlock(name=source.name, factors=factors)), dtype=np.float64)
    counts = np.maximum(np.add.reduceat(cells[order], starts), 0.0)
    below, above = np.empty(block.rows), np.empty(block.rows)
    shape = [size for factor in block.factors for size in factor.sizes]
    turn = [block.axes.index(axis) for axis in source.axes if axis in block.axes]
    spread = [size if axis in block.axes else 1 for axis, size in zip(source.axes, all_sizes, strict=True)]
    for row, coefficients in enumerate(block.coefficients()):
        # A row's coefficients over all cells of the buckets' columns.
        turned = coefficients.reshape(shape).transpose(turn).reshape(spread)
        own = np.broadcast_to(turned, all_sizes).reshape(-1).astype(np.float64)[order]
        mean = np.add.reduceat(own, starts) / sizes
        below[row] = counts @ (mean - np.minimum.reduceat(own, starts))
        above[row] = counts @ (np.maximum.reduceat(own, starts) - mean)
    scale = float(block.scale)
    return BucketMargins(below=below * scale, above=above * scale)
