"""Uneven cells: tables that may lie behind the noisy counts of buckets, drawn with public randomness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.fitting.halves import PRIOR, Imbalances
from dpqr.noise.public import public_normals, public_uniforms
from dpqr.strategies.designs.partition import BoxCounts
from dpqr.workload.partition import Bisection


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BucketCounts:
    """Unbiased noisy counts of buckets. Public.

    Attributes:
        places: every cell's bucket in C order, shape (cells,). Every bucket has a cell.
        counts: in records, shape (buckets,).
        covariance: of their noise, shape (buckets, buckets).
    """

    places: IntArray
    counts: FloatArray
    covariance: FloatArray


def uneven_cells(shape: tuple[int, ...], known: BucketCounts, boxes: BoxCounts | None, seed: int) -> FloatArray:
    """Records of single cells, drawn from what released counts say of them: whole numbers of at least 0.

    From the root down, the records of a box are divided between its halves by a draw from the posterior law that the
    choice of the buckets rests on (`Imbalances`): given the buckets' noisy counts, and within a bucket the boxes'.
    Below all boxes that were counted, imbalances are as likely as on the levels above.

    Args:
        shape: cells of each axis.
        boxes: noisy counts, from which the buckets were chosen; None: there are none.
        seed: public; the number after it is used too.

    Returns:
        Records, shape as `shape`.

    Privacy:
        Post-processing of released counts.

    >>> known = BucketCounts(places=np.array([0, 0, 1]), counts=np.array([8.0, 4.0]), covariance=1e-9 * np.eye(2))
    >>> uneven_cells((3,), known, None, 7)[2].tolist()
    4.0
    """
    bisection, leaves = Bisection(shape), 2 * 2 ** Bisection(shape).depth
    uniforms, normals = public_uniforms(seed, leaves), public_normals(seed + 1, leaves)
    imbalances, drawn = Imbalances(weights=PRIOR), np.maximum(np.round(known.counts.sum(keepdims=True)), 0.0)
    for level in range(bisection.depth):
        halves, count = bisection.places(level + 1), 2**level
        inside = np.bincount(halves, minlength=2 * count).reshape(count, 2)
        split = inside.min(axis=1) > 0
        even = drawn * (inside[:, 0] - inside[:, 1]) / np.maximum(inside.sum(axis=1), 1)
        differences, variances = _observed(known, boxes, halves, level)
        unlike, own = np.where(np.isinf(variances), 0.0, differences - even), np.where(split, drawn, 0.0)
        imbalances = imbalances.below().learned(unlike[split], own[split], variances[split])
        part = slice(count, 2 * count)
        moved = imbalances.drawn(unlike, own, variances, uniforms[part], normals[part])
        left = np.clip(np.round((drawn + even + moved) / 2), 0.0, drawn)
        drawn = np.stack([left, drawn - left], axis=1).reshape(-1)
    cells: FloatArray = drawn[bisection.places(bisection.depth)].reshape(shape)
    return cells


def _observed(
    known: BucketCounts, boxes: BoxCounts | None, halves: IntArray, level: int
) -> tuple[FloatArray, FloatArray]:
    """Noisy differences of the halves of a level's boxes, and the variances of their noise; infinite: none is known.

    halves: the half of every cell, shape (cells,).
    """
    count = 2**level
    differences, variances = np.zeros(count), np.full(count, np.inf)
    if boxes is not None and level < boxes.level:
        counts = boxes.counts.reshape(count, 2, -1).sum(axis=2)
        differences, variances = counts[:, 0] - counts[:, 1], np.full(count, boxes.variances[level])
    above = np.flatnonzero(~_merged(known.places, halves // 2, count))
    signs = np.zeros((count, len(known.counts)))
    signs[halves // 2, known.places] = 1 - 2 * (halves % 2)
    signs = signs[above]
    differences[above] = signs @ known.counts
    variances[above] = ((signs @ known.covariance) * signs).sum(axis=1)
    return differences, variances


def _merged(buckets: IntArray, places: IntArray, boxes: int) -> AnyArray:
    """Whether all cells of a box lie in one bucket, shape (boxes,)."""
    least, most = np.full(boxes, buckets.max() + 1), np.full(boxes, -1)
    np.minimum.at(least, places, buckets)
    np.maximum.at(most, places, buckets)
    found: AnyArray = least >= most
    return found
