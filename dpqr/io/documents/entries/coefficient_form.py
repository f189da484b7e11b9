"""What a coefficient file holds, whatever its format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpqr.data.arrays import Axes, FloatArray, IntArray
from dpqr.io.documents.entries.frame import Frame

MAX_CELLS = 2**24
"""Cells of the columns that one coefficient file spans."""
MAX_FILE_BYTES = 2**29


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Coefficients:
    """Entry i stands in row `rows[i]` and cell `cells[i]` (C order over `axes`); all others are 0.

    labels: one a query, in row order.
    """

    axes: Axes
    rows: IntArray
    cells: IntArray
    values: FloatArray
    labels: tuple[str, ...]


def spanned(names: Sequence[str], frame: Frame, key: str) -> tuple[Axes, tuple[int, ...]]:
    """Positions and sizes of the columns that a file spans. key: what in the entry named them."""
    place = frame.place.key(key)
    axes = frame.axes(names, place)
    sizes = tuple(frame.domain.attributes[axis].size for axis in axes)
    if math.prod(sizes) > MAX_CELLS:
        raise place.fault(f"the columns have {math.prod(sizes)} cells, more than {MAX_CELLS}; name fewer in 'columns'")
    return axes, sizes
