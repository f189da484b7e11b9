"""Contrasts: integer queries that ask what a marginal adds to the marginals below it.

A marginal of k columns is the sum of 2^k orthogonal parts: the total, what single columns add, what pairs add, and so
on. The Kronecker product of the columns' contrasts asks the last part alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

FINENESS = 32
"""The smallest multiple of a row: rows of integers have nearly equal norms then."""


@dataclass(frozen=True, eq=False)
class Contrasts(Dense):
    """Helmert rows (1, .., 1, -k, 0, .., 0), k = 1 .. size - 1, each times an integer that makes their norms alike.

    Rows are orthogonal and add up to 0. With equal norms, noise of one deviation on all rows is even noise on the
    part of the marginal that they ask.

    >>> Contrasts.of(2).coefficients.tolist(), Contrasts.of(3).coefficients.tolist()
    ([[1, -1]], [[55, -55, 0], [32, 32, -64]])
    """

    @staticmethod
    @lru_cache(maxsize=256)
    def of(size: int) -> Contrasts:
        """The contrasts of a column of at least two cells."""
        steps = np.arange(1, size)
        rows = (
            np.tril(np.ones((size - 1, size), dtype=np.int64))
            - np.eye(size - 1, size, 1, dtype=np.int64) * (steps[:, None])
        )
        norms = np.sqrt(steps * (steps + 1.0))
        times = np.rint(FINENESS * norms[-1] / norms).astype(np.int64)
        return Contrasts(rows * (times // np.gcd.reduce(times))[:, None])

    @property
    def squares(self) -> FloatArray:
        """Squared norm of every row."""
        squares: FloatArray = (self.coefficients.astype(np.float64) ** 2).sum(axis=1)
        return squares

    def recover(self, values: FloatArray) -> FloatArray:
        """The least-squares cells that add up to 0, shape (rows, k) to (cells, k)."""
        cells: FloatArray = self.adjoint(values / self.squares[:, None])
        return cells


def interaction(block: QueryBlock, name: str) -> QueryBlock:
    """What a marginal of columns of at least two cells adds to those below it."""
    factors = tuple(
        Factor(axes=factor.axes, sizes=factor.sizes, matrix=Contrasts.of(factor.matrix.cells))
        for factor in block.factors
    )
    return QueryBlock(name=name, factors=factors)


def is_interaction(block: QueryBlock) -> bool:
    """Whether a block asks contrasts of each of its columns."""
    return bool(block.factors) and all(isinstance(factor.matrix, Contrasts) for factor in block.factors)


def interaction_cells(block: QueryBlock, values: FloatArray) -> FloatArray:
    """The least-squares part of the marginal, in records: shape = sizes of the block's axes in their order.

    Args:
        block: an interaction.
        values: its answers, shape (rows,).
    """
    tensor = values.reshape([factor.matrix.rows for factor in block.factors])
    for place, factor in enumerate(block.factors):
        assert isinstance(factor.matrix, Contrasts)
        front = np.moveaxis(tensor, place, 0)
        cells = factor.matrix.recover(front.reshape(front.shape[0], -1))
        tensor = np.moveaxis(cells.reshape(-1, *front.shape[1:]), 0, place)
    return tensor


def interaction_deviation(block: QueryBlock) -> float:
    """Deviation, for noise of deviation 1 on each answer, of the part of the marginal that it asks, along each of its
    dimensions: that of noise on all cells of the marginal that has this part."""
    variance = 1.0
    for factor in block.factors:
        assert isinstance(factor.matrix, Contrasts)
        variance *= _variance(factor.matrix.cells)
    return math.sqrt(variance)


@lru_cache(maxsize=256)
def _variance(size: int) -> float:
    """Mean over the contrasts of a column, for noise of variance 1 on each."""
    return float((1.0 / Contrasts.of(size).squares).mean())
