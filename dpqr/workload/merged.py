"""Merged: a matrix over buckets, applied to the cells that lie in them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray, frozen
from dpqr.workload.matrix import IntMatrix


@dataclass(frozen=True, eq=False)
class Merged:
    """Row r weighs every cell as `inner`'s row r weighs the cell's bucket.

    inner: over the buckets; buckets: of every cell, shape (cells,), int64. A bucket may have no cell.

    The columns are those of `inner`, some of them repeated, so no column norm or distance exceeds `inner`'s: what one
    record moves is what it moves in the histogram of the buckets.
    """

    inner: IntMatrix
    buckets: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "buckets", frozen(self.buckets.astype(np.int64, casting="safe", copy=False).view()))
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
        """Buckets along the cells, each with how many cells in a row lie in it."""
        starts = [0, *(np.flatnonzero(np.diff(self.buckets)) + 1).tolist(), len(self.buckets)]
        return [(int(self.buckets[start]), stop - start) for start, stop in pairwise(starts)]

    def merge(self, tensor: AnyArray) -> AnyArray:
        """Sums over the buckets: shape (cells, k) to (buckets, k). Integers stay exact."""
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
