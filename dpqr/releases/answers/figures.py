"""Figures of a release: means, quantiles, variances, ratios, proportions and largest cells, from its answers.

| figure                  | interval                                                                                 |
|-------------------------|------------------------------------------------------------------------------------------|
| mean, proportion, ratio | Fieller's: every quotient that the answers do not contradict                             |
| variance                | linearised                                                                               |
| median, quantiles       | the nearest rising curve to the released one inverted, outwards to the ends of bins      |
| top                     | of each count; a cell is sure where fewer than k others can be as large, by each interval |

What the deviations of linear functions of the answers rest on:

- `measured`: the figure's own blocks were measured, with independent noise of a known law in every answer, so there is
  no covariance. The interval is around what was measured.
  The same holds for sums of the cells of one measured table, where these have the smaller deviations; then the
  deviations of all functions are those of such sums. Sums of draws are taken to lie within so many deviations of their
  own as often as a draw does of its own: exact for normal noise, shown by quadrature for two Laplace draws, and not
  proved for more.
- `estimate`: the functions are answered as blocks that nobody asked for (`Figure.tested`). Their deviations come from
  the estimate in closed form or from refits, so they hold whatever covariance the model makes. Where there are none,
  errors of the answers are taken to add up, which no covariance exceeds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.values import replace
from dpqr.releases.answers.answered import BlockAnswers
from dpqr.releases.answers.errors import ESTIMATE, FACTOR, MEASURED, NO_BASIS, BasisArray
from dpqr.releases.answers.refits import BucketMargins
from dpqr.workload.figures import Figure, Formula, Largest, Quantiles, QuotientFormula, VarianceFormula


class FigureAnswers(Struct, frozen=True, kw_only=True, eq=False):
    """One figure's values, every array of shape (groups, values of a group); NaN and NO_BASIS where nothing is known.

    values of a group: one; of quantiles one each part; of the largest cells k, cells their places in the column.
    small: whether the denominator is too small to say anything. sure: whether the cell is among the k largest, by each
    interval alone.
    """

    figure: Figure
    estimate: FloatArray
    error: FloatArray
    lower: FloatArray
    upper: FloatArray
    basis: BasisArray
    small: Flags
    sure: Flags
    cells: IntArray | None = None


class _Ground(Struct, frozen=True, kw_only=True, eq=False):
    """What an interval is made from. values: of the answers, shape (groups, answers). tests: deviations of the
    figure's tests, shape (groups, tests), or None. each: deviations of the answers. factor: deviations to either side.
    below, above: by how much a test may be off beside that, as far as merged cells hide it, shape (groups, tests).
    """

    values: FloatArray
    each: FloatArray
    tests: FloatArray | None
    factor: float
    basis: int
    below: FloatArray | None = None
    above: FloatArray | None = None

    def errors(self, count: int) -> AnswerErrors:
        return AddedUp(self.each) if self.tests is None else Covariances.of(self.tests, count)

    def of_tests(self, figure: Figure) -> FloatArray:
        """Deviations of all tests."""
        added: FloatArray = self.each @ np.abs(figure.tests).T.astype(float)
        return added if self.tests is None else self.tests


class FunctionErrors(Struct, frozen=True, kw_only=True, eq=False):
    """Deviations of a figure's tests, in the order of its tested block, shape (rows,).

    estimated: of functions of the estimates; None: not known. values: of the figure's block, as sums of a measured
    table's cells; summed: of functions of these; None: there is no such table. factor: deviations to either side.
    hidden: by merged cells, beside all that; None: none were merged.
    """

    estimated: FloatArray | None = None
    values: FloatArray | None = None
    summed: FloatArray | None = None
    factor: float = FACTOR
    hidden: BucketMargins | None = None


def figure_answers(
    figure: Figure, answers: Mapping[str, BlockAnswers], direct: Collection[str], tested: Mapping[str, FunctionErrors]
) -> FigureAnswers:
    """A figure from the answers of its blocks.

    Args:
        answers: by the block's name, with their errors.
        direct: names of the blocks whose noisy answers are single draws, independent of each other.
        tested: what is known of the tests, by the name of the figure's first block.

    Privacy:
        Post-processing of released answers.
    """
    held = [answers[name] for name in figure.blocks]
    estimates = np.concatenate([one.estimate for one in held])[figure.rows]
    if isinstance(figure.formula, Largest):
        return _largest(figure, figure.formula, estimates, held)
    ground = _ground(figure, held, estimates, direct, tested)
    if isinstance(figure.formula, Quantiles):
        return _quantiles(figure, figure.formula, estimates, ground)
    span, value = _one_value(figure.formula, estimates, ground)
    none = np.isnan(span.lower)
    return FigureAnswers(
        figure=figure,
        estimate=_inside(value, span.lower, span.upper)[:, None],
        error=span.error[:, None],
        lower=span.lower[:, None],
        upper=span.upper[:, None],
        basis=np.where(none, NO_BASIS, ground.basis).astype(np.int8)[:, None],
        small=span.small[:, None],
        sure=np.zeros((figure.groups, 1), dtype=np.bool_),
    )


def _ground(
    figure: Figure,
    held: list[BlockAnswers],
    estimates: FloatArray,
    direct: Collection[str],
    tested: Mapping[str, FunctionErrors],
) -> _Ground:
    margins = np.concatenate([one.noisy.margin for one in held])
    if all(name in direct for name in figure.blocks) and not np.isnan(margins).any():
        each = np.concatenate([one.noisy.deviation for one in held])
        factor = float(np.max(margins / np.maximum(each, np.finfo(float).tiny), initial=0.0))
        values, own = np.concatenate([one.noisy.values for one in held])[figure.rows], each[figure.rows]
        tests = np.sqrt(own**2 @ (figure.tests.astype(float) ** 2).T)
        return _Ground(values=values, each=own, tests=tests, factor=factor, basis=MEASURED)
    return _modelled(figure, held, estimates, tested.get(figure.blocks[0], FunctionErrors()))


def _modelled(figure: Figure, held: list[BlockAnswers], estimates: FloatArray, found: FunctionErrors) -> _Ground:
    """The same where the figure's blocks were not measured by themselves."""
    each = np.concatenate([one.error for one in held])[figure.rows]
    rows = figure.test_rows
    estimated = None if rows is None or found.estimated is None else found.estimated[rows]
    if found.values is not None and found.summed is not None and rows is not None:
        summed, values = found.summed[rows], found.values[figure.rows]
        if estimated is None or summed.mean() <= estimated.mean():
            return _Ground(values=values, each=each, tests=summed, factor=found.factor, basis=MEASURED)
    if found.hidden is None or rows is None:
        return _Ground(values=estimates, each=each, tests=estimated, factor=FACTOR, basis=ESTIMATE)
    if isinstance(figure.formula, Quantiles):
        below, above = found.hidden.below[rows], found.hidden.above[rows]
        return _Ground(
            values=estimates, each=each, tests=estimated, factor=FACTOR, basis=ESTIMATE, below=below, above=above
        )
    more = found.hidden.most[rows][:, : each.shape[1]] / FACTOR
    return _Ground(values=estimates, each=each + more, tests=None, factor=FACTOR, basis=ESTIMATE)


