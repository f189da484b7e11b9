"""Ranges: intervals of an ordered axis, stored as their ends; the interval form of other matrices, and single rows.

A single row keeps its compact form: a range over a million cells is two numbers, and a run measures one every round.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray, frozen
from dpqr.workload.matrix import PAIRWISE_WORK, Dense, Identity, IntMatrix, Prefix, Sparse


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
            object.__setattr__(self, name, frozen(ends))

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
