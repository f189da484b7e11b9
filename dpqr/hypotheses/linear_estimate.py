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
    """Estimated records a cell over `axes` (ascending), shape = their sizes, read-only.

    strategy, deviation: where one measured strategy tells all of it, that block and its noise; else None.
    """

    axes: Axes
    cells: FloatArray
    strategy: QueryBlock | None = None
    deviation: float = 0.0

    def marginal(self, axes: Axes) -> FloatArray:
        """Records, shape = sizes of `axes` in that order; all of them in the group."""
        marginal: FloatArray = dense_marginal(self.cells, tuple(self.axes.index(axis) for axis in axes))
        return marginal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearEstimate:
    """Least-squares estimates: linear in what was measured, so each answer is right on average.

    Why groups: attributes that no query joins need no joint estimate, whose noise they would have to share. Two groups
    that overlap may answer the same question differently, each without bias.
    Why no clipping at zero: measured on ranges, non-negative cells make errors 1.1 to 2.6 times larger, for what is cut
    off single cells adds up in their sums.
    """

    groups: tuple[GroupEstimate, ...]

    @property
    def total(self) -> float:
        """Estimated records, by the first group; may be negative."""
        return float(self.groups[0].cells.sum())

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid, shape (block.rows,).

        A block that joins attributes of several groups has no linear estimate: NaN.
        """
        group = self._home(block)
        if group is None:
            return np.full(block.rows, np.nan)
        answers: FloatArray = block.answer(group)
        return answers

    def deviations(self, block: QueryBlock) -> FloatArray | None:
        """Standard deviation of every answer, in units of the block's grid; None where no closed form is known."""
        group = self._home(block)
        if group is None or group.strategy is None or not on_single_axes(block):
            return None
        deviations: FloatArray = np.sqrt(np.maximum(query_variances(group.strategy, block), 0.0)) * group.deviation
        return deviations

    def _home(self, block: QueryBlock) -> GroupEstimate | None:
        by_axes = {group.axes: group for group in self.groups}
        axes = home(block.axes, by_axes)
        return None if axes is None else by_axes[axes]
