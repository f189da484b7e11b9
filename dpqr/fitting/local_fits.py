"""Fits of a table to noisy answers on a base, without a model: in closed form, or by sweeps over a few parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpqr.data.arrays import Axes, FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """sweeps: set by `python tests/benchmarks/marginals`; the others are limits of precision and of time."""

    sweeps: int = 3  # Newton sweeps over the margins
    shared_sweeps: int = 100  # of a shared fit, at most: each is an ascent, slow where tables contradict each other
    steps: int = 40  # Newton steps towards the total, at most
    close: float = 1e-9  # relative error of the total at which these end
    lowest_log: float = -700.0  # log of the smallest sum that a Newton step aims at
    least: float = 1e-100  # records that a cell keeps, so that logarithms stay finite


TUNING = Tuning()


def strength(deviation: float) -> float:
    """Regularisation strength r: residual, in records, per unit of log-odds; s^2 up to one record, s beyond.

    Counts that are Poisson around the base have prior log-density -m log(m / base) + m, and with Gaussian noise of
    deviation s the mode leaves a residual of s^2 log(m / base). Beyond one record that would overrate the base, and s
    is what `MaximumEntropyFit` takes as well.
    """
    return deviation * min(1.0, deviation)


def local_fit(base: FloatArray, values: FloatArray, deviation: float) -> FloatArray:
    """The table m >= 0 that minimises sum (m - y)^2 / (2 r) + m log(m / base) - m and sums to what base does.

    The optimum is m = r W(x), W the Wright omega function (W + log W = x), x = log(base / r) + y / r plus one number,
    which Newton steps find, for d m / d x = m / (1 + W). Where base is 0, so is m.

    Args:
        base: the prior table, records.
        values: y, the noisy answers, records, of the same shape.
        deviation: of their noise; r is `strength(deviation)`.

    Returns:
        Records, of the shape of base.

    Privacy:
        Post-processing of released answers.

    >>> local_fit(np.array([5.0, 5.0]), np.array([8.0, 2.0]), 0.01).round(2)
    array([8., 2.])
    """
    ridge = strength(deviation)
    place, total = _start(base, values, np.asarray(ridge)), base.sum()
    for _ in range(TUNING.steps):
        place += shift(place, (), np.asarray(total / ridge))
        if abs(ridge * omega(place).sum() - total) <= TUNING.close * total:
            break
    found: FloatArray = ridge * omega(place)
    found *= total / found.sum() if found.sum() > 0.0 else 0.0
    return found if found.any() else base


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
    found: FloatArray = ridge * omega(place)
    sums, wanted = (cells.reshape(len(base), -1).sum(axis=1).reshape(ridge.shape) for cells in (found, base))
    return np.where(sums > 0.0, found * (wanted / np.maximum(sums, TUNING.least)), base)


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
    found, largest = omega(place), place.max(axis=others)
    goal = np.maximum(wanted, np.exp(TUNING.lowest_log))
    most = goal + np.log(goal) - largest
    slopes = np.maximum((found / (1.0 + found)).sum(axis=others), np.exp(TUNING.lowest_log))
    with np.errstate(over="ignore"):
        step = (goal - found.sum(axis=others)) / slopes
    step = np.where(step > 0.0, np.minimum(step, most), step)
    return np.expand_dims(np.where(np.isfinite(largest), step, 0.0), others)


def omega(place: FloatArray) -> FloatArray:
    """W(x), W + log W = x; 0 at minus infinity."""
    from scipy.special import wrightomega

    with np.errstate(under="ignore"):
        found: FloatArray = wrightomega(place)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyMarginals:
    """Noisy marginals of each fitted table, over the same axes of all of them.

    Attributes:
        places: the axes, ascending.
        values: records, shape (tables, sizes of the axes).
        deviations: of the noise, one per table.
    """

    places: Axes
    values: FloatArray
    deviations: FloatArray


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
    cells = base.copy()
    noisy = [_consistent(part, base, fixed) for part in noisy]
    factors = [np.zeros_like(part.values) for part in noisy]
    records = np.maximum(base.reshape(len(base), -1).sum(axis=1), TUNING.least)
    wanted = [_summed(base, places) for places in fixed]
    for _ in range(TUNING.shared_sweeps):
        moved = np.zeros(len(base))
        for index, part in enumerate(noisy):
            moved = np.maximum(moved, _solve(cells, part, factors[index]))
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


def _consistent(part: NoisyMarginals, base: FloatArray, fixed: Sequence[Axes]) -> NoisyMarginals:
    """The nearest values, in squares, with the fixed sums."""
    values = part.values.copy()
    for places in fixed:
        shared = tuple(part.places.index(place) for place in places if place in part.places)
        others = tuple(index + 1 for index in range(len(part.places)) if index not in shared)
        gaps = _summed(base, tuple(part.places[index] for index in shared)) - _summed(values, shared)
        values += np.expand_dims(gaps, others) * (gaps.size / values.size)
    return replace(part, values=values)


def _solve(cells: FloatArray, part: NoisyMarginals, factors: FloatArray) -> FloatArray:
    """Solve for one noisy part's factors, in place; returns the records that moved, one figure per table."""
    sums = np.maximum(_summed(cells, part.places), TUNING.least)
    ridge = _ridge(part)
    found = np.maximum(ridge * omega(np.log(sums / ridge) - factors + part.values / ridge), TUNING.least)
    factors += np.log(found / sums)
    return _scale(cells, part.places, sums, found)


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
