"""Refits: by how much the released answers would be off, had the release's own rows been the table.

A parametric bootstrap. The same blocks are measured again, with new public noise of the same laws, around the counts of
the release's synthetic rows; the update rule refits; its answers are compared with those counts. An answer's mean
square error is that of the refits' answers of its size in the same block, which borrows from the other blocks of its
kind where it has few. It is scaled by what the refits do not show:

| block      | its errors are larger by                                                                         |
|------------|--------------------------------------------------------------------------------------------------|
| measured   | what its answers are further from what was measured than those of refits are (a covariance       |
|            | penalty: on average what residuals that no fit has seen would show, with less noise), first for  |
|            | answers of each size in all blocks of its kind, by the likelihood of all residuals under the     |
|            | law of the noise (`_larger_by_size`), then for the block                                         |
| unmeasured | what was bought or selected shows of it (`dpqr.releases.answers.errors`)                         |

That of a block is a noisy ratio, shrunk towards those of its kind (`shrunk_ratios`).

References:
    Efron 2004, The estimation of prediction error: covariance penalties and cross-validation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Packing, SparseHistogram
from dpqr.kernel.arrays import Axes, FloatArray, IntArray, freeze
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.public import public_draws, public_normals, public_uniforms
from dpqr.kernel.plugins import is_builtin
from dpqr.kernel.values import replace
from dpqr.models.compound import ProductDistribution
from dpqr.models.fit.buckets import BoxCounts, BucketCounts, draws_of, uneven_cells
from dpqr.models.fit.evidence import EarlierTables, gather
from dpqr.models.fit.local_fits import put_together
from dpqr.models.hypothesis import GroupEstimate, Hypothesis, LinearEstimate, Sampleable, prepare
from dpqr.releases.answers.margins import MarginNoise
from dpqr.releases.consistent import averaged
from dpqr.releases.loop import Outcome
from dpqr.strategies.plan import TINY, Plan
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.ordered import box_counts
from dpqr.strategies.updates.least_squares import bucket_counts
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import IntMatrix
from dpqr.workload.partition import Bisection, BucketMatrix
from dpqr.workload.strategy_matrices import squared_norms
from dpqr.workload.trees import Tree
from dpqr.workload.workload import Measurement, round_answers


class RefitTuning(Struct, frozen=True, kw_only=True):
    """Set by `python tests/benchmarks/error_bars.py`; figures: tests/benchmarks/RESULTS.md."""

    most: int = 2  # refits
    linear: int = 12  # the same, where columns have histograms of their own: `ordered_bars.py`
    answers: int = 500  # of all refits together, which are enough where a model joins columns
    work: int = 3 * 2**18  # answers that all refits give and measure together, about
    block: int = 100  # answers that take as long as the least block
    own: int = 3  # refits from which an answer's own error is compared with that of its size
    shared: float = 8.0  # answers of its own size, as many as the other blocks of its kind count for
    rows: int = 2**16  # synthetic rows, at most
    deviations: float = 0.6  # posterior deviations that are added to the mean of a ratio
    prior: float = 0.8  # by how much the ratios of a release differ from 1, as far as nothing shows it
    unlike: float = 2.0  # by which the log-probability falls of each doubling of a ratio from one size to the next
    alike: float = 0.1  # least relative spread of the ratios of one kind


TUNING = RefitTuning()
LARGEST = 2**61
"""Of an answer, in its grid."""
SIZES = 64
"""Classes of answers by powers of two."""
LARGER = 2.0 ** np.arange(12)
"""Ratios of mean square errors to those by refits. Half of the prior is on 1, the others are alike likely."""

AnswerBlock = Callable[[QueryBlock], FloatArray]
"""Answers to a block, in units of its grid, shape (rows,)."""


class RefitError(Struct, frozen=True, kw_only=True, eq=False):
    """Of one block, in records (or the summed column's unit).

    each: root mean square error of every answer, shape (rows,): that of refits' answers of similar size, raised where
    they are few; where there are enough refits, its own if that is larger; never below what noise in the counts of its
    columns passes on (`margins`). total: mean L1 error of the block.
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
    answered: Sequence[QueryBlock] | None = None,
    most: int = TUNING.most,
) -> Mapping[str, RefitError]:
    """Errors of all answers of a plan that `can_refit`, by the block's name.

    Args:
        outcome: of the run.
        shown: its hypothesis, as it is released.
        beside: blocks that nobody asked for, whose errors figures need.
        answered: other blocks than the workload's, to be answered in place of them.
        most: refits.

    Privacy:
        Post-processing, with public randomness: of the plan's seed, and of the numbers after it, one a measurement.
    """
    answered = plan.problem.workload.blocks if answered is None else answered
    blocks, history = (*answered, *beside), outcome.transcript.measurements
    if not history:
        return {}
    count = refit_count(shown, answered, history, most)
    counted, merged = _stand_in(shown, plan.problem, blocks), merged_groups(shown, history)
    measured, draws = MeasuredBlocks.of(history), len(history) + (plan.problem.start is not None) + 2 * len(merged)
    found = {block.name: _BlockErrors.of(block, measured.place(block)) for block in blocks}
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
    margins = MarginNoise.of(history, plan.problem.domain.shape, shown.total)
    if plan.problem.n is not None or plan.problem.start is not None:  # the total is declared, or an earlier one's too
        margins = replace(margins, of_total=None)
    return _errors(list(found.values()), shown, history, margins, count)


