"""Least squares: the unbiased linear estimate of the cells of each group of attributes, from all measurements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray, freeze
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.models.fit.buckets import BucketCounts, shrunk
from dpqr.models.fit.evidence import SMALLEST_DEVIATION
from dpqr.models.fit.log_linear import align_axes
from dpqr.models.hypothesis import GroupEstimate, LinearEstimate
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.workload.block import QueryBlock
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.strategy_matrices import is_strategy, recover_cells
from dpqr.workload.workload import Measurement, axis_groups

GROUP_CELLS = 2**22
"""Cells of one group of attributes that are kept one by one (32 MB per array)."""
TOLERANCE = 1e-10
"""Of the residual, relative to the measured answers and to the largest singular value."""


class WeightedAnswers(Struct, frozen=True, kw_only=True, eq=False):
    """A block's released answers and their standard deviation.

    Attributes:
        values: records, shape (rows,).
        deviation: of each, in records.
    """

    block: QueryBlock
    values: FloatArray
    deviation: float

    def apply(self, cells: FloatArray, axes: Axes) -> FloatArray:
        """The block's answers on a tensor over `axes`, in deviations."""
        own = self.block.axes
        others = tuple(position for position, axis in enumerate(axes) if axis not in own)
        present = [axis for axis in axes if axis in own]
        marginal = cells.sum(axis=others).transpose([present.index(axis) for axis in own])
        answers: FloatArray = self.block.apply(marginal) * (float(self.block.scale) / self.deviation)
        return answers

    def adjoint(self, values: FloatArray, axes: Axes) -> FloatArray:
        """The transposed product, a tensor that broadcasts to the one over `axes`."""
        tensor = self.block.adjoint(values * (float(self.block.scale) / self.deviation))
        sizes = [size for factor in self.block.factors for size in factor.sizes]
        return align_axes(tensor.reshape(sizes), self.block.axes, axes)


def least_norm(measured: Sequence[WeightedAnswers], axes: Axes, shape: tuple[int, ...]) -> FloatArray:
    """The shortest x among those that minimise sum (value - row x)^2 / deviation^2.

    Args:
        axes, shape: of x. Every block lies within them.

    Returns:
        x, in records, of that shape.

    References:
        Paige and Saunders 1982 (LSQR), which from 0 never leaves the span of the rows.

    >>> least_norm([], (0,), (2,))
    array([0., 0.])
    """
    if not measured:
        return np.zeros(shape)
    from scipy.sparse.linalg import LinearOperator, lsqr

    ends = np.cumsum([one.block.rows for one in measured])

    def apply(cells: FloatArray) -> FloatArray:
        return np.concatenate([one.apply(cells.reshape(shape), axes) for one in measured])

    def adjoint(values: FloatArray) -> FloatArray:
        total = np.zeros(shape)
        for one, part in zip(measured, np.split(values.reshape(-1), ends[:-1]), strict=True):
            total += one.adjoint(part, axes)
        return total.reshape(-1)

    size = int(np.prod(shape, dtype=np.int64))
    operator = LinearOperator((int(ends[-1]), size), matvec=apply, rmatvec=adjoint, dtype=np.float64)
    targets = np.concatenate([one.values / one.deviation for one in measured])
    steps = 4 * min(size, int(ends[-1]), 5000) + 20
    cells = lsqr(operator, targets, atol=TOLERANCE, btol=TOLERANCE, conlim=0, iter_lim=steps)[0]
    solution: FloatArray = cells.reshape(shape)
    return solution


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastSquares:
    """For every group of attributes that some block joins: cells x that minimise sum (value - row x)^2 / deviation^2.

    Where one strategy of full column rank was measured, in closed form; else by LSQR, the shortest of all best x (what
    no measurement covers is 0). Reads all measurements whose attributes lie within the group. Unbiased for every query
    in the span of the measurements: noise has mean 0, and x is linear in it.

    Attributes:
        cells: the largest group that is kept cell by cell.

    >>> LeastSquares().cumulative
    True
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
        weighted = [
            WeightedAnswers(
                block=block,
                values=values.astype(np.float64) * float(block.scale),
                deviation=_deviation(one, block),
            )
            for one in history
            for block, values in zip(one.blocks, one.values, strict=True)
        ]
        groups = []
        for axes in (group.axes for group in hypothesis.groups):
            measured = [one for one in weighted if set(one.block.axes) <= set(axes)]
            if len(measured) == 1 and set(measured[0].block.axes) == set(axes) and is_strategy(measured[0].block):
                # One strategy of full column rank: its own inverse, axis by axis.
                (one,) = measured
                scale = float(one.block.scale)
                table = recover_cells(one.block, one.values / scale)
                cells = freeze(np.ascontiguousarray(table.transpose([one.block.axes.index(axis) for axis in axes])))
                deviation = one.deviation / scale
                groups.append(GroupEstimate(axes=axes, cells=cells, strategy=one.block, deviation=deviation))
            else:
                cells = freeze(least_norm(measured, axes, _shape(problem, axes)))
                groups.append(GroupEstimate(axes=axes, cells=cells))
        return LinearEstimate(groups=tuple(groups))

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """None: no bound is proved."""
        return None

    def footprint(self, problem: Problem) -> Footprint:
        """Six vectors of the largest group in the solver, and one per group."""
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


# Bucket least squares: where buckets of cells were measured, their counts by least squares, shrunk, spread evenly.


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketLeastSquares:
    """For every group of attributes that was measured in buckets: bucket counts z of least squared error.

    z minimises sum (value - row z)^2 / deviation^2 over all such measurements and counts of all records, over the
    buckets of the last one. A row about finer or other buckets reads z under the uniformity assumption: records lie
    evenly in each bucket. So does every answer. Differences between neighbouring buckets are then shrunk as far as
    noise alone may have made them (`shrunk`). A total that is not above 0 makes all cells 0: the only table of counts
    that has no more records, and nearer to the true one, whatever that is, than a negative total.

    Other groups are those of `LeastSquares`, and so are those whose single cells a strategy measured after all buckets;
    there it is read alone, without counts before it, so that its closed form gives each answer's deviation.

    Attributes:
        plain: for groups without buckets.

    >>> BucketLeastSquares().plain.cells == LeastSquares().cells
    True
    """

    name: ClassVar[str] = "bucket-least-squares"

    plain: LeastSquares = field(default_factory=LeastSquares)

    @property
    def trust(self) -> tuple[str, ...]:
        return (
            "estimates can be negative; where buckets of cells were measured, their counts are shrunk towards those of "
            "their neighbours as far as noise may have made them differ, and are spread evenly over the cells; no such "
            "estimate is unbiased, and no deviation of noise covers what a bucket hides",
        )

    @property
    def cumulative(self) -> bool:
        return True

    def start(self, problem: Problem) -> LinearEstimate:
        """Zero everywhere."""
        return self.plain.start(problem)

    def update(self, problem: Problem, hypothesis: LinearEstimate, history: Sequence[Measurement]) -> LinearEstimate:
        """The estimate from all of `history`; `hypothesis` is left as it was."""
        groups: list[GroupEstimate] = []
        for group in hypothesis.groups:
            buckets = bucket_counts(group, history)
            if buckets is None:
                of_cells = [
                    one
                    for one in history
                    if any(
                        _within(block, group) and not any(isinstance(own.matrix, BucketMatrix) for own in block.factors)
                        for block in one.blocks
                    )
                ]
                read = of_cells if len(of_cells) == 1 else history
                groups += self.plain.update(problem, LinearEstimate(groups=(group,)), read).groups
                continue
            # Shrunk counts of the buckets, spread evenly over their cells.
            counts = np.zeros_like(buckets.counts)
            if buckets.counts.sum() > 0:
                counts = shrunk(group.cells.shape, buckets.places, buckets.counts, buckets.covariance)
            cells = (counts / np.bincount(buckets.places))[buckets.places].reshape(group.cells.shape)
            groups.append(GroupEstimate(axes=group.axes, cells=freeze(cells)))
        return LinearEstimate(groups=tuple(groups))

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """None: no bound is proved."""
        return None

    def footprint(self, problem: Problem) -> Footprint:
        return self.plain.footprint(problem)

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Always: the estimate does not grow with what was measured."""
        return True