def _one_value(formula: Formula, estimates: FloatArray, ground: _Ground) -> tuple[FigureSpan, FloatArray]:
    """The interval and the estimate of a quotient or a variance; groups without records have neither."""
    if isinstance(formula, QuotientFormula):
        top, bottom, floor = _floats(formula.numerator), _floats(formula.denominator), float(formula.floor)
        excess = top - floor * bottom  # of the quotient over its floor: never negative, as `AddedUp.pair` needs it
        errors = ground.errors(len(top)).pair(excess, bottom)
        span = fieller(ground.values @ excess, ground.values @ bottom, errors, ground.factor)
        span = replace(span, lower=span.lower + floor, upper=span.upper + floor)
        ceiling = np.inf if formula.ceiling is None else float(formula.ceiling)
        return span.within(floor, ceiling), _value(formula, estimates)
    assert isinstance(formula, VarianceFormula), "other formulas have several values"
    centre, slopes = _spread(formula, ground.values)
    known, count = ground.errors(len(formula.count)), _floats(formula.count)
    span = linearise(centre, known.along(slopes), ground.factor)
    records = known.along(np.broadcast_to(count, slopes.shape))
    small: Flags = np.asarray(ground.values @ count <= ground.factor * records)
    span = FigureSpan(lower=span.lower, upper=span.upper, error=span.error, small=small)
    return span.within(0.0, float(formula.ceiling)), _value(formula, estimates)


