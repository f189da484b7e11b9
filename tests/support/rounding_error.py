"""Rounding: what two ways to one number may differ by on any machine, whatever its order of sums and its fused steps.

Bounds are Higham's (Accuracy and Stability of Numerical Algorithms, 2002): a computed sum of n products lies within
n u / (1 - n u) times the sum of their sizes of the exact one, u = EPS / 2 (section 3.1); both ways have such an error.
"""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(np.float64).eps)


def summed(terms: int, size: float = 1.0) -> float:
    """Between two sums of so many products whose sizes add up to `size`."""
    return 2 * terms * EPS * size


def solved(size: int) -> float:
    """A solver's backward error over the matrix' norm: 4 n (3 n + 1) u for Cholesky's (inequality 10.7).

    Householder's QR and divide and conquer stay within c n^2 u, c a small constant (section 19.3): below it as well.
    """
    return 2 * size * (3 * size + 1) * EPS


def least_squares(matrix: np.ndarray, values: np.ndarray) -> float:
    """Between two solutions of the normal equations of `matrix` x = `values`: their condition number is its square."""
    return float(_solved(matrix) * np.linalg.norm(np.linalg.pinv(matrix), 2) * np.linalg.norm(values))


def quadratic_form(matrix: np.ndarray, rows: np.ndarray) -> float:
    """Between two diagonals of `rows` (matrix' matrix)^-1 `rows`'."""
    inverse = np.linalg.norm(np.linalg.pinv(matrix), 2) ** 2
    return float(_solved(matrix) * inverse * (rows.astype(float) ** 2).sum(axis=1).max(initial=0.0))


def smallest_slope(terms: int, size: float, curvature: float) -> float:
    """The gradient that a line search on values can leave: a gain of slope^2 / (2 curvature) that rounding hides.

    terms, size: summands of the value, and their sizes' sum. curvature: the largest one of the function.
    """
    return float(np.sqrt(2 * curvature * summed(terms, size)))


def _solved(matrix: np.ndarray) -> float:
    return float(solved(max(matrix.shape)) * np.linalg.cond(matrix) ** 2)