def _deviation(measurement: Measurement, block: QueryBlock) -> float:
    """Of an answer's noise, in its own unit; never 0, which would outweigh all else."""
    return max(measurement.law.deviation, SMALLEST_DEVIATION) * float(block.scale)


def bucket_counts(group: GroupEstimate, history: Sequence[Measurement]) -> BucketCounts | None:
    """What all measurements say of the group's last buckets, by least squares; None where its cells were not merged."""
    measured = [
        (merged, values * float(block.scale), _deviation(one, block))
        for one in history
        for block, values in zip(one.blocks, one.values, strict=True)
        if (merged := _merged(block, group)) is not None
    ]
    if not measured:
        return None
    newest = [block for one in history for block in one.blocks if _within(block, group)][-1]
    if _merged(newest, group) is None and set(newest.axes) == set(group.axes) and is_strategy(newest):
        return None  # a strategy over the group's single cells came last
    last = measured[-1][0]
    sizes = np.bincount(last.buckets, minlength=last.inner.cells)
    moments, right = np.zeros((len(sizes), len(sizes))), np.zeros(len(sizes))
    # Counts of all records, and the deviations of their noise.
    totals = [
        (float(values[0] * block.scale), _deviation(one, block))
        for one in history
        for block, values in zip(one.blocks, one.values, strict=True)
        if not block.factors
    ]
    for value, deviation in totals:
        moments += 1 / deviation**2
        right += value / deviation**2
    for merged, values, deviation in measured:
        # Share of every bucket's cells in each of the measurement's own, shape (own, buckets).
        pairs = np.bincount(merged.buckets * len(sizes) + last.buckets, minlength=merged.inner.cells * len(sizes))
        shares: FloatArray = pairs.reshape(-1, len(sizes)) / np.maximum(sizes, 1)
        rows = merged.inner.apply(shares) / deviation
        moments += rows.T @ rows
        right += rows.T @ (values / deviation)
    filled = sizes > 0
    covariance = np.linalg.inv(moments[np.ix_(filled, filled)]).astype(np.float64)
    places = (np.cumsum(filled) - 1)[last.buckets]
    return BucketCounts(places=places, counts=covariance @ right[filled], covariance=covariance)


def _within(block: QueryBlock, group: GroupEstimate) -> bool:
    """Whether all attributes of the block are the group's, and it has some."""
    return bool(block.axes) and set(block.axes) <= set(group.axes)


def _merged(block: QueryBlock, group: GroupEstimate) -> BucketMatrix | None:
    """The block's matrix where it merges the group's cells."""
    if len(block.factors) != 1 or block.axes != group.axes:
        return None
    matrix = block.factors[0].matrix
    return matrix if isinstance(matrix, BucketMatrix) else None
