"""DAWA (Li, Hay, Miklau and Wang 2014) with its partition paid for, as a competitor of `ordered`.

First part of the budget: a partition into boxes of a bisection (aligned dyadic intervals) of least noisy cost. A box
costs the L1 deviation of its counts from their mean, which one record changes by less than 2, and a price; every cost
gets noise, those of single cells too, and only the partition is released (report noisy minimum: of a partition, one box
holds the record). Prices: the noise of one count, as printed, where noise on costs keeps most cells apart; and three
times the noise of a cost besides, the best multiple on the setting half. Second part: the tree of least expected error
over the buckets, or over all cells where buckets are many. Errors: expected ones given the partition, with continuous
noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.strategies.designs.gram import bucket_queries
from dpqr.strategies.designs.trees import hierarchy
from dpqr.workload.block import QueryBlock
from dpqr.workload.partition import Bisection, Boxes
from dpqr.workload.sensitivity import Norm

SHARE = 0.25
"""Of the budget, for the partition; as printed."""

MOST = 400
"""Buckets, beyond which the tree over all cells stands for that over the buckets."""

PRICES = (0.0, 3.0)
"""Of a bucket besides the noise of its count: so many times the noise of a cost."""


@dataclass(frozen=True)
class Dawa:
    """One price, for one workload and epsilon.

    times: the noise of a cost that is added to a bucket's price.
    cells: sum of squared errors of the tree over all cells, at noise of variance 1 on columns of norm 1.
    """

    blocks: tuple[QueryBlock, ...]
    shape: tuple[int, ...]
    epsilon: float
    times: float
    cells: float

    def square(self, counts: np.ndarray, rng: np.random.Generator) -> float:
        """Expected mean square over the queries, given a noisy partition."""
        buckets, boxes = self.partition(counts, rng)
        sizes = np.bincount(buckets)
        even = (np.bincount(buckets, weights=counts.reshape(-1)) / sizes)[buckets].reshape(self.shape)
        block = self.blocks[0]
        bias = block.apply(even) - block.apply(counts)
        scale = 1 / ((1 - SHARE) * self.epsilon)
        return float((bias**2).mean()) + 2 * scale**2 * self.unit_error(boxes) / block.rows

    def unit_error(self, boxes: Boxes) -> float:
        """Sum of squared errors at noise of variance 1 on columns of norm 1: single buckets, or a tree of them."""
        if len(boxes) > MOST:
            return self.cells
        queries = bucket_queries(self.blocks, tuple(range(len(self.shape))), boxes)
        alone = queries.error(np.eye(queries.size))
        if queries.size == 1:
            return alone
        tree = hierarchy(queries, Norm.L1)
        matrix = tree.table(0, tree.rows).astype(np.float64) / tree.column_norm(1)
        return min(alone, queries.error(matrix))

    def partition(self, counts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, Boxes]:
        bisection = Bisection(self.shape)
        scale = 4 / (SHARE * self.epsilon)
        price = 1 / ((1 - SHARE) * self.epsilon) + self.times * scale
        best, kept = np.zeros(0), []
        for level in range(bisection.depth, -1, -1):
            deviation = deviations(bisection, counts.reshape(-1), level)
            costs = deviation + price + rng.laplace(scale=scale, size=len(deviation))
            halved = best.reshape(-1, 2).sum(axis=1) if len(best) else np.full(len(costs), np.inf)
            kept.append(costs <= halved)
            best = np.minimum(costs, halved)
        return _topmost(bisection, kept[::-1])


def deviations(bisection: Bisection, counts: np.ndarray, level: int) -> np.ndarray:
    """Of every box of a level, the sum of |count - mean|."""
    places = bisection.places(level)
    sizes = np.maximum(np.bincount(places, minlength=2**level), 1)
    means = np.bincount(places, weights=counts, minlength=2**level) / sizes
    return np.bincount(places, weights=np.abs(counts - means[places]), minlength=2**level)


def _topmost(bisection: Bisection, kept: Sequence[np.ndarray]) -> tuple[np.ndarray, Boxes]:
    """The topmost boxes that are kept whole: bucket of every cell, and the boxes."""
    alive, starts, stops, firsts = np.ones(1, dtype=bool), [], [], []
    for level, whole in enumerate(kept):
        held = np.bincount(bisection.places(level), minlength=2**level) > 0
        places = np.flatnonzero(alive & whole & held)
        boxes = bisection.boxes(level, places)
        starts.append(boxes.starts)
        stops.append(boxes.stops)
        firsts.append(places << (bisection.depth - level))
        alive = np.repeat(alive & ~whole, 2)
    first = np.concatenate(firsts)
    order = np.argsort(first)
    buckets = np.searchsorted(first[order], bisection.places(bisection.depth), side="right") - 1
    return buckets, Boxes(starts=np.concatenate(starts)[order], stops=np.concatenate(stops)[order])