class _BlockErrors(Struct, kw_only=True, eq=False):
    """What all refits show of one block, in units of its grid.

    place: of the measurement that answers it without the hypothesis. squares: summed over the refits, shape (rows,).
    cells: how many answers of refits are of each size, by_size: their summed squares, and residuals: the summed squares
    of what was measured less these answers, all of shape (SIZES,). total: summed L1 errors.
    """

    block: QueryBlock
    place: tuple[int, int] | None
    squares: FloatArray
    cells: FloatArray
    by_size: FloatArray
    residuals: FloatArray
    total: float = 0.0

    @classmethod
    def of(cls, block: QueryBlock, place: tuple[int, int] | None) -> _BlockErrors:
        cells, by_size, residuals = np.zeros((3, SIZES))
        return cls(
            block=block, place=place, squares=np.zeros(block.rows), cells=cells, by_size=by_size, residuals=residuals
        )

    def add(self, answers: FloatArray, truth: FloatArray, history: Sequence[Measurement]) -> None:
        """One refit, what it should have answered, and the measurements that it was fitted to."""
        off, sizes = answers - truth, size_classes(answers)
        self.squares += off * off
        self.cells += np.bincount(sizes, minlength=SIZES)
        self.by_size += np.bincount(sizes, off * off, minlength=SIZES)
        self.total += float(np.abs(off).sum())
        self.residuals += self.off_measured(answers, history)

    def off_measured(self, answers: FloatArray, history: Sequence[Measurement]) -> FloatArray:
        """The squares of what was measured less the answers, summed by size of these, shape (SIZES,); 0 where nothing
        was."""
        if self.place is None:
            return np.zeros(SIZES)
        off = self.measured(history) - answers
        return np.bincount(size_classes(answers), off * off, minlength=SIZES).astype(np.float64)

    def measured(self, history: Sequence[Measurement]) -> FloatArray:
        """What was measured, shape (rows,); something was."""
        assert self.place is not None, "the block was measured"
        one, index = history[self.place[0]], self.place[1]
        return answers_from(self.block, one.blocks[index], one.values[index])

    def is_laplace(self, history: Sequence[Measurement]) -> bool | None:
        """Whether the noise in what was measured is Laplace; None: that is sums of other answers, its noise about
        normal, or nothing was."""
        if self.place is None:
            return None
        measured, index = history[self.place[0]], self.place[1]
        return isinstance(measured.law, DiscreteLaplace) if measured.blocks[index].name == self.block.name else None

    def ratio(
        self, answers: FloatArray, squares: FloatArray, excess: float, history: Sequence[Measurement], refits: int
    ) -> Ratio:
        """Of the mean square error over `squares`, as what was measured shows it: both residuals differ by as much as
        both errors, on average. Residuals are taken to be distributed about as their noise.

        Args:
            answers: released.
            squares: their mean square errors, so far.
            excess: by how much these are larger than by refits, on average.
        """
        seen = float(self.off_measured(answers, history).sum()) / self.block.rows
        expected, mean = float(self.residuals.sum()) / self.block.rows / refits + excess, float(squares.mean())
        variance = 5.0 if self.is_laplace(history) else 2.0  # of squares, over their mean's
        noise = (variance / self.block.rows * (seen**2 + expected**2 / refits)) ** 0.5
        return Ratio(value=1.0 + (seen - expected) / mean, noise=noise / mean)


