"""The law of a draw by a search is that of all scores, whatever the bounds are and whatever is refined on the way."""

from fractions import Fraction
from itertools import combinations
from math import comb

import mpmath
import numpy as np
import pytest
from support.cases import in_one_test, slow_but
from support.handmade_search import HandSearch
from support.rounding_error import summed

from dpqr.kernel.noise import selection
from dpqr.kernel.noise.selection import (
    PieceEnvelope,
    below_bounds,
    draw_heads,
    refine_until_accepted,
    search_exponential,
    search_permute_and_flip,
    settle_best,
)
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.values import replace

SCORES = [24, 0, 2, 1, 0, 3, 1, 0, 7, 7, 7, 20]
PIECES = [[0, 4, 8], [1, 2, 3, 5], [6, 7, 9, 10], [11]]
RATE = Fraction(1, 12)
CHANCES = np.exp(float(RATE) * np.array(SCORES))
CHANCES /= CHANCES.sum()


def tally(draws, seed, **how):
    noise = SeededNoise(seed)
    drawn = [search_exponential(HandSearch(SCORES, PIECES, **how), RATE, noise) for _ in range(draws)]
    return np.bincount(drawn, minlength=len(SCORES))


@pytest.mark.parametrize(("trials", "loose"), slow_but({0}, [(1, 0), (1, 30), (3, 60), (1024, 0)]))
def test_the_law_is_that_of_the_scores(trials, loose, monkeypatch, p_value) -> None:
    """One trial at a time, so that failing, refining and falling back all happen often."""
    monkeypatch.setattr(selection, "TRIALS", trials)
    monkeypatch.setattr(selection, "REFINED", 1)
    assert p_value(tally(700, 1, loose=loose), CHANCES, 700) > 1e-9
    assert p_value(tally(700, 2, loose=loose, allowance=1), CHANCES, 700) > 1e-9


@pytest.mark.slow
def test_bounds_that_do_not_hold_are_seen(monkeypatch, p_value) -> None:
    monkeypatch.setattr(selection, "TRIALS", 8)
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
    monkeypatch.setattr(selection, "TRIALS", 1)
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


# A trial's law, by enumeration of the integers that are drawn and of the coins.


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
        monkeypatch.setattr(selection, "uniforms_below", lambda bound, count, noise, point=point: np.array([point]))
        owners.append(made.attempt(HandSearch(SCORES, PIECES), scripted([])))
    for piece, members in enumerate(PIECES):
        for rank in range(len(members)):
            assert owners.count((piece, rank)) == weights[piece]


@in_one_test("point", [0, 9, 13, 21, 25])
def test_the_second_coin_makes_up_for_what_a_weight_is_too_large(point, monkeypatch, scripted) -> None:
    """Its probability is exp(-rate (T - bound)) / a: U one part in 2^64 below and above it."""
    made = small([3, 1, 2, 5])
    monkeypatch.setattr(selection, "uniforms_below", lambda bound, count, noise: np.array([point]))
    piece, rank = made.attempt(HandSearch(SCORES, PIECES), scripted([]))
    exponent = RATE * int(made.top - made.bounds[piece])
    chance = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator) / int(made.weights[piece])
    edge = int(mpmath.floor(mpmath.ldexp(chance, 64)))
    for word, ended in ((edge - 1, (piece, rank)), (edge + 1, None)):
        assert made.attempt(HandSearch(SCORES, PIECES), scripted([0, word])) == ended


@in_one_test("members", [2, 3, 1000, 2**20])
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

    monkeypatch.setattr(selection, "bernoulli_exp", coins)
    gaps = np.array([0, 1, 7, 2000])
    heads = below_bounds(gaps + 5, np.full(4, 5), RATE, SeededNoise(1))
    assert asked == [RATE * gap for gap in gaps.tolist()]
    assert heads[0]
    assert not heads[3]


# What is refined before a draw, and when it is given up.


LONG_SCORES = [*range(100), 500]
LONG_PIECES = [list(range(50)), list(range(50, 101))]


def test_the_best_is_settled_when_no_bound_lies_above_a_known_score() -> None:
    search = HandSearch(LONG_SCORES, LONG_PIECES, loose=100)
    assert settle_best(search)
    assert search.bounds.max() == search.bounds[search.known > 0].max() == 500
    assert search.refined < 8


def test_trials_succeed_once_bounds_are_close_and_end_in_a_member() -> None:
    search = HandSearch(LONG_SCORES, LONG_PIECES, loose=100)
    piece, rank = refine_until_accepted(search, Fraction(1), SeededNoise(1))
    assert search.candidate(piece, rank) == 100


def test_both_end_where_no_more_refining_is_admitted() -> None:
    search = HandSearch(LONG_SCORES, LONG_PIECES, loose=10**6, allowance=2)
    assert not settle_best(search)
    assert (
        refine_until_accepted(
            HandSearch(LONG_SCORES, LONG_PIECES, loose=10**6, allowance=0), Fraction(1), SeededNoise(2)
        )
        is None
    )
    assert np.array_equal(search.evaluate(), LONG_SCORES)


