"""WeightedLevels: nested levels of groups of cells, each group summed and weighted, and their least-squares inverse.

Every cell lies in one group of every level, and every group of a level in one group of the level above, so T = A^T A of
a group's subtree is that of its children plus one row. All that is needed of its inverse follows level by level, in
time linear in the groups.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.workload.matrix import IntMatrix

SLICE = 2**21
"""Coefficients of queries per batch."""


class WeightedLevels(ABC):
    """Level 0 is the coarsest; the groups of the last level are the cells. Rows stand level by level.

    weights: positive integers, one a level.
    Every cell is in one group of every level, so all columns have the norm sum |weight|^power.
    """

    smallest: ClassVar[int] = 0
    weights: tuple[int, ...]

    @property
    @abstractmethod
    def counts(self) -> tuple[int, ...]:
        """Groups a level."""

    @abstractmethod
    def up(self, level: int, tensor: AnyArray) -> AnyArray:
        """Sum values of the groups of level `level` + 1 over the groups of `level`; along the first axis."""

    @abstractmethod
    def down(self, level: int, tensor: AnyArray) -> AnyArray:
        """Give every group of level `level` + 1 the value of its group on `level`."""

    @property
    def rows(self) -> int:
        return sum(self.counts)

    @property
    def cells(self) -> int:
        return self.counts[-1]

    def apply(self, tensor: AnyArray) -> AnyArray:
        sums = tensor
        levels = [sums * self.weights[-1]]
        for level in range(len(self.weights) - 2, -1, -1):
            sums = self.up(level, sums)
            levels.append(sums * self.weights[level])
        return np.concatenate(levels[::-1])

    def adjoint(self, tensor: AnyArray) -> AnyArray:
        parts = np.split(tensor, np.cumsum(self.counts)[:-1])
        total = parts[0] * self.weights[0]
        for level, part in enumerate(parts[1:]):
            total = self.down(level, total) + part * self.weights[level + 1]
        return total

    def row(self, index: int) -> IntArray:
        row: IntArray = self.table(index, index + 1)[0]
        return row

    def table(self, start: int, stop: int) -> IntArray:
        parts = np.zeros((self.rows, stop - start), dtype=np.int64)
        parts[np.arange(start, stop), np.arange(stop - start)] = 1
        return np.ascontiguousarray(self.adjoint(parts).T)

    def column_norm(self, power: int) -> int:
        return max(self.weights) if power == 0 else sum(weight**power for weight in self.weights)

    def column_distance(self, power: int) -> int | None:
        """Two cells in different groups of the coarsest level that has several are apart on all finer levels."""
        apart = [weight for weight, count in zip(self.weights, self.counts, strict=True) if count > 1]
        return max(apart, default=0) if power == 0 else 2 * sum(weight**power for weight in apart)

    @cached_property
    def inverses(self) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
        """1^T T^-1 1 of every group, T = A^T A of its own subtree: before its own row is counted in, and after.

        Adding the row w 1^T to T changes T^-1 by -w^2 u u^T / (1 + w^2 z), u = T^-1 1 and z = 1^T u (Sherman and
        Morrison), so z becomes z / (1 + w^2 z). A single cell has no row before its own, so only `after` has its value.
        """
        before: list[FloatArray] = [np.full(self.cells, np.inf)]
        after = [np.full(self.cells, float(self.weights[-1]) ** -2)]
        for level in range(len(self.weights) - 2, -1, -1):
            before.append(self.up(level, after[-1]))
            after.append(before[-1] / (1.0 + float(self.weights[level]) ** 2 * before[-1]))
        return tuple(before[::-1]), tuple(after[::-1])

    def recover(self, values: FloatArray) -> FloatArray:
        """Return the least-squares estimate (A^T A)^-1 A^T values, shape (size, k), in one pass up and one down.

        Up: a = 1^T T^-1 v of every group, v its part of A^T values. Down: T^-1 v of a group is that of its children
        less k u, k = w^2 a / (1 + w^2 z); `correction` is what the groups above subtract, in multiples of the own u.
        """
        before, after = self.inverses
        right = self.adjoint(values)
        sums = [right * after[-1][:, None]]
        for level in range(len(self.weights) - 2, -1, -1):
            grouped = self.up(level, sums[-1])
            sums.append(grouped / (1.0 + float(self.weights[level]) ** 2 * before[level][:, None]))
        correction = np.zeros((self.counts[0], *right.shape[1:]))
        for level, inside in zip(range(len(self.weights) - 1), sums[::-1], strict=False):
            square = float(self.weights[level]) ** 2
            correction = square * inside + correction / (1.0 + square * before[level][:, None])
            correction = self.down(level, correction)
        return (right - correction) * after[-1][:, None]

    def of_table(self, queries: IntMatrix) -> FloatArray:
        """Return q (A^T A)^-1 q^T of every row q of `queries`, written out a slice at a time; shape (rows,)."""
        step = max(1, SLICE // max(queries.cells, 1))
        slices = range(0, queries.rows, step)
        parts = [self._of_slice(queries.table(start, min(start + step, queries.rows))) for start in slices]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _of_slice(self, table: IntArray) -> FloatArray:
        """The recursion of `inverses` on explicit rows: a = 1^T T^-1 q of every group, and what it subtracts."""
        before, after = self.inverses
        inside = table.T * after[-1][:, None]
        total: FloatArray = (table.T * inside).sum(axis=0)
        for level in range(len(self.weights) - 2, -1, -1):
            square = float(self.weights[level]) ** 2
            inside = self.up(level, inside)
            shrunk = inside / (1.0 + square * before[level][:, None])
            total = total - square * (inside * shrunk).sum(axis=0)
            inside = shrunk
        return total
