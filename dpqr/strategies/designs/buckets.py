"""Strategies of least expected error for queries over the buckets of a partition."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import AnyArray, Axes, FloatArray, IntArray
from dpqr.models.fit.buckets import PRIOR, BoxCounts, Halves, Imbalances, likely_records
from dpqr.strategies.designs.gram import BucketQueries, bucket_queries
from dpqr.strategies.designs.kronecker import p_identity
from dpqr.strategies.designs.trees import hierarchy
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, IntMatrix
from dpqr.workload.partition import Bisection, Boxes, BucketMatrix
from dpqr.workload.sensitivity import Norm
from dpqr.workload.trees import Tree

LEVELS_APART = 2
"""Equal buckets are designed for at every second level; errors in between are interpolated, within 2%."""

LARGEST_TABLE = 256
"""Most equal buckets whose error is computed; beyond, the error of single cells is the next known one."""


def bucket_design(queries: BucketQueries, norm: Norm) -> tuple[IntMatrix, float]:
    """The best of identity, hierarchy and p-Identity over the buckets.

    Returns:
        The strategy, and its weighted sum of squared errors at noise of variance 1 if its columns had norm 1.

    >>> matrix, error = bucket_design(BucketQueries(matrix=np.eye(4)), Norm.L1)
    >>> matrix.cells, error
    (4, 4.0)
    """
    options: list[IntMatrix] = [Identity(queries.size)]
    if queries.size > 1 and not queries.plain:
        options += [hierarchy(queries, norm), p_identity(queries, norm)]
    errors = []
    for matrix in options:
        column = float(matrix.column_norm(norm.value))
        error = queries.error(matrix.table(0, matrix.rows).astype(np.float64))
        errors.append(error * (column**2 if norm is Norm.L1 else column))
    best = int(np.argmin(errors))
    return options[best], errors[best]


@lru_cache(maxsize=256)
def partition_design(
    blocks: tuple[QueryBlock, ...], axes: Axes, ends: tuple[tuple[int, ...], ...], norm: Norm
) -> IntMatrix:
    """The best strategy for the blocks' queries on a partition.

    Args:
        ends: starts and then stops of every box, as integers; with the blocks' identity the key of the cache.
    """
    sides = np.array(ends, dtype=np.int64)
    boxes = Boxes(starts=sides[:, : len(axes)], stops=sides[:, len(axes) :])
    return bucket_design(bucket_queries(blocks, axes, boxes), norm)[0]


def merged_block(name: str, axes: Axes, shape: tuple[int, ...], matrix: IntMatrix, buckets: IntArray) -> QueryBlock:
    """`matrix` over the buckets as a block over the cells of `axes`.

    Args:
        axes, shape: attributes and their numbers of cells.
        matrix: over the buckets.
        buckets: of every cell in C order, shape (cells,).
    """
    return QueryBlock(name=name, factors=(Factor(axes=axes, sizes=shape, matrix=BucketMatrix(matrix, buckets)),))


class EqualBuckets(Struct, frozen=True, kw_only=True, eq=False):
    """Expected error of measuring a number of buckets, from equally large ones.

    Attributes:
        logarithms: of the numbers of buckets, base 2, rising.
        roots: of the weighted sums of squared errors at unit noise.

    >>> EqualBuckets(logarithms=np.array([0.0, 2.0]), roots=np.array([1.0, 3.0])).error(2)
    4.0
    """

    logarithms: FloatArray
    roots: FloatArray

    def error(self, buckets: float) -> float:
        """Weighted sum of squared errors at noise of variance 1 and columns of norm 1."""
        return float(np.interp(math.log2(max(buckets, 1.0)), self.logarithms, self.roots)) ** 2


@lru_cache(maxsize=64)
def level_queries(blocks: tuple[QueryBlock, ...], axes: Axes, shape: tuple[int, ...], level: int) -> BucketQueries:
    """What the blocks ask of all boxes of one level. Cached by the blocks' identity.

    Args:
        axes, shape: attributes of the blocks and their numbers of cells.
        level: of `Bisection(shape)`, which has 2^level boxes.
    """
    bisection = Bisection(shape)
    return bucket_queries(blocks, axes, bisection.boxes(level, np.arange(2**level)))


@lru_cache(maxsize=64)
def level_tree(blocks: tuple[QueryBlock, ...], axes: Axes, shape: tuple[int, ...], level: int, norm: Norm) -> Tree:
    """The best tree of counts over the boxes of one level and of all levels above."""
    return hierarchy(level_queries(blocks, axes, shape, level), norm)


@lru_cache(maxsize=64)
def equal_buckets(
    blocks: tuple[QueryBlock, ...], axes: Axes, shape: tuple[int, ...], norm: Norm, whole: float
) -> EqualBuckets:
    """The error of equal buckets for a workload. Public: a function of the workload alone.

    Args:
        whole: the error where every cell is a bucket.
    """
    depth = Bisection(shape).depth
    levels: Sequence[int] = range(0, min(depth, LARGEST_TABLE.bit_length()), LEVELS_APART)
    of_levels = [level_queries(blocks, axes, shape, level) for level in levels]
    roots = [bucket_design(queries, norm)[1] ** 0.5 for queries in of_levels]
    logarithms = [*levels, math.log2(math.prod(shape))]
    return EqualBuckets(logarithms=np.array(logarithms), roots=np.array([*roots, math.sqrt(whole)]))


# Partitions: buckets of neighbouring cells, chosen from released noisy counts of a bisection's boxes.


class PartitionTuning(Struct, frozen=True, kw_only=True):
    """Set by `python tests/benchmarks/ordered.py --half set`; figures: tests/benchmarks/RESULTS.md, "Fitting"."""

    coherence: float = 0.6  # power of the number of boxes that an edge cuts, by which their bias is multiplied
    most: int = 512  # buckets: designs and estimates are dense in their number
    cheapest: float = 1e-3  # price of a bucket, relative to an even share of the error of `reference` buckets
    dearest: float = 30.0  # the same
    prices: int = 20  # that are tried between these two
    reference: int = 64  # buckets whose noise sets the unit of the prices


TUNING = PartitionTuning()

FORBIDDING = 1e200
"""The last price, at which no second bucket is worth its price."""


class Partition(Struct, frozen=True, kw_only=True, eq=False):
    """Disjoint buckets that cover all cells; each is a box with at least one cell. Public.

    Attributes:
        buckets: of every cell in C order, shape (cells,).
        boxes: one per bucket, in the order of the bisection's leaves.
        error: expected weighted sum of squared errors of the workload, noise and bias together.
    """

    buckets: IntArray
    boxes: Boxes
    error: float


def choose_partition(counted: BoxCounts, queries: BucketQueries, noise: Callable[[float], float]) -> Partition:
    """The pruned bisection of least expected squared error of the workload.

    Merging a box costs the bias of spreading its records evenly: the squared difference of its halves that is expected
    after the counts (`Imbalances`). Dynamic programming from the leaves up weighs that bias, box by box, against a
    price per bucket. Of the prunings for several prices the one with the least sum of bias and noise wins; there the
    bias is that of the expected records of all boxes together, for along the edge of a query biases add up.

    Args:
        counted: noisy counts of one level of boxes.
        queries: over all boxes of some level.
        noise: expected weighted sum of squared errors if that many buckets are measured.

    Privacy:
        Post-processing: reads released counts and public queries alone.

    >>> bisection = Bisection((4,))
    >>> counts = np.array([100.0, 100.0, 0.0, 0.0])
    >>> known = BoxCounts(bisection=bisection, counts=counts, variances=np.zeros(2), total=200.0, deviation=0.0)
    >>> choose_partition(known, BucketQueries(matrix=np.eye(4)), lambda buckets: buckets).buckets
    array([0, 0, 1, 1])
    """
    bisection = counted.bisection
    cells = [np.bincount(bisection.places(level), minlength=2**level) for level in range(bisection.depth + 1)]
    halves, records = _halves(counted, cells)
    effects, finest = _effects(queries, bisection.depth), queries.size.bit_length() - 1
    unseen = [_unseen(one, bisection, level) * effects[level] for level, one in enumerate(halves)]
    seen = [effect * one.means**2 for effect, one in zip(effects, halves, strict=True)]
    prices = np.geomspace(TUNING.cheapest, TUNING.dearest, TUNING.prices)
    prices = np.append(prices * noise(TUNING.reference) / TUNING.reference, FORBIDDING)
    bias = _subtotals([one + other for one, other in zip(seen, unseen, strict=True)])
    # Dynamic programming for every price at once: where each level's boxes are kept whole, shape (boxes, prices).
    cost = np.multiply.outer((cells[-1] > 0).astype(np.float64), prices)
    whole: list[AnyArray] = [np.ones(cost.shape, dtype=bool)]
    for own, inside in zip(bias[-2::-1], cells[-2::-1], strict=True):
        alone = own[:, None] + np.multiply.outer((inside > 0).astype(np.float64), prices)
        halved = _paired(cost)
        whole.append(alone <= halved)
        cost = np.minimum(alone, halved)
    # Where each level's boxes become buckets, the topmost that are kept whole: one list of levels a price.
    prunings: list[list[AnyArray]] = []
    for price in range(len(prices)):
        alive, tops = np.ones(1, dtype=bool), []
        for level in whole[::-1]:
            tops.append(alive & level[:, price])
            alive = np.repeat(alive & ~level[:, price], 2)
        prunings.append(tops)
    # The error of each pruning: noise, bias within the buckets, and that of the expected records of all boxes together.
    within = _subtotals(
        [one + (level >= finest) * other for level, (one, other) in enumerate(zip(unseen, seen, strict=True))]
    )
    errors = []
    for pruning in prunings:
        count = sum(int((top & (inside > 0)).sum()) for top, inside in zip(pruning, cells, strict=True))
        error = noise(count) if count <= TUNING.most else np.inf
        error += sum(float(one[top].sum()) for top, one in zip(pruning, within, strict=True))
        errors.append(error + _evenness(pruning[: finest + 1], records[finest], cells[finest], queries))
    best = int(np.argmin(errors))
    return _partition(bisection, prunings[best], cells, errors[best])


def _unseen(one: Halves, bisection: Bisection, level: int) -> FloatArray:
    """Variance of the differences of halves, as they add up along the edge of a query.

    An edge cuts m = 2^(level (d - 1) / d) boxes of a level on d axes. Sampling is independent from box to box. Shares
    that differ may do so in one direction all along the edge, which multiplies the square of their sum by m.
    """
    axes = max(len(bisection.shape), 1)
    along: float = 2.0 ** (TUNING.coherence * level * (axes - 1) / axes)
    total: FloatArray = along * one.systematic + one.sampled
    return total


def _evenness(pruning: list[AnyArray], records: FloatArray, cells: IntArray, queries: BucketQueries) -> float:
    """Squared error of the queries if the expected records are spread evenly over the boxes that become buckets.

    Args:
        pruning: where boxes become buckets, level by level, down to the level of the queries.
        records, cells: of that level's boxes.
    """
    first, last = np.arange(len(cells)), len(pruning) - 1
    for level, top in enumerate(pruning):
        first = np.where(np.repeat(top, 2 ** (last - level)), first >> (last - level) << (last - level), first)
    sizes, sums = (np.bincount(first, weights=one, minlength=len(cells)) for one in (cells, records))
    gaps = records - sums[first] * cells / np.maximum(sizes[first], 1)
    return float(gaps @ queries.matrix @ gaps)


def _subtotals(own: list[FloatArray]) -> list[FloatArray]:
    """Of every box: the sum over it and all boxes within; the last level's are 0."""
    total = [np.zeros(2 ** len(own))]
    for one in own[::-1]:
        total.append(one + _paired(total[-1]))
    return total[::-1]


