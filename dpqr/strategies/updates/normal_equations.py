"""Weighted least squares over the cells of a few attributes, by products of blocks alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.workload.block import QueryBlock

TOLERANCE = 1e-10
"""Of the residual, relative to the measured answers and to the largest singular value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weighed:
    """A block's released answers and the standard deviation of each, in records; values of shape (rows,)."""

    block: QueryBlock
    values: FloatArray
    deviation: float

    def ask(self, cells: FloatArray, axes: Axes) -> FloatArray:
        """The block's answers on a tensor over `axes`, in deviations."""
        own = self.block.axes
        others = tuple(position for position, axis in enumerate(axes) if axis not in own)
        kept = [axis for axis in axes if axis in own]
        marginal = cells.sum(axis=others).transpose([kept.index(axis) for axis in own])
        answers: FloatArray = self.block.apply(marginal) * (float(self.block.scale) / self.deviation)
        return answers

    def tell(self, values: FloatArray, axes: Axes) -> FloatArray:
        """The transposed product, a tensor that broadcasts to the one over `axes`."""
        own = self.block.axes
        tensor = self.block.adjoint(values * (float(self.block.scale) / self.deviation))
        kept = [axis for axis in axes if axis in own]
        ordered = tensor.reshape([size for factor in self.block.factors for size in factor.sizes]).transpose(
            [own.index(axis) for axis in kept]
        )
        told: FloatArray = np.expand_dims(ordered, tuple(i for i, axis in enumerate(axes) if axis not in own))
        return told


def least_norm(told: Sequence[Weighed], axes: Axes, shape: tuple[int, ...]) -> FloatArray:
    """The shortest x among those that minimise sum (value - row x)^2 / deviation^2, shape `shape`.

    Method: Paige and Saunders, LSQR (1982), which from 0 never leaves the span of the rows.
    """
    if not told:
        return np.zeros(shape)
    from scipy.sparse.linalg import LinearOperator, lsqr

    ends = np.cumsum([one.block.rows for one in told])

    def ask(cells: FloatArray) -> FloatArray:
        return np.concatenate([one.ask(cells.reshape(shape), axes) for one in told])

    def tell(values: FloatArray) -> FloatArray:
        total = np.zeros(shape)
        for one, part in zip(told, np.split(values.reshape(-1), ends[:-1]), strict=True):
            total += one.tell(part, axes)
        return total.reshape(-1)

    size = int(np.prod(shape, dtype=np.int64))
    operator = LinearOperator((int(ends[-1]), size), matvec=ask, rmatvec=tell, dtype=np.float64)
    targets = np.concatenate([one.values / one.deviation for one in told])
    steps = 4 * min(size, int(ends[-1]), 5000) + 20
    found = lsqr(operator, targets, atol=TOLERANCE, btol=TOLERANCE, conlim=0, iter_lim=steps)[0]
    solution: FloatArray = found.reshape(shape)
    return solution
