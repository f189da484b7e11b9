"""Fits of a table to noisy answers on a base, without a model: in closed form, or by sweeps over a few parts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray
from dpqr.kernel.values import replace
from dpqr.models.fit.evidence import LinearMeasurement, marginalise, merge_measurements
from dpqr.workload.strategy_matrices import interaction_cells, interaction_deviation, is_interaction


class LocalFitTuning(Struct, frozen=True, kw_only=True):
    """Limits of precision and of time; `sweeps` is set by `python tests/benchmarks/marginals`."""

    sweeps: int = 3  # Newton sweeps over the margins
    shared_sweeps: int = 100  # of a shared fit, at most: each is an ascent, slow where tables contradict each other
    steps: int = 40  # Newton steps towards the total, at most
    close: float = 1e-9  # relative error of the total at which these end
    lowest_log: float = -700.0  # log of the smallest sum that a Newton step aims at
    least: float = 1e-100  # records that a cell keeps, so that logarithms stay finite


TUNING = LocalFitTuning()


def strength(deviation: float) -> float:
    """Regularisation strength r: residual, in records, per unit of log-odds; s^2 up to one record, s beyond.

    Counts that are Poisson around the base have prior log-density -m log(m / base) + m, and with Gaussian noise of
    deviation s the mode leaves a residual of s^2 log(m / base). Beyond one record that would overrate the base, and s
    is what `MaximumEntropyFit` takes as well.
    """
    return deviation * min(1.0, deviation)


VARIANCES = np.geomspace(0.01, 3.0, 6)
"""Variances of the log-odds within a table: from a tenth of the odds to several times."""


def likely_variances(expected: FloatArray, values: FloatArray, deviations: FloatArray) -> FloatArray:
    """The variance v of the log-odds that noisy tables add to their bases.

    Log-odds of variance v make a cell of m records vary by m + v m^2, sampling included. v is its posterior mean, where
    all of `VARIANCES` are equally likely beforehand and cells are normal. The base holds sums of the table itself, so
    its cells count as the degrees of freedom of an interaction.

    Args:
        expected: m, records, shape (tables, sizes).
        values: noisy answers, records, of the same shape.
        deviations: s, of their noise, one per table.

    Returns:
        Shape (tables,).

    Privacy:
        Post-processing of released answers.
    """
    cells = expected.reshape(len(expected), -1)
    squares = (values.reshape(cells.shape) - cells) ** 2
    free = math.prod(size - 1 for size in expected.shape[1:]) / cells.shape[1]
    logs = np.empty((len(cells), len(VARIANCES)))
    for place, one in enumerate(VARIANCES):
        variances = deviations[:, None] ** 2 + cells + one * cells**2
        logs[:, place] = -free / 2 * (np.log(variances) + squares / variances).sum(axis=1)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    likely: FloatArray = weights @ VARIANCES / weights.sum(axis=1)
    return likely


def best_strengths(expected: FloatArray, values: FloatArray, deviations: FloatArray) -> FloatArray:
    """Strengths at which noisy tables are best shrunk towards their bases, in deviations of residual per unit of
    log-odds, one a table: strengths that differ between cells would move sums that other measurements know better.

    A cell of m records, observed with noise of deviation s, is best shrunk at s / (1 + v m), v as of
    `likely_variances`; a table at the mean count of all records' cells. Arguments and shape as there.

    >>> even, copies = np.full((1, 10, 10), 50.0), 500.0 * np.eye(10)[None]
    >>> [float(best_strengths(even, values, np.array([30.0]))[0].round(1)) for values in (even, copies)]
    [18.6, 0.2]
    """
    likely, cells = likely_variances(expected, values, deviations), expected.reshape(len(expected), -1)
    mean_counts = (cells**2).sum(axis=1) / np.maximum(cells.sum(axis=1), TUNING.least)
    best: FloatArray = deviations / (1.0 + likely * mean_counts)
    return best


def ridge_by_cell(base: FloatArray, values: FloatArray, deviation: float, *, hidden: bool) -> FloatArray:
    """Residuals per unit of log-odds at which the cells of one noisy table are best shrunk: s^2 / (1 + v m), at most s.

    m: records that the base has in the cell, or the answer beyond two deviations, for noise on an empty cell is none.

    Args:
        base: of the table, records.
        values: noisy answers, records, of the same shape.
        deviation: s, of their noise.
        hidden: whether a table whose cells noise hides is shrunk further, as at `best_strengths`.

    Returns:
        r of `local_fit`, in records, shape of base.

    Privacy:
        Post-processing of released answers.

    >>> ridge_by_cell(np.array([[5.0, 500.0]]), np.array([[7.0, 900.0]]), 10.0, hidden=False).round(1).tolist()
    [[10.0, 0.2]]
    """
    tables, one = (base[None], values[None]), np.array([deviation])
    most = deviation * max(1.0, float(best_strengths(*tables, one)[0])) if hidden else deviation
    records = np.maximum(base, values - 2.0 * deviation)
    found: FloatArray = np.minimum(deviation**2 / (1.0 + likely_variances(*tables, one)[0] * records), most)
    return found


def effective_deviations(expected: FloatArray, values: FloatArray, deviations: FloatArray) -> FloatArray:
    """Deviations that shrink tables as `best_strengths`, for fits whose strength is their deviation: larger ones where
    that is above 1, for noise hides what such tables add to their bases. Arguments and shape as there."""
    return deviations * np.maximum(1.0, best_strengths(expected, values, deviations))


def local_fit(base: FloatArray, values: FloatArray, deviation: float, ridge: FloatArray | None = None) -> FloatArray:
    """The table m >= 0 that minimises sum (m - y)^2 / (2 r) + m log(m / base) - m and sums to what base does.

    The optimum is m = r W(x), W the Wright omega function (W + log W = x), x = log(base / r) + y / r plus one number,
    which Newton steps find, for d m / d x = m / (1 + W). Where base is 0, so is m.

    Args:
        base: the prior table, records.
        values: y, the noisy answers, records, of the same shape.
        deviation: of their noise.
        ridge: r, one for each cell, more than 0, whatever the deviation; None: `strength(deviation)`.

    Returns:
        Records, of the shape of base.

    Privacy:
        Post-processing of released answers.

    >>> local_fit(np.array([5.0, 5.0]), np.array([8.0, 2.0]), 0.01).round(2)
    array([8., 2.])
    """
    ridge = np.asarray(strength(deviation)) if ridge is None else ridge
    place, total = _start(base, values, ridge), base.sum()
    # Sums of m are convex in the number and rise, so steps from above end at the solution. A step from below may pass
    # it, but not the point at which one cell alone would make the sum.
    alone = np.log(np.maximum(total, TUNING.least) / ridge) + total / ridge
    for _ in range(TUNING.steps):
        solved = omega(place)
        table: FloatArray = ridge * solved
        gap = total - table.sum()
        if abs(gap) <= TUNING.close * total:
            break
        slope = max(float((table / (1.0 + solved)).sum()), TUNING.least)
        place += min(gap / slope, float((alone - place).min()))
    table = ridge * omega(place)
    table *= total / table.sum() if table.sum() > 0.0 else 0.0
    return table if table.any() else base


def fits_to_margins(base: FloatArray, part: NoisyMarginals, margins: Sequence[FloatArray]) -> FloatArray:
    """Many tables at once: for each the fit to noisy answers over all its axes, with given one-way sums.

    As `local_fit`, but with one number in x for each entry of each margin. A few sweeps over the margins are made, so
    the sums are nearly right, and the table's total is right.

    Args:
        base: the prior tables, records, shape (tables, sizes).
        part: the noisy answers to all of their cells.
        margins: for every axis the one-way sums, records, shape (tables, size).

    Returns:
        Records, of the shape of base.

    Privacy:
        Post-processing of released answers.
    """
    ridge = _ridge(part)
    place = _start(base, part.values, ridge)
    for _ in range(TUNING.sweeps):
        for axis, wanted in enumerate(margins, start=1):
            place += shift(place, (0, axis), wanted / ridge.reshape(-1, 1))
    tables: FloatArray = ridge * omega(place)
    sums, wanted = (cells.reshape(len(base), -1).sum(axis=1).reshape(ridge.shape) for cells in (tables, base))
    return np.where(sums > 0.0, tables * (wanted / np.maximum(sums, TUNING.least)), base)


def _start(base: FloatArray, values: FloatArray, ridge: FloatArray) -> FloatArray:
    """x before any sum is asked for."""
    with np.errstate(divide="ignore", under="ignore"):
        return np.where(base > 0.0, np.log(base) - np.log(ridge) + values / ridge, -np.inf)


def shift(place: FloatArray, axes: Axes, wanted: FloatArray) -> FloatArray:
    """A Newton step towards the sums `wanted` of W over all axes but `axes`, constant along these others.

    W is convex and rises, so steps from above end at the solution. A step from below may pass it, but not the point at
    which the largest cell alone would make the sum.

    Args:
        place: x of every cell.
        axes: along which the sums are taken one by one.
        wanted: sums of W, shape = sizes of `axes`.

    Returns:
        What is added to `place`, of a shape that broadcasts to it.
    """
    others = tuple(other for other in range(place.ndim) if other not in axes)
    cells, largest = omega(place), place.max(axis=others)
    goal = np.maximum(wanted, np.exp(TUNING.lowest_log))
    most = goal + np.log(goal) - largest
    slopes = np.maximum((cells / (1.0 + cells)).sum(axis=others), np.exp(TUNING.lowest_log))
    with np.errstate(over="ignore"):
        step = (goal - cells.sum(axis=others)) / slopes
    step = np.where(step > 0.0, np.minimum(step, most), step)
    return np.expand_dims(np.where(np.isfinite(largest), step, 0.0), others)


def omega(place: FloatArray) -> FloatArray:
    """W(x), W + log W = x; 0 at minus infinity."""
    from scipy.special import wrightomega

    with np.errstate(under="ignore"):
        value: FloatArray = wrightomega(place)
    return value


class NoisyMarginals(Struct, frozen=True, kw_only=True, eq=False):
    """Noisy marginals of each fitted table, over the same axes of all of them.

    Attributes:
        places: the axes, ascending.
        values: records, shape (tables, sizes of the axes).
        deviations: of the noise, one per table.
    """

    places: Axes
    values: FloatArray
    deviations: FloatArray

    def shrunk(self, base: FloatArray) -> NoisyMarginals:
        """These with `effective_deviations`. base: the tables' prior, records, shape (tables, sizes)."""
        expected = _summed(base, self.places)
        return replace(self, deviations=effective_deviations(expected, self.values, self.deviations))