def _errors(
    found: Sequence[_BlockErrors],
    shown: Hypothesis,
    history: Sequence[Measurement],
    margins: MarginNoise,
    refits: int,
) -> dict[str, RefitError]:
    """Of the released answers, from those to the refits."""
    alike = _has_histograms(shown)
    kinds: dict[tuple[str, int], list[_BlockErrors]] = {}
    for one in found:  # marginals of as many attributes err alike; what other blocks ask differs
        kind = ("", len(one.block.axes)) if one.block.is_marginal else (one.block.name, 0)
        kinds.setdefault(kind, []).append(one)
    squares, ratios, parts = dict[str, FloatArray](), dict[str, Ratio](), dict[str, float]()
    for of_kind in kinds.values():
        cells, by_size = (np.sum([getattr(one, name) for one in of_kind], axis=0) for name in ("cells", "by_size"))
        few = float(cells.sum())
        cells, by_size = _with_neighbours(cells), _with_neighbours(by_size)
        means = (by_size / np.maximum(cells, 1.0))[_nearest(cells)]
        shown_answers = [np.asarray(shown.answer(one.block), dtype=np.float64) for one in of_kind]
        larger = np.ones(SIZES) if alike else _larger_by_size(of_kind, shown_answers, means, history)
        for one, answers in zip(of_kind, shown_answers, strict=True):
            # Answers of one refit err together, as prefixes do, where the block itself was not measured.
            together = alike and one.place is None
            known, spread = _with_neighbours(one.cells) + TUNING.shared, _of_size(one.by_size, one.cells, means)
            if few < TUNING.shared:  # too few to go by size, and no others make up for them
                known, spread = np.full(SIZES, few), np.full(SIZES, by_size.sum() / few)
            by_refits = spread
            if one.place is not None:
                spread = spread * larger
            excess = float((spread - by_refits)[size_classes(answers)].mean())
            spread = spread * _student(np.full(SIZES, refits) if together else known) ** 2
            # Between the middles of two sizes a mean of both.
            own = np.interp(np.log2(1.0 + np.abs(answers)) - 0.5, np.arange(SIZES), spread)
            deviations = float(one.cells @ np.sqrt(spread))
            parts[one.block.name] = one.total / deviations if deviations > 0.0 else 0.0
            if not alike:
                passed_on = margins.squares(one.block, answers, shown)
                if one.place is not None:  # and weighed against the noise of what was measured of the block
                    direct = _measured_squares(one.block, history[one.place[0]], one.place[1])
                    passed_on = passed_on * direct / np.maximum(passed_on + direct, TINY)
                own = np.maximum(own, passed_on)
            squares[one.block.name] = own
            if not one.block.axes and not alike and margins.of_total is not None:
                squares[one.block.name] = np.full(one.block.rows, margins.of_total)
                parts[one.block.name] = math.sqrt(2.0 / math.pi)  # mean over deviation of a normal error
            elif one.place is not None and own.mean() > 0.0:
                ratios[one.block.name] = one.ratio(answers, own, excess, history, refits)
    factors = dict(zip(ratios, shrunk_ratios([*ratios.values()]), strict=True))
    errors = {}
    for one in found:
        name, times = one.block.name, factors.get(one.block.name, 1.0) ** 0.5 * float(one.block.scale)
        each = np.maximum(squares[name], one.squares / refits) if refits >= TUNING.own else squares[name]
        total = float(np.sqrt(squares[name]).sum()) * parts[name]
        errors[name] = RefitError(each=np.sqrt(each) * times, total=total * times)
    return errors


def _of_size(sums: FloatArray, cells: FloatArray, means: FloatArray) -> FloatArray:
    """Means of a block's squares by size, shape (SIZES,), from their sums; where it has few cells, near `means`."""
    found: FloatArray = (_with_neighbours(sums) + TUNING.shared * means) / (_with_neighbours(cells) + TUNING.shared)
    return found


