"""Exact draws of the exponential mechanism and of permute-and-flip from a list of integer scores.

The exponential mechanism draws by rejection. The true weight of candidate i is w_i = 2^S exp(-rate (best - score_i)), a
real number. A `Proposal` gives each candidate an integer bound b_i >= w_i, close to w_i, and maps the integers of
[0, total), total = sum of all b_i, to candidates so that each candidate has exactly b_i of them. All sums are below
2^62, hence exact in int64.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.noise.bits import (
    CELL_BITS,
    CHUNK,
    LAST_CELL,
    DistanceGrid,
    FlagArray,
    LazyUniform,
    bernoulli_exp,
    distance_grid,
    distances_below,
    exp_above,
    exp_bracket,
    random_integer,
    uniform_below,
    uniforms_below,
)
from dpqr.kernel.noise.source import NoiseSource

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


class ListedProposal(Struct, frozen=True, kw_only=True):
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


class BucketedProposal(Struct, frozen=True, kw_only=True):
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
        if LazyUniform(noise).below(partial(acceptance_bracket, exponent, proposal.bits, bound)):
            return index


def acceptance_bracket(exponent: Fraction, weight_bits: int, bound: int, bits: int) -> tuple[int, int]:
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


# Search: candidates in pieces with bounds on their scores, exact trials by the bounds, and the refinement of pieces.
#
# A selection from a million candidates need not score them all: an exact draw by bounds, corrected by exact coins,
# has the law of the draw by scores (`search_exponential`, `search_permute_and_flip`). Which pieces are refined
# never changes that law.


class PieceSearch(Protocol):
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


class PieceEnvelope(Struct, frozen=True, kw_only=True):
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
    def over(cls, search: PieceSearch, rate: Fraction) -> PieceEnvelope:
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

    def attempt(self, search: PieceSearch, noise: NoiseSource) -> tuple[int, int] | None:
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
            if LazyUniform(noise).below(partial(acceptance_bracket, exponent, self.bits, weight)):
                return int(pieces[trial]), int(ranks[trial])
        return None

    def heaviest(self, search: PieceSearch, most: int) -> IntArray:
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


def settle_best(search: PieceSearch) -> bool:
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


def refine_until_accepted(search: PieceSearch, rate: Fraction, noise: NoiseSource) -> tuple[int, int] | None:
    """Refine the pieces of largest share, more and more of them, until a batch of trials succeeds.

    Returns:
        Piece and rank of the first accepted trial; None if that would take more work than scoring all candidates.
    """
    most = REFINED
    while True:
        envelope = PieceEnvelope.over(search, rate)
        found = envelope.attempt(search, noise)
        if found is not None:
            return found
        if not search.refine(envelope.heaviest(search, most)):
            return None
        most *= WIDER


# Draws of the exponential mechanism and of permute-and-flip from a search, by few scores and with the exact law.


def search_exponential(search: PieceSearch, rate: Fraction, noise: NoiseSource) -> int:
    """Draw the number i of a candidate with Pr[i] = exp(rate score_i) / sum_j exp(rate score_j), exactly.

    Batches of trials by bounds are made (`PieceEnvelope.attempt`). If a batch fails, pieces are refined before the next
    one. If that would take more work than scoring all candidates, `draw_exponential` draws from all scores.

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
    found = PieceEnvelope.over(search, rate).attempt(search, noise)
    if found is None and settle_best(search):
        found = refine_until_accepted(search, rate, noise)
    return draw_exponential(search.evaluate(), rate, noise) if found is None else search.candidate(*found)


TOSSED = 256
"""Coins per batch."""

_LOG_BITS = 14
_LOG2_E = 23637
"""floor(2^14 log2(e))."""


def search_permute_and_flip(search: PieceSearch, rate: Fraction, noise: NoiseSource) -> int:
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
    if not settle_best(search) or refine_until_accepted(search, rate, noise) is None:
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

    search: PieceSearch
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
        heads = [draw_heads(count, times, self.noise) for times, count in enumerate(self.members.tolist())]
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
            if LazyUniform(self.noise).below(partial(acceptance_bracket, exponent, times, 1)):
                return int(pieces[trial]), int(ranks[trial])
        return None


def draw_heads(count: int, times: int, noise: NoiseSource) -> int:
    """Draw a binomial number: how many of `count` independent coins of probability 2^-times show heads.

    `times` rounds of fair coins, one bit each; only the heads of a round are tossed in the next.
    """
    while times > 0 and count > 0:
        count = random_integer(count, noise).bit_count()
        times -= 1
    return count
