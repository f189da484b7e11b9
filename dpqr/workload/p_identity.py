"""PIdentity: weighted single cells and a few weighted sums of groups of neighbouring cells, with its inverse.

The form is HDMM's (McKenna, Miklau, Hay and Machanavajjhala 2018, section 5.2): A = [diag(d); F]. Here d and the
columns of F are constant on groups of neighbouring cells, so that products, sensitivity and inverse cost no more than
the groups do.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray, frozen
from dpqr.workload.matrix import IntMatrix, largest_distance, largest_norm
from dpqr.workload.overlaps import Overlaps
from dpqr.workload.ranges import group_sums, spans

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
            object.__setattr__(self, name, frozen(array))
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
