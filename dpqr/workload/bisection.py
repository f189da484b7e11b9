"""Bisection: the cells of a few ordered attributes as leaves of a binary tree of boxes, each half of the one above."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpqr.data.arrays import IntArray, frozen


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Boxes:
    """Boxes of cells: starts <= cell < stops on every axis; both int64 of shape (boxes, axes)."""

    starts: IntArray
    stops: IntArray

    def __post_init__(self) -> None:
        for name in ("starts", "stops"):
            object.__setattr__(self, name, frozen(np.asarray(getattr(self, name), dtype=np.int64)))

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def cells(self) -> IntArray:
        """Cells a box, shape (boxes,)."""
        counts: IntArray = (self.stops - self.starts).prod(axis=1)
        return counts


@dataclass(frozen=True)
class Bisection:
    """Every axis is filled up to a power of two and halved again and again, the axis that is longest by then first.

    On one axis the boxes are aligned dyadic intervals; on two they are those of a quadtree with a level in between,
    and the leaves' order is a space-filling curve (Morton 1966). Public: it follows from the sizes alone.

    shape: cells an axis, as the attributes' order has them.
    """

    shape: tuple[int, ...]

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """Which axis each level halves, from the root down."""
        left = [(size - 1).bit_length() for size in self.shape]
        order = []
        while any(left):
            axis = max(range(len(left)), key=lambda one: left[one])
            order.append(axis)
            left[axis] -= 1
        return tuple(order)

    @property
    def depth(self) -> int:
        """Levels below the root. Level l has 2^l boxes, some of them without a cell."""
        return len(self.axes)

    def places(self, level: int) -> IntArray:
        """The box of every cell on `level`; shape (cells,), cells in C order."""
        heights = [(size - 1).bit_length() for size in self.shape]
        grids = np.indices(self.shape, sparse=True)
        found = np.zeros(self.shape, dtype=np.int64)
        for axis in self.axes[:level]:
            heights[axis] -= 1
            found = 2 * found + ((grids[axis] >> heights[axis]) & 1)
        return found.reshape(-1)

    def boxes(self, level: int, places: IntArray) -> Boxes:
        """The boxes of that level at `places`, cut at the ends of the axes (they may then hold no cell)."""
        heights = [(size - 1).bit_length() for size in self.shape]
        starts = np.zeros((len(places), len(self.shape)), dtype=np.int64)
        for step, axis in enumerate(self.axes[:level]):
            heights[axis] -= 1
            starts[:, axis] += ((places >> (level - 1 - step)) & 1) << heights[axis]
        sizes = np.array(self.shape, dtype=np.int64)
        widths = 1 << np.array(heights, dtype=np.int64)
        return Boxes(starts=np.minimum(starts, sizes), stops=np.minimum(starts + widths, sizes))
