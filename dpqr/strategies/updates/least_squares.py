"""Least squares: the unbiased linear estimate that fits all measurements best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.linear_estimate import GroupEstimate, LinearEstimate
from dpqr.strategies.footprint import Footprint
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.updates.evidence import SMALLEST_DEVIATION
from dpqr.strategies.updates.normal_equations import Weighed, least_norm
from dpqr.workload.block import QueryBlock
from dpqr.workload.recovery import is_strategy, recovered
from dpqr.workload.workload import Measurement, axis_groups

GROUP_CELLS = 2**22
"""Cells of one group of attributes that are kept one by one (32 MB an array)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastSquares:
    """For every group of attributes that some block joins: cells x that minimise sum (value - row x)^2 / deviation^2.

    Where one strategy of full column rank was measured, in closed form; else by conjugate gradients, the shortest of
    all best x (what no measurement speaks of is 0). Reads all measurements whose attributes lie within the group.
    Unbiased for every query in the span of what was measured: noise has mean 0, and x is linear in it.

    cells: the largest group that is kept cell by cell.
    """

    name: ClassVar[str] = "least-squares"

    cells: int = GROUP_CELLS

    @property
    def trust(self) -> tuple[str, ...]:
        return ("estimates are unbiased and linear: they can be negative, and no table need fit all of them",)

    @property
    def cumulative(self) -> bool:
        return True

    def start(self, problem: Problem) -> LinearEstimate:
        """Zero everywhere."""
        refusal = self.footprint(problem).refusal
        if refusal is not None:
            raise InfeasiblePlan(refusal)
        shapes = {axes: _shape(problem, axes) for axes in axis_groups(problem.workload.blocks)}
        return LinearEstimate(
            groups=tuple(GroupEstimate(axes=axes, cells=np.zeros(shape)) for axes, shape in shapes.items())
        )

    def update(self, problem: Problem, hypothesis: LinearEstimate, history: Sequence[Measurement]) -> LinearEstimate:
        """The estimate from all of `history`; `hypothesis` is left as it was."""
        weighed = [
            Weighed(
                block=block, values=values.astype(np.float64) * float(block.scale), deviation=_deviation(one, block)
            )
            for one in history
            for block, values in zip(one.blocks, one.values, strict=True)
        ]
        return LinearEstimate(groups=tuple(_estimated(problem, group.axes, weighed) for group in hypothesis.groups))

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """None: nothing is proved of how often it must be mended."""
        return None

    def footprint(self, problem: Problem) -> Footprint:
        """Six vectors of a group's size in the solver, one kept a group."""
        sizes = [math.prod(_shape(problem, axes)) for axes in axis_groups(problem.workload.blocks)]
        if max(sizes) > self.cells:
            refusal = (
                f"some query joins columns with {max(sizes)} cells together, and least squares keeps at most "
                f"{self.cells} cell by cell; leave columns out of the query or merge bins"
            )
            return Footprint(bytes=0, refusal=refusal)
        return Footprint(bytes=8 * (sum(sizes) + 6 * max(sizes) + 2 * problem.workload.rows))

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Always: the estimate does not grow with what was measured."""
        return True


def _shape(problem: Problem, axes: Axes) -> tuple[int, ...]:
    return tuple(problem.domain.shape[axis] for axis in axes)


def _deviation(measured: Measurement, block: QueryBlock) -> float:
    """Of one answer, in records."""
    return max(measured.law.deviation, SMALLEST_DEVIATION) * float(block.scale)


def _estimated(problem: Problem, axes: Axes, weighed: Sequence[Weighed]) -> GroupEstimate:
    shape = _shape(problem, axes)
    told = [one for one in weighed if set(one.block.axes) <= set(axes)]
    if len(told) == 1 and set(told[0].block.axes) == set(axes) and is_strategy(told[0].block):
        return _closed_form(axes, told[0])
    return GroupEstimate(axes=axes, cells=_read_only(least_norm(told, axes, shape)))


def _closed_form(axes: Axes, told: Weighed) -> GroupEstimate:
    """One strategy tells the group: its own inverse, axis by axis."""
    scale = float(told.block.scale)
    cells = recovered(told.block, told.values / scale)
    order = [told.block.axes.index(axis) for axis in axes]
    return GroupEstimate(
        axes=axes,
        cells=_read_only(np.ascontiguousarray(cells.transpose(order))),
        strategy=told.block,
        deviation=told.deviation / scale,
    )


def _read_only(cells: FloatArray) -> FloatArray:
    cells.flags.writeable = False
    return cells
