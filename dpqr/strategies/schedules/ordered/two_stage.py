"""TwoStagePartition: counts of boxes, and the buckets that they suggest, for the queries on one group of attributes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dpqr.data.arrays import Axes, FloatArray, IntArray
from dpqr.fitting.uneven_cells import BoxCounts
from dpqr.privacy.budget import Price
from dpqr.strategies.designs.bucket_design import (
    EqualBuckets,
    equal_buckets,
    level_queries,
    level_tree,
    merged_block,
    partition_design,
)
from dpqr.strategies.designs.kronecker import Design, designs
from dpqr.strategies.designs.partition import Partition, chosen_partition
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import strategy_name
from dpqr.strategies.schedules.ordered.tuning import TUNING
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, IntMatrix
from dpqr.workload.partition import Bisection, Merged
from dpqr.workload.ranges import everything
from dpqr.workload.sensitivity import Norm
from dpqr.workload.tree import Tree
from dpqr.workload.workload import Measurement

GRID = 2**20
"""Parts of a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """An estimate of the number of records, and the deviation of its noise. Public.

    >>> Records(count=10.0, noise=4.0).combined(Records(count=20.0, noise=4.0)).count
    15.0
    """

    count: float
    noise: float

    @property
    def likely(self) -> float:
        """The count, or its noise where that is more."""
        return max(self.count, self.noise)

    def combined(self, other: Records) -> Records:
        """Both, weighted by their precision; the one without noise, if there is one."""
        if self.noise > other.noise:
            return other.combined(self)
        if not self.noise:
            return self
        odds = (self.noise / other.noise) ** 2  # at most 1: a tiny noise overflows nothing
        count = (self.count + odds * other.count) / (1 + odds)
        return Records(count=count, noise=self.noise * (1 + odds) ** -0.5)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TwoStagePartition:
    """A group of attributes that some blocks ask about together, and noise as the roles have it. Public."""

    problem: Problem
    roles: Roles
    axes: Axes
    blocks: tuple[QueryBlock, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.problem.domain.shape[axis] for axis in self.axes)

    @property
    def bisection(self) -> Bisection:
        return Bisection(self.shape)

    @property
    def norm(self) -> Norm:
        return Norm.L1 if self.roles.check.pure else Norm.L2_SQUARED

    @property
    def rows(self) -> int:
        return sum(block.rows for block in self.blocks)

    @property
    def offered(self) -> tuple[Design, ...]:
        """Strategies for all cells."""
        name = strategy_name(self.problem, self.axes)
        return tuple(designs(name, self.axes, self.shape, self.blocks, self.norm))

    def direct(self, price: Price) -> Design:
        """The strategy for all cells of least expected error: a large budget's integer noise favours small integers."""
        return min(self.offered, key=lambda design: self._error(design, price))

    def sureness(self, records: float, price: Price) -> float:
        """Records over the noise of one count at `price`; eps n for Laplace noise, one row a unit."""
        return max(records, 0.0) * math.sqrt(2 / self._variance(price))

    def box_tree(self, records: float, price: Price, what: str = "scouting") -> QueryBlock:
        """A weighted tree of counts of ever smaller boxes, as deep as so many records bear at `price`."""
        depth = math.log2(max(TUNING.reach * self.sureness(records, price), 1.0))
        level = min(max(round(depth), TUNING.shallowest), TUNING.deepest, self.bisection.depth)
        tree = level_tree(self.blocks, self.axes, self.shape, level, self.norm)
        return self._block(what, tree, self.bisection.places(level))

    def partition(self, counted: Measurement, records: Records, price: Price) -> Partition:
        """The buckets that least squares on the first stage's counts suggests, if they are measured at `price`."""
        whole = min(unit_error(design, self.norm) for design in self.offered)
        equal = equal_buckets(self.blocks, self.axes, self.shape, self.norm, whole)
        return _suggested(self.blocks, self.axes, self.shape, equal, self._variance(price), counted, records)

    def cells_error(self, price: Price) -> float:
        """Expected weighted sum of squared errors if every cell is measured by itself at `price`."""
        return self._error(self.direct(price), price)

    def strategy(self, partition: Partition) -> QueryBlock:
        """The best strategy for the workload on the buckets."""
        boxes = partition.boxes
        ends = tuple(map(tuple, np.concatenate([boxes.starts, boxes.stops], axis=1).tolist()))
        design = partition_design(self.blocks, self.axes, ends, self.norm)
        return self._block("buckets", design, partition.buckets)

    def _block(self, what: str, matrix: IntMatrix, buckets: IntArray) -> QueryBlock:
        return merged_block(strategy_name(self.problem, self.axes, what), self.axes, self.shape, matrix, buckets)

    def _error(self, design: Design, price: Price) -> float:
        return design.error * self.roles.check.law((design.strategy,), self.problem.unit, price).deviation ** 2

    def _variance(self, price: Price) -> float:
        """Of the noise on answers of sensitivity 1, which a matrix with columns of norm 1 has: on so fine a grid that
        a large budget's noise is not rounded away."""
        sizes = self.shape[:1] or (1,)
        fine = QueryBlock(
            name="cells",
            factors=(Factor(axes=self.axes[:1] or (0,), sizes=sizes, matrix=Tree(sizes[0], (1,), (GRID,))),),
        )
        return (self.roles.check.law((fine,), self.problem.unit, price).deviation / GRID) ** 2