def shared_fit(
    base: FloatArray, fixed: Sequence[Axes], noisy: Sequence[NoisyMarginals], tolerance: float
) -> FloatArray:
    """For each table the m >= 0 that minimises, over all noisy marginals y,

        sum (m_part - y)^2 / (2 r)  +  sum m log(m / base) - m,     r = strength(deviation),

    among those whose marginals over `fixed` are those of base. y is first moved, evenly over its cells, to the sums
    that it shares with these, for contradictions take many sweeps to settle.

    Block coordinate ascent of the concave dual: a fixed part by scaling (iterative proportional fitting, Deming and
    Stephan 1940), a noisy part by the Wright omega function, as in `local_fit`. Post-processing of released answers.

    Args:
        base: records, shape (tables, sizes).
        fixed: groups of axes.
        noisy: the answers.
        tolerance: part of a table's records that the last sweep moves.

    >>> part = NoisyMarginals(places=(0,), values=np.array([[3.0, 1.0]]), deviations=np.array([0.01]))
    >>> shared_fit(np.ones((1, 2, 2)), [], [part], 1e-6).round(2).tolist()
    [[[1.5, 1.5], [0.5, 0.5]]]
    """
    if len(noisy) == 1 and len(noisy[0].places) == base.ndim - 1:
        return _of_joint(base, fixed, noisy[0], tolerance)
    # The values nearest to each part's, in squares, with the fixed sums.
    targets = []
    for part in noisy:
        values = part.values.copy()
        for places in fixed:
            shared = tuple(part.places.index(place) for place in places if place in part.places)
            others = tuple(index + 1 for index in range(len(part.places)) if index not in shared)
            gaps = _summed(base, tuple(part.places[index] for index in shared)) - _summed(values, shared)
            values += np.expand_dims(gaps, others) * (gaps.size / values.size)
        targets.append(values)
    cells, factors = base.copy(), [np.zeros_like(part.values) for part in noisy]
    records = np.maximum(base.reshape(len(base), -1).sum(axis=1), TUNING.least)
    wanted = [_summed(base, places) for places in fixed]
    for _ in range(TUNING.shared_sweeps):
        moved = np.zeros(len(base))
        for part, values, own in zip(noisy, targets, factors, strict=True):
            ridge, sums = _ridge(part), np.maximum(_summed(cells, part.places), TUNING.least)
            solved = np.maximum(ridge * omega(np.log(sums / ridge) - own + values / ridge), TUNING.least)
            own += np.log(solved / sums)
            moved = np.maximum(moved, _scale(cells, part.places, sums, solved))
        for places, sums in zip(fixed, wanted, strict=True):
            moved = np.maximum(moved, _scale(cells, places, _summed(cells, places), sums))
        if (moved <= tolerance * records).all():
            break
    return cells


