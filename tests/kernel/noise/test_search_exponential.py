"""The law of the draw is that of all scores, whatever the bounds are and whatever is refined on the way."""

from fractions import Fraction

import numpy as np
import pytest
from support.handmade_search import HandSearch
from support.rounding_error import summed

from dpqr.kernel.noise import selection as search_module
from dpqr.kernel.noise.selection import PieceEnvelope, search_exponential
from dpqr.kernel.noise.source import SeededNoise

SCORES = [24, 0, 2, 1, 0, 3, 1, 0, 7, 7, 7, 20]
PIECES = [[0, 4, 8], [1, 2, 3, 5], [6, 7, 9, 10], [11]]
RATE = Fraction(1, 12)
CHANCES = np.exp(float(RATE) * np.array(SCORES))
CHANCES /= CHANCES.sum()


def tally(draws, seed, **how):
    noise = SeededNoise(seed)
    drawn = [search_exponential(HandSearch(SCORES, PIECES, **how), RATE, noise) for _ in range(draws)]
    return np.bincount(drawn, minlength=len(SCORES))


@pytest.mark.parametrize(("trials", "loose"), [(1, 0), (1, 30), (3, 60), (1024, 0)])
def test_the_law_is_that_of_the_scores(trials, loose, monkeypatch, p_value) -> None:
    """One trial at a time, so that failing, refining and falling back all happen often."""
    monkeypatch.setattr(search_module, "TRIALS", trials)
    monkeypatch.setattr(search_module, "REFINED", 1)
    assert p_value(tally(700, 1, loose=loose), CHANCES, 700) > 1e-9
    assert p_value(tally(700, 2, loose=loose, allowance=1), CHANCES, 700) > 1e-9


def test_bounds_that_do_not_hold_are_seen(monkeypatch, p_value) -> None:
    monkeypatch.setattr(search_module, "TRIALS", 8)
    assert p_value(tally(1200, 3), CHANCES, 1200) > 1e-9
    assert p_value(tally(1200, 3, loose=-12), CHANCES, 1200) < 1e-9


def test_a_trial_ends_in_a_member_with_a_probability_that_no_bound_changes() -> None:
    """Points of the integers that are drawn, times the coins: the same for all of a search's cuts."""
    for loose in (0, 5, 200):
        search = HandSearch(SCORES, PIECES, loose=loose)
        made = PieceEnvelope.over(search, RATE)
        assert int(made.cumulative[-1]) < 2**62
        for piece, members in enumerate(PIECES):
            exponent = float(RATE * (made.top - int(made.bounds[piece])))
            coin = float(1 << made.bits) * np.exp(-exponent) / int(made.weights[piece])
            assert 0.999 < coin < 1 + summed(int(exponent) + 4)
            own = np.array(SCORES)[members]
            ended = int(made.weights[piece]) * coin * np.exp(float(RATE) * (own - made.bounds[piece]))
            expected = float(1 << made.bits) * np.exp(float(RATE) * (own - made.top))
            # The exponents' own rounding, relative to e to them; and four roundings of the products.
            rounding = summed(int(exponent + float(RATE) * np.ptp(SCORES)) + 4)
            np.testing.assert_allclose(ended, expected, rtol=2 * rounding)


def test_tight_bounds_need_no_other_scores_and_hopeless_ones_all_of_them(monkeypatch) -> None:
    search = HandSearch(SCORES, PIECES)
    search_exponential(search, RATE, SeededNoise(4))
    assert (search.refined, search.evaluated) == (0, 0)
    monkeypatch.setattr(search_module, "TRIALS", 1)
    hopeless = HandSearch(SCORES, [*PIECES[:3], [11, 11]], loose=10**9, allowance=0)
    search_exponential(hopeless, Fraction(10), SeededNoise(5))
    assert hopeless.evaluated == 1


def test_a_large_rate_finds_the_largest_score() -> None:
    for seed in range(20):
        assert search_exponential(HandSearch(SCORES, PIECES, loose=3), Fraction(100), SeededNoise(seed)) == 0


def test_the_heaviest_pieces_are_those_of_largest_share_that_are_not_known() -> None:
    search = HandSearch(SCORES, PIECES)
    made = PieceEnvelope.over(search, RATE)
    assert made.heaviest(search, 2).tolist() == [0, 2]
    assert made.heaviest(search, 9).tolist() == [0, 2, 1]
    assert PieceEnvelope.over(search, Fraction(1)).heaviest(search, 9).tolist() == [0]
