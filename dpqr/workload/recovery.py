"""Recovery: unbiased cell estimates from a measured strategy, and the variance they leave in every query.

A strategy block is a Kronecker product whose factors have full column rank, one factor an attribute. Its least
squares estimate is the product of the factors' own, x = (A^T A)^-1 A^T y, and the variance of a product query is the
product of the factors' variances: both closed forms, from the very integers that multiplied the data.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, IntMatrix
from dpqr.workload.ranges import everything
from dpqr.workload.tree import Tree


@runtime_checkable
class Recoverable(IntMatrix, Protocol):
    """A matrix of full column rank that knows its least-squares inverse."""

    def recover(self, values: FloatArray) -> FloatArray:
        """(A^T A)^-1 A^T values, shape (rows, k) to (cells, k)."""
        ...

    def variances(self, queries: IntMatrix) -> FloatArray:
        """q (A^T A)^-1 q^T for every row q of `queries`, shape (queries.rows,)."""
        ...

    def scaled(self, factor: int) -> Recoverable:
        """Every coefficient times `factor`, a positive integer."""
        ...


def recoverable(matrix: IntMatrix) -> Recoverable | None:
    """Return the matrix in a form that knows its inverse; None if its type has none."""
    if isinstance(matrix, Identity):
        return Tree(matrix.size, (1,), (1,))
    return matrix if isinstance(matrix, Recoverable) else None


def is_strategy(block: QueryBlock) -> bool:
    """Whether every cell over the block's attributes can be estimated from its answers, factor by factor."""
    alone = all(len(factor.axes) == 1 and recoverable(factor.matrix) is not None for factor in block.factors)
    return alone and (not block.rowwise or len(block.factors) <= 1)


def recovered(strategy: QueryBlock, values: FloatArray) -> FloatArray:
    """Estimate the cells over a strategy's axes by least squares.

    Args:
        values: noisy answers in units of the strategy's grid, shape (rows,).

    Returns:
        Estimates, shape = sizes of the strategy's axes in their order.
    """
    tensor = values.reshape([factor.matrix.rows for factor in strategy.factors] or [1])
    for position, factor in enumerate(strategy.factors):
        inverse = recoverable(factor.matrix)
        assert inverse is not None, "a strategy's factors are recoverable"
        front = np.moveaxis(tensor, position, 0)
        cells = inverse.recover(front.reshape(front.shape[0], -1))
        tensor = np.moveaxis(cells.reshape((factor.matrix.cells, *front.shape[1:])), 0, position)
    return np.ascontiguousarray(tensor).reshape([size for factor in strategy.factors for size in factor.sizes])


def query_variances(strategy: QueryBlock, query: QueryBlock) -> FloatArray:
    """Return the variance of every row of `query` under noise of variance 1 per measured answer.

    Args:
        strategy: holds every axis of the query; an axis that is not in the query is summed over.
        query: a block whose factors each have one attribute (`on_single_axes`).

    Returns:
        Variances in squared units of the query's grid, shape (query.rows,).
    """
    asked = {factor.axes[0]: factor.matrix for factor in query.factors}
    parts = []
    common = 1.0
    for factor in strategy.factors:
        inverse, matrix = recoverable(factor.matrix), asked.get(factor.axes[0])
        assert inverse is not None, "a strategy's factors are recoverable"
        if matrix is None:
            common *= float(inverse.variances(everything(factor.matrix.cells))[0])
        else:
            parts.append((factor.axes[0], inverse.variances(matrix)))
    return common * _combined(query, dict(parts)) * float(strategy.scale) ** 2


def squared_norms(query: QueryBlock) -> FloatArray:
    """Return the sum of squared coefficients of every row: its variance under noise of variance 1 in each of its cells,
    in squared units of the block's grid, shape (query.rows,)."""
    cells = {factor.axes[0]: Tree(factor.matrix.cells, (1,), (1,)) for factor in query.factors}
    return _combined(
        query, {factor.axes[0]: cells[factor.axes[0]].variances(factor.matrix) for factor in query.factors}
    )


def _combined(query: QueryBlock, variances: dict[int, FloatArray]) -> FloatArray:
    """Row by row, or every combination, in the order of the query's own factors."""
    whole = np.ones(1)
    for factor in query.factors:
        own = variances[factor.axes[0]]
        whole = whole * own if query.rowwise else np.multiply.outer(whole, own).reshape(-1)
    return whole


def scaled(strategy: QueryBlock, factor: int) -> QueryBlock:
    """Return the strategy with every coefficient times `factor`, which sets its share of a joint measurement."""
    if factor == 1 or not strategy.factors:
        return strategy
    first = strategy.factors[0]
    inverse = recoverable(first.matrix)
    assert inverse is not None, "a strategy's factors are recoverable"
    return replace(strategy, factors=(replace(first, matrix=inverse.scaled(factor)), *strategy.factors[1:]))


def on_single_axes(query: QueryBlock) -> bool:
    """Whether each factor has one attribute, as `query_variances` needs it."""
    return all(len(factor.axes) == 1 for factor in query.factors)


def strategy_block(name: str, axes: Axes, matrices: tuple[IntMatrix, ...]) -> QueryBlock:
    """Return a block of one factor per axis, every combination of their rows."""
    factors = tuple(
        Factor(axes=(axis,), sizes=(matrix.cells,), matrix=matrix) for axis, matrix in zip(axes, matrices, strict=True)
    )
    return QueryBlock(name=name, factors=factors)
