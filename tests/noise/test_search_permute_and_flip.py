"""Permute-and-flip from a search: its law against the formula, and the binomial numbers that it starts from."""

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from handsearch import HandSearch

from dpqr.noise import envelope
from dpqr.noise import search_permute_and_flip as module
from dpqr.noise.search_permute_and_flip import halved, search_permute_and_flip
from dpqr.noise.source import SeededNoise

SCORES = [12, 0, 2, 9, 0, 5, 1, 0, 3, 8]
PIECES = [[0, 4, 8], [1, 2, 3, 5], [6, 7], [9]]
RATE = Fraction(1, 2)


def law(scores, rate):
    """Pr[i] = p_i sum over sets S of the others of (-1)^|S| / (|S| + 1) prod_S p_j: inclusion and exclusion over who
    else shows heads (McKenna and Sheldon 2020)."""
    heads = np.exp(float(rate) * (np.array(scores) - max(scores)))
    chances = []
    for i in range(len(scores)):
        others = [j for j in range(len(scores)) if j != i]
        total = 0.0
        for size in range(len(others) + 1):
            inner = sum(float(np.prod(heads[list(chosen)])) for chosen in combinations(others, size))
            total += (-1) ** size / (size + 1) * inner
        chances.append(heads[i] * total)
    return np.array(chances)


def tally(draws, seed, **how):
    noise = SeededNoise(seed)
    drawn = [search_permute_and_flip(HandSearch(SCORES, PIECES, **how), RATE, noise) for _ in range(draws)]
    return np.bincount(drawn, minlength=len(SCORES))


@pytest.mark.parametrize(("tossed", "loose"), [(1, 0), (1, 9), (256, 40)])
def test_the_law_is_that_of_the_scores(tossed, loose, monkeypatch, p_value) -> None:
    monkeypatch.setattr(module, "TOSSED", tossed)
    monkeypatch.setattr(envelope, "TRIALS", 4)
    expected = law(SCORES, RATE)
    assert expected.sum() == pytest.approx(1)
    assert p_value(tally(600, 1, loose=loose), expected, 600) > 1e-9
    assert p_value(tally(600, 2, loose=loose, allowance=1), expected, 600) > 1e-9


def test_the_exponential_law_and_wrong_bounds_are_seen(monkeypatch, p_value) -> None:
    weights = np.exp(float(RATE) * np.array(SCORES))
    monkeypatch.setattr(module, "TOSSED", 4)
    monkeypatch.setattr(envelope, "TRIALS", 8)
    seen = tally(2000, 3)
    assert p_value(seen, law(SCORES, RATE), 2000) > 1e-9
    assert p_value(seen, weights / weights.sum(), 2000) < 1e-9
    assert p_value(tally(800, 4, loose=-4), law(SCORES, RATE), 800) < 1e-9


@pytest.mark.parametrize("rate", [Fraction(100), Fraction(1, 10**9)])
def test_the_largest_score_wins_at_a_large_rate_and_is_one_of_many_at_a_tiny_one(rate) -> None:
    drawn = {search_permute_and_flip(HandSearch(SCORES, PIECES, loose=5), rate, SeededNoise(s)) for s in range(60)}
    assert drawn == {0} if rate > 1 else len(drawn) > 7


def test_halving_counts_the_coins_that_show_heads_every_time(scripted, p_value) -> None:
    assert halved(70, 1, scripted([(1 << 64) - 1, 0b111 << 58])) == 64 + 3
    assert halved(3, 2, scripted([0b101 << 61, 0b10 << 62])) == 1
    assert (halved(0, 5, scripted([])), halved(9, 0, scripted([]))) == (0, 9)
    noise = SeededNoise(8)
    seen = np.bincount([halved(7, 2, noise) for _ in range(2000)], minlength=8)
    chances = [comb(7, heads) * 0.25**heads * 0.75 ** (7 - heads) for heads in range(8)]
    assert p_value(seen, chances, 2000) > 1e-9
    assert p_value(seen, [comb(7, heads) * 0.5**7 for heads in range(8)], 2000) < 1e-9