def _larger_by_size(
    of_kind: Sequence[_BlockErrors], shown: Sequence[FloatArray], means: FloatArray, history: Sequence[Measurement]
) -> FloatArray:
    """By how much the mean square errors of measured answers of each size are larger than those by refits, shape
    (SIZES,): what a model smooths away in many small cells it smooths away in refits around itself, too.

    A ratio r of `LARGER` adds (r - 1) e^2 to the variance of residuals, e^2 the mean square error by refits. Their
    likelihood is that of the noise's own law: beside the peak of Laplace noise errors of a fifth of its deviation show,
    which hardly change its variance. Ratios of neighbouring sizes are about alike (a Markov chain, Rabiner 1989), for
    of many sizes noise hides all but their neighbours' ratios. Posterior mean and a part of the deviation.

    Args:
        shown: the released answers of each block.
        means: mean square errors by refits, by size.
    """
    # Blocks whose answers' noise is independent, with their mean square residual in refits; and what these are by size,
    # in those of their block.
    known, sums, cells = list[tuple[_BlockErrors, FloatArray, float]](), np.zeros(SIZES), np.zeros(SIZES)
    for one, answers in zip(of_kind, shown, strict=True):
        residual = float(one.residuals.sum() / one.cells.sum())
        if residual > 0.0 and (one.block.is_marginal or one.is_laplace(history) is not None):
            known.append((one, answers, residual))
            sums += one.residuals / residual
            cells += one.cells
    if not known:
        return np.ones(SIZES)
    sums, cells = _with_neighbours(sums), _with_neighbours(cells)
    relative = np.divide(sums, cells, out=np.ones(SIZES), where=cells > 0.0)
    logs, seen = np.zeros((SIZES, len(LARGER))), np.zeros(SIZES)
    for one, answers, residual in known:
        sizes = size_classes(answers)
        counts = np.bincount(sizes, minlength=SIZES)
        seen += counts
        noise = np.maximum(_of_size(one.residuals, one.cells, residual * relative), 1e-9 * residual)
        missed = np.multiply.outer(_of_size(one.by_size, one.cells, means), LARGER - 1.0)
        if one.is_laplace(history):
            off = np.abs(one.measured(history) - answers)
            for place in range(len(LARGER)):
                each = _log_two_laplace(off, noise[sizes], missed[sizes, place])
                logs[:, place] += np.bincount(sizes, each, minlength=SIZES)
        else:
            spread = noise[:, None] + missed
            squares = one.off_measured(answers, history)
            logs -= 0.5 * (counts[:, None] * np.log(spread) + squares[:, None] / spread)
    posterior = _along_sizes(logs)
    found = posterior @ LARGER
    found += TUNING.deviations * np.sqrt(np.maximum(posterior @ LARGER**2 - found**2, 0.0))
    return found[_nearest(seen)]


def _nearest(counts: FloatArray) -> IntArray:
    """Of each size the nearest that has some answers, shape (SIZES,)."""
    some = np.flatnonzero(counts)
    nearest: IntArray = some[np.abs(np.arange(SIZES)[:, None] - some).argmin(axis=1)]
    return nearest


def _along_sizes(logs: FloatArray) -> FloatArray:
    """The posterior of each size's ratio, shape (sizes, ratios), from log-likelihoods of this shape: forwards and
    backwards along a Markov chain."""
    places = np.arange(len(LARGER))
    moves = np.exp(-TUNING.unlike * np.abs(np.subtract.outer(places, places)))
    moves /= moves.sum(axis=1, keepdims=True)
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    before = np.where(places == 0, 0.5, 0.5 / (len(places) - 1))
    after, found = np.ones(len(places)), np.empty_like(logs)
    for size, each in enumerate(likely):
        found[size] = before * each
        found[size] /= found[size].sum()
        before = found[size] @ moves
    for size in reversed(range(len(likely))):
        found[size] *= after
        found[size] /= found[size].sum()
        after = moves @ (likely[size] * after)
        after /= after.sum()
    return found


def _log_two_laplace(sizes: FloatArray, one: FloatArray, other: FloatArray) -> FloatArray:
    """Log-densities at +- `sizes` of sums of two Laplace variables, of variances `one`, positive, and `other`.

    >>> np.exp(_log_two_laplace(np.zeros(2), np.full(2, 2.0), np.array([0.0, 8.0]))).round(3).tolist()
    [0.5, 0.167]
    """
    scale = np.sqrt(one / 2.0)
    second = np.maximum(np.sqrt(other / 2.0), 1e-6 * scale)
    second = np.where(np.abs(second - scale) < 1e-3 * scale, 1.001 * scale, second)
    low, high = np.minimum(scale, second), np.maximum(scale, second)
    with np.errstate(under="ignore"):
        falling = high - low * np.exp(-sizes * (1.0 / low - 1.0 / high))
    logs: FloatArray = np.log(falling / (2.0 * (high**2 - low**2))) - sizes / high
    return logs


