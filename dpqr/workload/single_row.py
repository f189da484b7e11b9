"""One row of a matrix by itself, kept in its own form, the extremes of its coefficients, and the largest of every row.

Why not its coefficients written out: a range over a million cells is two numbers, and a run measures one a round.
"""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.workload.matrix import Dense, Identity, IntMatrix, Prefix, Sparse
from dpqr.workload.ranges import Ranges

ENTRIES = 2**22
"""Coefficients that are looked at together."""


def single_row(matrix: IntMatrix, index: int) -> IntMatrix:
    """Row `index` as a matrix of one row; the matrix itself, with the norms that it knows, where it has no other."""
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
    """Every row's largest absolute coefficient, shape (rows,)."""
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
    """Smallest and largest coefficient of the one row."""
    if isinstance(matrix, Ranges):
        length = int(matrix.stops[0] - matrix.starts[0])
        return int(length == matrix.cells), int(length > 0)
    if isinstance(matrix, Sparse):
        row = matrix.csr
        least, most = int(row.data.min(initial=0)), int(row.data.max(initial=0))
        return (least, most) if row.nnz < matrix.cells else (int(row.data.min()), int(row.data.max()))
    coefficients = np.asarray(matrix.row(0))
    return int(coefficients.min()), int(coefficients.max())
