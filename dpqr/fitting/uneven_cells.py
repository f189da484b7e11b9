"""Uneven cells: tables that may lie behind the noisy counts of buckets, drawn with public randomness."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.fitting.halves import IMBALANCES, Imbalances
from dpqr.workload.partition import Bisection

WARY = (IMBALANCES > 0.01) / (IMBALANCES > 0.01).sum()
"""How often each imbalance occurs, where nothing was observed: cells are taken to be uneven until counts show that they
are not. Set by `python tests/benchmarks/ordered_bars.py`."""


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoxCounts:
    """Unbiased noisy counts of all boxes of one level of a bisection. Public.

    Attributes:
        counts: in records, shape (2^level,).
        variances: of the difference of a box's halves, one for each of the levels 0 .. level - 1.
        total, deviation: an estimate of all records from all that was released, and its noise.

    >>> bisection, counts = Bisection((2,)), np.array([3.0, 1.0])
    >>> BoxCounts(bisection=bisection, counts=counts, variances=np.ones(1), total=4.0, deviation=1.0).level
    1
    """

    bisection: Bisection
    counts: FloatArray
    variances: FloatArray
    total: float
    deviation: float

    @property
    def level(self) -> int:
        return len(self.variances)


def uneven_cells(
    shape: tuple[int, ...], known: BucketCounts, boxes: BoxCounts | None, uniforms: FloatArray, normals: FloatArray
) -> FloatArray:
    """Records of single cells, drawn from what released counts say of them: whole numbers of at least 0.

    From the root down, the records of a box are divided between its halves by a draw from the posterior law that the
    choice of the buckets rests on (`Imbalances`): given the buckets' noisy counts, and within a bucket the boxes'.
    Below all boxes that were counted, imbalances are as likely as on the levels above.

    Args:
        shape: cells of each axis.
        boxes: noisy counts, from which the buckets were chosen; None: there are none.
        uniforms, normals: public draws, one of each for every box of the bisection, `draws_of(shape)` in all.

    Returns:
        Records, shape as `shape`.

    Privacy:
        Post-processing of released counts.

    >>> known = BucketCounts(places=np.array([0, 0, 1]), counts=np.array([8.0, 4.0]), covariance=1e-9 * np.eye(2))
    >>> uneven_cells((3,), known, None, np.full(draws_of((3,)), 0.5), np.zeros(draws_of((3,)))).tolist()
    [4.0, 4.0, 4.0]
    """
    bisection = Bisection(shape)
    imbalances, drawn = Imbalances(weights=WARY), np.maximum(np.round(known.counts.sum(keepdims=True)), 0.0)
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


def draws_of(shape: tuple[int, ...]) -> int:
    """How many draws of either kind `uneven_cells` takes.

    >>> draws_of((3,))
    8
    """
    return int(2 ** (Bisection(shape).depth + 1))


def _observed(
    known: BucketCounts, boxes: BoxCounts | None, halves: IntArray, level: int
) -> tuple[FloatArray, FloatArray]:
    """Noisy differences of the halves of a level's boxes, and the variances of their noise; infinite: none is known.

    halves: the half of every cell, shape (cells,). Only boxes of several buckets have a row in the matrix of signs:
    at most as many as there are buckets.
    """
    count = 2**level
    differences, variances = np.zeros(count), np.full(count, np.inf)
    if boxes is not None and level < boxes.level:
        counts = boxes.counts.reshape(count, 2, -1).sum(axis=2)
        differences, variances = counts[:, 0] - counts[:, 1], np.full(count, boxes.variances[level])
    boxed = halves // 2
    several = ~_merged(known.places, boxed, count)
    above, rows, cells = np.flatnonzero(several), np.cumsum(several) - 1, np.flatnonzero(several[boxed])
    signs = np.zeros((len(above), len(known.counts)))
    signs[rows[boxed[cells]], known.places[cells]] = 1 - 2 * (halves[cells] % 2)
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
