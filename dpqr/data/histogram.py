"""Histogram: the database x in N^|X|, dense for small domains, sorted occupied cells beyond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import AnyArray, Axes, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class DenseHistogram:
    """Counts of every cell, shape = domain shape, int64, read-only.

    A marginal that was asked for is kept: rounds ask for the same ones again. The store lives inside the sealed
    value and is freed with it.
    """

    counts: IntArray
    _kept: dict[Axes, IntArray] = field(default_factory=dict, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.counts.shape

    def prefetch(self, groups: Sequence[Axes]) -> None:
        for axes in groups:
            self.marginal(axes)

    def marginal(self, axes: Axes) -> IntArray:
        if axes not in self._kept:
            self._kept[axes] = dense_marginal(self.counts, axes)
        return self._kept[axes]


@dataclass(frozen=True, slots=True, eq=False)
class SparseHistogram:
    """Occupied cells only: `codes` has one column a attribute, rows sorted and distinct; `counts` one entry a row.

    codes: shape (m, d), integers; counts: shape (m,), int64. m is private: it is never printed.
    """

    shape: tuple[int, ...]
    codes: AnyArray
    counts: IntArray
    _kept: dict[Axes, IntArray] = field(default_factory=dict, repr=False)

    def prefetch(self, groups: Sequence[Axes]) -> None:
        for axes in groups:
            self.marginal(axes)

    def marginal(self, axes: Axes) -> IntArray:
        if axes not in self._kept:
            self._kept[axes] = self._sum(axes)
        return self._kept[axes]

    def _sum(self, axes: Axes) -> IntArray:
        """One pass over the occupied cells; int64 throughout (float weights would round large counts)."""
        sizes = tuple(self.shape[axis] for axis in axes)
        cells = np.zeros(sizes, dtype=np.int64)
        index = tuple(self.codes[:, axis].astype(np.int64) for axis in axes)
        np.add.at(cells, index if index else (), self.counts if index else self.counts.sum())
        cells.flags.writeable = False
        return cells


def dense_marginal(tensor: AnyArray, axes: Axes) -> AnyArray:
    """Sum a full tensor down to `axes`, in their order; the dtype is kept."""
    others = tuple(axis for axis in range(tensor.ndim) if axis not in axes)
    summed = tensor.sum(axis=others, dtype=tensor.dtype) if others else tensor
    kept = sorted(axes)
    return np.ascontiguousarray(np.transpose(summed, [kept.index(axis) for axis in axes]))
