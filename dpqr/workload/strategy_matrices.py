"""PIdentity: weighted single cells and a few weighted sums of groups of neighbouring cells, with its inverse.

The form is HDMM's (McKenna, Miklau, Hay and Machanavajjhala 2018, section 5.2): A = [diag(d); F]. Here d and the
columns of F are constant on groups of neighbouring cells, so that products, sensitivity and inverse cost no more than
the groups do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol, runtime_checkable

import numpy as np

from dpqr.kernel.arrays import AnyArray, Axes, FloatArray, IntArray, freeze
from dpqr.kernel.values import replace
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, IntMatrix, largest_distance, largest_norm
from dpqr.workload.ranges import Overlaps, everything, group_sums, spans
from dpqr.workload.trees import Tree

SLICE = 2**21
"""Group sums of queries per batch."""


@dataclass(frozen=True, eq=False)
class PIdentity:
    """The first rows are diag(d), one a cell; the others sum all cells with the coefficients of their groups.

    widths: cells a group, shape (groups,), at least 1. diagonal: d, shape (groups,), at least 1.
    sums: F, shape (p, groups). All int64.

    >>> matrix = PIdentity(widths=np.array([2]), diagonal=np.array([3]), sums=np.array([[1]]))
    >>> matrix.table(0, matrix.rows).tolist()
    [[3, 0], [0, 3], [1, 1]]
    """

    widths: IntArray
    diagonal: IntArray
    sums: IntArray

    def __post_init__(self) -> None:
        for name in ("widths", "diagonal", "sums"):
            array = getattr(self, name).astype(np.int64, casting="safe", copy=False).view()
            object.__setattr__(self, name, freeze(array))
        if self.widths.min() < 1 or self.diagonal.min() < 1:
            raise ValueError("every group needs a cell, and every cell a positive weight")

    @cached_property
    def edges(self) -> IntArray:
        """Ends of the groups, from 0 on, shape (groups + 1,)."""
        return np.concatenate([[0], np.cumsum(self.widths)])

    @cached_property
    def _cell_weights(self) -> IntArray:
        return np.repeat(self.diagonal, self.widths)

    @property
    def cells(self) -> int:
        return int(self.edges[-1])

    @property
    def rows(self) -> int:
        return self.cells + len(self.sums)

    def apply(self, tensor: AnyArray) -> AnyArray:
        alone = tensor * self._cell_weights[:, None].astype(tensor.dtype)
        grouped = np.add.reduceat(tensor, self.edges[:-1], axis=0)
        return np.concatenate([alone, self.sums.astype(tensor.dtype) @ grouped])

    def adjoint(self, tensor: AnyArray) -> AnyArray:
        alone, summed = tensor[: self.cells], tensor[self.cells :]
        spread = np.repeat(self.sums.T.astype(tensor.dtype) @ summed, self.widths, axis=0)
        return np.asarray(alone * self._cell_weights[:, None].astype(tensor.dtype) + spread)

    def row(self, index: int) -> IntArray:
        row: IntArray = self.table(index, index + 1)[0]
        return row

    def table(self, start: int, stop: int) -> IntArray:
        table = np.zeros((stop - start, self.cells), dtype=np.int64)
        alone = np.arange(start, min(stop, self.cells))
        table[alone - start, alone] = self._cell_weights[alone]
        first = max(start, self.cells)
        summed = self.sums[first - self.cells : max(stop - self.cells, 0)]
        table[first - start :] = np.repeat(summed, self.widths, axis=1)
        return table

    @property
    def smallest(self) -> int:
        return int(self.sums.min(initial=0))

    @cached_property
    def _columns(self) -> IntArray:
        """One column per group, its cell's own weight first: shape (groups, 1 + p)."""
        return np.concatenate([self.diagonal[:, None], self.sums.T], axis=1)

    def scaled(self, factor: int) -> PIdentity:
        """Every coefficient times `factor`."""
        return PIdentity(self.widths, self.diagonal * factor, self.sums * factor)

    def column_norm(self, power: int) -> int:
        return largest_norm(self._columns, power)

    @cached_property
    def _distances(self) -> tuple[int | None, ...]:
        return tuple(self._distance(power) for power in (0, 1, 2))

    def _distance(self, power: int) -> int | None:
        """Two cells of one group differ in their own weights only; those of two groups in F's columns too."""
        twins = [2 * int(own) ** power for own in self.diagonal[self.widths > 1]] if power else []
        if power == 0:
            spread = self.sums.max(axis=1) - self.sums.min(axis=1)
            return max(int(spread.max(initial=0)), int(self.diagonal.max()) if self.cells > 1 else 0)
        if len(self.widths) == 1:
            return max(twins, default=0)
        own = np.diag(self.diagonal)
        apart = largest_distance(np.concatenate([own, self.sums.T], axis=1), power)
        return None if apart is None else max([apart, *twins])

    def column_distance(self, power: int) -> int | None:
        return self._distances[power]

    @cached_property
    def _middle(self) -> FloatArray:
        """F diag(d)^-2 on groups, brought to the left of (A^T A)^-1 = D^-2 - B^T B (Woodbury): shape (p, groups).

        A^T A = D^2 + S^T F^T F S, S the sums of groups. B S = L^-1 F S D^-2, L L^T = 1 + F S D^-2 S^T F^T.
        """
        sums, squares = self.sums.astype(np.float64), self.diagonal.astype(np.float64) ** 2
        core = np.eye(len(sums)) + (sums * (self.widths / squares)) @ sums.T
        solved: FloatArray = np.linalg.solve(np.linalg.cholesky(core), sums / squares)
        return solved

    def recover(self, values: FloatArray) -> FloatArray:
        """Return the least-squares estimate (A^T A)^-1 A^T values, shape (cells, k)."""
        right = self.adjoint(values)
        inner = self._middle @ np.add.reduceat(right, self.edges[:-1], axis=0)
        alone = right / (self._cell_weights.astype(np.float64) ** 2)[:, None]
        return np.asarray(alone - np.repeat(self._middle.T @ inner, self.widths, axis=0))

    def variances(self, queries: IntMatrix) -> FloatArray:
        """Return q (A^T A)^-1 q^T of every row q of `queries`, shape (rows,): its variance under unit noise."""
        inverse, known = self.diagonal.astype(np.float64) ** -2, spans(queries)
        found = np.empty(queries.rows)
        step = max(1, SLICE // max(queries.cells if known is None else 1 + len(self._middle), 1))
        for start in range(0, queries.rows, step):
            stop = min(start + step, queries.rows)
            if known is None:
                sums, squares = group_sums(queries, self.edges, start, stop)
                own, shared = squares @ inverse, sums @ self._middle.T
            else:
                overlaps = Overlaps.of(known[0][start:stop], known[1][start:stop], self.edges)
                products = overlaps.dot(np.column_stack([inverse, self._middle.T]))
                own, shared = products[:, 0], products[:, 1:]
            found[start:stop] = own - (shared**2).sum(axis=1)
        return found


# Contrasts: integer queries that ask what a marginal adds to the marginals below it.
#
# A marginal of k columns is the sum of 2^k orthogonal parts: the total, what single columns add, what pairs add,
# and so on. The Kronecker product of the columns' contrasts asks the last part alone.

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


# Recovery: unbiased cell estimates from a measured strategy, and the variance they leave in every query.
#
# A strategy block is a Kronecker product whose factors have full column rank, one factor an attribute. Its least
# squares estimate is the product of the factors' own, x = (A^T A)^-1 A^T y, and the variance of a product query is
# the product of the factors' variances: both closed forms, from the very integers that multiplied the data.


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


def recover_cells(strategy: QueryBlock, values: FloatArray) -> FloatArray:
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
    matrices = {factor.axes[0]: factor.matrix for factor in query.factors}
    parts = []
    common = 1.0
    for factor in strategy.factors:
        inverse, matrix = recoverable(factor.matrix), matrices.get(factor.axes[0])
        assert inverse is not None, "a strategy's factors are recoverable"
        if matrix is None:
            common *= float(inverse.variances(everything(factor.matrix.cells))[0])
        else:
            parts.append((factor.axes[0], inverse.variances(matrix)))
    return common * _combined(query, dict(parts)) * float(strategy.scale) ** 2


def squared_norms(query: QueryBlock) -> FloatArray:
    """Return the sum of squared coefficients of every row: its variance under noise of variance 1 in each of its cells,
    in squared units of the block's grid, shape (query.rows,)."""
    cells = ((factor, Tree(factor.matrix.cells, (1,), (1,))) for factor in query.factors)
    return _combined(query, {factor.axes[0]: single.variances(factor.matrix) for factor, single in cells})


def _combined(query: QueryBlock, variances: dict[int, FloatArray]) -> FloatArray:
    """Row by row, or every combination, in the order of the query's own factors."""
    whole = np.ones(1)
    for factor in query.factors:
        own = variances[factor.axes[0]]
        whole = whole * own if query.rowwise else np.multiply.outer(whole, own).reshape(-1)
    return whole


def scale_strategy(strategy: QueryBlock, factor: int) -> QueryBlock:
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