def size_classes(answers: FloatArray) -> IntArray:
    """Of answers, by powers of two.

    >>> size_classes(np.array([0.4, 1.0, -3.0, 1e300])).tolist()
    [0, 1, 2, 63]
    """
    return np.minimum(np.log2(1.0 + np.abs(answers)), SIZES - 1).astype(np.int64)


def _with_neighbours(sums: FloatArray) -> FloatArray:
    """With half of those of the next smaller and of the next larger size, shape (SIZES,): an error changes little from
    one size to the next, and few answers of one size show it badly."""
    return np.convolve(sums, [0.5, 1.0, 0.5], "same")


class Ratio(Struct, frozen=True, kw_only=True):
    """Of an error as something released shows it, over the error by refits. noise: its deviation."""

    value: float
    noise: float


def shrunk_ratios(ratios: Sequence[Ratio]) -> list[float]:
    """Every ratio's posterior mean and a part of its deviation, at least 1, under a normal law of all of them.

    The mean and the spread of that law are estimated from the ratios (empirical Bayes; Paule and Mandel 1982 for the
    spread, with which the squares that noise and spread explain are as many as the ratios, so that no precise one hides
    how far the others lie apart) and from one more, of 1 +- `TUNING.prior`: refits are about right where nothing shows
    anything.

    >>> [round(one, 1) for one in shrunk_ratios([Ratio(value=9.0, noise=0.1), Ratio(value=9.0, noise=100.0)])]
    [9.1, 8.0]
    """
    # Over errors of nearly 0, as of a model that has lost all records, a ratio may have a square beyond floats.
    values = np.clip([*(one.value for one in ratios), 1.0], -1e140, 1e140)
    noise = np.clip([*(one.noise for one in ratios), TUNING.prior], 1e-9, 1e140)
    spread = (TUNING.alike * max(float(np.average(values, weights=noise**-2.0)), 1.0)) ** 2
    for _ in range(30):  # Newton's steps from below: the squares are convex in the spread
        weights = 1.0 / (noise**2 + spread)
        mean = float(np.average(values, weights=weights))
        squares = weights * (values - mean) ** 2
        spread += max(0.0, float(squares.sum() - len(ratios)) / max(float(weights @ squares), TINY))
    kept = spread / (spread + noise**2)
    means = mean + kept * (values - mean)
    variances = kept * noise**2 + (1.0 - kept) ** 2 / weights.sum()
    found: list[float] = np.maximum(1.0, means + TUNING.deviations * np.sqrt(variances))[:-1].tolist()
    return found


class MeasuredBlocks(Struct, frozen=True, kw_only=True, eq=False):
    """Every measured block as (number of its measurement, less its place in it), by name; and marginals, with their
    attributes, by each of these, by each pair of them and, under (), all."""

    named: Mapping[str, tuple[int, int]]
    marginals: Mapping[Axes, Sequence[tuple[tuple[int, int], Axes]]]

    @classmethod
    def of(cls, history: Sequence[Measurement]) -> MeasuredBlocks:
        named: dict[str, tuple[int, int]] = {}
        marginals: dict[Axes, list[tuple[tuple[int, int], Axes]]] = {}
        for number, measured in enumerate(history):
            for place, one in enumerate(measured.blocks):
                named[one.name] = max(named.get(one.name, (number, -place)), (number, -place))
                for axes in _up_to_pairs(one.axes) if one.is_marginal else ():
                    marginals.setdefault(axes, []).append(((number, -place), one.axes))
        return cls(named=named, marginals=marginals)

    def place(self, block: QueryBlock) -> tuple[int, int] | None:
        """The last measurement, and the place in it, of a block of this name or of a marginal over all its
        attributes."""
        wide = min((self.marginals.get(axes, ()) for axes in _up_to_pairs(block.axes)), key=len)
        found = [key for key, axes in wide if set(axes).issuperset(block.axes)]
        last = max([*found, *([self.named[block.name]] if block.name in self.named else [])], default=None)
        return None if last is None else (last[0], -last[1])


