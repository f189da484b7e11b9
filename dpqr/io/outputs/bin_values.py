"""Bin values: numbers, dates and times for the bins of synthetic data.

Privacy: a function of codes that were released and of public edges and a public seed.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.data.attribute import Bins

LARGEST = 2**60
"""Whole values below it are kept as integers."""


def midpoints(axis: Bins, own_cells: int) -> Any:
    """One value a cell, null for the own cells; days and microseconds are rounded down. An Arrow array."""
    import pyarrow as pa

    middles = [axis.midpoint(index) for index in range(axis.size)]
    nothing = [None] * own_cells
    if axis.kind == "date":
        days = [date(1970, 1, 1) + timedelta(days=int(middle // 1)) for middle in middles]
        return pa.array([*days, *nothing], type=pa.date32())
    if axis.kind == "datetime":
        moments = [datetime(1970, 1, 1) + timedelta(microseconds=int(middle // 1)) for middle in middles]
        return pa.array([*moments, *nothing], type=pa.timestamp("us"))
    return pa.array([*map(float, middles), *nothing], type=pa.float64())


def sampled(axis: Bins, codes: IntArray, uniforms: FloatArray) -> Any:
    """A value for each code, evenly from what its bin holds, null for codes beyond the bins. An Arrow array.

    codes, uniforms: shape (rows,); uniforms in [0, 1). Whole numbers, days and microseconds are whole; other numbers
    lie within the edges, never on one, wherever a float lies between them.
    """
    import pyarrow as pa

    inside = np.minimum(codes, axis.size - 1)
    values: AnyArray = _whole(axis, inside, uniforms) if _is_whole(axis) else _real(axis, inside, uniforms)
    kinds = {"date": pa.date32(), "datetime": pa.timestamp("us")}
    if axis.kind == "date":
        values = values.astype(np.int32)
    return pa.array(values, mask=np.asarray(codes >= axis.size)).cast(
        kinds.get(axis.kind, pa.from_numpy_dtype(values.dtype))
    )


def _is_whole(axis: Bins) -> bool:
    return axis.kind != "number" or (axis.integral and max(map(abs, (axis.edges[0], axis.edges[-1]))) < LARGEST)


def _whole(axis: Bins, codes: IntArray, uniforms: FloatArray) -> IntArray:
    held = replace(axis, integral=True)
    bounds = [held.bounds(index) for index in range(axis.size)]
    low, high = (np.array([int(pair[end] // 1) for pair in bounds], dtype=np.int64)[codes] for end in (0, 1))
    steps = (uniforms * (high - low + 1)).astype(np.int64)
    return np.asarray(np.minimum(low + steps, high))


def _real(axis: Bins, codes: IntArray, uniforms: FloatArray) -> FloatArray:
    edges = np.array([float(edge) for edge in axis.edges])
    low, high = edges[codes], edges[codes + 1]
    within = np.clip(low + uniforms * (high - low), np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
    return np.asarray(np.where(np.nextafter(low, np.inf) < high, within, low))