def figure_values(figure: Figure, estimates: FloatArray) -> FloatArray:
    """A figure's values from answers alone, without intervals, shape (groups, values); NaN where there are no records.

    Args:
        estimates: answers of the figure's blocks, one block after the other.
    """
    own = estimates[figure.rows]
    if isinstance(figure.formula, Largest):
        return -np.sort(-own, axis=1)[:, : figure.formula.count]
    if isinstance(figure.formula, Quantiles):
        own = np.cumsum(own, axis=1) if figure.formula.counted else own
        low, high = (np.array([float(bound[end]) for bound in figure.formula.bounds]) for end in (0, 1))
        return np.stack([_read_off(own, float(part), low, high) for part in figure.formula.at], axis=1)
    return _value(figure.formula, own)[:, None]


def _value(formula: QuotientFormula | VarianceFormula, estimates: FloatArray) -> FloatArray:
    """A quotient or a variance of every group, within the bounds that a table can give."""
    floor, ceiling = 0.0, np.inf if formula.ceiling is None else float(formula.ceiling)
    if isinstance(formula, QuotientFormula):
        floor = float(formula.floor)
        top, bottom = estimates @ _floats(formula.numerator), estimates @ _floats(formula.denominator)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(bottom > 0.0, top / bottom, np.nan)
    else:
        value, _ = _spread(formula, estimates)
    return np.clip(value, floor, ceiling)


