"""MarginalTree: many marginals of one tensor, and the transposed product, through shared partial sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import Axes, FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A tensor over `axes`, summed from its parent over `dropped` (positions in the parent).

    seat: its shape among the parent's axes, 1 for the dropped ones. wanted: indices of the groups that equal `axes`.
    """

    axes: Axes
    dropped: Axes
    seat: tuple[int, ...]
    wanted: tuple[int, ...]
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalTree:
    """Marginals of a tensor of `shape` on groups of axes (ascending positions).

    Why: twenty three-way marginals of six axes are twenty passes over the tensor one by one, and four through the
    tree, in which a marginal is summed from the smallest partial sum that other marginals need as well.
    """

    shape: tuple[int, ...]
    groups: tuple[Axes, ...]
    root: Branch

    @classmethod
    def over(cls, shape: tuple[int, ...], groups: Sequence[Axes]) -> MarginalTree:
        root = _grow(shape, tuple(range(len(shape))), (), shape, dict(enumerate(groups)))
        return cls(shape=shape, groups=tuple(groups), root=root)

    def marginals(self, tensor: FloatArray) -> list[FloatArray]:
        """One tensor a group, shape = sizes of its axes."""
        found: list[FloatArray] = [tensor] * len(self.groups)
        _collect(self.root, tensor, found)
        return found

    def spread(self, tables: Sequence[FloatArray], onto: FloatArray) -> FloatArray:
        """Add every group's table, constant along the other axes, to `onto` in place (the transposed product)."""
        for index in self.root.wanted:
            onto += tables[index]
        for branch in self.root.branches:
            onto += self._spread(branch, tables).reshape(branch.seat)
        return onto

    def _spread(self, branch: Branch, tables: Sequence[FloatArray]) -> FloatArray:
        """The sum of the tables below `branch`, a tensor over its axes."""
        if len(branch.wanted) == 1 and not branch.branches:
            return tables[branch.wanted[0]]
        total = np.zeros([self.shape[axis] for axis in branch.axes])
        for index in branch.wanted:
            total += tables[index]
        for below in branch.branches:
            total += self._spread(below, tables).reshape(below.seat)
        return total


def _collect(branch: Branch, tensor: FloatArray, found: list[FloatArray]) -> None:
    for index in branch.wanted:
        found[index] = tensor
    for below in branch.branches:
        _collect(below, np.add.reduce(tensor, axis=below.dropped), found)


def _grow(shape: tuple[int, ...], axes: Axes, dropped: Axes, seat: tuple[int, ...], groups: dict[int, Axes]) -> Branch:
    """Hand out the groups that miss an axis to a branch without it, the axis that most groups miss first."""
    wanted = tuple(index for index, group in groups.items() if group == axes)
    left = {index: group for index, group in groups.items() if group != axes}
    branches = []
    while left:
        missing = {axis: [index for index, group in left.items() if axis not in group] for axis in axes}
        axis = max(axes, key=lambda axis: (len(missing[axis]), shape[axis]))
        taken = {index: left.pop(index) for index in missing[axis]}
        kept = tuple(a for a in axes if any(a in group for group in taken.values()))
        gone = tuple(position for position, a in enumerate(axes) if a not in kept)
        places = tuple(shape[a] if a in kept else 1 for a in axes)
        branches.append(_grow(shape, kept, gone, places, taken))
    return Branch(axes=axes, dropped=dropped, seat=seat, wanted=wanted, branches=tuple(branches))
