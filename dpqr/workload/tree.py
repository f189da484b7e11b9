"""Tree: weighted sums over a hierarchy of groups of neighbouring cells, its least-squares inverse and variances."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.workload.matrix import IntMatrix
from dpqr.workload.partition import groups_of
from dpqr.workload.ranges import spans
from dpqr.workload.weighted_levels import WeightedLevels


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