def _of_joint(base: FloatArray, fixed: Sequence[Axes], part: NoisyMarginals, tolerance: float) -> FloatArray:
    """The same for one noisy table over all axes: Newton steps on the fixed parts' factors, as in `fits_to_margins`."""
    cells, ridge = base, _ridge(part)
    place = _start(base, part.values, ridge)
    records = np.maximum(base.reshape(len(base), -1).sum(axis=1), TUNING.least)
    wanted = [_summed(base, places) for places in fixed]
    for _ in range(TUNING.shared_sweeps):
        for places, sums in zip(fixed, wanted, strict=True):
            axes = (0, *(own + 1 for own in places))
            place += shift(place, axes, sums / ridge.reshape(-1, *[1] * len(places)))
        cells, moved = ridge * omega(place), np.zeros(len(base))
        for places, sums in zip(fixed, wanted, strict=True):
            moved = np.maximum(moved, _scale(cells, places, _summed(cells, places), sums))
        if (moved <= tolerance * records).all():
            break
    return cells


def _ridge(part: NoisyMarginals) -> FloatArray:
    """r, broadcast to the values."""
    ridge = np.array([strength(float(deviation)) for deviation in part.deviations])
    return ridge.reshape(-1, *[1] * len(part.places))


def _scale(cells: FloatArray, places: Axes, sums: FloatArray, wanted: FloatArray) -> FloatArray:
    """Multiply, in place, so that `sums` become `wanted`; returns the records that moved, one figure per table.

    Sums below TUNING.least get only a part of the way, for their ratio is no double: the next sweep goes on.
    """
    ratios = wanted / np.maximum(sums, TUNING.least)
    others = tuple(place + 1 for place in range(cells.ndim - 1) if place not in places)
    cells *= np.expand_dims(ratios, others)
    moved: FloatArray = np.abs(wanted - sums).reshape(len(cells), -1).sum(axis=1)
    return moved


