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
from dataclasses import dataclass, replace

import numpy as np

from dpqr.construction.answers.block_answers import BlockAnswers
from dpqr.construction.answers.figure_intervals import (
    AddedUp,
    Covariances,
    Errors,
    Flags,
    Span,
    fieller,
    inverted,
    linearised,
    rising,
)
from dpqr.construction.answers.hidden import Hidden
from dpqr.construction.answers.intervals import ESTIMATE, FACTOR, MEASURED, NO_BASIS, BasisArray
from dpqr.data.arrays import FloatArray, IntArray
from dpqr.workload.figures import Figure, Formula, Largest, Quantiles, Quotient, Spread


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FigureAnswers:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ground:
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

    def errors(self, count: int) -> Errors:
        return AddedUp(self.each) if self.tests is None else Covariances.of(self.tests, count)

    def of_tests(self, figure: Figure) -> FloatArray:
        """Deviations of all tests."""
        added: FloatArray = self.each @ np.abs(figure.tests).T.astype(float)
        return added if self.tests is None else self.tests


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FunctionErrors:
    """Deviations of a figure's tests, in the order of its tested block, shape (rows,).

    estimated: of functions of the estimates; None: not known. values: of the figure's block, as sums of a measured
    table's cells; summed: of functions of these; None: there is no such table. factor: deviations to either side.
    hidden: by merged cells, beside all that; None: none were merged.

    >>> FunctionErrors().summed is None
    True
    """

    estimated: FloatArray | None = None
    values: FloatArray | None = None
    summed: FloatArray | None = None
    factor: float = FACTOR
    hidden: Hidden | None = None


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


def _one_value(formula: Formula, estimates: FloatArray, ground: _Ground) -> tuple[Span, FloatArray]:
    """The interval and the estimate of a quotient or a variance; groups without records have neither."""
    if isinstance(formula, Quotient):
        top, bottom, floor = _floats(formula.numerator), _floats(formula.denominator), float(formula.floor)
        excess = top - floor * bottom  # of the quotient over its floor: never negative, as `AddedUp.pair` needs it
        errors = ground.errors(len(top)).pair(excess, bottom)
        span = fieller(ground.values @ excess, ground.values @ bottom, errors, ground.factor)
        span = replace(span, lower=span.lower + floor, upper=span.upper + floor)
        ceiling = np.inf if formula.ceiling is None else float(formula.ceiling)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(estimates @ bottom > 0.0, estimates @ top / (estimates @ bottom), np.nan)
        return span.within(floor, ceiling), np.clip(value, floor, ceiling)
    assert isinstance(formula, Spread), "other formulas have several values"
    value, _ = _spread(formula, estimates)
    centre, slopes = _spread(formula, ground.values)
    known, count = ground.errors(len(formula.count)), _floats(formula.count)
    span = linearised(centre, known.along(slopes), ground.factor)
    records = known.along(np.broadcast_to(count, slopes.shape))
    small: Flags = np.asarray(ground.values @ count <= ground.factor * records)
    span = Span(lower=span.lower, upper=span.upper, error=span.error, small=small)
    return span.within(0.0, float(formula.ceiling)), np.clip(value, 0.0, float(formula.ceiling))


def _spread(formula: Spread, answers: FloatArray) -> tuple[FloatArray, FloatArray]:
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
    estimate, lower, upper = np.full(shape, np.nan), np.full(shape, low[0]), np.full(shape, high[-1])
    for place, part in enumerate(formula.at):
        own = slice(place * (bins - 1), (place + 1) * (bins - 1))
        curve = excess[:, own]
        if ground.below is None and not unknown.any():  # what merged cells hide is no noise
            curve = rising(curve, errors[:, own])
        first, last = inverted(curve - below[:, own], curve + above[:, own])
        estimate[:, place] = _read_off(estimates, float(part), low, high)
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
