"""Rows: an integer matrix from its non-zero entries, on the coarsest grid, dense or sparse by its size."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.workload.matrix import Dense, IntMatrix, Sparse

DENSE_ENTRIES = 2**22
"""Entries up to which a matrix is kept dense (32 MB)."""
MAX_ENTRIES = 2**25
"""Non-zero entries of one matrix."""


def integer_matrix(rows: IntArray, cells: IntArray, values: IntArray, shape: tuple[int, int]) -> IntMatrix:
    """The matrix with `values` at (rows, cells), each place given once, zero elsewhere."""
    if math.prod(shape) <= DENSE_ENTRIES:
        dense = np.zeros(shape, dtype=np.int64)
        dense[rows, cells] = values
        return Dense(dense)
    from scipy.sparse import csr_array

    return Sparse(csr_array((values, (rows, cells)), shape=shape, dtype=np.int64))


def coarsest_grid(values: Iterable[Fraction]) -> Fraction:
    """The largest g of which all values are whole multiples; 0 where all are 0."""
    distinct = set(values)
    denominator = math.lcm(*(value.denominator for value in distinct))
    return Fraction(math.gcd(*(int(value * denominator) for value in distinct)), denominator)
