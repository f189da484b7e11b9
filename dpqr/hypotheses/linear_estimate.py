"""LinearEstimate: unbiased estimates of cells, group of attributes by group, negative ones included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.data.marginals import dense_marginal
from dpqr.workload.block import QueryBlock
from dpqr.workload.recovery import on_single_axes, query_variances
from dpqr.workload.workload import home


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupEstimate:
    """Estimated records per cell over `axes` (ascending), shape = their sizes, read-only.

    strategy, deviation: the block and its noise if one measured strategy gives the whole estimate; else None.
    """

    axes: Axes
    cells: FloatArray
    strategy: QueryBlock | None = None
    deviation: float = 0.0

    def marginal(self, axes: Axes) -> FloatArray:
        """Return records, shape = sizes of `axes` in that order; all of them in the group."""
        marginal: FloatArray = dense_marginal(self.cells, tuple(self.axes.index(axis) for axis in axes))
        return marginal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearEstimate:
    """Least-squares estimates: linear in the measurements, so each answer is unbiased.

    Why groups: attributes that no query joins need no joint estimate, which would add noise. Two overlapping groups may
    answer the same query differently, each without bias.
    Why no clipping at zero: clipping biases single cells, and the bias adds up in their sums.

    >>> cells = np.array([3.0, -1.0])
    >>> LinearEstimate(groups=(GroupEstimate(axes=(0,), cells=cells),)).total
    2.0
    """

    groups: tuple[GroupEstimate, ...]

    @property
    def total(self) -> float:
        """Estimated records, by the first group; may be negative."""
        return float(self.groups[0].cells.sum())

    def answer(self, block: QueryBlock) -> FloatArray:
        """Return answers in units of the block's grid, shape (block.rows,).

        They are NaN for a block that joins attributes of several groups: it has no linear estimate.
        """
        group = self._home(block)
        if group is None:
            return np.full(block.rows, np.nan)
        answers: FloatArray = block.answer(group)
        return answers

    def deviations(self, block: QueryBlock) -> FloatArray | None:
        """Return the standard deviation of every answer, in units of the block's grid; None without a closed form."""
        group = self._home(block)
        if group is None or group.strategy is None or not on_single_axes(block):
            return None
        deviations: FloatArray = np.sqrt(np.maximum(query_variances(group.strategy, block), 0.0)) * group.deviation
        return deviations

    def _home(self, block: QueryBlock) -> GroupEstimate | None:
        by_axes = {group.axes: group for group in self.groups}
        axes = home(block.axes, by_axes)
        return None if axes is None else by_axes[axes]
