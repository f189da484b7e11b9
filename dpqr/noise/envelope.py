"""Envelope: exact trials by the bounds of a search's pieces, each of which ends in a candidate or in nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.noise.bernoulli import FlagArray, bernoulli_exp
from dpqr.noise.distance_grid import distance_grid, distances_below
from dpqr.noise.exp_table import CELL_BITS, exp_above
from dpqr.noise.exponential_draw import share_kept
from dpqr.noise.lazy_uniform import LazyUniform
from dpqr.noise.proposal import WEIGHT_BITS, integer_bounds
from dpqr.noise.search import Search
from dpqr.noise.source import NoiseSource
from dpqr.noise.uniform import uniforms_below

TRIALS = 1024
"""Trials made at once."""

LEFT = 8
"""Pieces are left alone that together make up 2^-LEFT of what is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """Weights of pieces: with T the largest bound, every member of piece m weighs a_m >= 2^S exp(-rate (T - bound_m)).

    bits: S. weights: the integers a_m, shape (pieces,). cumulative: sums of count times weight, below 2^62.
    """

    rate: Fraction
    top: int
    bits: int
    bounds: IntArray
    weights: IntArray
    shares: IntArray
    cumulative: IntArray

    @classmethod
    def over(cls, search: Search, rate: Fraction) -> Envelope:
        """Of the search's pieces as they are now."""
        bounds = search.bounds
        top = int(bounds.max())
        bits = WEIGHT_BITS - int(search.counts.sum()).bit_length()
        cells = distance_grid(rate, CELL_BITS).cells(distances_below(top, bounds))
        weights = integer_bounds(exp_above(cells), bits)
        shares = search.counts * weights
        return cls(
            rate=rate,
            top=top,
            bits=bits,
            bounds=bounds,
            weights=weights,
            shares=shares,
            cumulative=np.cumsum(shares),
        )

    def attempt(self, search: Search, noise: NoiseSource) -> tuple[int, int] | None:
        """The piece and rank that the first successful of TRIALS trials ends in; None where all fail.

        A trial draws a piece with probability proportional to count times weight, and one of its members evenly. It
        keeps a member of score s by two coins, exp(-rate (bound - s)) and 2^S exp(-rate (T - bound)) / a, so each
        member is the end of a trial with probability 2^S exp(-rate (T - s)) / (sum of all shares): proportional to
        exp(rate s) whatever the bounds are, as long as none is below a score of its piece.
        """
        points = uniforms_below(int(self.cumulative[-1]), TRIALS, noise)
        pieces = np.searchsorted(self.cumulative, points, side="right")
        ranks = (points - (self.cumulative[pieces] - self.shares[pieces])) // self.weights[pieces]
        bounds = self.bounds[pieces]
        heads = below_bounds(bounds, search.score(pieces, ranks), self.rate, noise)
        for trial in heads.nonzero()[0].tolist():
            exponent, weight = self.rate * (self.top - int(bounds[trial])), int(self.weights[pieces[trial]])
            if LazyUniform(noise).below(partial(share_kept, exponent, self.bits, weight)):
                return int(pieces[trial]), int(ranks[trial])
        return None

    def heaviest(self, search: Search, most: int) -> IntArray:
        """The heaviest pieces whose members are not all known to score their bound: at most so many, and without the
        lightest."""
        left = np.flatnonzero(search.known == 0)
        falling = left[np.argsort(-self.shares[left], kind="stable")]
        reached = np.cumsum(self.shares[falling])
        total = int(reached[-1]) if len(falling) else 0
        enough = 1 + int(np.searchsorted(reached, total - (total >> LEFT)))
        return falling[: min(enough, most)]


def below_bounds(bounds: IntArray, scores: IntArray, rate: Fraction, noise: NoiseSource) -> FlagArray:
    """Independent coins of probability exp(-rate (bound - score)); scores below 2^62 and at most the bounds."""
    gaps = bounds - scores
    cells = distance_grid(rate, CELL_BITS).cells(gaps.astype(np.uint64))
    return bernoulli_exp(cells, lambda i: rate * int(gaps[i]), noise)
