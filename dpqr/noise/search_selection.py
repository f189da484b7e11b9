"""Draws of the exponential mechanism and of permute-and-flip from a search, by few scores and with the exact law."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.noise.bits import LazyUniform, random_integer, uniform_below, uniforms_below
from dpqr.noise.exp_bounds import CELL_BITS, distance_grid, distances_below
from dpqr.noise.search import Envelope, Search, below_bounds, settle_best, tightened
from dpqr.noise.selection import draw_exponential, draw_permute_and_flip, share_kept
from dpqr.noise.source import NoiseSource


def search_exponential(search: Search, rate: Fraction, noise: NoiseSource) -> int:
    """Draw the number i of a candidate with Pr[i] = exp(rate score_i) / sum_j exp(rate score_j), exactly.

    Batches of trials by bounds are made (`Envelope.attempt`). If a batch fails, pieces are refined before the next one.
    If that would take more work than scoring all candidates, `draw_exponential` draws from all scores.

    Proof. Let P be whatever happened before a trial: earlier trials, all failed, and which bounds they led to. Given
    P, the trial ends in i with probability c(P) exp(rate score_i), c(P) the same for all i, so given P and that it
    succeeds, in i with the stated probability. The draw from all scores has that law given P too. One of them ends
    the draw, and the law is the stated one given which, so it is the stated one. It takes independent trials, bounds
    that hold, and a choice of what comes next by P alone; how that choice is made does not matter.

    Args:
        rate: at least 0.

    Privacy:
        That of `draw_exponential`, whose law this is. How many trials there were, and which pieces were refined,
        depends on the private scores: it is never shown or stored, and time is out of the guarantee's scope.
    """
    found = Envelope.over(search, rate).attempt(search, noise)
    if found is None and settle_best(search):
        found = tightened(search, rate, noise)
    return draw_exponential(search.evaluate(), rate, noise) if found is None else search.candidate(*found)


TOSSED = 256
"""Coins per batch."""

_LOG_BITS = 14
_LOG2_E = 23637
"""floor(2^14 log2(e))."""


def search_permute_and_flip(search: Search, rate: Fraction, noise: NoiseSource) -> int:
    """Draw the number of a candidate by permute-and-flip (McKenna and Sheldon 2020), exactly.

    The result is, in random order, the first candidate whose coin of probability exp(rate (score_i - best)) shows
    heads. First the largest score is found: pieces are refined until no bound exceeds a known score. Then they are
    refined until exponential trials, whose outcome is discarded, succeed: the bounds are then close. Then the coins are
    tossed (`_Tosses`). If the refinement would take more work than scoring all candidates, the draw is made from all
    scores. That is decided before the first coin, so the law is that of permute-and-flip either way.

    Args:
        rate: at least 0.

    Privacy:
        That of `draw_permute_and_flip`, whose law this is; how much was refined is never shown or stored.
    """
    if not settle_best(search) or tightened(search, rate, noise) is None:
        return draw_permute_and_flip(search.evaluate(), rate, noise)
    return search.candidate(*_Tosses(search, rate, noise).first())


@dataclass(slots=True)
class _Tosses:
    """Coins of all candidates, each in three parts: 2^-j, 2^j exp(-rate (best - bound)), exp(-rate (bound - score)).

    j is the same for a whole piece, at most rate (best - bound) log2(e), so all three are probabilities; the candidate
    shows heads if all parts do. Pieces of the same j are a class of n_j candidates.

    Law. The first parts are tossed for whole classes: how many of a class show heads is binomial, N_j, and which, in
    which order, is every choice alike. So the heads of the first part of all classes, in random order, are N_j labels
    of every class j in random order, and each label stands for a member of its class that none before it stood for,
    all such members alike. The first of them whose other two parts show heads is the first candidate in random order
    that shows heads, for those whose first part shows tails are passed over anyway.
    """

    search: Search
    rate: Fraction
    noise: NoiseSource
    best: int = field(init=False)
    halvings: IntArray = field(init=False)
    order: IntArray = field(init=False)
    reached: IntArray = field(init=False)
    members: IntArray = field(init=False)

    def __post_init__(self) -> None:
        bounds, counts = self.search.bounds, self.search.counts
        self.best = int(bounds.max())
        cells = distance_grid(self.rate, CELL_BITS).cells(distances_below(self.best, bounds))
        self.halvings = cells * _LOG2_E >> (_LOG_BITS + CELL_BITS)
        self.order = np.argsort(self.halvings, kind="stable")
        self.reached = np.cumsum(counts[self.order])
        self.members = np.zeros(int(self.halvings.max()) + 1, dtype=np.int64)
        np.add.at(self.members, self.halvings, counts)

    def first(self) -> tuple[int, int]:
        """Piece and rank of the first candidate that shows heads."""
        heads = [halved(count, times, self.noise) for times, count in enumerate(self.members.tolist())]
        labels = np.cumsum(heads)
        before = np.cumsum(self.members) - self.members
        tossed: set[int] = set()
        used: set[int] = set()
        while True:
            drawn = dict.fromkeys(uniforms_below(int(labels[-1]), TOSSED, self.noise).tolist())
            fresh = [label for label in drawn if label not in tossed]
            tossed.update(fresh)
            classes = np.searchsorted(labels, np.array(fresh, dtype=np.int64), side="right")
            found = self._accepted(self._fresh_members(classes, before, used))
            if found is not None:
                return found

    def _fresh_members(self, classes: IntArray, before: IntArray, used: set[int]) -> IntArray:
        """Draw for each class in turn one of its members that is not yet `used`, evenly, and add it there."""
        places = np.empty(len(classes), dtype=np.int64)
        for one in np.unique(classes).tolist():
            own = np.flatnonzero(classes == one)
            places[own] = before[one] + uniforms_below(int(self.members[one]), len(own), self.noise)
        for position, place in enumerate(places.tolist()):
            while place in used:
                one = int(classes[position])
                place = int(before[one]) + uniform_below(int(self.members[one]), self.noise)
            used.add(place)
            places[position] = place
        return places

    def _accepted(self, places: IntArray) -> tuple[int, int] | None:
        """Return the first of these members, numbered class by class, whose second and third part show heads."""
        picks = np.searchsorted(self.reached, places, side="right")
        pieces = self.order[picks]
        ranks = places - (self.reached[picks] - self.search.counts[pieces])
        bounds = self.search.bounds[pieces]
        heads = below_bounds(bounds, self.search.score(pieces, ranks), self.rate, self.noise)
        for trial in heads.nonzero()[0].tolist():
            exponent, times = self.rate * (self.best - int(bounds[trial])), int(self.halvings[pieces[trial]])
            if LazyUniform(self.noise).below(partial(share_kept, exponent, times, 1)):
                return int(pieces[trial]), int(ranks[trial])
        return None


def halved(count: int, times: int, noise: NoiseSource) -> int:
    """Draw a binomial number: how many of `count` independent coins of probability 2^-times show heads.

    `times` rounds of fair coins, one bit each; only the heads of a round are tossed in the next.
    """
    while times > 0 and count > 0:
        count = random_integer(count, noise).bit_count()
        times -= 1
    return count
