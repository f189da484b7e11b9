"""Search: candidates in pieces with bounds on their scores, exact trials by the bounds, and the refinement of pieces.

A selection from a million candidates need not score them all: an exact draw by bounds, corrected by exact coins, has
the law of the draw by scores (`search_exponential`, `search_permute_and_flip`). Which pieces are refined never changes
that law.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Protocol

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.noise.bits import FlagArray, LazyUniform, bernoulli_exp, uniforms_below
from dpqr.noise.exp_bounds import CELL_BITS, distance_grid, distances_below, exp_above
from dpqr.noise.selection import WEIGHT_BITS, integer_bounds, share_kept
from dpqr.noise.source import NoiseSource


class Search(Protocol):
    """Pieces that hold every candidate exactly once. Private: bounds and scores both rest on the counts."""

    @property
    def bounds(self) -> IntArray:
        """At least the largest score of every piece, shape (pieces,)."""
        ...

    @property
    def counts(self) -> IntArray:
        """How many candidates every piece holds, at least 1, shape (pieces,)."""
        ...

    @property
    def known(self) -> IntArray:
        """Pieces all of whose members score exactly their bound: flags as 0 and 1, shape (pieces,)."""
        ...

    def score(self, pieces: IntArray, ranks: IntArray) -> IntArray:
        """Exact scores of single members, each given by its piece and its rank there."""
        ...

    def candidate(self, piece: int, rank: int) -> int:
        """The number of one member among all candidates."""
        ...

    def refine(self, pieces: IntArray) -> bool:
        """Replace these pieces by smaller ones with closer bounds.

        Returns:
            False, and nothing is changed, if that would take more work than scoring all candidates.
        """
        ...

    def evaluate(self) -> IntArray:
        """The scores of all candidates."""
        ...


TRIALS = 1024
"""Trials per batch."""

LEFT = 8
"""Pieces that together make up 2^-LEFT of the unknown weight are not refined."""


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
        """Return the envelope of the search's present pieces."""
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
        """Return the piece and rank of the first accepted of TRIALS trials; None if all fail.

        A trial draws a piece with probability proportional to count times weight, and one of its members evenly. It
        accepts a member of score s by two coins, exp(-rate (bound - s)) and 2^S exp(-rate (T - bound)) / a, so each
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
        """Return at most `most` pieces of largest share, of those whose members may score less than the bound."""
        left = np.flatnonzero(search.known == 0)
        falling = left[np.argsort(-self.shares[left], kind="stable")]
        reached = np.cumsum(self.shares[falling])
        total = int(reached[-1]) if len(falling) else 0
        enough = 1 + int(np.searchsorted(reached, total - (total >> LEFT)))
        return falling[: min(enough, most)]


def below_bounds(bounds: IntArray, scores: IntArray, rate: Fraction, noise: NoiseSource) -> FlagArray:
    """Toss independent coins of probability exp(-rate (bound - score)); scores below 2^62 and at most the bounds."""
    gaps = bounds - scores
    cells = distance_grid(rate, CELL_BITS).cells(gaps.astype(np.uint64))
    return bernoulli_exp(cells, lambda i: rate * int(gaps[i]), noise)


REFINED, WIDER = 16, 4
"""Pieces refined at first, and how many times more each time after that."""


def settle_best(search: Search) -> bool:
    """Refine the pieces of largest bounds, more and more of them, until no bound exceeds the largest known score.

    Returns:
        False if that would take more work than scoring all candidates.
    """
    most = REFINED
    while True:
        known = search.known > 0
        best = int(search.bounds[known].max(initial=-1))
        above = np.flatnonzero(~known & (search.bounds > best))
        if len(above) == 0:
            return True
        if not search.refine(above[np.argsort(-search.bounds[above], kind="stable")[:most]]):
            return False
        most *= WIDER


def tightened(search: Search, rate: Fraction, noise: NoiseSource) -> tuple[int, int] | None:
    """Refine the pieces of largest share, more and more of them, until a batch of trials succeeds.

    Returns:
        Piece and rank of the first accepted trial; None if that would take more work than scoring all candidates.
    """
    most = REFINED
    while True:
        envelope = Envelope.over(search, rate)
        found = envelope.attempt(search, noise)
        if found is not None:
            return found
        if not search.refine(envelope.heaviest(search, most)):
            return None
        most *= WIDER