def _halves(counted: BoxCounts, cells: list[IntArray]) -> tuple[list[Halves], list[FloatArray]]:
    """Of every level: the differences of the boxes' halves, and the boxes' expected records, from the root down.

    The total is taken to be the root mean square of what its estimate leaves likely: differences go with its square.
    """
    levels = [counted.counts]
    for _ in range(counted.level):
        levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
    sizes, weights = likely_records(counted.total, counted.deviation)
    counts, halves = [np.sqrt([weights @ sizes**2])], []
    imbalances = Imbalances(weights=PRIOR)
    for level, both in enumerate(cells[:-1]):
        inside, own = cells[level + 1].reshape(-1, 2), counts[-1]
        even, split = own * (inside[:, 0] - inside[:, 1]) / np.maximum(both, 1), inside.min(axis=1) > 0
        imbalances, unlike, variances = imbalances.below(), np.zeros_like(own), np.full(len(own), np.inf)
        if level < counted.level:
            observed = levels[counted.level - level - 1].reshape(-1, 2)
            unlike, variances = observed[:, 0] - observed[:, 1] - even, np.full(len(own), counted.variances[level])
            imbalances = imbalances.learned(unlike[split], own[split], variances[split])
        halves.append(imbalances.posterior(unlike, np.where(split, own, 0.0), variances))
        left = np.where(split, np.clip((own + even + halves[-1].means) / 2, 0.0, own), (own + even) / 2)
        counts.append(np.stack([left, own - left], axis=1).reshape(-1))
    return halves, counts


