"""Boxes: row-by-row products of intervals (rectangles, conjunctions of comparisons), told from running sums.

A table of running sums over all axes answers a box of k axes by 2^k look-ups, whatever its size, so a million queries
over a few attributes need neither their coefficients nor a product with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray

Ends = tuple[IntArray, IntArray]
"""Starts and stops along one axis, one entry a row."""

Term = tuple[IntArray, int | FloatArray]
"""Places along one axis of a table of running sums, and how often what is found there counts: 1, -1 or a share."""

SLICE = 2**17
"""Rows taken at once, so that what is looked up for them stays in the processor's cache."""


def running_sums(tensor: AnyArray) -> AnyArray:
    """Sums over all cells before a place, axis by axis: every axis is longer by one, and 0 at its first place.

    Exact for integers whose total fits their type.
    """
    sums = np.zeros([size + 1 for size in tensor.shape], dtype=tensor.dtype)
    inner = sums[(slice(1, None),) * tensor.ndim]
    inner[...] = tensor
    for axis in range(tensor.ndim):
        np.cumsum(inner, axis=axis, dtype=tensor.dtype, out=inner)
    return sums


def box_sums(ends: Sequence[Ends], tensor: AnyArray) -> AnyArray:
    """The sum of `tensor` over every row's box, shape (rows,); one pair of ends an axis."""
    sums = running_sums(tensor)
    answers = np.empty(len(ends[0][0]), dtype=tensor.dtype)
    for rows in _slices(len(answers)):
        terms = [[(stops[rows], 1), (starts[rows], -1)] for starts, stops in ends]
        answers[rows] = combined(sums, terms)
    return answers


def box_adjoint(ends: Sequence[Ends], values: AnyArray, shape: Sequence[int]) -> AnyArray:
    """Each row's value added to all cells of its box: the transposed product, a tensor of that shape."""
    steps = np.zeros([size + 1 for size in shape], dtype=values.dtype)
    for corner in product(*([(starts, 1), (stops, -1)] for starts, stops in ends)):
        sign = int(np.prod([sign for _, sign in corner]))
        np.add.at(steps.reshape(-1), _flat(steps, [places for places, _ in corner]), sign * values)
    for axis in range(steps.ndim):
        np.cumsum(steps, axis=axis, dtype=values.dtype, out=steps)
    return np.ascontiguousarray(steps[tuple(slice(0, size) for size in shape)])


def combined(sums: AnyArray, terms: Sequence[Sequence[Term]]) -> AnyArray:
    """Sum over every choice of one term an axis: the product of their counts times what stands at their places."""
    flat = sums.reshape(-1)
    total = np.zeros(len(terms[0][0][0]), dtype=sums.dtype)
    for corner in product(*terms):
        found = flat[_flat(sums, [places for places, _ in corner])]
        for _, times in corner:
            if not isinstance(times, int):
                found *= times
            elif times == -1:
                np.negative(found, out=found)
        total += found
    return total


def _flat(sums: AnyArray, places: Sequence[IntArray]) -> IntArray:
    index = places[0]
    for size, more in zip(sums.shape[1:], places[1:], strict=True):
        index = index * size + more
    return index


def _slices(rows: int) -> Iterator[slice]:
    return (slice(start, start + SLICE) for start in range(0, rows, SLICE))
