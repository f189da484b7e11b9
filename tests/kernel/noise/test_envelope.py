"""A trial's law, by enumeration of the integers that are drawn and of the coins."""

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from support.handmade_search import HandSearch

from dpqr.kernel.noise import selection as envelope
from dpqr.kernel.noise.selection import PieceEnvelope, below_bounds
from dpqr.kernel.noise.source import SeededNoise

SCORES = [24, 0, 2, 1, 0, 3, 1, 0, 7, 7, 7, 20]
PIECES = [[0, 4, 8], [1, 2, 3, 5], [6, 7, 9, 10], [11]]
RATE = Fraction(1, 12)


def small(weights):
    """The search's pieces, with weights so small that all integers can be tried."""
    made, weights = PieceEnvelope.over(HandSearch(SCORES, PIECES), RATE), np.array(weights)
    shares = np.array([len(piece) for piece in PIECES]) * weights
    return replace(made, bits=0, weights=weights, shares=shares, cumulative=np.cumsum(shares))


def test_every_member_owns_as_many_integers_as_its_piece_weighs(monkeypatch, scripted) -> None:
    """Bits that are all zero show heads at every coin, so each trial ends in the member that owns its integer."""
    weights = [3, 1, 2, 5]
    made = small(weights)
    owners = []
    for point in range(int(made.cumulative[-1])):
        monkeypatch.setattr(envelope, "uniforms_below", lambda bound, count, noise, point=point: np.array([point]))
        owners.append(made.attempt(HandSearch(SCORES, PIECES), scripted([])))
    for piece, members in enumerate(PIECES):
        for rank in range(len(members)):
            assert owners.count((piece, rank)) == weights[piece]


@pytest.mark.parametrize("point", [0, 9, 13, 21, 25])
def test_the_second_coin_makes_up_for_what_a_weight_is_too_large(point, monkeypatch, scripted) -> None:
    """Its probability is exp(-rate (T - bound)) / a: U one part in 2^64 below and above it."""
    made = small([3, 1, 2, 5])
    monkeypatch.setattr(envelope, "uniforms_below", lambda bound, count, noise: np.array([point]))
    piece, rank = made.attempt(HandSearch(SCORES, PIECES), scripted([]))
    exponent = RATE * int(made.top - made.bounds[piece])
    chance = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator) / int(made.weights[piece])
    edge = int(mpmath.floor(mpmath.ldexp(chance, 64)))
    for word, ended in ((edge - 1, (piece, rank)), (edge + 1, None)):
        assert made.attempt(HandSearch(SCORES, PIECES), scripted([0, word])) == ended


@pytest.mark.parametrize("members", [2, 3, 1000, 2**20])
def test_sums_of_weights_stay_below_the_largest_integer_that_is_drawn(members) -> None:
    """However many members a piece has; the sums are also worked out without int64."""

    class Large:
        bounds, counts, known = np.array([5, 5]), np.array([members, members]), np.zeros(2, dtype=np.int64)

    made = PieceEnvelope.over(Large(), RATE)
    assert int(made.cumulative[-1]) == 2 * members * int(made.weights[0]) < 2**62


def test_cells_and_exponents_of_the_first_coin_are_those_of_its_gap(checked_coins, monkeypatch) -> None:
    asked = []

    def coins(cells, exact, noise):
        asked.extend(exact(i) for i in range(len(cells)))
        return checked_coins(cells, exact, noise)

    monkeypatch.setattr(envelope, "bernoulli_exp", coins)
    gaps = np.array([0, 1, 7, 2000])
    heads = below_bounds(gaps + 5, np.full(4, 5), RATE, SeededNoise(1))
    assert asked == [RATE * gap for gap in gaps.tolist()]
    assert heads[0]
    assert not heads[3]
