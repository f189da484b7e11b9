"""SharedFit: one table drawn to several noisy tables of parts of its attributes, for many tables at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.strategies.updates.local_fit import omega, shift, strength

SWEEPS = 100
"""At most. Tables that contradict each other make the last tenths slow; each sweep is a descent."""

LEAST = 1e-100
"""Records that a cell keeps, so that logarithms stay numbers."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Told:
    """Noisy tables over some places of each fitted table.

    places: ascending. values: records, shape (tables, sizes of the places). deviations: of each table's entries.
    """

    places: Axes
    values: FloatArray
    deviations: FloatArray


def shared_fit(base: FloatArray, held: Sequence[Axes], told: Sequence[Told], tolerance: float) -> FloatArray:
    """For each table the m >= 0 that minimises, over all noisy tables y of its parts,

        sum (m_part - y)^2 / (2 r)  +  sum m log(m / base) - m,     r = strength(deviation),

    among those whose sums over the places `held` are those of base; y is first moved, evenly over its cells, to the
    sums that it shares with these. Else its noise would contradict them, and many sweeps would go to settling that.

    base: records, shape (tables, sizes). tolerance: of a table's records, as many are moved by the last sweep.

    Method: the dual's blocks in turn, each solved in closed form: a held part by scaling (iterative proportional
    fitting, Deming and Stephan 1940), a noisy part by the Wright omega function, as in `local_fit`, on the table
    without that part's own factor. Coordinate ascent of a concave function; post-processing of released answers. One
    noisy table of everything leaves only the held parts' factors to find, see `_of_whole`.
    """
    if len(told) == 1 and len(told[0].places) == base.ndim - 1:
        return _of_whole(base, held, told[0], tolerance)
    cells = base.copy()
    told = [_agreed(part, base, held) for part in told]
    factors = [np.zeros_like(part.values) for part in told]
    records = np.maximum(base.reshape(len(base), -1).sum(axis=1), LEAST)
    wanted = [_summed(base, places) for places in held]
    for _ in range(SWEEPS):
        moved = np.zeros(len(base))
        for index, part in enumerate(told):
            moved = np.maximum(moved, _draw(cells, part, factors[index]))
        for places, sums in zip(held, wanted, strict=True):
            moved = np.maximum(moved, _scale(cells, places, _summed(cells, places), sums))
        if (moved <= tolerance * records).all():
            break
    return cells


def _of_whole(base: FloatArray, held: Sequence[Axes], part: Told, tolerance: float) -> FloatArray:
    """The same for one noisy table over all places: Newton steps on the held parts' factors, as in `local_fit`.

    Why: each step solves for the noise as well. (47 tables of Adult's pairs at epsilon 10, on faces known better: one
    to three sweeps and 0.1 CPU seconds, not 30 to 100 and 1.5; a quarter as many records off the exact fit.)
    """
    cells, ridge = base, _ridge(part)
    with np.errstate(divide="ignore", under="ignore"):
        place = np.where(base > 0.0, np.log(base) - np.log(ridge) + part.values / ridge, -np.inf)
    records = np.maximum(base.reshape(len(base), -1).sum(axis=1), LEAST)
    wanted = [_summed(base, places) for places in held]
    for _ in range(SWEEPS):
        for places, sums in zip(held, wanted, strict=True):
            axes = (0, *(own + 1 for own in places))
            place += shift(place, axes, sums / ridge.reshape(-1, *[1] * len(places)))
        cells, moved = ridge * omega(place), np.zeros(len(base))
        for places, sums in zip(held, wanted, strict=True):
            moved = np.maximum(moved, _scale(cells, places, _summed(cells, places), sums))
        if (moved <= tolerance * records).all():
            break
    return cells


def _agreed(part: Told, base: FloatArray, held: Sequence[Axes]) -> Told:
    """The nearest values, in squares, with the held sums."""
    values = part.values.copy()
    for places in held:
        shared = tuple(part.places.index(place) for place in places if place in part.places)
        others = tuple(index + 1 for index in range(len(part.places)) if index not in shared)
        gaps = _summed(base, tuple(part.places[index] for index in shared)) - _summed(values, shared)
        values += np.expand_dims(gaps, others) * (gaps.size / values.size)
    return replace(part, values=values)


def _draw(cells: FloatArray, part: Told, factors: FloatArray) -> FloatArray:
    """Solve for one noisy part's factors, in place; returns the records that moved, a figure a table."""
    sums = np.maximum(_summed(cells, part.places), LEAST)
    ridge = _ridge(part)
    found = np.maximum(ridge * omega(np.log(sums / ridge) - factors + part.values / ridge), LEAST)
    factors += np.log(found / sums)
    return _scale(cells, part.places, sums, found)


def _ridge(part: Told) -> FloatArray:
    """r, along the part's values."""
    ridge = np.array([strength(float(deviation)) for deviation in part.deviations])
    return ridge.reshape(-1, *[1] * len(part.places))


def _scale(cells: FloatArray, places: Axes, sums: FloatArray, wanted: FloatArray) -> FloatArray:
    """Multiply, in place, so that `sums` become `wanted`."""
    ratios = np.divide(wanted, sums, out=np.ones_like(sums), where=sums > 0.0)
    others = tuple(place + 1 for place in range(cells.ndim - 1) if place not in places)
    cells *= np.expand_dims(ratios, others)
    moved: FloatArray = np.abs(wanted - sums).reshape(len(cells), -1).sum(axis=1)
    return moved


def _summed(cells: FloatArray, places: Axes) -> FloatArray:
    others = tuple(place + 1 for place in range(cells.ndim - 1) if place not in places)
    sums: FloatArray = cells.sum(axis=others) if others else cells.copy()
    return sums
