"""Partitions of cells: `Bisection`, a binary tree of boxes, and `BucketMatrix` over the buckets of a partition."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import force_setattr

from dpqr.kernel.arrays import AnyArray, IntArray, freeze
from dpqr.workload.matrix import Identity, IntMatrix


class Boxes(Struct, frozen=True, kw_only=True, eq=False):
    """Boxes of cells: starts <= cell < stops on every axis; both int64 of shape (boxes, axes).

    >>> Boxes(starts=np.array([[0, 0]]), stops=np.array([[2, 3]])).cells
    array([6])
    """

    starts: IntArray
    stops: IntArray

    def __post_init__(self) -> None:
        for name in ("starts", "stops"):
            force_setattr(self, name, freeze(np.asarray(getattr(self, name), dtype=np.int64)))

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def cells(self) -> IntArray:
        """Number of cells of each box, shape (boxes,)."""
        counts: IntArray = (self.stops - self.starts).prod(axis=1)
        return counts


@dataclass(frozen=True)
class Bisection:
    """A binary tree of boxes: axes are padded to powers of two, and the axis that is longest at a level is halved.

    On one axis the boxes are aligned dyadic intervals; on two they are those of a quadtree with a level in between,
    and the leaves' order is a space-filling curve (Morton 1966). Public: it follows from the sizes alone.

    shape: cells of each axis, in the order of the attributes.

    >>> Bisection((4,)).places(1)
    array([0, 0, 1, 1])
    """

    shape: tuple[int, ...]

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The axis that each level halves, from the root down."""
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
        """Return the number of every cell's box on `level`, shape (cells,), cells in C order."""
        heights = [(size - 1).bit_length() for size in self.shape]
        grids = np.indices(self.shape, sparse=True)
        found = np.zeros(self.shape, dtype=np.int64)
        for axis in self.axes[:level]:
            heights[axis] -= 1
            found = 2 * found + ((grids[axis] >> heights[axis]) & 1)
        return found.reshape(-1)

    def boxes(self, level: int, places: IntArray) -> Boxes:
        """Return the boxes of these numbers on `level`, cut at the ends of the axes (they may then hold no cell)."""
        heights = [(size - 1).bit_length() for size in self.shape]
        starts = np.zeros((len(places), len(self.shape)), dtype=np.int64)
        for step, axis in enumerate(self.axes[:level]):
            heights[axis] -= 1
            starts[:, axis] += ((places >> (level - 1 - step)) & 1) << heights[axis]
        sizes = np.array(self.shape, dtype=np.int64)
        widths = 1 << np.array(heights, dtype=np.int64)
        return Boxes(starts=np.minimum(starts, sizes), stops=np.minimum(starts + widths, sizes))


class BucketMatrix(Struct, frozen=True, eq=False):
    """A matrix over buckets, applied to cells: a cell has the coefficients of its bucket.

    inner: over the buckets. buckets: of every cell, shape (cells,), int64. A bucket may have no cell.

    The columns are those of `inner`, some of them repeated, so no column norm or distance exceeds `inner`'s: one
    record changes the answers by as much as it changes those on the histogram of the buckets.

    >>> BucketMatrix(Identity(2), np.array([0, 0, 1])).table(0, 2).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """

    inner: IntMatrix
    buckets: IntArray

    def __post_init__(self) -> None:
        force_setattr(self, "buckets", freeze(self.buckets.astype(np.int64, casting="safe", copy=False).view()))
        if len(self.buckets) == 0 or self.buckets.min() < 0 or self.buckets.max() >= self.inner.cells:
            raise ValueError("every cell needs a bucket that the inner matrix has")

    @property
    def rows(self) -> int:
        return self.inner.rows

    @property
    def cells(self) -> int:
        return len(self.buckets)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """Buckets along the cells, each with the length of its run of cells."""
        starts = [0, *(np.flatnonzero(np.diff(self.buckets)) + 1).tolist(), len(self.buckets)]
        return [(int(self.buckets[start]), stop - start) for start, stop in pairwise(starts)]

    def merge(self, tensor: AnyArray) -> AnyArray:
        """Sum over the buckets: shape (cells, k) to (buckets, k). Integers stay exact."""
        sums = np.zeros((self.inner.cells, *tensor.shape[1:]), dtype=tensor.dtype)
        np.add.at(sums, self.buckets, tensor)
        return sums

    def apply(self, tensor: AnyArray) -> AnyArray:
        return self.inner.apply(self.merge(tensor))

    def adjoint(self, tensor: AnyArray) -> AnyArray:
        return np.asarray(self.inner.adjoint(tensor)[self.buckets])

    def row(self, index: int) -> IntArray:
        row: IntArray = self.inner.row(index)[self.buckets]
        return row

    def table(self, start: int, stop: int) -> IntArray:
        table: IntArray = self.inner.table(start, stop)[:, self.buckets]
        return table

    @property
    def smallest(self) -> int:
        return self.inner.smallest

    def column_norm(self, power: int) -> int:
        return self.inner.column_norm(power)

    def column_distance(self, power: int) -> int | None:
        return self.inner.column_distance(power)


def groups_of(matrix: IntMatrix) -> IntArray | None:
    """Return the row that counts each cell, where every cell is counted once by one row; None of any other matrix.

    >>> groups_of(BucketMatrix(Identity(2), np.array([0, 0, 1])))
    array([0, 0, 1])
    """
    if isinstance(matrix, Identity):
        return np.arange(matrix.size)
    return matrix.buckets if isinstance(matrix, BucketMatrix) and isinstance(matrix.inner, Identity) else None
