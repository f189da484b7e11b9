"""Tree: weighted sums over a hierarchy of groups of neighbouring cells, its least-squares inverse and variances."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray, freeze
from dpqr.workload.matrix import IntMatrix
from dpqr.workload.partition import groups_of
from dpqr.workload.ranges import spans

# WeightedLevels: nested levels of groups of cells, each group summed and weighted, and their least-squares inverse.
#
# Every cell lies in one group of every level, and every group of a level in one group of the level above, so T =
# A^T A of a group's subtree is that of its children plus one row. All that is needed of its inverse follows level
# by level, in time linear in the groups.

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
        """The recursion of `inverses` on explicit rows: a = 1^T T^-1 q of every group, and what it subtracts; of single
        cells their squared norms."""
        if len(self.weights) == 1:
            return np.asarray(np.square(table, dtype=np.float64).sum(axis=1) / float(self.weights[0]) ** 2)
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


class CutGroups:
    """The two groups that an interval cuts on a level: a = 1^T T^-1 q and the quadratic form q T^-1 q^T of each.

    Many intervals are followed together, level by level up the tree. A group that holds both ends counts as the left.
    """

    def __init__(self, starts: IntArray, stops: IntArray, size: int) -> None:
        self.starts, self.stops, self.size = starts, stops, size
        nothing = np.zeros(len(starts))
        self.left, self.left_form, self.right, self.right_form = nothing, nothing, nothing, nothing

    def whole(self, width: int) -> tuple[IntArray, IntArray]:
        """Return the first whole group of a level, and the one after the last (never before the first)."""
        first = -(-self.starts // width)
        last = np.where(self.stops == self.size, -(-self.size // width), self.stops // width)
        return first, np.maximum(last, first)

    def widen(self, after: FloatArray, narrow: int, wide: int, before: FloatArray, square: float) -> None:
        """Move from the level of width `narrow` to that of width `wide`, whose row has the squared weight `square`."""
        running = np.concatenate([[0.0], np.cumsum(after)])
        first, last = self.whole(narrow)
        has_left = self.starts % wide != 0
        has_right = (self.stops % wide != 0) & (self.stops != self.size)
        left, right = self.starts // wide, self.stops // wide
        one = has_left & has_right & (left == right)
        has_right &= ~one
        upto = np.clip((left + 1) * (wide // narrow), first, last)
        since = np.clip(right * (wide // narrow), first, last)
        held_left = has_left * (running[upto] - running[first])
        held_right = has_right * (running[last] - running[since])
        self._close_left(has_left, one, held_left, before[np.minimum(left, len(before) - 1)], square)
        self._close_right(has_right, held_right, before[np.minimum(right, len(before) - 1)], square)

    def _close_left(self, has: AnyArray, one: AnyArray, held: FloatArray, before: FloatArray, square: float) -> None:
        inside = held + self.left + one * self.right
        form = held + self.left_form + one * self.right_form
        self.right, self.right_form = np.where(one, 0.0, self.right), np.where(one, 0.0, self.right_form)
        self.left = has * inside / (1.0 + square * before)
        self.left_form = has * (form - square * inside * self.left)

    def _close_right(self, has: AnyArray, held: FloatArray, before: FloatArray, square: float) -> None:
        inside = held + self.right
        form = held + self.right_form
        self.right = has * inside / (1.0 + square * before)
        self.right_form = has * (form - square * inside * self.right)

    def total(self, after: FloatArray, width: int) -> FloatArray:
        running = np.concatenate([[0.0], np.cumsum(after)])
        first, last = self.whole(width)
        return np.asarray(running[last] - running[first] + self.left_form + self.right_form)


@dataclass(frozen=True, eq=False)
class Tree(WeightedLevels):
    """Level by level, every group of `widths[l]` neighbouring cells is summed and multiplied by `weights[l]`.

    widths: falling to 1, each a multiple of the next; the last group of a level may be cut short by the end.
    weights: positive integers, one a level.

    >>> Tree(4, (4, 1), (2, 1)).table(0, 5).tolist()
    [[2, 2, 2, 2], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    """

    size: int
    widths: tuple[int, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        nested = all(wide % narrow == 0 for wide, narrow in zip(self.widths, self.widths[1:], strict=False))
        if not self.widths or self.widths[-1] != 1 or not nested or min(self.weights) < 1:
            raise ValueError("a tree needs nested widths that end at 1, and positive weights")

    @property
    def counts(self) -> tuple[int, ...]:
        """Groups a level."""
        return tuple(-(-self.size // width) for width in self.widths)

    def up(self, level: int, tensor: AnyArray) -> AnyArray:
        """Sums of neighbours; the last group may be short."""
        ratio = self.widths[level] // self.widths[level + 1]
        return tensor if ratio == 1 else np.add.reduceat(tensor, np.arange(0, len(tensor), ratio), axis=0)

    def down(self, level: int, tensor: AnyArray) -> AnyArray:
        ratio = self.widths[level] // self.widths[level + 1]
        return np.repeat(tensor, ratio, axis=0)[: self.counts[level + 1]]

    def scaled(self, factor: int) -> Tree:
        """Every coefficient times `factor`."""
        return Tree(self.size, self.widths, tuple(weight * factor for weight in self.weights))

    def variances(self, queries: IntMatrix) -> FloatArray:
        """Return q (A^T A)^-1 q^T of every row q of `queries`, shape (rows,): its variance under unit noise."""
        known, groups = spans(queries), groups_of(queries)
        if known is not None:
            return self._of_intervals(*known)
        if groups is not None and len(self.widths) == 1:  # single cells
            return np.bincount(groups, minlength=queries.rows) / float(self.weights[0]) ** 2
        return self.of_table(queries)

    def _of_intervals(self, starts: IntArray, stops: IntArray) -> FloatArray:
        """Each interval cuts two groups of a level; running sums of `after` cover the whole groups between them. Work:
        rows times levels."""
        ends = CutGroups(starts, stops, self.size)
        before, after = self.inverses
        for level in range(len(self.widths) - 2, -1, -1):
            narrow, wide = self.widths[level + 1], self.widths[level]
            ends.widen(after[level + 1], narrow, wide, before[level], float(self.weights[level]) ** 2)
        return ends.total(after[0], self.widths[0])


def dyadic(size: int) -> tuple[int, ...]:
    """Return the widths of the binary tree over `size` cells: powers of two, the first of them at least `size`."""
    height = math.ceil(math.log2(size)) if size > 1 else 0
    return tuple(2**level for level in range(height, -1, -1))


# NestedTree: weighted sums over the levels of a declared hierarchy, whose groups are any sets of cells.


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
        whole = tuple(freeze(each.astype(np.int64, casting="safe", copy=False).view()) for each in self.parents)
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
