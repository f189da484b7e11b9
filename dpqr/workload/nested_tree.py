"""NestedTree: weighted sums over the levels of a declared hierarchy, whose groups are any sets of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray, frozen
from dpqr.workload.matrix import IntMatrix
from dpqr.workload.partition import groups_of
from dpqr.workload.weighted_levels import WeightedLevels


@dataclass(frozen=True, eq=False)
class Nesting:
    """Levels of groups of cells, coarsest first: each group lies in one group of the level above, and has a cell.

    size: number of cells, which are the groups of the last level.
    parents: for each level but the first, the group on the level above of each of its groups; int64.

    >>> Nesting(3, (np.array([1, 0, 1]),)).counts
    (2, 3)
    """

    size: int
    parents: tuple[IntArray, ...]

    def __post_init__(self) -> None:
        whole = tuple(frozen(each.astype(np.int64, casting="safe", copy=False).view()) for each in self.parents)
        object.__setattr__(self, "parents", whole)
        held = all(np.bincount(each, minlength=count).all() for each, count in zip(whole, self.counts, strict=False))
        if self.counts[-1] != self.size or not held:
            raise ValueError("a level of a hierarchy needs a cell in every group")

    @classmethod
    def of_levels(cls, levels: Sequence[IntArray], size: int) -> Nesting:
        """The levels that put cell c into the group `levels[l][c]`, and the cells alone as the last one.

        Args:
            levels: coarsest first, each constant on the groups of the next one.
        """
        parents = []
        for above, below in zip(levels, (*levels[1:], np.arange(size)), strict=False):
            parent = np.zeros(int(below.max()) + 1, dtype=np.int64)
            parent[below] = above
            parents.append(parent)
        return cls(size, tuple(parents))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Groups a level."""
        if not self.parents:
            return (self.size,)
        return (int(self.parents[0].max()) + 1, *(len(each) for each in self.parents))

    @cached_property
    def groups(self) -> tuple[IntArray, ...]:
        """The group of every cell on every level, each of shape (cells,)."""
        found = [np.arange(self.size)]
        for parent in self.parents[::-1]:
            found.append(parent[found[-1]])
        return tuple(found[::-1])

    @cached_property
    def runs(self) -> tuple[tuple[IntArray, IntArray], ...]:
        """For every level but the last: an order of the groups below it by parent, and where each parent begins."""
        orders = [np.argsort(each, kind="stable") for each in self.parents]
        return tuple(
            (order, np.searchsorted(each[order], np.arange(count)))
            for order, each, count in zip(orders, self.parents, self.counts, strict=False)
        )


@dataclass(frozen=True, eq=False)
class NestedTree(WeightedLevels):
    """Level by level, every group of `nesting` is summed and multiplied by `weights[l]`.

    weights: positive integers, one a level.

    >>> NestedTree(Nesting(3, (np.array([1, 0, 1]),)), (2, 1)).table(0, 5).tolist()
    [[0, 2, 0], [2, 0, 2], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """

    nesting: Nesting
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.weights) != len(self.counts) or min(self.weights) < 1:
            raise ValueError("a tree needs a positive weight for every level")

    @property
    def cells(self) -> int:
        return self.nesting.size

    @property
    def counts(self) -> tuple[int, ...]:
        """Groups a level."""
        return self.nesting.counts

    def up(self, level: int, tensor: AnyArray) -> AnyArray:
        order, starts = self.nesting.runs[level]
        return np.add.reduceat(tensor[order], starts, axis=0)

    def down(self, level: int, tensor: AnyArray) -> AnyArray:
        return np.asarray(tensor[self.nesting.parents[level]])

    def scaled(self, factor: int) -> NestedTree:
        """Every coefficient times `factor`."""
        return NestedTree(self.nesting, tuple(weight * factor for weight in self.weights))

    @cached_property
    def _corrections(self) -> tuple[FloatArray, ...]:
        """k of every group with groups below it: within it, the inverse of all rows is blockwise T^-1 - k u u^T.

        T and u = T^-1 1 are those of the groups below it, block by block. Its own row subtracts w^2 / (1 + w^2 z), and
        a correction by the groups above shrinks with the square of u.
        """
        before = self.inverses[0]
        found: list[FloatArray] = []
        for level in range(len(self.weights) - 1):
            square = float(self.weights[level]) ** 2
            shrunk = 1.0 / (1.0 + square * before[level])
            above = self.down(level - 1, found[-1]) if level else 0.0
            found.append(square * shrunk + above * shrunk**2)
        return tuple(found)

    def variances(self, queries: IntMatrix) -> FloatArray:
        """Return q (A^T A)^-1 q^T of every row q of `queries`, shape (rows,): its variance under unit noise.

        Of a level that is nested in this tree in time linear in the cells.
        """
        groups = groups_of(queries)
        found = None if groups is None else self._of_groups(groups, queries.rows)
        return self.of_table(queries) if found is None else found

    def level_variances(self, level: int) -> FloatArray:
        """The variance of every group of a level under unit noise, shape (groups,).

        With a = 1^T T^-1 1 of a group and k the correction within the group above it: a - k a^2.
        """
        after = self.inverses[1][level]
        return np.asarray(after - self.down(level - 1, self._corrections[level - 1]) * after**2) if level else after

    def _of_groups(self, groups: IntArray, rows: int) -> FloatArray | None:
        """The same of rows that each sum some groups of one level, all in one group of the level above; else None."""
        for level, places in enumerate(self.nesting.groups):
            row = np.zeros(self.counts[level], dtype=np.int64)
            row[places] = groups
            if not np.array_equal(row[places], groups):
                continue  # a group of this level is cut
            sums = np.bincount(row, weights=self.inverses[1][level], minlength=rows)
            if level == 0:
                return np.asarray(sums, dtype=np.float64)
            above, parent = self.nesting.parents[level - 1], np.zeros(rows, dtype=np.int64)
            parent[row] = above
            if not np.array_equal(parent[row], above):
                return None
            return np.asarray(sums - self._corrections[level - 1][parent] * sums**2)
        return None
