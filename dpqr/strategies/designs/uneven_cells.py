"""Uneven cells: tables that may lie behind the estimated counts of buckets, drawn with public randomness."""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.fitting.halves import PRIOR, Imbalances
from dpqr.noise.public import public_normals, public_uniforms
from dpqr.strategies.designs.partition import BoxCounts
from dpqr.workload.partition import Bisection


def uneven_cells(counted: BoxCounts | None, buckets: IntArray, cells: FloatArray, seed: int) -> FloatArray:
    """Records of single cells, drawn from what released counts say of them: whole numbers of at least 0.

    From the root down, the records of a box that lies within one bucket are divided between its halves by a draw from
    the posterior law that the choice of the buckets rests on (`Imbalances`), given the box's noisy counts. Below the
    boxes that were counted, imbalances are as likely as on the levels above. A bucket itself holds its estimate.

    Args:
        counted: noisy counts of boxes, from which the buckets were chosen; None: there are none.
        buckets: of every cell in C order, shape (cells,). Each is one box of the bisection.
        cells: estimated records, shape of the axes.
        seed: public; the number after it is used too.

    Returns:
        Records, shape (cells,).

    Privacy:
        Post-processing of released counts.

    >>> uneven_cells(None, np.array([0, 0, 1, 1]), np.array([4.0, 4.0, 0.0, 0.0]), 7).reshape(2, 2).sum(axis=1).tolist()
    [8.0, 0.0]
    """
    bisection, estimated = Bisection(cells.shape), np.maximum(cells.reshape(-1), 0.0)
    leaves = 2**bisection.depth
    uniforms, normals = public_uniforms(seed, 2 * leaves), public_normals(seed + 1, 2 * leaves)
    known, drawn = Imbalances(weights=PRIOR), np.round(estimated.sum(keepdims=True))
    for level in range(bisection.depth):
        below = bisection.places(level + 1)
        inside = np.bincount(below, minlength=2 ** (level + 1)).reshape(-1, 2)
        halves = np.bincount(below, weights=estimated, minlength=2 ** (level + 1)).reshape(-1, 2)
        uneven, split = (inside[:, 0] - inside[:, 1]) / np.maximum(inside.sum(axis=1), 1), inside.min(axis=1) > 0
        observed, variances = _observed(counted, level)
        known, expected = known.below(), halves.sum(axis=1)
        if counted is not None and level < counted.level:
            known = known.learned((observed - uneven * expected)[split], expected[split], variances[split])
        part, even = slice(2**level, 2 ** (level + 1)), uneven * drawn
        unlike = np.where(np.isinf(variances), 0.0, observed - even)
        moved = known.drawn(unlike, np.where(split, drawn, 0.0), variances, uniforms[part], normals[part])
        left = np.clip(np.round((drawn + even + moved) / 2), 0.0, drawn)
        merged = _merged(buckets, below // 2, 2**level)
        divided = np.stack([left, drawn - left], axis=1)
        drawn = np.where(merged[:, None], divided, np.round(halves)).reshape(-1)
    found: FloatArray = drawn[bisection.places(bisection.depth)]
    return found


def _observed(counted: BoxCounts | None, level: int) -> tuple[FloatArray, FloatArray]:
    """Noisy differences of the halves of a level's boxes, and the variances of their noise; infinite: none is known."""
    if counted is None or level >= counted.level:
        return np.zeros(2**level), np.full(2**level, np.inf)
    halves = counted.counts.reshape(2**level, 2, -1).sum(axis=2)
    return halves[:, 0] - halves[:, 1], np.full(2**level, counted.variances[level])


def _merged(buckets: IntArray, places: IntArray, boxes: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether all cells of a box lie in one bucket, shape (boxes,)."""
    least, most = np.full(boxes, buckets.max() + 1), np.full(boxes, -1)
    np.minimum.at(least, places, buckets)
    np.maximum.at(most, places, buckets)
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = least >= most
    return found