def _summed(cells: FloatArray, places: Axes) -> FloatArray:
    others = tuple(place + 1 for place in range(cells.ndim - 1) if place not in places)
    sums: FloatArray = cells.sum(axis=others) if others else cells.copy()
    return sums


# Marginals put together from parts that were measured apart: the total, what single columns add, and pairs.


def put_together(evidence: Sequence[LinearMeasurement], total: float) -> tuple[LinearMeasurement, ...]:
    """The evidence with marginals in the place of interactions.

    A measured interaction is the last part of its marginal. The parts below it come from the single columns' own
    measurements, merged by inverse variances, and from the total; so does the last part, where the marginal itself was
    measured too. The marginal gets the deviation of its last part: those of the parts below it are shared by all
    marginals of a column, and smaller where they were measured well.

    Args:
        evidence: marginals, interactions of one column and of two, and other blocks.
        total: N, records.

    Privacy:
        Post-processing of released answers.
    """
    # Each interaction as a tensor over the axes in the evidence's order, with the deviation of its dimensions.
    parts = {}
    for seen in evidence:
        if seen.block is not None and is_interaction(seen.block):
            cells = interaction_cells(seen.block, seen.values)
            ordered = cells.transpose([seen.block.axes.index(axis) for axis in seen.axes])
            deviation = seen.deviation * interaction_deviation(seen.block)
            parts[seen.axes] = LinearMeasurement(key=seen.axes, axes=seen.axes, values=ordered, deviation=deviation)
    if not parts:
        return tuple(evidence)
    by_key = {seen.key: seen for seen in evidence if seen.block is None or not is_interaction(seen.block)}
    singles = [seen for key, seen in by_key.items() if seen.order == 1 and seen.block is None]
    lower: dict[Axes, FloatArray] = {}
    for axes in {*(seen.axes for seen in singles), *(axes for axes in parts if len(axes) == 1)}:
        together = _together(axes, parts, by_key)
        lower[axes] = together.values
        by_key[axes] = replace(together, values=together.values + total / together.values.size)
    for axes in (axes for axes in parts if len(axes) == 2):
        first, second = axes[:1], axes[1:]
        if first in lower and second in lower:
            last = _together(axes, parts, by_key)
            rows, columns = last.values.shape
            below = lower[first][:, None] / columns + lower[second] / rows + total / (rows * columns)
            by_key[axes] = replace(last, values=last.values + below)
    return tuple(by_key.values())


