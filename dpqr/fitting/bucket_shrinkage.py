"""Noisy counts of buckets, shrunk towards an even spread as far as they do not show that neighbours differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.fitting.halves import PRIOR, Imbalances
from dpqr.workload.partition import Bisection

VAGUE = 1e4
"""Prior variance of the total, over that of its noise: the total itself is not shrunk."""

ROUNDS = 2
"""Times that counts of boxes are estimated, and their prior variances from these."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Level:
    """The boxes of one level of a bisection that hold more than one bucket.

    Attributes:
        left, right: which share of each half's cells lies in every bucket, shape (boxes, buckets).
        cells: of the halves, shape (boxes, 2).
    """

    left: FloatArray
    right: FloatArray
    cells: FloatArray

    @property
    def moves(self) -> FloatArray:
        """What a difference of 1 between the halves adds to every bucket, shape (boxes, buckets)."""
        found: FloatArray = (self.left - self.right) / 2
        return found


def shrunk(shape: tuple[int, ...], buckets: IntArray, counts: FloatArray, covariance: FloatArray) -> FloatArray:
    """The linear posterior mean of bucket counts, under a prior for the halves of boxes that is learned from them.

    Args:
        shape: cells of each axis.
        buckets: of every cell in C order, shape (cells,). Every bucket has a cell.
        counts: unbiased noisy counts, shape (buckets,).
        covariance: of their noise, shape (buckets, buckets).
    """
    sizes = np.bincount(buckets)
    levels, even = _levels(shape, buckets, sizes), sizes / sizes.sum()
    if not levels:
        return counts
    moves = np.concatenate([level.moves for level in levels])
    whole, noise, found = counts.sum(), covariance.sum(), counts
    for _ in range(ROUNDS):
        own = np.concatenate(_own_variances(levels, found, counts, covariance))
        prior = (moves.T * own) @ moves + VAGUE * noise * np.multiply.outer(even, even)
        found = whole * even + prior @ np.linalg.solve(prior + covariance, counts - whole * even)
    return found


def _levels(shape: tuple[int, ...], buckets: IntArray, sizes: IntArray) -> list[Level]:
    bisection, found = Bisection(shape), []
    for level in range(bisection.depth):
        halves = bisection.places(level + 1)
        pairs = np.unique(halves * len(sizes) + buckets, return_counts=True)
        half, bucket = np.divmod(pairs[0], len(sizes))
        boxes, place = np.unique(half // 2, return_inverse=True)
        cells = np.zeros((len(boxes), 2, len(sizes)))
        cells[place, half % 2, bucket] = pairs[1]
        cells = cells[((cells.sum(axis=1) > 0).sum(axis=1) > 1) & (cells.sum(axis=2) > 0).all(axis=1)]
        if len(cells):
            whole = cells.sum(axis=2)
            shares = cells / whole[:, :, None]
            found.append(Level(left=shares[:, 0], right=shares[:, 1], cells=whole))
    return found


def _own_variances(
    levels: list[Level], found: FloatArray, counts: FloatArray, covariance: FloatArray
) -> list[FloatArray]:
    """Prior variances of the differences of all halves.

    Args:
        found: what the buckets are taken to hold.
    """
    known, variances = Imbalances(weights=PRIOR), []
    for level in levels:
        signs = (level.left > 0).astype(np.float64) - (level.right > 0)
        inside = np.maximum(((level.left > 0) | (level.right > 0)) @ found, 0.0)
        even = inside * (level.cells[:, 0] - level.cells[:, 1]) / level.cells.sum(axis=1)
        noise = np.einsum("ij,jk,ik->i", signs, covariance, signs, optimize=True)
        unlike = signs @ counts - even
        known = known.below().learned(unlike, inside, noise)
        variances.append(known.posterior(unlike, inside, noise).own)
    return variances
