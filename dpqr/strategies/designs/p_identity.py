"""p-Identity: single cells and a few sums, tuned to the workload; constant on groups of neighbouring cells.

Tuning makes thousands of small matrix products in a row. `product` and `inverse` keep each below the size at which
the linear-algebra library spreads it over threads, whose synchronisation costs more than it gains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray
from dpqr.fitting.descent import Descent
from dpqr.noise.public import public_generator
from dpqr.strategies.designs.gram import Queries
from dpqr.workload.p_identity import PIdentity
from dpqr.workload.sensitivity import Norm


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/dense.py`; figures: tests/benchmarks/RESULTS.md, "Fitting"."""

    groups: int = 256  # groups of cells, at most
    wide: int = 8  # cells per group from which on half the groups have a sum, not a quarter
    few: int = 32  # groups below which half of them have a sum: a quarter of few groups leaves no hierarchy
    steps: int = 250  # descent steps, at most
    tolerance: float = 1e-7  # of the gradient of the logarithm of the error
    precision: int = 4096  # norm of an integer column, about
    piece: int = 2**18  # multiplications below which the library keeps to one thread
    small: int = 64  # rows of a matrix that the library inverts on one thread


TUNING = Tuning()


def product(left: FloatArray, right: FloatArray) -> FloatArray:
    """The matrix product, a few columns at a time."""
    rows, inner = left.shape
    step = max(1, TUNING.piece // max(rows * inner, 1))
    found = np.empty((rows, right.shape[1]))
    for first in range(0, right.shape[1], step):
        found[:, first : first + step] = left @ right[:, first : first + step]
    return found


def inverse(matrix: FloatArray) -> FloatArray:
    """The inverse of a symmetric, positive definite matrix, by halves (Schur complements)."""
    size = len(matrix)
    if size <= TUNING.small:
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PIdentityError:
    """Expected squared error of A = [D; F D] as a function of F >= 0, D the diagonal that makes all column norms 1.

    With n the columns' norm before D (1 + sum F in L1, sqrt(1 + sum F^2) in L2), G the workload's Gram matrix and
    M = 1 + F F^T over cells, Woodbury's formula gives tr (A^T A)^-1 G = tr n G n - tr M^-1 F n G n F^T. With F and n
    constant on groups, all of it is computed on groups.

    Attributes:
        widths: cells per group.
        pairs, diagonal: the Gram matrix on groups (`AxisQueries.gram`).
        norm: L1 or squared L2.
        support: where F may differ from 0, booleans of shape (p, groups).

    References:
        McKenna, Miklau, Hay and Machanavajjhala 2018, sections 5.2 and 7.
    """

    widths: FloatArray
    pairs: FloatArray
    diagonal: FloatArray
    norm: Norm
    support: AnyArray

    def spread(self, free: FloatArray) -> FloatArray:
        """F from its free entries."""
        sums = np.zeros(self.support.shape)
        sums[self.support] = free
        return sums

    def columns(self, sums: FloatArray) -> FloatArray:
        """n, shape (groups,)."""
        total = sums.sum(axis=0) if self.norm is Norm.L1 else (sums**2).sum(axis=0)
        norms: FloatArray = 1.0 + total if self.norm is Norm.L1 else np.sqrt(1.0 + total)
        return norms

    def value(self, roots: FloatArray) -> tuple[float, FloatArray]:
        """The logarithm of the error, and its gradient, in the square roots of F's free entries."""
        sums = self.spread(roots**2)
        columns = self.columns(sums)
        core = inverse(np.eye(len(sums)) + product(sums * self.widths, sums.T))
        left, right = product(core, sums), product(sums * columns, self.pairs)
        error = float((columns**2) @ self.diagonal - ((left * right) * columns).sum())
        if not error > 0.0:  # a step so long that rounding has eaten the difference: the search takes a shorter one
            return math.inf, np.zeros_like(roots)
        inner = product(core, right) * columns
        slope = -2 * (inner - product(product(inner, sums.T), left * self.widths))
        by_column = 2 * (columns * self.diagonal - (left * right).sum(axis=0))
        share = 1.0 if self.norm is Norm.L1 else sums / columns
        gradient: FloatArray = (slope + by_column * share)[self.support] * (2 * roots / error)
        return math.log(error), gradient


def p_identity(queries: Queries, norm: Norm, precision: int = TUNING.precision) -> PIdentity:
    """The strategy of least expected error, in integers of about `precision` per column.

    Repeatable on one machine; the rounding of another one may end the descent elsewhere, at about the same error.
    Tuned strategies are not cached across processes: a plan depends on its inputs alone, and no file is trusted.

    Args:
        queries: the workload over the cells.
        norm: of a column, L1 or squared L2, to which the noise is scaled.
        precision: norm of an integer column, about.

    >>> from dpqr.strategies.designs.gram import AxisQueries
    >>> from dpqr.workload.matrix import Prefix
    >>> p_identity(AxisQueries(size=16, terms=((Prefix(16), np.ones(16)),)), Norm.L1).cells
    16
    """
    error = _scaled_error(queries, norm)
    sums, groups = error.support.shape
    start, support = _first_sums(groups, sums)
    roots = Descent(tolerance=TUNING.tolerance, steps=TUNING.steps).run(error.value, np.sqrt(start[support]))
    return _rounded(error.spread(roots**2), error, precision)


def _scaled_error(queries: Queries, norm: Norm) -> PIdentityError:
    """The objective of the descent, scaled so that measuring single cells has an error of about 1."""
    groups = min(queries.size, TUNING.groups)
    edges = np.rint(np.linspace(0, queries.size, groups + 1)).astype(np.int64)
    pairs, diagonal = queries.gram(edges)
    size = max(float(diagonal.sum()), 1e-300)
    widths = np.diff(edges)
    many = widths[0] >= TUNING.wide or groups < TUNING.few
    _, support = _first_sums(groups, max(1, groups // 2 if many else groups // 4))
    return PIdentityError(
        widths=widths.astype(np.float64), pairs=pairs / size, diagonal=diagonal / size, norm=norm, support=support
    )


def _first_sums(groups: int, count: int) -> tuple[FloatArray, AnyArray]:
    """Start of the descent, and where each sum may grow.

    The first `count` nodes of the binary tree, with noise added, for equal rows would stay equal; each may grow to its
    neighbours of the same level only, which loses nothing and leaves a quarter of the entries.
    """
    rows, support = np.zeros((count, groups)), np.zeros((count, groups), dtype=bool)
    for row in range(count):
        level = (row + 1).bit_length() - 1
        node = row + 1 - 2**level
        rows[row, node * groups >> level : (node + 1) * groups >> level] = 0.3
        support[row, max(node - 1, 0) * groups >> level : -(-(node + 2) * groups >> level)] = True
    return rows + 0.05 * public_generator(0).random(rows.shape), support


def _rounded(sums: FloatArray, error: PIdentityError, precision: int) -> PIdentity:
    """Integers first: sensitivity and inverse are those of the rounded matrix. Sums that vanish are left out."""
    columns = error.columns(sums)
    diagonal = np.maximum(np.rint(precision / columns), 1).astype(np.int64)
    rows = np.rint(precision * sums / columns).astype(np.int64)
    rows = rows[rows.any(axis=1)]
    divisor = int(np.gcd.reduce(np.concatenate([diagonal, rows.reshape(-1)])))
    return PIdentity(error.widths.astype(np.int64), diagonal // divisor, rows // divisor)