def _spread(formula: VarianceFormula, answers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variances, and their slopes in the answers."""
    count, total, square = (_floats(each) for each in (formula.count, formula.sum, formula.square))
    records = answers @ count
    records = np.where(records > 0.0, records, np.nan)
    mean, mean_square = answers @ total / records, answers @ square / records
    value = mean_square - mean**2
    slopes = (square - mean_square[:, None] * count - 2 * mean[:, None] * (total - mean[:, None] * count)) / (
        records[:, None]
    )
    return value, slopes


def _quantiles(figure: Figure, formula: Quantiles, estimates: FloatArray, ground: _Ground) -> FigureAnswers:
    bins, shape = len(formula.bounds), (figure.groups, len(formula.at))
    low, high = (np.array([float(bound[end]) for bound in formula.bounds]) for end in (0, 1))
    tests = figure.tests.astype(float)
    excess, errors = ground.values @ tests.T, ground.of_tests(figure)
    below = ground.factor * errors + (0.0 if ground.below is None else ground.below)
    above = ground.factor * errors + (0.0 if ground.above is None else ground.above)
    small: Flags = np.asarray(excess[:, -1] <= below[:, -1])
    unknown: Flags = np.asarray(np.isnan(errors).any(axis=1))
    curves = np.cumsum(ground.values, axis=1) if formula.counted else estimates
    estimate, lower, upper = np.full(shape, np.nan), np.full(shape, low[0]), np.full(shape, high[-1])
    for place, part in enumerate(formula.at):
        own = slice(place * (bins - 1), (place + 1) * (bins - 1))
        curve = excess[:, own]
        if ground.below is None and not unknown.any():  # what merged cells hide is no noise
            curve = rising(curve, errors[:, own])
        first, last = invert_curve(curve - below[:, own], curve + above[:, own])
        estimate[:, place] = _read_off(curves, float(part), low, high)
        lower[:, place] = np.where(small, low[0], low[first])
        upper[:, place] = np.where(small, high[-1], high[last])
    none = np.broadcast_to(unknown[:, None], shape)
    lower, upper = np.where(none, np.nan, lower), np.where(none, np.nan, upper)
    error = np.where(small[:, None], np.nan, (upper - lower) / (2 * FACTOR))
    return FigureAnswers(
        figure=figure,
        estimate=_inside(estimate, lower, upper),
        error=error,
        lower=lower,
        upper=upper,
        basis=np.where(none, NO_BASIS, ground.basis).astype(np.int8),
        small=np.broadcast_to(small[:, None], shape),
        sure=np.zeros(shape, dtype=np.bool_),
    )


def _read_off(curves: FloatArray, part: float, low: FloatArray, high: FloatArray) -> FloatArray:
    """Where each curve reaches its part of the last count, linear within the bin; NaN where there are no records.

    Curves that fall somewhere, as unbiased ones do, are replaced by the mean of the least rising curve above and the
    largest one below.
    """
    above = np.maximum.accumulate(curves, axis=1)
    below = np.minimum.accumulate(curves[:, ::-1], axis=1)[:, ::-1]
    rising = np.maximum((above + below) / 2, 0.0)
    target = part * rising[:, -1]
    bins = (rising >= target[:, None]).argmax(axis=1)
    groups = np.arange(len(curves))
    reached, before = rising[groups, bins], np.where(bins > 0, rising[groups, bins - 1], 0.0)
    step = np.maximum(reached - before, np.finfo(float).tiny)
    inside = np.clip((target - before) / step, 0.0, 1.0)
    return np.where(rising[:, -1] > 0.0, low[bins] + inside * (high - low)[bins], np.nan)


def _largest(figure: Figure, formula: Largest, estimates: FloatArray, held: list[BlockAnswers]) -> FigureAnswers:
    (one,) = held
    intervals = one.intervals
    chosen = np.argsort(-estimates, axis=1, kind="stable")[:, : formula.count]
    rows = np.take_along_axis(figure.rows, chosen, axis=1)
    lower, upper = intervals.lower[figure.rows], intervals.upper[figure.rows]
    own = np.take_along_axis(lower, chosen, axis=1)
    others = (upper[:, None, :] >= own[:, :, None]).sum(axis=2) - 1  # its own upper end is no rival
    known: Flags = np.asarray(~np.isnan(upper).any(axis=1))
    sure = (others < formula.count) & known[:, None]
    return FigureAnswers(
        figure=figure,
        estimate=one.estimate[rows],
        error=one.error[rows],
        lower=intervals.lower[rows],
        upper=intervals.upper[rows],
        basis=intervals.basis[rows],
        small=np.zeros(rows.shape, dtype=np.bool_),
        sure=sure,
        cells=chosen,
    )


def _inside(estimate: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The estimate, or the end of its interval that is nearest to it: the model may lie beyond what was measured."""
    found: FloatArray = np.fmin(np.fmax(estimate, lower), upper)
    return np.where(np.isnan(estimate), np.nan, found)


def _floats(coefficients: tuple[object, ...]) -> FloatArray:
    return np.array(coefficients, dtype=float)


# Intervals of quotients, variances and quantiles, from values and deviations of linear functions of answers.
#
# Every array: one entry, or row, a group.

Flags = NDArray[np.bool_]


class FigureSpan(Struct, frozen=True, kw_only=True, eq=False):
    """lower, upper: ends; NaN where nothing is known. error: of the value by linearisation. small: the denominator may
    be 0, so that the interval is all that a table can give.

    >>> FigureSpan.unknown(2).small.tolist()
    [False, False]
    """

    lower: FloatArray
    upper: FloatArray
    error: FloatArray
    small: Flags

    @classmethod
    def unknown(cls, count: int) -> FigureSpan:
        nothing = np.full(count, np.nan)
        return cls(lower=nothing, upper=nothing, error=nothing, small=np.zeros(count, dtype=np.bool_))

    def within(self, floor: float, ceiling: float) -> FigureSpan:
        """Cut to what a table can give; all of that where the denominator is small."""
        lower = np.where(self.small, floor, np.clip(self.lower, floor, ceiling))
        upper = np.where(self.small, ceiling, np.clip(self.upper, floor, ceiling))
        error = np.where(self.small, np.nan, self.error)
        return FigureSpan(lower=lower, upper=upper, error=error, small=self.small)


class AnswerErrors(Protocol):
    """What is known of the errors of the answers of every group."""

    def pair(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Covariances of two linear functions of the answers, shape (groups, 2, 2)."""
        ...

    def along(self, slopes: FloatArray) -> FloatArray:
        """Deviations of a linear function a group, slopes of shape (groups, answers); shape (groups,)."""
        ...


class Covariances(Struct, frozen=True, eq=False):
    """each: covariances of a group's answers, shape (groups, answers, answers).

    >>> Covariances.of(np.array([[3.0, 4.0, 5.0]]), 2).each.tolist()
    [[[9.0, 0.0], [0.0, 16.0]]]
    """

    each: FloatArray

    @classmethod
    def of(cls, deviations: FloatArray, count: int) -> Covariances:
        """From the deviations of `dpqr.workload.figures.moments` of so many answers, shape (groups, tests).

        Correlations beyond 1, which estimated deviations can give, become 1.
        """
        squares = deviations**2
        found, place = np.zeros((len(squares), count, count)), count
        for first in range(count):
            found[:, first, first] = squares[:, first]
            for second in range(first + 1, count):
                most = deviations[:, first] * deviations[:, second]
                shared = (squares[:, first] + squares[:, second] - squares[:, place]) / 2
                found[:, first, second] = found[:, second, first] = np.clip(shared, -most, most)
                place += 1
        return cls(found)

    def pair(self, first: FloatArray, second: FloatArray) -> FloatArray:
        both = np.stack([first, second])
        pairs: FloatArray = np.einsum("ai,gij,bj->gab", both, self.each, both)
        return pairs

    def along(self, slopes: FloatArray) -> FloatArray:
        squares: FloatArray = np.maximum(np.einsum("gi,gij,gj->g", slopes, self.each, slopes), 0.0)
        return np.sqrt(squares)


class AddedUp(Struct, frozen=True, eq=False):
    """Errors whose covariances are not known: they are taken to add up, which no covariance exceeds. A `pair` serves
    quotients of at least 0.

    each: deviations, shape (groups, answers).

    >>> AddedUp(np.array([[3.0, 4.0]])).along(np.array([[1.0, -1.0]])).tolist()
    [7.0]
    """

    each: FloatArray

    def pair(self, first: FloatArray, second: FloatArray) -> FloatArray:
        one, other = (self.each @ np.abs(weights) for weights in (first, second))
        mixed = -one * other
        return np.stack([np.stack([one**2, mixed], axis=-1), np.stack([mixed, other**2], axis=-1)], axis=-2)

    def along(self, slopes: FloatArray) -> FloatArray:
        sums: FloatArray = (np.abs(slopes) * self.each).sum(axis=1)
        return sums


def fieller(top: FloatArray, bottom: FloatArray, errors: FloatArray, factor: float) -> FigureSpan:
    """The quotients q for which top - q bottom is within `factor` of its own deviations.

    It covers the true quotient as often as that linear function of the answers lies within so many deviations of its
    true value, 0, however small the denominator is.

    Args:
        top, bottom: numerator and denominator.
        errors: their covariances, shape (groups, 2, 2).
        factor: deviations.

    References:
        Fieller 1954, Some problems in interval estimation.
    """
    square = factor**2
    first, mixed, second = errors[:, 0, 0], errors[:, 0, 1], errors[:, 1, 1]
    a, b, c = bottom**2 - square * second, top * bottom - square * mixed, top**2 - square * first
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
        value = top / bottom
        error = np.sqrt(np.maximum(first - 2 * value * mixed + value**2 * second, 0.0)) / np.abs(bottom)
        lower, upper = (b - root) / a, (b + root) / a
    small: Flags = np.asarray((a <= 0.0) | (bottom <= 0.0)) & ~np.isnan(a)
    return FigureSpan(lower=lower, upper=upper, error=error, small=small)


def linearise(values: FloatArray, error: FloatArray, factor: float) -> FigureSpan:
    """`factor` deviations to either side of the values."""
    small = np.zeros(len(values), dtype=np.bool_)
    return FigureSpan(lower=values - factor * error, upper=values + factor * error, error=error, small=small)


def rising(values: FloatArray, deviations: FloatArray) -> FloatArray:
    """The nearest curve that nowhere falls, row by row, shape (groups, bins): isotonic least squares.

    A true excess nowhere falls. For independent normal errors no value of it is further from the truth than before,
    stochastically; here errors depend on each other, and benchmarks show the same.

    References:
        Kelly 1989, Stochastic reduction of loss in estimating normal means by isotonic regression.

    >>> rising(np.array([[1.0, 3.0, 2.0]]), np.ones((1, 3))).tolist()
    [[1.0, 2.5, 2.5]]
    """
    from scipy.optimize import isotonic_regression

    weights = 1.0 / np.maximum(deviations, np.finfo(np.float32).tiny) ** 2
    rows = [isotonic_regression(row, weights=each).x for row, each in zip(values, weights, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(values.shape)


def invert_curve(lower: FloatArray, upper: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last bin that may hold a quantile: its curve, less its part of all records, inverted.

    A quantile lies in bin j where the excess of bin j is at least 0, and that of bin j - 1 below 0. So it is missed
    only where one of these two lies beyond one of its bounds.

    Args:
        lower, upper: bounds on the excess, the cumulative counts less the part of all records, of every bin but the
            last, shape (groups, bins - 1).
    """
    ends = np.full((len(lower), 1), np.inf)
    reached = np.concatenate([upper, ends], axis=1) >= 0.0
    before = np.concatenate([-ends, lower], axis=1) < 0.0
    last = before.shape[1] - 1 - before[:, ::-1].argmax(axis=1)
    return reached.argmax(axis=1), np.maximum(last, reached.argmax(axis=1))
