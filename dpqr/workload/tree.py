"""Tree: weighted sums over a hierarchy of groups of neighbouring cells, its least-squares inverse and variances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.workload.matrix import IntMatrix
from dpqr.workload.ranges import spans


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


SLICE = 2**21
"""Coefficients of queries per batch."""


@dataclass(frozen=True, eq=False)
class Tree:
    """Level by level, every group of `widths[l]` neighbouring cells is summed and multiplied by `weights[l]`.

    widths: falling to 1, each a multiple of the next; the last group of a level may be cut short by the end.
    weights: positive integers, one a level.
    Every cell is in one group of every level, so all columns have the norm sum |weight|^power.

    >>> Tree(4, (4, 1), (2, 1)).table(0, 5).tolist()
    [[2, 2, 2, 2], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    """

    smallest: ClassVar[int] = 0
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

    @property
    def rows(self) -> int:
        return sum(self.counts)

    @property
    def cells(self) -> int:
        return self.size

    def apply(self, tensor: AnyArray) -> AnyArray:
        levels = []
        sums, narrow = tensor, 1
        for width, weight in zip(self.widths[::-1], self.weights[::-1], strict=True):
            sums, narrow = _grouped(sums, width // narrow), width
            levels.append(sums * weight)
        return np.concatenate(levels[::-1])

    def adjoint(self, tensor: AnyArray) -> AnyArray:
        total = np.zeros((self.size, *tensor.shape[1:]), dtype=tensor.dtype)
        for part, width, weight in zip(self._levels(tensor), self.widths, self.weights, strict=True):
            total += np.repeat(part * weight, width, axis=0)[: self.size]
        return total

    def _levels(self, tensor: AnyArray) -> list[AnyArray]:
        return np.split(tensor, np.cumsum(self.counts)[:-1])

    def row(self, index: int) -> IntArray:
        row: IntArray = self.table(index, index + 1)[0]
        return row

    def table(self, start: int, stop: int) -> IntArray:
        parts = np.zeros((self.rows, stop - start), dtype=np.int64)
        parts[np.arange(start, stop), np.arange(stop - start)] = 1
        return np.ascontiguousarray(self.adjoint(parts).T)

    def scaled(self, factor: int) -> Tree:
        """Every coefficient times `factor`."""
        return Tree(self.size, self.widths, tuple(weight * factor for weight in self.weights))

    def column_norm(self, power: int) -> int:
        return max(self.weights) if power == 0 else sum(weight**power for weight in self.weights)

    def column_distance(self, power: int) -> int | None:
        """The first and the last cell share the groups of no level but those of one group."""
        apart = [weight for weight, count in zip(self.weights, self.counts, strict=True) if count > 1]
        return max(apart, default=0) if power == 0 else 2 * sum(weight**power for weight in apart)

    @cached_property
    def _inverses(self) -> tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]]:
        """1^T T^-1 1 of every group, T = A^T A of its own subtree: before its own row is counted in, and after.

        Adding the row w 1^T to T changes T^-1 by -w^2 u u^T / (1 + w^2 z), u = T^-1 1 and z = 1^T u (Sherman and
        Morrison), so z becomes z / (1 + w^2 z). A single cell has no row before its own, so only `after` has its value.
        """
        before: list[FloatArray] = [np.full(self.size, np.inf)]
        after = [np.full(self.size, float(self.weights[-1]) ** -2)]
        for level in range(len(self.widths) - 2, -1, -1):
            before.append(_grouped(after[-1], self.widths[level] // self.widths[level + 1]))
            after.append(before[-1] / (1.0 + float(self.weights[level]) ** 2 * before[-1]))
        return tuple(before[::-1]), tuple(after[::-1])

    def recover(self, values: FloatArray) -> FloatArray:
        """Return the least-squares estimate (A^T A)^-1 A^T values, shape (size, k), in one pass up and one down.

        Up: a = 1^T T^-1 v of every group, v its part of A^T values. Down: T^-1 v of a group is that of its children
        less k u, k = w^2 a / (1 + w^2 z); `correction` is what the groups above subtract, in multiples of the own u.
        """
        before, after = self._inverses
        right = self.adjoint(values)
        sums = [right * after[-1][:, None]]
        for level in range(len(self.widths) - 2, -1, -1):
            grouped = _grouped(sums[-1], self.widths[level] // self.widths[level + 1])
            sums.append(grouped / (1.0 + float(self.weights[level]) ** 2 * before[level][:, None]))
        correction = np.zeros((self.counts[0], *right.shape[1:]))
        for level, inside in zip(range(len(self.widths) - 1), sums[::-1], strict=False):
            square = float(self.weights[level]) ** 2
            correction = square * inside + correction / (1.0 + square * before[level][:, None])
            ratio = self.widths[level] // self.widths[level + 1]
            correction = np.repeat(correction, ratio, axis=0)[: self.counts[level + 1]]
        return (right - correction) * after[-1][:, None]

    def variances(self, queries: IntMatrix) -> FloatArray:
        """Return q (A^T A)^-1 q^T of every row q of `queries`, shape (rows,): its variance under unit noise."""
        known = spans(queries)
        if known is not None:
            return self._of_intervals(*known)
        step = max(1, SLICE // max(queries.cells, 1))
        slices = range(0, queries.rows, step)
        parts = [self._of_table(queries.table(start, min(start + step, queries.rows))) for start in slices]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _of_table(self, table: IntArray) -> FloatArray:
        """The recursion of `_inverses` on explicit rows: a = 1^T T^-1 q of every group, and what it subtracts."""
        before, after = self._inverses
        inside = table.T * after[-1][:, None]
        total: FloatArray = (table.T * inside).sum(axis=0)
        for level in range(len(self.widths) - 2, -1, -1):
            square = float(self.weights[level]) ** 2
            inside = _grouped(inside, self.widths[level] // self.widths[level + 1])
            shrunk = inside / (1.0 + square * before[level][:, None])
            total = total - square * (inside * shrunk).sum(axis=0)
            inside = shrunk
        return total

    def _of_intervals(self, starts: IntArray, stops: IntArray) -> FloatArray:
        """The same for intervals: each cuts two groups of a level; running sums of `after` cover the whole groups
        between them. Work: rows times levels."""
        ends = CutGroups(starts, stops, self.size)
        before, after = self._inverses
        for level in range(len(self.widths) - 2, -1, -1):
            narrow, wide = self.widths[level + 1], self.widths[level]
            ends.widen(after[level + 1], narrow, wide, before[level], float(self.weights[level]) ** 2)
        return ends.total(after[0], self.widths[0])


def _grouped(tensor: AnyArray, ratio: int) -> AnyArray:
    """Sums of `ratio` neighbours along the first axis; the last group may be short."""
    if ratio == 1:
        return tensor
    return np.add.reduceat(tensor, np.arange(0, len(tensor), ratio), axis=0)


def dyadic(size: int) -> tuple[int, ...]:
    """Return the widths of the binary tree over `size` cells: powers of two, the first of them at least `size`."""
    height = math.ceil(math.log2(size)) if size > 1 else 0
    return tuple(2**level for level in range(height, -1, -1))
