"""SignedVector: a real number for every cell, negative ones included: the perceptron's state."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import Axes, FloatArray, IntArray
from dpqr.data.marginals import dense_marginal
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SignedVector:
    """`total` records times a vector D on the universe that need be no distribution.

    cells: D, shape = domain shape, read-only; a fraction of the records a cell.

    Why `answer` does not clip: the perceptron's mistake bound follows |D - x/n|, and the distinguisher must see the
    gap f(x) - f(D) that it speaks of. Clipping every round would hide overshoots that the next step should undo.
    """

    cells: FloatArray
    total: float
    _kept: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)

    def marginal(self, axes: Axes) -> FloatArray:
        """Records (possibly negative), shape = sizes of `axes` in that order."""
        if axes not in self._kept:
            self._kept[axes] = dense_marginal(self.cells, axes) * self.total
        return self._kept[axes]

    def answer(self, block: QueryBlock) -> FloatArray:
        """Raw answers in units of the block's grid, shape (block.rows,): what the loop compares and updates by."""
        answers: FloatArray = block.answer(self)
        return answers

    def clipped(self) -> ClippedVector:
        return ClippedVector(vector=self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClippedVector:
    """A signed vector as it is released: answers between what 0 and `total` times a query's extremes allow.

    For a query in [0, 1] that is [0, 1] x total. Why the guarantee survives: with a public n the true answer lies in
    that interval, and moving an estimate to the nearest point of an interval that holds the truth takes it no further
    away. Where n is private, with n0 for n, a truth above the interval is missed by at most |n - n0|, which
    SOURCES section N bounds by alpha n0 / 8. A certificate may be tighter than that, so certified answers are then
    released as they are.
    """

    vector: SignedVector

    @property
    def total(self) -> float:
        return self.vector.total

    def answer(self, block: QueryBlock) -> FloatArray:
        """Clipped answers in units of the block's grid, shape (block.rows,)."""
        low, high = row_extremes(block)
        return np.clip(self.vector.answer(block), low * self.total, high * self.total)


def row_extremes(block: QueryBlock) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest coefficient of every query, each of shape (block.rows,).

    A product of factors is extreme at extremes of the factors; with negative ones any corner can be it.
    """
    low = high = np.ones(1, dtype=np.int64)
    for factor in block.factors:
        corners = [
            left * right if block.rowwise else np.multiply.outer(left, right).reshape(-1)
            for left in (low, high)
            for right in _factor_extremes(factor)
        ]
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return low.astype(np.float64), high.astype(np.float64)


def _factor_extremes(factor: Factor) -> tuple[IntArray, IntArray]:
    matrix = factor.matrix
    if isinstance(matrix, Identity):
        ones = np.ones(matrix.rows, dtype=np.int64)
        return (ones if matrix.cells == 1 else np.zeros_like(ones)), ones
    rows = [matrix.row(index) for index in range(matrix.rows)]
    return np.array([row.min() for row in rows]), np.array([row.max() for row in rows])
