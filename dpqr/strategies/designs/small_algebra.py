"""Matrix products and inverses in pieces too small for the linear-algebra library to spread over threads.

Why: tuning makes thousands of small products in a row. There is nothing to gain from sharing one of them out, and on a
busy machine the threads' waiting for each other made it 25 times slower.
"""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import FloatArray

PIECE = 2**18
"""Multiplications below which the library keeps to one thread."""
SMALL = 64
"""Rows of a matrix that it inverts on one thread."""


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """The matrix product, a few columns at a time."""
    rows, inner = left.shape
    step = max(1, PIECE // max(rows * inner, 1))
    found = np.empty((rows, right.shape[1]))
    for first in range(0, right.shape[1], step):
        found[:, first : first + step] = left @ right[:, first : first + step]
    return found


def inverse(matrix: FloatArray) -> FloatArray:
    """The inverse of a symmetric, positive definite matrix, by halves (Schur complements)."""
    size = len(matrix)
    if size <= SMALL:
        return np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    half = size // 2
    first = inverse(matrix[:half, :half])
    across = product(first, matrix[:half, half:])
    second = inverse(matrix[half:, half:] - product(matrix[half:, :half], across))
    corner = product(across, second)
    found = np.empty((size, size))
    found[:half, :half] = first + product(corner, across.T)
    found[:half, half:], found[half:, :half], found[half:, half:] = -corner, -corner.T, second
    return found