@lru_cache(maxsize=64)
def _effects(queries: BucketQueries, depth: int) -> list[FloatArray]:
    """For every box: what a difference of 1 between its halves changes in the queries, squared and summed.

    Below the queries' own level a box has half the effect of the one above.
    """
    finest = queries.size.bit_length() - 1
    pairs, effects = queries.matrix, []
    for level in range(finest - 1, -1, -1):
        side = 2.0 ** -(finest - level)
        twice = pairs.reshape(2**level, 2, 2**level, 2)
        own = np.einsum("iaib->iab", twice)
        effects.append((own[:, 0, 0] + own[:, 1, 1] - own[:, 0, 1] - own[:, 1, 0]) * side**2)
        pairs = twice.sum(axis=(1, 3))
    effects = effects[::-1]
    while len(effects) < depth:
        effects.append(np.repeat(effects[-1], 2) / 2 if effects else np.zeros(1))
    return [np.maximum(one, 0.0) for one in effects[:depth]]


def _paired(boxes: FloatArray) -> FloatArray:
    """Sums over both halves of every box."""
    sums: FloatArray = boxes[0::2] + boxes[1::2]
    return sums


def _partition(bisection: Bisection, pruning: list[AnyArray], cells: list[IntArray], error: float) -> Partition:
    """The boxes that become buckets, in the order of the leaves."""
    depth = bisection.depth
    firsts, starts, stops = [], [], []
    for level, (top, inside) in enumerate(zip(pruning, cells, strict=True)):
        places = np.flatnonzero(top & (inside > 0))
        boxes = bisection.boxes(level, places)
        firsts.append(places << (depth - level))
        starts.append(boxes.starts)
        stops.append(boxes.stops)
    first = np.concatenate(firsts)
    order = np.argsort(first)
    buckets = np.searchsorted(first[order], bisection.places(depth), side="right") - 1
    boxes = Boxes(starts=np.concatenate(starts)[order], stops=np.concatenate(stops)[order])
    return Partition(buckets=buckets.astype(np.int64), boxes=boxes, error=error)
