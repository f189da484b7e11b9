"""Partitions: buckets of neighbouring cells, chosen from released noisy counts of a bisection's boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.strategies.designs.gram import BucketQueries
from dpqr.workload.partition import Bisection, Boxes


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Set by `python tests/benchmarks/ordered.py --half set`; figures: tests/benchmarks/RESULTS.md, "Fitting".

    Pair: on one axis, and on more, where a query's edge cuts many buckets.
    """

    alike: float = 0.95  # prior probability that a level's imbalance is near that of the level above
    correlation: tuple[float, float] = (1.0, 4.0)  # factor on the bias of merging: biases of cut buckets add up
    most: int = 512  # buckets: designs and estimates are dense in their number
    cheapest: float = 1e-3  # price of a bucket, relative to an even share of the error of `reference` buckets
    dearest: float = 30.0  # the same
    prices: int = 20  # that are tried between these two
    reference: int = 64  # buckets whose noise sets the unit of the prices


TUNING = Tuning()

IMBALANCES = np.geomspace(1e-4, 1.0, 13)
"""Variance of the difference of two halves over the squared count of both: values that are alike likely beforehand."""

FORBIDDING = 1e200
"""The last price, at which no second bucket is worth its price."""
TINY = 1e-300
"""Stands for 0 where an empty box and noiseless counts would give 0 / 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoxCounts:
    """Unbiased noisy counts of all boxes of one level of a bisection. Public.

    Attributes:
        counts: in records, shape (2^level,).
        variances: of the difference of a box's halves, one for each of the levels 0 .. level - 1.
        total, deviation: an estimate of all records from all that was released, and its noise.
    """

    bisection: Bisection
    counts: FloatArray
    variances: FloatArray
    total: float
    deviation: float

    @property
    def level(self) -> int:
        return len(self.variances)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """Disjoint buckets that cover all cells; each is a box with at least one cell. Public.

    Attributes:
        buckets: of every cell in C order, shape (cells,).
        boxes: one per bucket, in the order of the bisection's leaves.
        error: expected weighted sum of squared errors of the workload, noise and bias together.
    """

    buckets: IntArray
    boxes: Boxes
    error: float


def chosen_partition(counted: BoxCounts, queries: BucketQueries, noise: Callable[[float], float]) -> Partition:
    """The pruned bisection of least expected squared error of the workload.

    For every box the squared difference of its halves is estimated from the noisy counts. How unlike halves are is
    learned from all boxes of a level, beginning with what the level above showed (empirical Bayes). Merging a box costs
    the bias of spreading its records evenly. Dynamic programming from the leaves up weighs that bias against a price
    per bucket; of several prices the one with the smallest sum of bias and noise wins.

    Args:
        counted: noisy counts of one level of boxes.
        queries: over all boxes of some level.
        noise: expected weighted sum of squared errors if that many buckets are measured.

    Privacy:
        Post-processing: reads released counts and public queries alone.

    >>> bisection = Bisection((4,))
    >>> counts = np.array([100.0, 100.0, 0.0, 0.0])
    >>> known = BoxCounts(bisection=bisection, counts=counts, variances=np.zeros(2), total=200.0, deviation=0.0)
    >>> chosen_partition(known, BucketQueries(matrix=np.eye(4)), lambda buckets: buckets).buckets
    array([0, 0, 1, 1])
    """
    bisection = counted.bisection
    cells = [np.bincount(bisection.places(level), minlength=2**level) for level in range(bisection.depth + 1)]
    correlation = TUNING.correlation[min(len(bisection.shape), 2) - 1]
    effects = [correlation * effect for effect in _effects(queries, bisection.depth)]
    bias = _merging_bias(counted, cells, effects)
    prices = np.geomspace(TUNING.cheapest, TUNING.dearest, TUNING.prices)
    prices = np.append(prices * noise(TUNING.reference) / TUNING.reference, FORBIDDING)
    kept, counts, hidden = _pruned(bias, cells, prices)
    expected = [noise(count) if count <= TUNING.most else np.inf for count in counts.tolist()] + hidden
    best = int(np.argmin(expected))
    return _partition(bisection, [whole[:, best] for whole in kept], cells, float(expected[best]))


def _effects(queries: BucketQueries, depth: int) -> list[FloatArray]:
    """For every box: what a difference of 1 between its halves changes in the queries, squared and summed.

    Below the queries' own level a box has half the effect of the one above.
    """
    finest = queries.size.bit_length() - 1
    pairs, found = queries.matrix, []
    for level in range(finest - 1, -1, -1):
        side = 2.0 ** -(finest - level)
        twice = pairs.reshape(2**level, 2, 2**level, 2)
        own = np.einsum("iaib->iab", twice)
        found.append((own[:, 0, 0] + own[:, 1, 1] - own[:, 0, 1] - own[:, 1, 0]) * side**2)
        pairs = twice.sum(axis=(1, 3))
    effects = found[::-1]
    while len(effects) < depth:
        effects.append(np.repeat(effects[-1], 2) / 2 if effects else np.zeros(1))
    return [np.maximum(one, 0.0) for one in effects[:depth]]


def _merging_bias(counted: BoxCounts, cells: list[IntArray], effects: list[FloatArray]) -> list[FloatArray]:
    """For every box: expected squared error of the queries if all its records are spread evenly over its cells.

    The total is taken to be its noise at least: one that noise has brought near zero would hide all differences within.
    """
    depth = len(effects)
    levels = [counted.counts]
    for _ in range(counted.level):
        levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
    counts, expected = np.array([max(counted.total, counted.deviation, 1.0)]), []
    belief = prior = np.full(len(IMBALANCES), 1 / len(IMBALANCES))
    for level in range(depth):
        halves = cells[level + 1].reshape(-1, 2)
        even = counts * (halves[:, 0] - halves[:, 1]) / np.maximum(cells[level], 1)
        split, difference, trust = halves.min(axis=1) > 0, np.zeros_like(counts), np.zeros_like(counts)
        belief = TUNING.alike * _near(belief) + (1 - TUNING.alike) * prior
        if level < counted.level:
            observed = levels[counted.level - level - 1].reshape(-1, 2)
            unlike, variance = observed[:, 0] - observed[:, 1] - even, float(counted.variances[level])
            belief = _learned(belief, unlike[split], counts[split], variance)
            own = float(belief @ IMBALANCES) * counts**2 + counts
            trust = own / np.maximum(own + variance, TINY)
            difference = trust * unlike
        likely = difference**2 + (1 - trust) * (float(belief @ IMBALANCES) * counts**2 + counts)
        expected.append(np.where(split, np.minimum(likely, counts**2) * effects[level], 0.0))
        left = np.where(split, np.clip((counts + even + difference) / 2, 0.0, counts), (counts + even) / 2)
        counts = np.stack([left, counts - left], axis=1).reshape(-1)
    total = [np.zeros(len(cells[depth]))]
    for own in expected[::-1]:
        total.append(own + total[-1].reshape(-1, 2).sum(axis=1))
    return total[::-1]


def _near(belief: FloatArray) -> FloatArray:
    """The belief moved by up to one step, either way."""
    padded = np.concatenate([belief[:1], belief, belief[-1:]])
    moved: FloatArray = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    return moved


def _learned(belief: FloatArray, unlike: FloatArray, counts: FloatArray, variance: float) -> FloatArray:
    """Bayes' rule for one level's imbalance, from the observed differences of halves and their noise."""
    spread = np.maximum(np.multiply.outer(IMBALANCES, counts**2) + counts + variance, TINY)
    logs = np.log(np.maximum(belief, TINY)) - (np.log(spread) + unlike**2 / spread).sum(axis=1) / 2
    weights = np.exp(logs - logs.max())
    learned: FloatArray = weights / weights.sum()
    return learned


def _pruned(
    bias: list[FloatArray], cells: list[IntArray], prices: FloatArray
) -> tuple[list[AnyArray], FloatArray, FloatArray]:
    """Dynamic programming for every price at once.

    Returns:
        Where each level's boxes are kept whole, shape (boxes, prices) per level; the numbers of buckets; their biases.
    """
    count = np.repeat((cells[-1] > 0).astype(np.float64)[:, None], len(prices), axis=1)
    cost, hidden = count * prices, np.zeros_like(count)
    kept: list[AnyArray] = [np.ones(count.shape, dtype=bool)]
    for own, inside in zip(bias[-2::-1], cells[-2::-1], strict=True):
        alone = (inside > 0).astype(np.float64)[:, None]
        whole, halved = own[:, None] + alone * prices, _paired(cost)
        merge = whole <= halved
        cost = np.where(merge, whole, halved)
        hidden = np.where(merge, own[:, None], _paired(hidden))
        count = np.where(merge, alone, _paired(count))
        kept.append(merge)
    return kept[::-1], count[0], hidden[0]


def _paired(boxes: FloatArray) -> FloatArray:
    """Sums over both halves of every box."""
    sums: FloatArray = boxes[0::2] + boxes[1::2]
    return sums


def _partition(bisection: Bisection, kept: list[AnyArray], cells: list[IntArray], error: float) -> Partition:
    """The topmost boxes that are kept whole, in the order of the leaves."""
    depth, alive = bisection.depth, np.ones(1, dtype=bool)
    firsts, starts, stops = [], [], []
    for level, whole in enumerate(kept):
        topmost = np.flatnonzero(alive & whole & (cells[level] > 0))
        boxes = bisection.boxes(level, topmost)
        firsts.append(topmost << (depth - level))
        starts.append(boxes.starts)
        stops.append(boxes.stops)
        alive = np.repeat(alive & ~whole, 2)
    first = np.concatenate(firsts)
    order = np.argsort(first)
    buckets = np.searchsorted(first[order], bisection.places(depth), side="right") - 1
    boxes = Boxes(starts=np.concatenate(starts)[order], stops=np.concatenate(stops)[order])
    return Partition(buckets=buckets.astype(np.int64), boxes=boxes, error=error)