def unit_error(design: Design, norm: Norm) -> float:
    """Weighted sum of squared errors at noise of variance 1 on columns of norm 1."""
    column = float(math.prod(factor.matrix.column_norm(norm.value) for factor in design.strategy.factors))
    return design.error * (column**2 if norm is Norm.L1 else column)


@lru_cache(maxsize=64)
def _suggested(
    blocks: tuple[QueryBlock, ...],
    axes: Axes,
    shape: tuple[int, ...],
    equal: EqualBuckets,
    variance: float,
    measured: Measurement,
    records: Records,
) -> Partition:
    """Kept by the identities of blocks, errors and measurement, for every later step asks again."""
    known = box_counts(measured, shape)
    total = records.combined(Records(count=known.total, noise=known.deviation))
    known, bisection = replace(known, total=total.count, deviation=total.noise), known.bisection
    rows = sum(block.rows for block in blocks)
    finest = min(bisection.depth, TUNING.finest, int(math.log2(max(TUNING.work / max(rows, 1), 4.0)) / 2))
    queries = level_queries(blocks, axes, shape, finest)
    return chosen_partition(known, queries, lambda buckets: equal.error(buckets) * variance)


def box_counts(measured: Measurement, shape: tuple[int, ...]) -> BoxCounts:
    """Counts of boxes by least squares, from a first look or from the first stage.

    Args:
        measured: a tree over the boxes of one level.
        shape: cells of each axis.
    """
    matrix, noise = measured.blocks[0].factors[0].matrix, measured.law.deviation
    assert isinstance(matrix, Merged), "the first stage measures boxes"
    tree = matrix.inner
    assert isinstance(tree, Tree), "in a tree"
    counts = tree.recover(measured.values[0].astype(np.float64)[:, None])[:, 0]
    return BoxCounts(
        bisection=Bisection(shape),
        counts=counts,
        variances=_halves(tree) * noise**2,
        total=float(counts.sum()),
        deviation=float(tree.variances(everything(tree.size))[0]) ** 0.5 * noise,
    )


def _halves(tree: Tree) -> FloatArray:
    """Variance that unit noise leaves in the difference of a box's halves, one a level: all boxes are alike."""
    size = tree.size
    rows = np.zeros((size.bit_length() - 1, size), dtype=np.int64)
    for level, row in enumerate(rows):
        half = size >> (level + 1)
        row[:half], row[half : 2 * half] = 1, -1
    return tree.variances(Dense(rows)) if len(rows) else np.zeros(0)
