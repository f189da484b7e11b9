"""p-Identity: single cells and a few sums, tuned to the workload; constant on groups of neighbouring cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray
from dpqr.noise.public import public_generator
from dpqr.strategies.designs.axis_queries import Queries
from dpqr.strategies.designs.small_algebra import inverse, product
from dpqr.strategies.updates.descent import Descent
from dpqr.workload.p_identity import PIdentity
from dpqr.workload.sensitivity import Norm

GROUPS = 256
"""Most groups of cells: tuning takes about a second at this size, and that the cells of a group are alike costs little.
(4,096 cells, all prefixes: expected error 12.4 with 256 groups, 13.0 with 128, 13.9 for the best tree.)"""

WIDE = 8
"""Cells a group from which on twice as many sums pay: half the groups, not a quarter. (4,096 cells, random ranges:
15.3, not 15.6.)"""

FEW = 32
"""Groups below which half as many sums are tuned: a quarter of few leaves no hierarchy."""

STEPS = 250
"""Of the descent; 400 lower the error by another 0.2%."""

TOLERANCE = 1e-7
PRECISION = 4096
"""Norm of an integer column, about."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PIdentityError:
    """Expected squared error of A = [D; F D] as a function of F >= 0, D = the diagonal that makes all columns 1.

    With n the columns' norm before D (1 + sum F in L1, sqrt(1 + sum F^2) in L2), G the workload's Gram matrix and
    M = 1 + F F^T over cells, Woodbury's formula gives tr (A^T A)^-1 G = tr n G n - tr M^-1 F n G n F^T: with F and n
    constant on groups, all of it on groups. (McKenna, Miklau, Hay and Machanavajjhala 2018, sections 5.2 and 7.)

    widths: cells a group. pairs, diagonal: the Gram matrix on groups (AxisQueries.gram).
    support: where F may differ from 0, booleans of shape (p, groups).
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


def p_identity(queries: Queries, norm: Norm, precision: int = PRECISION) -> PIdentity:
    """The tuned strategy for noise scaled to `norm` of a column, rounded to integers of about `precision` a column.

    Repeatable on one machine; another one's rounding may end the descent elsewhere, at about the same error.
    """
    return tune(error_to_tune(queries, norm), precision)


def error_to_tune(queries: Queries, norm: Norm) -> PIdentityError:
    """What the descent lowers, scaled so that single cells by themselves have an error of about 1."""
    groups = min(queries.size, GROUPS)
    edges = np.rint(np.linspace(0, queries.size, groups + 1)).astype(np.int64)
    pairs, diagonal = queries.gram(edges)
    size = max(float(diagonal.sum()), 1e-300)
    widths = np.diff(edges)
    many = widths[0] >= WIDE or groups < FEW
    _, support = _first_sums(groups, max(1, groups // 2 if many else groups // 4))
    return PIdentityError(
        widths=widths.astype(np.float64), pairs=pairs / size, diagonal=diagonal / size, norm=norm, support=support
    )


def tune(error: PIdentityError, precision: int) -> PIdentity:
    """The strategy at the end of the descent, in integers."""
    sums, groups = error.support.shape
    start, support = _first_sums(groups, sums)
    roots = Descent(tolerance=TOLERANCE, steps=STEPS).run(error.value, np.sqrt(start[support]))
    return _rounded(error.spread(roots**2), error, precision)


def _first_sums(groups: int, count: int) -> tuple[FloatArray, AnyArray]:
    """The first `count` nodes of the binary tree, shaken (equal rows would stay equal), and where each may grow: to
    its neighbours of the same level. Sums reach no further when they may, and a quarter of the entries is left."""
    rows, support = np.zeros((count, groups)), np.zeros((count, groups), dtype=bool)
    for row in range(count):
        level = (row + 1).bit_length() - 1
        node = row + 1 - 2**level
        rows[row, node * groups >> level : (node + 1) * groups >> level] = 0.3
        support[row, max(node - 1, 0) * groups >> level : -(-(node + 2) * groups >> level)] = True
    return rows + 0.05 * public_generator(0).random(rows.shape), support


def _rounded(sums: FloatArray, error: PIdentityError, precision: int) -> PIdentity:
    """Integers first: sensitivity and inverse are those of what is returned. Sums that vanish are left out."""
    columns = error.columns(sums)
    diagonal = np.maximum(np.rint(precision / columns), 1).astype(np.int64)
    rows = np.rint(precision * sums / columns).astype(np.int64)
    rows = rows[rows.any(axis=1)]
    divisor = int(np.gcd.reduce(np.concatenate([diagonal, rows.reshape(-1)])))
    return PIdentity(error.widths.astype(np.int64), diagonal // divisor, rows // divisor)