@in_one_test("loose", [0, 1, 2])
def test_no_score_lies_above_the_best_that_was_settled(loose) -> None:
    """Scores one apart, so that a bound one above a known score counts."""
    for seed in range(60):
        drawn = np.random.default_rng(seed)
        scores = drawn.integers(0, 4, 12)
        pieces = np.array_split(drawn.permutation(12), 4)
        search = HandSearch(scores, pieces, loose=loose)
        assert settle_best(search)
        assert search.bounds.max() == search.bounds[search.known > 0].max() == scores.max()


# Permute-and-flip from a search: its law against the formula, and the binomial numbers that it starts from.


FLIPPED = [12, 0, 2, 9, 0, 5, 1, 0, 3, 8]
FLIPPED_PIECES = [[0, 4, 8], [1, 2, 3, 5], [6, 7], [9]]
FLIPPED_RATE = Fraction(1, 2)


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


def flip_tally(draws, seed, **how):
    noise = SeededNoise(seed)
    drawn = [
        search_permute_and_flip(HandSearch(FLIPPED, FLIPPED_PIECES, **how), FLIPPED_RATE, noise) for _ in range(draws)
    ]
    return np.bincount(drawn, minlength=len(FLIPPED))


def test_the_halvings_are_at_most_what_the_exponent_allows() -> None:
    """2^j exp(-rate (best - bound)) is a probability: j <= exponent log2(e), compared without floats."""
    assert int(mpmath.floor(2**selection._LOG_BITS / mpmath.log(2))) == selection._LOG2_E
    for gaps in (range(400), range(0, 10**6, 997)):
        tosses = selection._Tosses(
            HandSearch([0, *(-gap for gap in gaps)], [[i] for i in range(len(gaps) + 1)]), FLIPPED_RATE, None
        )
        exact = [0, *(mpmath.floor(float(FLIPPED_RATE * gap) / mpmath.log(2)) for gap in gaps)]
        assert all(0 <= found <= most for found, most in zip(tosses.halvings.tolist(), exact, strict=True))


def test_heads_of_one_class_stand_for_different_members() -> None:
    """As many heads as members are all of them, each once, whatever was taken before."""
    search = HandSearch([4] * 6 + [0] * 5, [list(range(6)), list(range(6, 11))])
    for seed in range(10):
        tosses = selection._Tosses(search, Fraction(1), SeededNoise(seed))
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

    monkeypatch.setattr(selection, "uniforms_below", lambda bound, count, noise: np.array(next(drawn)))
    monkeypatch.setattr(selection._Tosses, "_fresh_members", untaken)
    monkeypatch.setattr(selection._Tosses, "_accepted", lambda tosses, places: (0, 0) if len(looked_at) == 4 else None)
    selection._Tosses(HandSearch([4] * 6, [list(range(6))]), FLIPPED_RATE, SeededNoise(1)).first()
    assert looked_at == [3, 1, 0, 2]


@pytest.mark.slow
@pytest.mark.parametrize(("tossed", "loose"), [(1, 0), (1, 9), (256, 40)])
def test_the_law_of_flips_is_that_of_the_scores(tossed, loose, monkeypatch, p_value) -> None:
    monkeypatch.setattr(selection, "TOSSED", tossed)
    monkeypatch.setattr(selection, "TRIALS", 4)
    expected = law(FLIPPED, FLIPPED_RATE)
    assert expected.sum() == pytest.approx(1)
    assert p_value(flip_tally(600, 1, loose=loose), expected, 600) > 1e-9
    assert p_value(flip_tally(600, 2, loose=loose, allowance=1), expected, 600) > 1e-9


@pytest.mark.slow
def test_the_exponential_law_and_wrong_bounds_are_seen(monkeypatch, p_value) -> None:
    weights = np.exp(float(FLIPPED_RATE) * np.array(FLIPPED))
    monkeypatch.setattr(selection, "TOSSED", 4)
    monkeypatch.setattr(selection, "TRIALS", 8)
    seen = flip_tally(1200, 3)
    assert p_value(seen, law(FLIPPED, FLIPPED_RATE), 1200) > 1e-9
    assert p_value(seen, weights / weights.sum(), 1200) < 1e-9
    assert p_value(flip_tally(500, 4, loose=-4), law(FLIPPED, FLIPPED_RATE), 500) < 1e-9


@in_one_test("rate", [Fraction(100), Fraction(1, 10**9)])
def test_the_largest_score_wins_at_a_large_rate_and_is_one_of_many_at_a_tiny_one(rate) -> None:
    drawn = {
        search_permute_and_flip(HandSearch(FLIPPED, FLIPPED_PIECES, loose=5), rate, SeededNoise(s)) for s in range(60)
    }
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
