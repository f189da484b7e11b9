"""Permute-and-flip from a search: its law against the formula, and the binomial numbers that it starts from."""

from fractions import Fraction
from itertools import combinations
from math import comb

import mpmath
import numpy as np
import pytest
from support.handmade_search import HandSearch

from dpqr.kernel.noise import selection as envelope
from dpqr.kernel.noise import selection as module
from dpqr.kernel.noise.selection import draw_heads, search_permute_and_flip
from dpqr.kernel.noise.source import SeededNoise

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


def test_the_halvings_are_at_most_what_the_exponent_allows() -> None:
    """2^j exp(-rate (best - bound)) is a probability: j <= exponent log2(e), compared without floats."""
    assert int(mpmath.floor(2**module._LOG_BITS / mpmath.log(2))) == module._LOG2_E
    for gaps in (range(400), range(0, 10**6, 997)):
        tosses = module._Tosses(
            HandSearch([0, *(-gap for gap in gaps)], [[i] for i in range(len(gaps) + 1)]), RATE, None
        )
        exact = [0, *(mpmath.floor(float(RATE * gap) / mpmath.log(2)) for gap in gaps)]
        assert all(0 <= found <= most for found, most in zip(tosses.halvings.tolist(), exact, strict=True))


def test_heads_of_one_class_stand_for_different_members() -> None:
    """As many heads as members are all of them, each once, whatever was taken before."""
    search = HandSearch([4] * 6 + [0] * 5, [list(range(6)), list(range(6, 11))])
    for seed in range(10):
        tosses = module._Tosses(search, Fraction(1), SeededNoise(seed))
        before, taken = np.cumsum(tosses.members) - tosses.members, set()
        classes = np.repeat(np.flatnonzero(tosses.members), [2, 3])
        first = tosses._fresh_members(classes, before, taken)
        rest = tosses._fresh_members(np.repeat(np.flatnonzero(tosses.members), [4, 2]), before, taken)
        assert sorted([*first, *rest]) == list(range(11))


def test_a_head_whose_other_coins_failed_is_not_tossed_again(monkeypatch) -> None:
    """Labels are drawn with repetition, and each is looked at the first time only."""
    drawn = iter([[0, 1, 2], [0, 1, 3], [2, 2, 2], [4, 5, 0]])
    looked_at = []

    def untaken(tosses, classes, before, taken):
        looked_at.append(len(classes))
        return classes

    monkeypatch.setattr(module, "uniforms_below", lambda bound, count, noise: np.array(next(drawn)))
    monkeypatch.setattr(module._Tosses, "_fresh_members", untaken)
    monkeypatch.setattr(module._Tosses, "_accepted", lambda tosses, places: (0, 0) if len(looked_at) == 4 else None)
    module._Tosses(HandSearch([4] * 6, [list(range(6))]), RATE, SeededNoise(1)).first()
    assert looked_at == [3, 1, 0, 2]


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
    assert draw_heads(70, 1, scripted([(1 << 64) - 1, 0b111 << 58])) == 64 + 3
    assert draw_heads(3, 2, scripted([0b101 << 61, 0b10 << 62])) == 1
    assert (draw_heads(0, 5, scripted([])), draw_heads(9, 0, scripted([]))) == (0, 9)
    noise = SeededNoise(8)
    seen = np.bincount([draw_heads(7, 2, noise) for _ in range(2000)], minlength=8)
    chances = [comb(7, heads) * 0.25**heads * 0.75 ** (7 - heads) for heads in range(8)]
    assert p_value(seen, chances, 2000) > 1e-9
    assert p_value(seen, [comb(7, heads) * 0.5**7 for heads in range(8)], 2000) < 1e-9