def _together(
    axes: Axes, parts: dict[Axes, LinearMeasurement], by_key: dict[object, LinearMeasurement]
) -> LinearMeasurement:
    """The inverse-variance mean of the last part of a marginal, from all that holds it."""
    whole = by_key.get(axes)
    if whole is None:
        return parts[axes]
    centred = whole.values
    for axis in range(centred.ndim):
        centred = centred - centred.mean(axis=axis, keepdims=True)
    if axes not in parts:
        return replace(whole, values=centred)
    part = parts[axes]
    shares = np.array([part.deviation, whole.deviation]) ** -2.0
    values = (shares[0] * part.values + shares[1] * centred) / shares.sum()
    return replace(part, values=values, deviation=float(shares.sum() ** -0.5))


# Refinement: marginals that a model has no room for, combined with it question by question.

CLOSE = 1e-3
"""Part of the records that the last sweep of a shared fit may move."""
BATCH = 2**17
"""Cells that are fitted together (1 MiB per array)."""

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Refinement:
    """Tables for questions about measured marginals outside the model.

    A table T is the shared fit, on the model's own table, to the sums of every marginal of `left` over the attributes
    that it has in common with T, where these are two or more. Single attributes, and what marginals of `inside` have in
    common with T, keep the model's sums.

    Attributes:
        left: measured marginals that the model has no room for.
        inside: attributes of the marginals that the model was fitted to.
        shrinks_hidden: as of `MaximumEntropyFit`.

    Privacy:
        Post-processing of released answers and public sizes.

    >>> seen = LinearMeasurement(key=(0, 1), axes=(0, 1), values=np.array([[9.0, 1.0], [1.0, 9.0]]), deviation=0.01)
    >>> tables = Refinement(left=(seen,)).refined([(0, 1)], [np.full((2, 2), 5.0)])
    >>> tables[0].round(1).tolist()
    [[9.0, 1.0], [1.0, 9.0]]
    """

    left: tuple[LinearMeasurement, ...]
    inside: frozenset[Axes] = frozenset()
    shrinks_hidden: bool = False
    _by_pair: Mapping[Axes, tuple[int, ...]] = field(init=False, repr=False)
    _fixed_by_pair: Mapping[Axes, tuple[Axes, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_pair", _by_pair([seen.axes for seen in self.left], range(len(self.left))))
        groups = sorted(self.inside)
        object.__setattr__(self, "_fixed_by_pair", _by_pair(groups, groups))

    def touches(self, axes: Axes) -> bool:
        """Whether some marginal of `left` contains two of the attributes."""
        return any(pair in self._by_pair for pair in _pairs(axes))

    def holder(self, axes: Axes) -> Axes | None:
        """The attributes, ascending, of the smallest marginal of `left` that contains all of these; None without
        one."""
        indices = self._by_pair.get(next(_pairs(axes)), ())
        holding = [self.left[index] for index in indices if set(axes) <= set(self.left[index].axes)]
        smallest = min(holding, key=lambda seen: (seen.values.size, seen.axes), default=None)
        return None if smallest is None else tuple(sorted(smallest.axes))

    def refined(self, groups: Sequence[Axes], bases: Sequence[FloatArray]) -> list[FloatArray]:
        """Fitted tables, in records.

        Args:
            groups: attributes of each table, ascending.
            bases: the model's own tables over them, in records.
        """
        # For each table the places whose sums are fixed; and those of the marginals that overlap it, with their sums
        # there, fewest attributes first.
        fixed, observed = [self._fixed(axes) for axes in groups], []
        for axes, places in zip(groups, fixed, strict=True):
            near = {index for pair in _pairs(axes) for index in self._by_pair.get(pair, ())}
            overlapping = (self.left[index] for index in sorted(near))
            sums = (marginalise(seen, tuple(axis for axis in seen.axes if axis in axes)) for seen in overlapping)
            parts = [(tuple(sorted(axes.index(axis) for axis in part.axes)), part) for part in merge_measurements(sums)]
            free = [one for one in parts if not any(set(one[0]) <= set(other) for other in places)]
            observed.append(sorted(free, key=lambda one: (len(one[0]), one[0])))
        # Tables of one shape and the same places are fitted together.
        fitted_tables: dict[int, FloatArray] = {}
        alike: dict[object, list[int]] = {}
        for index, base in enumerate(bases):
            key = (base.shape, fixed[index], tuple(places for places, _ in observed[index]))
            alike.setdefault(key, []).append(index)
        for same in alike.values():
            step = max(1, BATCH // max(bases[same[0]].size, 1))
            for start in range(0, len(same), step):
                some = same[start : start + step]
                tables = np.stack([bases[index] for index in some])
                noisy = [
                    NoisyMarginals(
                        places=ones[0][0],
                        values=np.stack([part.values.transpose(np.argsort(part.axes)) for _, part in ones]),
                        deviations=np.array([part.deviation for _, part in ones]),
                    )
                    for ones in zip(*(observed[index] for index in some), strict=True)
                ]
                if self.shrinks_hidden:
                    noisy = [part.shrunk(tables) for part in noisy]
                fitted = shared_fit(tables, fixed[some[0]], noisy, CLOSE)
                fitted_tables.update(zip(some, fitted, strict=True))
        return [fitted_tables[index] for index in range(len(groups))]

    def _fixed(self, axes: Axes) -> tuple[Axes, ...]:
        """Places whose sums are the model's, none within another; ascending."""
        near = {group for pair in _pairs(axes) for group in self._fixed_by_pair.get(pair, ())}
        places = {tuple(sorted(axes.index(axis) for axis in group if axis in axes)) for group in near}
        places |= {(place,) for place in range(len(axes))}
        return tuple(sorted(one for one in places if not any(set(one) < set(other) for other in places)))


def _pairs(axes: Axes) -> Iterator[Axes]:
    return combinations(sorted(axes), 2)


def _by_pair(groups: Sequence[Axes], entries: Sequence[Entry]) -> dict[Axes, tuple[Entry, ...]]:
    """Entries by the pairs of attributes that their groups contain."""
    by_pair: dict[Axes, list[Entry]] = {}
    for group, entry in zip(groups, entries, strict=True):
        for pair in _pairs(group):
            by_pair.setdefault(pair, []).append(entry)
    return {pair: tuple(ones) for pair, ones in by_pair.items()}


def by_interaction(evidence: Iterable[LinearMeasurement]) -> list[LinearMeasurement]:
    """The evidence in the order in which a model of limited room admits it.

    Single attributes first, then blocks that are no marginals, then marginals by their distance from independence: the
    L1 distance, in records, between a fit to the noisy marginal and the product of its one-way sums; 0 where it holds
    no records.
    """
    measured = tuple(evidence)
    distances = [np.inf] * len(measured)
    alike: dict[Axes, list[int]] = {}
    for index, seen in enumerate(measured):
        if seen.order > 1 and seen.block is None:
            alike.setdefault(seen.values.shape, []).append(index)
    for shape, same in alike.items():
        step = max(1, BATCH // max(math.prod(shape), 1))
        for start in range(0, len(same), step):
            some = same[start : start + step]
            values, tables = np.stack([measured[index].values for index in some]), len(some)
            # One-way sums along each axis, clipped at zero and scaled to the totals, shape (tables, size).
            totals = np.maximum(values.reshape(tables, -1).sum(axis=1, keepdims=True), 0.0)
            margins = []
            for axis in range(1, values.ndim):
                others = tuple(other for other in range(1, values.ndim) if other != axis)
                sums = np.maximum(values.sum(axis=others), 0.0)
                margins.append(sums * (totals / np.maximum(sums.sum(axis=1, keepdims=True), TUNING.least)))
            # Their product, and how far a fit to the noisy marginal with these sums is from it.
            base = np.ones(tables)
            for margin in margins:
                shares = margin / np.maximum(totals, TUNING.least)
                base = base[..., None] * shares.reshape(tables, *[1] * (base.ndim - 1), -1)
            base *= totals.reshape(tables, *[1] * len(margins))
            deviations = np.array([measured[index].deviation for index in some])
            part = NoisyMarginals(places=tuple(range(len(margins))), values=values, deviations=deviations)
            moved = np.abs(fits_to_margins(base, part, margins) - base).reshape(tables, -1).sum(axis=1)
            for index, distance in zip(some, moved, strict=True):
                distances[index] = float(distance)
    return [
        measured[index]
        for index in sorted(range(len(measured)), key=lambda index: (-distances[index], measured[index].axes))
    ]
