"""Exact draws of the exponential mechanism and of permute-and-flip from a list of integer scores.

The exponential mechanism draws by rejection. The true weight of candidate i is w_i = 2^S exp(-rate (best - score_i)), a
real number. A `Proposal` gives each candidate an integer bound b_i >= w_i, close to w_i, and maps the integers of
[0, total), total = sum of all b_i, to candidates so that each candidate has exactly b_i of them. All sums are below
2^62, hence exact in int64.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.noise.bits import CHUNK, FlagArray, LazyUniform, bernoulli_exp, uniform_below
from dpqr.noise.exp_bounds import (
    CELL_BITS,
    LAST_CELL,
    DistanceGrid,
    distance_grid,
    distances_below,
    exp_above,
    exp_bracket,
)
from dpqr.noise.source import NoiseSource

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
    """Return a proposal with one bound per candidate for short lists, one per bucket of exponents for long ones.

    Args:
        scores: int64, shape (candidates,).
        best: the largest score.
        rate: at least 0.
    """
    bits = WEIGHT_BITS - len(scores).bit_length()
    if len(scores) <= LARGEST_LISTED:
        return list_candidates(scores, best, rate, bits)
    return bucket_candidates(scores, best, rate, bits)


def integer_bounds(above: FloatArray, bits: int) -> IntArray:
    """Return integers above 2^bits times the floats: scaling by a power of two is exact, and 1 covers the truncation.

    At most 2^bits (1 + 2^-46) + 1 each, so fewer than 2^(61 - bits) of them add up to less than 2^62.
    """
    bounds = (above * float(1 << bits)).astype(np.int64)
    bounds += 1
    return bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedProposal:
    """One bound per candidate; the true weight is at least (1 - 2^-12) (bound - 2 - 2^S exp(-45))."""

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
    """Return bounds from the fine grid of `exp_above`, one per candidate."""
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
        chunk, rank = _chunk_of(np.cumsum(self.counts[:, bucket], dtype=np.int64), rank)
        start = chunk * CHUNK
        cells = self.grid.cells(distances_below(self.best, self.scores[start : start + CHUNK]))
        return start + int(np.flatnonzero(cells == bucket)[rank]), bound


def bucket_candidates(scores: IntArray, best: int, rate: Fraction, bits: int) -> BucketedProposal:
    """Count the candidates of every bucket in one pass over the scores, chunk by chunk."""
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


def draw_exponential(scores: IntArray, rate: Fraction, noise: NoiseSource) -> int:
    """Draw an index i with Pr[i] = exp(rate scores[i]) / sum_j exp(rate scores[j]), exactly.

    Proof. With w_i = 2^S exp(-rate (best - score_i)) and integer bounds b_i >= w_i (`Proposal`), a candidate is
    proposed with probability b_i / total, by one uniform integer below total, and accepted with probability w_i / b_i,
    by comparing a lazy uniform with integer brackets of that number. So each trial ends in i with probability
    (b_i / total) (w_i / b_i) = w_i / total, and the first candidate accepted has the stated law, whatever the bounds
    are. No sum of the w_i is ever formed, so no rounding can bias the law.

    A trial fails with probability below 2^-6 (up to 4,096 candidates: 2^-11) plus 4 candidates / 2^S, so nearly every
    draw ends after one trial, however skewed the scores are. Time is not constant, and is out of the guarantee's scope.

    Args:
        scores: int64, shape (candidates,), at least one, any values (differences may exceed int64).
        rate: at least 0.

    Privacy:
        If a neighbour moves every score by at most D, the draw is eps-DP for eps = 2 D rate (McSherry and Talwar 2007,
        Theorem 6; Dwork and Roth 2014, Theorem 3.10) and eps-bounded range, hence eps^2 / 8-zCDP (Cesar and Rogers
        2021). The law is exact: no floating-point rounding reaches it.
    """
    best = best_score(scores, rate)
    proposal = propose(scores, best, rate)
    while True:
        index, bound = proposal.pick(uniform_below(proposal.total, noise))
        exponent = rate * (best - int(scores[index]))
        if LazyUniform(noise).below(partial(share_kept, exponent, proposal.bits, bound)):
            return index


def share_kept(exponent: Fraction, weight_bits: int, bound: int, bits: int) -> tuple[int, int]:
    """Return a bracket of 2^bits w / b, for w = 2^weight_bits exp(-exponent) and its integer bound b."""
    low, high = exp_bracket(exponent, bits + weight_bits)
    return low // bound, -(-high // bound)


def best_score(scores: IntArray, rate: Fraction) -> int:
    """Return the largest score, after the checks that need no private value: shape, type and sign of the rate."""
    if scores.ndim != 1 or len(scores) == 0 or scores.dtype != np.int64:
        raise ValueError("a selection needs a one-dimensional int64 array with at least one score")
    if rate < 0:
        raise ValueError("a selection needs a rate of at least 0")
    return int(scores.max())


def draw_permute_and_flip(scores: IntArray, rate: Fraction, noise: NoiseSource) -> int:
    """Draw an index by permute-and-flip (McKenna and Sheldon 2020), exactly.

    The algorithm visits the candidates in random order, tosses for each a coin of probability
    exp(rate (score_i - best)), and returns the first that shows heads; the best one always does. The coins do not
    depend on the order. So all are tossed first, chunk by chunk; given the set of heads, the first of them in a random
    order is uniform in the set.

    Args:
        scores: int64, shape (candidates,), at least one, any values.
        rate: at least 0.

    Privacy:
        If a neighbour moves every score by at most D, the draw is eps-DP for eps = 2 D rate (McKenna and Sheldon 2020,
        section 3; Ding and others 2021, arXiv 2105.07260, show it to be report-noisy-max with exponential noise). It is
        not eps-bounded range: under concentrated accounting it costs eps^2 / 2.
    """
    best = best_score(scores, rate)
    heads = [_toss(scores[start : start + CHUNK], best, rate, noise) for start in range(0, len(scores), CHUNK)]
    reached = np.cumsum([np.count_nonzero(part) for part in heads])
    rank = uniform_below(int(reached[-1]), noise)
    chunk, rank = _chunk_of(reached, rank)
    return chunk * CHUNK + int(np.flatnonzero(heads[chunk])[rank])


def _chunk_of(reached: IntArray, rank: int) -> tuple[int, int]:
    """Return the chunk of the member of this rank, and its rank in the chunk; reached: cumulative members by chunk."""
    chunk = int(np.searchsorted(reached, rank, side="right"))
    return chunk, rank - (int(reached[chunk - 1]) if chunk else 0)


def _toss(scores: IntArray, best: int, rate: Fraction, noise: NoiseSource) -> FlagArray:
    cells = distance_grid(rate, CELL_BITS).cells(distances_below(best, scores))
    return bernoulli_exp(cells, lambda i: rate * (best - int(scores[i])), noise)