def _up_to_pairs(axes: Axes) -> Iterator[Axes]:
    return chain.from_iterable(combinations(sorted(axes), ways) for ways in range(3))


def answers_from(block: QueryBlock, source: QueryBlock, values: IntArray) -> FloatArray:
    """A block's answers, in its grid, from what was measured of itself, or of a marginal over its attributes."""
    if source.name == block.name:
        return values.astype(np.float64)
    sizes = [size for factor in source.factors for size in factor.sizes]
    answers: FloatArray = block.answer(GroupEstimate(axes=source.axes, cells=values.reshape(sizes).astype(np.float64)))
    return answers


def _measured_squares(block: QueryBlock, measured: Measurement, place: int) -> FloatArray:
    """Of the noise of a block's answers by one measurement alone, of itself or of a marginal over its attributes, in
    squared units of its grid, shape (rows,)."""
    seen, variance = measured.blocks[place], measured.law.deviation**2
    if seen.name == block.name:
        return np.full(block.rows, variance)
    found: FloatArray = np.broadcast_to(variance * seen.cells / block.cells * squared_norms(block), block.rows)
    return found


def _has_histograms(shown: Hypothesis) -> bool:
    return isinstance(shown, LinearEstimate | ProductDistribution)


def refit_count(
    shown: Hypothesis, blocks: Sequence[QueryBlock], history: Sequence[Measurement], most: int = TUNING.most
) -> int:
    """How many refits of a release, from public sizes: at most `most`, more where columns have histograms of their own;
    fewer where one gives many answers, or takes long."""
    work = sum(block.rows + TUNING.block for block in blocks)
    work += sum(block.rows + TUNING.block for one in history for block in one.blocks)
    enough = math.ceil(TUNING.answers / max(1, sum(block.rows for block in blocks)))
    most = max(most, TUNING.linear) if _has_histograms(shown) else min(most, enough)
    return max(1, min(most, TUNING.work // work))


def _stand_in(hypothesis: Hypothesis, problem: Problem, blocks: Sequence[QueryBlock]) -> AnswerBlock:
    """The counts that take the table's place: of synthetic rows, else of the hypothesis itself.

    Of n records beyond R = `TUNING.rows`, R rows are drawn, and their counts c are mixed with the hypothesis' h: with
    a = sqrt(R / n), (1 - a) h + a (n / R) c has the mean h and the covariance of the counts of n rows.
    """
    if not isinstance(hypothesis, Sampleable):
        return hypothesis.answer
    shape, records = problem.domain.shape, max(0, round(hypothesis.total))
    drawn = min(records, TUNING.rows)
    codes = hypothesis.rows(drawn, problem.seed).astype(Packing(shape).code_type, order="F")
    table = SparseHistogram(shape, codes, np.ones(len(codes), dtype=np.int64))
    table.prefetch([block.axes for block in blocks])
    if drawn == records:
        return lambda block: block.answer(table).astype(np.float64)
    part = math.sqrt(drawn / records)
    return lambda block: (1.0 - part) * hypothesis.answer(block) + block.answer(table) / part


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


def _student(freedom: FloatArray) -> FloatArray:
    """Student's quantile .975 over the normal one, for these degrees of freedom; two terms of its expansion (Student
    1908): the mean over few squares is itself uncertain, and intervals are made wider by that.

    >>> _student(np.array([4.0, 1000.0])).round(2).tolist()
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
            # own, where its buckets are boxes.
            chosen, shape = held[max(len(held) - 2, 0)], group.cells.shape
            boxed = _counts_boxes(chosen.blocks[0].factors[0].matrix, shape)
            found[group.axes] = (shape, known, box_counts(chosen, shape) if boxed else None)
    return found


def _counts_boxes(matrix: IntMatrix, shape: tuple[int, ...]) -> bool:
    """Whether a matrix is a tree over all boxes of one level of the bisection."""
    if not (isinstance(matrix, BucketMatrix) and isinstance(matrix.inner, Tree)):
        return False
    bisection, level = Bisection(shape), matrix.inner.size.bit_length() - 1
    boxes = bisection.places(min(level, bisection.depth))
    return matrix.inner.size == 2**level and np.array_equal(matrix.buckets, boxes)


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


class BucketMargins(Struct, frozen=True, kw_only=True, eq=False):
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
