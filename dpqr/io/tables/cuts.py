"""Cuts: public bin edges as thresholds in a column's own units and type, so that placing a cell never rounds it.

Bin k holds the values at or above threshold k and below threshold k + 1. Edge e is turned into the smallest value of
the column's type that lies on the right side of it: v >= e where e belongs to the bin above, v > e where it belongs
to the bin below (every inner edge closed on the right, and the last edge, which belongs to the last bin).
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.data.attribute import Bins


def edges(bins: Bins) -> list[tuple[Fraction, bool]]:
    """Each edge, and whether values must lie strictly above it to pass."""
    inner = bins.closed == "right"
    last = bins.size
    return [(edge, inner if 0 < place < last else place == last) for place, edge in enumerate(bins.edges)]


def whole_cuts(bins: Bins, unit: Fraction = Fraction(1)) -> list[int]:
    """Thresholds for whole numbers of `unit`: exact."""
    return [math.floor(edge / unit) + 1 if strict else math.ceil(edge / unit) for edge, strict in edges(bins)]


def place_whole(values: AnyArray, cuts: list[int]) -> AnyArray:
    """Places of integers, int64: -1 below the first cut, len(cuts) - 1 from the last cut on."""
    bounds = np.iinfo(values.dtype)
    reachable = [max(cut, int(bounds.min)) for cut in cuts if cut <= int(bounds.max)]
    return _places(np.array(reachable, dtype=values.dtype), values)


def float_cuts(bins: Bins, dtype: np.dtype[Any]) -> AnyArray:
    """Thresholds for floating-point numbers of that type.

    Edges are first rounded to the column's type, as its cells were when they were written, so that a cell that
    reads 0.3 lies on the edge 0.3. Exact with respect to those rounded edges.
    """
    with np.errstate(over="ignore"):
        rounded = np.array([_float(edge) for edge in bins.edges]).astype(dtype)
    strict = [above for _, above in edges(bins)]
    found: AnyArray = np.where(strict, np.nextafter(rounded, dtype.type(np.inf)), rounded)
    return found


def place_floats(values: AnyArray, cuts: AnyArray) -> AnyArray:
    """Places of floating-point numbers among `float_cuts` of their type; NaN comes last."""
    return _places(cuts, values)


def place_decimals(column: Any, bins: Bins) -> AnyArray:
    """Places of an Arrow decimal column without nulls: exact, by comparisons in its own type."""
    import pyarrow as pa
    from pyarrow import compute

    scale, largest = column.type.scale, 10**column.type.precision - 1
    places = np.full(len(column), -1, dtype=np.int64)
    for cut in whole_cuts(bins, Fraction(10) ** -scale):
        if cut <= largest:
            threshold = pa.scalar(_unscaled(max(cut, -largest), scale), type=column.type)
            places += compute.greater_equal(column, threshold).to_numpy(zero_copy_only=False)
    return places


def _places(thresholds: AnyArray, values: AnyArray) -> AnyArray:
    return np.searchsorted(thresholds, values, side="right").astype(np.int64, copy=False) - 1


def _unscaled(cut: int, scale: int) -> Decimal:
    """cut / 10^scale, exact whatever the precision of the current decimal context."""
    return Decimal((int(cut < 0), tuple(int(digit) for digit in str(abs(cut))), -scale))


def _float(edge: Fraction) -> float:
    try:
        return float(edge)
    except OverflowError:
        return math.inf if edge > 0 else -math.inf
