"""Partition: buckets of neighbouring cells, chosen from released noisy counts of ever smaller boxes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.strategies.designs.bucket_queries import BucketQueries
from dpqr.workload.partition import Bisection, Boxes

UNEVENNESS = {1: 0.3, 2: 1.0}
"""How unlike two halves are expected to be before anything is known of them: the squared difference is this share of
the squared count; by the number of axes, 2 standing for more. (Geometric mean over DPBench ranges below one record a
cell and epsilon: 0.58 of HDMM's error at 0.1, 0.48 at 0.2, 0.45 at 0.3, about the same at 0.4.)"""

ALIKE = {1: 1.0, 2: 16.0}
"""What the effects of differences are multiplied by. On one axis a query cuts two buckets; on several its edges cut
many, side by side, whose differences are alike and add up. (64 x 64 rectangles at epsilon 0.1, error over the Kronecker
strategy's: 0.65 and 1.02 at 4, 0.57 and 0.80 at 16, 0.62 and 1.00 at 64.)"""

MOST = 512
"""Buckets, at most: designs and estimates are dense in their number."""

PRICES = np.geomspace(1e-3, 30, 20)
"""Prices of a bucket that are tried, relative to an even share of the error of REFERENCE buckets."""

FORBIDDING = 1e200
"""The last price, at which nothing is worth a second bucket."""

REFERENCE = 64

TINY = 1e-300
"""Stands for 0 where an empty box and counts without noise would give 0 / 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scouted:
    """Unbiased noisy counts of all boxes of one level of a bisection. Public: released, or made from what was.

    counts: shape (2^level,), in records. variances: of the difference of the halves of a box, one for each of the
    levels 0 .. level - 1.
    """

    bisection: Bisection
    counts: FloatArray
    variances: FloatArray

    @property
    def level(self) -> int:
        return len(self.variances)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Partition:
    """Every cell in one bucket, every bucket a box with at least one cell. Public.

    buckets: of every cell in C order, shape (cells,). boxes: shape (buckets,), in the order of the bisection's leaves.
    error: expected weighted sum of squared errors of the workload, noise and unevenness together.
    """

    buckets: IntArray
    boxes: Boxes
    error: float


def chosen_partition(scouted: Scouted, queries: BucketQueries, noise: Callable[[float], float]) -> Partition:
    """The boxes of a pruned bisection that leave the workload the least expected squared error.

    queries: over all boxes of some level. noise: expected weighted sum of squared errors if so many buckets are
    measured. For every box the squared difference of its halves is expected from the noisy counts, shrunk towards
    what is expected of any two halves; merging the box costs what all the differences within it do to the queries,
    if its records are spread evenly. Dynamic programming from the leaves up weighs that against a price a bucket;
    of several prices the one with the smallest sum of unevenness and noise is taken.

    **Privacy.** Post-processing: reads released counts and public queries alone.
    """
    bisection = scouted.bisection
    cells = [np.bincount(bisection.places(level), minlength=2**level) for level in range(bisection.depth + 1)]
    alike = ALIKE[min(len(bisection.shape), 2)]
    effects = [alike * effect for effect in _effects(queries, bisection.depth)]
    unevenness = _unevenness(scouted, cells, effects)
    prices = np.append(PRICES * noise(REFERENCE) / REFERENCE, FORBIDDING)
    kept, counts, hidden = _pruned(unevenness, cells, prices)
    expected = [noise(count) if count <= MOST else np.inf for count in counts.tolist()] + hidden
    best = int(np.argmin(expected))
    return _partition(bisection, [whole[:, best] for whole in kept], cells, float(expected[best]))


def _effects(queries: BucketQueries, depth: int) -> list[FloatArray]:
    """For every box of every level: what a difference of 1 between its halves does to the queries, squared and summed,
    if it is not told. Below the queries' own level a box has half the effect of the one above."""
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


def _unevenness(scouted: Scouted, cells: list[IntArray], effects: list[FloatArray]) -> list[FloatArray]:
    """For every box: expected squared error of the queries if all that lies in it is spread evenly."""
    depth, unlike = len(effects), UNEVENNESS[min(len(scouted.bisection.shape), 2)]
    levels = [scouted.counts]
    for _ in range(scouted.level):
        levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
    counts, expected = np.maximum(levels[-1], _least(scouted)), []
    for level in range(depth):
        halves = cells[level + 1].reshape(-1, 2)
        even = counts * (halves[:, 0] - halves[:, 1]) / np.maximum(cells[level], 1)
        likely = unlike * counts**2 + counts
        difference = np.zeros_like(counts)
        if level < scouted.level:
            told = levels[scouted.level - level - 1].reshape(-1, 2)
            variance = float(scouted.variances[level])
            trust = likely / np.maximum(likely + variance, TINY)
            difference = trust * (told[:, 0] - told[:, 1] - even)
            likely = difference**2 + (1 - trust) * likely
        split = halves.min(axis=1) > 0
        expected.append(np.where(split, np.minimum(likely, counts**2) * effects[level], 0.0))
        left = np.where(split, np.clip((counts + even + difference) / 2, 0.0, counts), (counts + even) / 2)
        counts = np.stack([left, counts - left], axis=1).reshape(-1)
    total = [np.zeros(len(cells[depth]))]
    for own in expected[::-1]:
        total.append(own + total[-1].reshape(-1, 2).sum(axis=1))
    return total[::-1]


def _least(scouted: Scouted) -> float:
    """What a total is taken for at least: its noise, about that of its halves' difference. A total that noise has made
    next to nothing would hide all that differs within. (DPBench at 0.02 records a cell and epsilon: else one table in
    two hundred became a single bucket, with three times the error.)"""
    return max(float(np.sqrt(scouted.variances[:1].sum())), 1.0)


def _pruned(
    unevenness: list[FloatArray], cells: list[IntArray], prices: FloatArray
) -> tuple[list[AnyArray], FloatArray, FloatArray]:
    """By price: where each level's boxes are kept whole rather than halved, level by level, shape (boxes, prices); how
    many buckets that makes; what they hide."""
    count = np.repeat((cells[-1] > 0).astype(np.float64)[:, None], len(prices), axis=1)
    cost, hidden = count * prices, np.zeros_like(count)
    kept: list[AnyArray] = [np.ones(count.shape, dtype=bool)]
    for own, inside in zip(unevenness[-2::-1], cells[-2::-1], strict=True):
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
        taken = np.flatnonzero(alive & whole & (cells[level] > 0))
        boxes = bisection.boxes(level, taken)
        firsts.append(taken << (depth - level))
        starts.append(boxes.starts)
        stops.append(boxes.stops)
        alive = np.repeat(alive & ~whole, 2)
    first = np.concatenate(firsts)
    order = np.argsort(first)
    buckets = np.searchsorted(first[order], bisection.places(depth), side="right") - 1
    boxes = Boxes(starts=np.concatenate(starts)[order], stops=np.concatenate(stops)[order])
    return Partition(buckets=buckets.astype(np.int64), boxes=boxes, error=error)
