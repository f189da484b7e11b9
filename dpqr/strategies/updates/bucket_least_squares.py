"""Bucket least squares: where buckets of cells were measured, their counts by least squares, shrunk, spread evenly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.fitting.bucket_shrinkage import shrunk
from dpqr.fitting.evidence import SMALLEST_DEVIATION
from dpqr.fitting.uneven_cells import BucketCounts
from dpqr.hypotheses.linear_estimate import GroupEstimate, LinearEstimate
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.strategies.updates.least_squares import LeastSquares
from dpqr.workload.block import QueryBlock
from dpqr.workload.partition import Merged
from dpqr.workload.recovery import is_strategy
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketLeastSquares:
    """For every group of attributes that was measured in buckets: bucket counts z of least squared error.

    z minimises sum (value - row z)^2 / deviation^2 over all such measurements and counts of all records, over the
    buckets of the last one. A row about finer or other buckets reads z under the uniformity assumption: records lie
    evenly in each bucket. So does every answer. Differences between neighbouring buckets are then shrunk as far as
    noise alone may have made them (`fitting.bucket_shrinkage`).

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
        return LinearEstimate(groups=tuple(self._group(problem, group, history) for group in hypothesis.groups))

    def _group(self, problem: Problem, group: GroupEstimate, history: Sequence[Measurement]) -> GroupEstimate:
        bucketed = _bucketed(group, history)
        if bucketed is not None:
            return bucketed
        measured = [one for one in history if any(_within(block, group) and not _merges(block) for block in one.blocks)]
        read = measured if len(measured) == 1 else history
        return self.plain.update(problem, LinearEstimate(groups=(group,)), read).groups[0]

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """None: no bound is proved."""
        return None

    def footprint(self, problem: Problem) -> Footprint:
        return self.plain.footprint(problem)

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Always: the estimate does not grow with what was measured."""
        return True


def _bucketed(group: GroupEstimate, history: Sequence[Measurement]) -> GroupEstimate | None:
    """The group's cells from measurements of buckets; None where there is none."""
    known = bucket_counts(group, history)
    if known is None:
        return None
    counts = shrunk(group.cells.shape, known.places, known.counts, known.covariance)
    cells = (counts / np.bincount(known.places))[known.places].reshape(group.cells.shape)
    cells.flags.writeable = False
    return GroupEstimate(axes=group.axes, cells=cells)


def bucket_counts(group: GroupEstimate, history: Sequence[Measurement]) -> BucketCounts | None:
    """What all measurements say of the group's last buckets, by least squares; None where its cells were not merged."""
    measured = [
        (merged, values * float(block.scale), max(one.law.deviation, SMALLEST_DEVIATION) * float(block.scale))
        for one in history
        for block, values in zip(one.blocks, one.values, strict=True)
        if (merged := _merged(block, group)) is not None
    ]
    if not measured or _cells_measured_last(group, history):
        return None
    last = measured[-1][0]
    sizes = np.bincount(last.buckets, minlength=last.inner.cells)
    moments, right = np.zeros((len(sizes), len(sizes))), np.zeros(len(sizes))
    for value, deviation in _totals(history):
        moments += 1 / deviation**2
        right += value / deviation**2
    for merged, values, deviation in measured:
        rows = merged.inner.apply(_shares(merged, last.buckets, sizes)) / deviation
        moments += rows.T @ rows
        right += rows.T @ (values / deviation)
    known = sizes > 0
    covariance = np.linalg.inv(moments[np.ix_(known, known)]).astype(np.float64)
    places = (np.cumsum(known) - 1)[last.buckets]
    return BucketCounts(places=places, counts=covariance @ right[known], covariance=covariance)


def _totals(history: Sequence[Measurement]) -> list[tuple[float, float]]:
    """Counts of all records, and the deviations of their noise."""
    return [
        (float(values[0] * block.scale), max(one.law.deviation, SMALLEST_DEVIATION) * float(block.scale))
        for one in history
        for block, values in zip(one.blocks, one.values, strict=True)
        if not block.factors
    ]


def _cells_measured_last(group: GroupEstimate, history: Sequence[Measurement]) -> bool:
    """Whether the last measurement of the group is a strategy over its single cells."""
    last = [block for one in history for block in one.blocks if _within(block, group)][-1]
    return _merged(last, group) is None and set(last.axes) == set(group.axes) and is_strategy(last)


def _within(block: QueryBlock, group: GroupEstimate) -> bool:
    """Whether all attributes of the block are the group's, and it has some."""
    return bool(block.axes) and set(block.axes) <= set(group.axes)


def _merges(block: QueryBlock) -> bool:
    return any(isinstance(factor.matrix, Merged) for factor in block.factors)


def _merged(block: QueryBlock, group: GroupEstimate) -> Merged | None:
    """The block's matrix where it merges the group's cells."""
    if len(block.factors) != 1 or block.axes != group.axes:
        return None
    matrix = block.factors[0].matrix
    return matrix if isinstance(matrix, Merged) else None


def _shares(merged: Merged, buckets: IntArray, sizes: IntArray) -> FloatArray:
    """Share of every bucket's cells in each of the measurement's own, shape (own, buckets)."""
    pairs = np.bincount(merged.buckets * len(sizes) + buckets, minlength=merged.inner.cells * len(sizes))
    shares: FloatArray = pairs.reshape(-1, len(sizes)) / np.maximum(sizes, 1)
    return shares
