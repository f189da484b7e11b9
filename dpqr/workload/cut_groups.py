"""CutGroups: how the quadratic form of an interval grows level by level up a tree."""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray


class CutGroups:
    """The cut groups at both ends of many intervals, level by level: a = 1^T T^-1 q and q T^-1 q^T of each.

    Where both ends lie in one group it counts as the left one.
    """

    def __init__(self, starts: IntArray, stops: IntArray, size: int) -> None:
        self.starts, self.stops, self.size = starts, stops, size
        nothing = np.zeros(len(starts))
        self.left, self.left_form, self.right, self.right_form = nothing, nothing, nothing, nothing

    def whole(self, width: int) -> tuple[IntArray, IntArray]:
        """First whole group of a level, and the one after the last (never before the first)."""
        first = -(-self.starts // width)
        last = np.where(self.stops == self.size, -(-self.size // width), self.stops // width)
        return first, np.maximum(last, first)

    def widen(self, after: FloatArray, narrow: int, wide: int, before: FloatArray, square: float) -> None:
        """From the level of width `narrow` to that of width `wide`, whose own row has the squared weight `square`."""
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
