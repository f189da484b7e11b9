"""Boxes: sums of a table over products of intervals (rectangles, conjunctions of comparisons), and its marginals.

A table of running sums over all axes answers a box of k axes by 2^k look-ups, whatever its size, so a million queries
over a few attributes need neither their coefficients nor a product with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray

Ends = tuple[IntArray, IntArray]
"""Starts and stops along one axis, one entry per row."""

Term = tuple[IntArray, int | FloatArray]
"""Indices along one axis of a table of running sums, and the coefficient of the entries there: 1, -1 or a share."""

SLICE = 2**17
"""Rows per batch; the look-ups of a batch fit into the processor's cache."""


def running_sums(tensor: AnyArray) -> AnyArray:
    """Return sums over all cells before an index, axis by axis: every axis is longer by one, and 0 at its first index.

    Exact for integers whose total fits their type.
    """
    sums = np.zeros([size + 1 for size in tensor.shape], dtype=tensor.dtype)
    inner = sums[(slice(1, None),) * tensor.ndim]
    inner[...] = tensor
    for axis in range(tensor.ndim):
        np.cumsum(inner, axis=axis, dtype=tensor.dtype, out=inner)
    return sums


def box_sums(ends: Sequence[Ends], tensor: AnyArray) -> AnyArray:
    """Sum `tensor` over every row's box.

    Args:
        ends: starts and stops along each axis.

    Returns:
        Sums, shape (rows,), of the tensor's dtype.
    """
    sums = running_sums(tensor)
    answers = np.empty(len(ends[0][0]), dtype=tensor.dtype)
    for rows in _slices(len(answers)):
        terms = [[(stops[rows], 1), (starts[rows], -1)] for starts, stops in ends]
        answers[rows] = combined(sums, terms)
    return answers


def box_adjoint(ends: Sequence[Ends], values: AnyArray, shape: Sequence[int]) -> AnyArray:
    """Add each row's value to all cells of its box: the transposed product, a tensor of that shape.

    Args:
        ends: starts and stops of the boxes along each axis, shape (rows,) each.
        values: one for each box, shape (rows,).
        shape: of the tensor.
    """
    steps = np.zeros([size + 1 for size in shape], dtype=values.dtype)
    for corner in product(*([(starts, 1), (stops, -1)] for starts, stops in ends)):
        sign = int(np.prod([sign for _, sign in corner]))
        np.add.at(steps, tuple(places for places, _ in corner), sign * values)
    for axis in range(steps.ndim):
        np.cumsum(steps, axis=axis, dtype=values.dtype, out=steps)
    return np.ascontiguousarray(steps[tuple(slice(0, size) for size in shape)])


def combined(sums: AnyArray, terms: Sequence[Sequence[Term]]) -> AnyArray:
    """Sum, over every choice of one term per axis, the product of its coefficients times the entry at its indices."""
    sums = np.ascontiguousarray(sums)
    total = np.zeros(len(terms[0][0][0]), dtype=sums.dtype)
    steps = [stride // sums.itemsize for stride in sums.strides]
    flat = [[(places * step, times) for places, times in one] for step, one in zip(steps, terms, strict=True)]
    _gather(sums.reshape(-1), flat, None, 1, total)
    return total


def _gather(
    flat: AnyArray, terms: Sequence[Sequence[Term]], index: IntArray | None, times: int | FloatArray, total: AnyArray
) -> None:
    """Add to `total` the entries at the terms of the remaining axes, from `index` on, times `times`."""
    for places, own in terms[0]:
        at, weight = places if index is None else index + places, times * own
        if len(terms) > 1:
            _gather(flat, terms[1:], at, weight, total)
        elif not isinstance(weight, int):
            total += flat.take(at) * weight
        elif weight == 1:
            total += flat.take(at)
        else:
            total -= flat.take(at)


def _slices(rows: int) -> Iterator[slice]:
    return (slice(start, start + SLICE) for start in range(0, rows, SLICE))


def with_totals(table: AnyArray) -> AnyArray:
    """Return a copy of the table with the sum over all cells in the place of the first one, attribute by attribute.

    Exact for integers whose absolute sum fits their type.
    """
    totals = np.array(table)
    for axis in range(totals.ndim):
        cells = np.moveaxis(totals, axis, 0)
        cells[0] = cells.sum(axis=0, dtype=totals.dtype)
    return totals


def group_tables(totals: AnyArray, places: IntArray, sizes: tuple[int, ...]) -> AnyArray:
    """Return the marginals over groups of attributes of these sizes, shape (groups, prod(sizes)).

    A group's own first cell is the total less its other cells.

    Args:
        totals: from `with_totals`.
        places: flat indices, 0 along every attribute outside the group, where its total stands.
    """
    tables = totals.reshape(-1).take(places)
    for position, size in enumerate(sizes):
        cells = tables.reshape(len(places) * math.prod(sizes[:position]), size, -1)
        cells[:, 0] -= cells[:, 1:].sum(axis=1, dtype=tables.dtype)
    return tables
