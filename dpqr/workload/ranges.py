"""Ranges: intervals of an ordered axis, stored as their ends; the interval form of other matrices, and single rows.

A single row keeps its compact form: a range over a million cells is two numbers, and a run measures one every round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray, freeze
from dpqr.workload.matrix import PAIRWISE_WORK, Dense, Identity, IntMatrix, Prefix, Sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Ranges:
    """Row r counts the cells starts[r] .. stops[r] - 1. Products are differences of running sums.

    starts, stops: int64, 0 <= start <= stop <= cells. Memory grows with rows plus cells, never with their product.

    >>> Ranges(np.array([0, 1]), np.array([2, 3]), 3).table(0, 2).tolist()
    [[1, 1, 0], [0, 1, 1]]
    """

    smallest: ClassVar[int] = 0
    starts: IntArray
    stops: IntArray
    cells: int

    def __post_init__(self) -> None:
        for name in ("starts", "stops"):
            ends = getattr(self, name).astype(np.int64, casting="safe", copy=False).view()
            object.__setattr__(self, name, freeze(ends))

    @property
    def rows(self) -> int:
        return len(self.starts)

    def apply(self, tensor: AnyArray) -> AnyArray:
        if self.rows == 1:  # a round measures one of them: no need to pass over all cells, or to write anything
            return np.asarray(tensor[self.starts[0] : self.stops[0]].sum(axis=0, dtype=tensor.dtype)[None])
        sums = np.zeros((self.cells + 1, *tensor.shape[1:]), dtype=tensor.dtype)
        np.cumsum(tensor, axis=0, out=sums[1:])
        return np.asarray(sums[self.stops] - sums[self.starts])

    def adjoint(self, tensor: AnyArray) -> AnyArray:
        steps = np.zeros((self.cells + 1, *tensor.shape[1:]), dtype=tensor.dtype)
        np.add.at(steps, self.starts, tensor)
        np.subtract.at(steps, self.stops, tensor)
        return np.cumsum(steps, axis=0)[:-1]

    def row(self, index: int) -> IntArray:
        row = np.zeros(self.cells, dtype=np.int64)
        row[self.starts[index] : self.stops[index]] = 1
        return row

    def table(self, start: int, stop: int) -> IntArray:
        places = np.arange(self.cells)
        inside = (places >= self.starts[start:stop, None]) & (places < self.stops[start:stop, None])
        return inside.astype(np.int64)

    @cached_property
    def places(self) -> tuple[IntArray, IntArray, IntArray]:
        """The distinct ends, ascending, and for every row the indices of its start and its stop among them."""
        distinct, index = np.unique(np.concatenate([self.starts, self.stops]), return_inverse=True)
        return distinct, index[: self.rows], index[self.rows :]

    @cached_property
    def _cover(self) -> IntArray:
        """Number of ranges that hold each cell, shape (cells,)."""
        steps = np.bincount(self.starts, minlength=self.cells + 1) - np.bincount(self.stops, minlength=self.cells + 1)
        return np.cumsum(steps)[: self.cells].astype(np.int64)

    @cached_property
    def _most(self) -> int:
        """Largest number of ranges that hold one cell. It rises at starts only, so only starts are evaluated."""
        held = self.stops > self.starts
        starts, stops = np.sort(self.starts[held]), np.sort(self.stops[held])
        begun, ended = (np.searchsorted(ends, starts, side="right") for ends in (starts, stops))
        return int((begun - ended).max(initial=0))

    def column_norm(self, power: int) -> int:
        return min(self._most, 1) if power == 0 else self._most

    @cached_property
    def _distance(self) -> int | None:
        """Largest number of ranges that hold exactly one of two cells; None beyond the work limit for cells squared."""
        if self.cells**2 > PAIRWISE_WORK // 32:
            return None
        ends = np.zeros((self.cells + 1, self.cells + 1), dtype=np.int64)
        np.add.at(ends, (self.starts, self.stops), 1)
        both = np.cumsum(np.cumsum(ends[:, ::-1], axis=1)[:, ::-1], axis=0)[:-1, 1:]
        apart = self._cover[:, None] + self._cover - 2 * both
        return int(np.triu(apart).max(initial=0))

    def column_distance(self, power: int) -> int | None:
        if power == 0:
            return int(((self.stops > self.starts) & (self.stops - self.starts < self.cells)).any())
        return self._distance


def everything(cells: int) -> Ranges:
    """Return the one query that counts every cell."""
    return Ranges(np.zeros(1, dtype=np.int64), np.full(1, cells, dtype=np.int64), cells)


def spans(matrix: IntMatrix) -> tuple[IntArray, IntArray] | None:
    """Return starts and stops of a matrix whose type makes every row an interval; None of any other."""
    if isinstance(matrix, Ranges):
        return matrix.starts, matrix.stops
    if isinstance(matrix, Identity):
        return np.arange(matrix.size), np.arange(1, matrix.size + 1)
    if isinstance(matrix, Prefix):
        return np.zeros(matrix.size, dtype=np.int64), np.arange(1, matrix.size + 1)
    return None


def group_sums(matrix: IntMatrix, edges: IntArray, start: int, stop: int) -> tuple[FloatArray, FloatArray]:
    """Sum the coefficients of rows start .. stop - 1, and their squares, over groups of neighbouring cells.

    Args:
        edges: ends of the groups, 0 = edges[0] < .. < edges[-1] = cells.

    Returns:
        Sums of coefficients and of squares, each of shape (stop - start, groups).
    """
    known = spans(matrix)
    if known is not None:
        starts, stops = (ends[start:stop, None] for ends in known)
        overlap = np.minimum(stops, edges[1:]) - np.maximum(starts, edges[:-1])
        lengths = np.maximum(overlap, 0).astype(np.float64)
        return lengths, lengths
    table = matrix.table(start, stop).astype(np.float64)
    first = np.asarray(edges[:-1])
    return np.add.reduceat(table, first, axis=1), np.add.reduceat(table**2, first, axis=1)


ENTRIES = 2**22
"""Coefficients per batch."""


def single_row(matrix: IntMatrix, index: int) -> IntMatrix:
    """Return row `index` as a matrix of one row; the matrix itself, with its cached norms, if it has no other row."""
    if matrix.rows == 1 and index == 0 and isinstance(matrix, Ranges | Sparse | Dense):
        return matrix
    if isinstance(matrix, Ranges):
        return _interval(int(matrix.starts[index]), int(matrix.stops[index]), matrix.cells)
    if isinstance(matrix, Identity | Prefix):
        return _interval(index if isinstance(matrix, Identity) else 0, index + 1, matrix.cells)
    if isinstance(matrix, Sparse):
        return Sparse(matrix.csr[[index], :])
    return Dense(matrix.row(index)[None, :])


def _interval(start: int, stop: int, cells: int) -> Ranges:
    return Ranges(np.array([start], dtype=np.int64), np.array([stop], dtype=np.int64), cells)


def row_tops(matrix: IntMatrix) -> IntArray:
    """Return every row's largest absolute coefficient, shape (rows,)."""
    if isinstance(matrix, Identity | Prefix):
        return np.ones(matrix.rows, dtype=np.int64)
    if isinstance(matrix, Ranges):
        return (matrix.stops > matrix.starts).astype(np.int64)
    if isinstance(matrix, Sparse):
        return np.asarray(abs(matrix.csr).max(axis=1).todense(), dtype=np.int64).reshape(-1)
    step = max(1, ENTRIES // max(matrix.cells, 1))
    parts = (matrix.table(start, min(start + step, matrix.rows)) for start in range(0, matrix.rows, step))
    return np.concatenate([np.abs(part).max(axis=1, initial=0) for part in parts])


def row_extremes(matrix: IntMatrix) -> tuple[int, int]:
    """Return the smallest and the largest coefficient of a matrix of one row."""
    if isinstance(matrix, Ranges):
        length = int(matrix.stops[0] - matrix.starts[0])
        return int(length == matrix.cells), int(length > 0)
    if isinstance(matrix, Sparse):
        row = matrix.csr
        least, most = int(row.data.min(initial=0)), int(row.data.max(initial=0))
        return (least, most) if row.nnz < matrix.cells else (int(row.data.min()), int(row.data.max()))
    coefficients = np.asarray(matrix.row(0))
    return int(coefficients.min()), int(coefficients.max())


# Overlaps: how many cells each interval shares with each group of neighbouring cells, never written out.


class Overlaps(Struct, frozen=True, eq=False):
    """The matrix O[r, i] = |interval r and group i|, held in memory of rows plus groups.

    An end x in group q, which starts at a_q, is ahead of all of the groups before q and of u = x - a_q cells of q. So
    row r of O is v(stop) - v(start), v(x) = sum over i < q of w_i e_i + u e_q, and products of O are running sums.

    ends: row r has 1 at the group of its stop, less 1 at that of its start; inner: u of the stop, less u of the start;
    both of shape (rows, groups). widths: w, cells a group.

    >>> overlaps = Overlaps.of(np.array([0, 1]), np.array([2, 5]), np.array([0, 2, 5]))
    >>> overlaps.dot(np.eye(2))
    array([[2., 0.],
           [1., 3.]])
    >>> overlaps.gram(np.ones(2))
    array([[5., 3.],
           [3., 9.]])
    """

    ends: csr_array
    inner: csr_array
    widths: FloatArray

    @classmethod
    def of(cls, starts: IntArray, stops: IntArray, edges: IntArray) -> Overlaps:
        """starts, stops: first cells of the intervals, and the cells behind them, shape (rows,). edges: first cells of
        the groups, and the end, shape (groups + 1,); what lies outside of them is in no group."""
        from scipy.sparse import csr_array

        rows, groups = len(starts), len(edges) - 1
        cells = np.clip(np.stack([stops, starts], axis=1), edges[0], edges[-1])
        places = np.minimum(np.searchsorted(edges, cells, side="right") - 1, groups - 1)
        signs = np.broadcast_to([1.0, -1.0], cells.shape)
        first = np.arange(0, 2 * rows + 1, 2)
        ends, inner = (
            csr_array((values.reshape(-1), places.reshape(-1), first), shape=(rows, groups))
            for values in (signs, signs * (cells - edges[places]))
        )
        return cls(ends, inner, np.diff(edges).astype(np.float64))

    def dot(self, steps: FloatArray) -> FloatArray:
        """O times `steps`, shape (groups, k)."""
        before = np.zeros_like(steps)
        np.cumsum((steps * self.widths[:, None])[:-1], axis=0, out=before[1:])
        product: FloatArray = self.ends @ before + self.inner @ steps
        return product

    def sums(self, weights: FloatArray) -> FloatArray:
        """O^T times one weight a row, shape (groups,)."""
        found: FloatArray = self._before((self.ends.T @ weights)[:, None])[:, 0] + self.inner.T @ weights
        return found

    def gram(self, weights: FloatArray) -> FloatArray:
        """O^T diag(weights) O, shape (groups, groups)."""
        inner = self.inner * weights[:, None]
        counts = (self.ends.T @ (self.ends * weights[:, None])).toarray()
        mixed, squares = (inner.T @ self.ends).toarray(), (inner.T @ self.inner).toarray()
        whole = self._before(self._before(counts).T)
        half = self._before(mixed.T)
        gram: FloatArray = whole + half + half.T + squares
        return gram

    def _before(self, table: FloatArray) -> FloatArray:
        """Row i is w_i times the sum of the rows behind i: the transpose of what an end's group puts before it."""
        found = np.zeros_like(table, dtype=np.float64)
        found[:-1] = np.cumsum(table[:0:-1], axis=0)[::-1]
        found *= self.widths[:, None]
        return found


# Boxes: sums of a table over products of intervals (rectangles, conjunctions of comparisons), and its marginals.
#
# A table of running sums over all axes answers a box of k axes by 2^k look-ups, whatever its size, so a million
# queries over a few attributes need neither their coefficients nor a product with them.

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
    for first in range(0, len(answers), SLICE):
        rows = slice(first, first + SLICE)
        terms = [[(stops[rows], 1), (starts[rows], -1)] for starts, stops in ends]
        answers[rows] = combine_terms(sums, terms)
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


def combine_terms(sums: AnyArray, terms: Sequence[Sequence[Term]]) -> AnyArray:
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
