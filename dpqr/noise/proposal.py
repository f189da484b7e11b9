"""Proposals for a selection: integer weights that are at least the true ones, and an exact draw by them.

The true weight of candidate i is w_i = 2^S exp(-rate (best - score_i)), a real number. A proposal gives each candidate
an integer bound b_i >= w_i, close to w_i, and maps the integers of [0, total), total = sum of all b_i, to candidates
so that each candidate has exactly b_i of them. All sums are below 2^62, hence exact in int64.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.noise.bits import CHUNK
from dpqr.noise.distance_grid import DistanceGrid, distance_grid, distances_below
from dpqr.noise.exp_table import CELL_BITS, LAST_CELL, exp_above

LARGEST_LISTED = 1 << 12
BUCKET_BITS = 8
WEIGHT_BITS = 61


class Proposal(Protocol):
    """An exact draw by integer weights."""

    @property
    def bits(self) -> int:
        """S: the best candidate's true weight is 2^S."""
        ...

    @property
    def total(self) -> int: ...

    def pick(self, point: int) -> tuple[int, int]:
        """The candidate i that owns the integer `point` of [0, total), and its bound b_i."""
        ...


def propose(scores: IntArray, best: int, rate: Fraction) -> Proposal:
    """One bound a candidate for short lists, one a bucket of nearly equal exponents for long ones.

    scores: int64, shape (candidates,). best: their largest. rate: at least 0.
    """
    bits = WEIGHT_BITS - len(scores).bit_length()
    if len(scores) <= LARGEST_LISTED:
        return list_candidates(scores, best, rate, bits)
    return bucket_candidates(scores, best, rate, bits)


def integer_bounds(above: FloatArray, bits: int) -> IntArray:
    """Integers above 2^bits times the floats: scaling by a power of two is exact, and 1 exceeds what is cut off.

    At most 2^bits (1 + 2^-46) + 1 each, so fewer than 2^(61 - bits) of them add up to less than 2^62.
    """
    bounds = (above * float(1 << bits)).astype(np.int64)
    bounds += 1
    return bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProposal:
    """Every candidate has its own bound; the true weight is at least (1 - 2^-12) (bound - 2 - 2^S exp(-45))."""

    bits: int
    bounds: IntArray
    cumulative: IntArray

    @property
    def total(self) -> int:
        return int(self.cumulative[-1])

    def pick(self, point: int) -> tuple[int, int]:
        index = int(np.searchsorted(self.cumulative, point, side="right"))
        return index, int(self.bounds[index])


def list_candidates(scores: IntArray, best: int, rate: Fraction, bits: int) -> ListedProposal:
    """Bounds from the fine grid of `exp_table`, one a candidate."""
    cells = distance_grid(rate, CELL_BITS).cells(distances_below(best, scores))
    bounds = integer_bounds(exp_above(cells), bits)
    return ListedProposal(bits=bits, bounds=bounds, cumulative=np.cumsum(bounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketedProposal:
    """Candidates whose exponents share a cell of width 2^-8 share a bound; the last bucket holds exponents above 45.

    The true weight is at least (1 - 2^-7 - 2^-12) (bound - 2 - 2^S exp(-45)).
    counts: how many candidates each chunk of `scores` has in each bucket, shape (chunks, buckets), so that a pick
    searches one chunk only. cumulative: sums of count times bound over the buckets.
    """

    bits: int
    scores: IntArray
    best: int
    grid: DistanceGrid
    counts: NDArray[np.int32]
    bounds: IntArray
    cumulative: IntArray

    @property
    def total(self) -> int:
        return int(self.cumulative[-1])

    def pick(self, point: int) -> tuple[int, int]:
        bucket = int(np.searchsorted(self.cumulative, point, side="right"))
        bound = int(self.bounds[bucket])
        before = int(self.cumulative[bucket - 1]) if bucket else 0
        rank = (point - before) // bound
        reached = np.cumsum(self.counts[:, bucket], dtype=np.int64)
        chunk = int(np.searchsorted(reached, rank, side="right"))
        rank -= int(reached[chunk - 1]) if chunk else 0
        start = chunk * CHUNK
        cells = self.grid.cells(distances_below(self.best, self.scores[start : start + CHUNK]))
        return start + int(np.flatnonzero(cells == bucket)[rank]), bound


def bucket_candidates(scores: IntArray, best: int, rate: Fraction, bits: int) -> BucketedProposal:
    """One pass over the scores, chunk by chunk: difference, bucket, count."""
    grid = distance_grid(rate, BUCKET_BITS)
    above = _bucket_table()
    starts = range(0, len(scores), CHUNK)
    counts = np.empty((len(starts), len(above)), dtype=np.int32)
    for row, start in enumerate(starts):
        cells = grid.cells(distances_below(best, scores[start : start + CHUNK]))
        counts[row] = np.bincount(cells, minlength=len(above))
    bounds = integer_bounds(above, bits)
    return BucketedProposal(
        bits=bits,
        scores=scores,
        best=best,
        grid=grid,
        counts=counts,
        bounds=bounds,
        cumulative=np.cumsum(counts.sum(axis=0, dtype=np.int64) * bounds),
    )


@cache
def _bucket_table() -> FloatArray:
    step = 1 << (CELL_BITS - BUCKET_BITS)
    return exp_above(np.arange(0, LAST_CELL + 1, step, dtype=np.int64))
