from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from dpqr.kernel.noise import selection as permute_and_flip
from dpqr.kernel.noise.selection import draw_permute_and_flip
from dpqr.kernel.noise.source import SeededNoise

LEAST, MOST = -(2**63), 2**63 - 1


def law(scores, rate):
    """The printed algorithm: the mean, over all orders, of the chance to be the first that shows heads."""
    coins = np.exp(float(rate) * (scores - scores.max()).astype(float))
    chance = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for i in order:
            chance[i] += left * coins[i]
            left *= 1 - coins[i]
    return chance / len(orders)


def tally(scores, rate, draws, seed):
    noise = SeededNoise(seed)
    return np.bincount([draw_permute_and_flip(scores, rate, noise) for _ in range(draws)], minlength=len(scores))


@pytest.mark.parametrize("chunk", [2, 1 << 16])
def test_chi_square_against_the_printed_algorithm(chunk, p_value, monkeypatch):
    monkeypatch.setattr(permute_and_flip, "CHUNK", chunk)
    scores = np.array([20, 14, 15, 13, 14, 0])
    seen = tally(scores, Fraction(1, 8), 10_000, 51)
    assert p_value(seen, law(scores, Fraction(1, 8)), 10_000) > 1e-9
    weights = np.exp(scores / 8)
    assert p_value(seen, weights / weights.sum(), 10_000) < 1e-9


def test_a_rate_ten_percent_off_is_seen(p_value):
    scores = np.array([10, 0, 0, 0, 0])
    seen = tally(scores, Fraction(1, 5), 15_000, 52)
    assert p_value(seen, law(scores, Fraction(1, 5)), 15_000) > 1e-9
    assert p_value(seen, law(scores, Fraction(11, 50)), 15_000) < 1e-9
    assert p_value(seen, law(scores, Fraction(9, 50)), 15_000) < 1e-9


def test_all_heads_are_drawn_evenly(p_value):
    assert p_value(tally(np.full(10, 3), Fraction(2), 5000, 53), np.full(10, 0.1), 5000) > 1e-9
    assert p_value(tally(np.array([LEAST, MOST, 0]), Fraction(0), 5000, 54), np.full(3, 1 / 3), 5000) > 1e-9


def test_differences_beyond_int64(p_value):
    scores = np.array([LEAST, MOST])
    assert p_value(tally(scores, Fraction(1, 2**64), 5000, 55), law(np.array([-1, 0]), 1), 5000) > 1e-9


def test_the_best_always_shows_heads(scripted):
    """Bits that are all ones show tails wherever the probability is below one."""
    for scores in (np.array([LEAST, 5, MOST]), np.array([3, 5, 6])):
        assert draw_permute_and_flip(scores, Fraction(1, 10**9), scripted([], (1 << 64) - 1)) == 2


def test_long_lists_are_searched_in_the_right_chunk():
    scores = np.zeros(200_000, dtype=np.int64)
    scores[[65_535, 65_536, 199_999]] = 10**6
    noise = SeededNoise(56)
    assert {draw_permute_and_flip(scores, Fraction(1), noise) for _ in range(30)} == {65_535, 65_536, 199_999}


@pytest.mark.parametrize("scores", [np.array([], dtype=np.int64), np.array([987654.0])])
def test_refuses_without_naming_a_score(scores):
    with pytest.raises(ValueError, match="a selection needs") as caught:
        draw_permute_and_flip(scores, Fraction(1), SeededNoise(1))
    assert "987654" not in str(caught.value)


def test_cells_and_exponents_of_the_coins_agree(checked_coins, monkeypatch):
    monkeypatch.setattr(permute_and_flip, "bernoulli_exp", checked_coins)
    scores = np.arange(-300, 1, dtype=np.int64) ** 3
    assert draw_permute_and_flip(scores, Fraction(1, 10**6), SeededNoise(57)) in range(301)


@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_the_random_rank_is_the_place_among_all_heads(chunk, monkeypatch):
    """Coins of probability 1 are all heads: rank r is candidate r, in whatever chunk it stands."""
    monkeypatch.setattr(permute_and_flip, "CHUNK", chunk)
    for rank in range(5):
        monkeypatch.setattr(permute_and_flip, "uniform_below", lambda bound, noise, rank=rank: rank)
        assert draw_permute_and_flip(np.full(5, 7), Fraction(3), SeededNoise(58)) == rank
