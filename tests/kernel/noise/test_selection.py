from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest
from support.cases import in_one_test, slowly, thinned

from dpqr.kernel.noise import selection
from dpqr.kernel.noise.selection import (
    acceptance_bracket,
    bucket_candidates,
    draw_exponential,
    draw_permute_and_flip,
    list_candidates,
    propose,
)
from dpqr.kernel.noise.source import SeededNoise

LEAST, MOST = -(2**63), 2**63 - 1
ONES = (1 << 64) - 1
RATE = Fraction(12345678901234567890123456789, 2**94)


def tally(scores, rate, draws, cells, seed):
    noise = SeededNoise(seed)
    return np.bincount([cells[draw_exponential(scores, rate, noise)] for _ in range(draws)], minlength=max(cells) + 1)


def chances(scores, rate, cells):
    weights = np.exp(float(rate) * (scores - scores.max()).astype(float))
    return np.bincount(cells, weights / weights.sum())


@in_one_test("exponent", [Fraction(0), Fraction(1, 7), Fraction(30), Fraction(3**80, 2**120), Fraction(10**9)])
def test_the_share_kept_is_the_weight_over_its_bound(exponent, exp_minus):
    weight = mpmath.ldexp(exp_minus(exponent), 50)
    bound = int(mpmath.ceil(weight)) + 3
    for bits in (64, 128, 256):
        low, high = acceptance_bracket(exponent, 50, bound, bits)
        assert low <= mpmath.ldexp(weight / bound, bits) <= high <= low + 2


@in_one_test("count", [8, 5000])
def test_each_trial_keeps_exactly_the_weight_of_its_candidate(count, scripted, exp_minus):
    """First word: the proposal; next words: U just below and just above w / b, and at random. One path decides all."""
    scores = np.arange(count, dtype=np.int64) % 97
    best = int(scores.max())
    found = propose(scores, best, RATE)
    shift = 64 - (found.total - 1).bit_length()
    rng = np.random.default_rng(5)
    for point in rng.integers(0, found.total, 30).tolist():
        index, bound = found.pick(point)
        share = mpmath.ldexp(exp_minus(RATE * (best - int(scores[index]))), found.bits) / bound
        edge = int(mpmath.floor(mpmath.ldexp(share, 64)))
        words = [
            w
            for w in (edge - 1, edge + 1, int(rng.integers(0, edge, dtype=np.uint64)), 0, ONES - 3)
            if 0 <= w < 2**64 and w != edge
        ]
        for word in words:
            noise = scripted([point << shift, word], rest=0)
            assert draw_exponential(scores, RATE, noise) == (index if word < edge else found.pick(0)[0])
        for rest, kept in ((0, True), (ONES, False)):
            noise = scripted([point << shift, edge, rest, 0, 0], rest=0)
            assert draw_exponential(scores, RATE, noise) == (index if kept else found.pick(0)[0])


@pytest.mark.parametrize("copies", [1, *slowly(600)])
def test_chi_square_and_a_rate_ten_percent_off(copies, p_value):
    scores = np.repeat(np.array([24, 0, 2, 1, 0, 3, 1, 0], dtype=np.int64), copies)
    cells = np.repeat(np.arange(8), copies)
    seen = tally(scores, Fraction(1, 12), 10_000, cells, 41)
    assert p_value(seen, chances(scores, Fraction(1, 12), cells), 10_000) > 1e-9
    assert p_value(seen, chances(scores, Fraction(11, 120), cells), 10_000) < 1e-9
    assert p_value(seen, chances(scores, Fraction(9, 120), cells), 10_000) < 1e-9


@pytest.mark.slow
def test_equal_scores_are_drawn_evenly_in_both_paths(p_value):
    for count in (20, 5000):
        seen = tally(np.full(count, -7), RATE, 1500, np.arange(count) % 20, 42)
        assert p_value(seen, np.full(20, 1 / 20), 1500) > 1e-9


@pytest.mark.slow
def test_rate_zero_ignores_the_scores(p_value):
    scores = np.array([LEAST, MOST, 0, 5])
    assert p_value(tally(scores, Fraction(0), 4000, np.arange(4), 43), np.full(4, 0.25), 4000) > 1e-9


@pytest.mark.parametrize("copies", thinned([1, 3000], 2))
def test_differences_beyond_int64(copies, p_value):
    scores = np.repeat(np.array([LEAST, MOST]), copies)
    seen = tally(scores, Fraction(1, 2**64), 1500, np.repeat([0, 1], copies), 44)
    chance = 1 / (1 + np.exp(-1))
    assert p_value(seen, [1 - chance, chance], 1500) > 1e-9
    assert p_value(seen, [chance, 1 - chance], 1500) < 1e-9


@in_one_test("count", [10, 6000])
def test_an_outlier_wins_at_a_huge_rate_and_is_one_of_many_at_a_tiny_one(count):
    scores = np.zeros(count, dtype=np.int64)
    scores[count // 3] = 1
    noise = SeededNoise(45)
    assert {draw_exponential(scores, Fraction(10**40), noise) for _ in range(200)} == {count // 3}
    assert len({draw_exponential(scores, Fraction(1, 10**40), noise) for _ in range(200)}) > 9


def test_the_scores_are_left_as_they_were_and_the_index_is_an_int():
    for count in (5, 5000):
        scores = np.arange(count)
        scores.flags.writeable = False
        assert type(draw_exponential(scores, RATE, SeededNoise(1))) is int
        np.testing.assert_array_equal(scores, np.arange(count))


def test_a_strided_view_is_drawn_like_its_copy():
    for count in (50, 20_000):
        scores = np.arange(count)[::2]
        drawn = [draw_exponential(kind, RATE / count, SeededNoise(9)) for kind in (scores, scores.copy())]
        assert drawn[0] == drawn[1]


@in_one_test(
    ("scores", "rate"),
    [
        (np.array([], dtype=np.int64), RATE),
        (np.array([987654.0]), RATE),
        (np.array([987654], dtype=np.int32), RATE),
        (np.array([[987654]]), RATE),
        (np.array([987654]), Fraction(-1)),
    ],
)
def test_refuses_without_naming_a_score(scores, rate):
    with pytest.raises(ValueError, match="a selection needs") as caught:
        draw_exponential(scores, rate, SeededNoise(1))
    assert "987654" not in str(caught.value)


# Permute-and-flip.


def flip_law(scores, rate):
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


def flip_tally(scores, rate, draws, seed):
    noise = SeededNoise(seed)
    return np.bincount([draw_permute_and_flip(scores, rate, noise) for _ in range(draws)], minlength=len(scores))


@pytest.mark.slow
@pytest.mark.parametrize("chunk", [2, 1 << 16])
def test_chi_square_against_the_printed_algorithm(chunk, p_value, monkeypatch):
    monkeypatch.setattr(selection, "CHUNK", chunk)
    scores = np.array([20, 14, 15, 13, 14, 0])
    seen = flip_tally(scores, Fraction(1, 8), 4_000, 51)
    assert p_value(seen, flip_law(scores, Fraction(1, 8)), 4_000) > 1e-9
    weights = np.exp(scores / 8)
    assert p_value(seen, weights / weights.sum(), 4_000) < 1e-9


@pytest.mark.slow
def test_a_rate_ten_percent_off_is_seen(p_value):
    scores = np.array([10, 0, 0, 0, 0])
    seen = flip_tally(scores, Fraction(1, 5), 15_000, 52)
    assert p_value(seen, flip_law(scores, Fraction(1, 5)), 15_000) > 1e-9
    assert p_value(seen, flip_law(scores, Fraction(11, 50)), 15_000) < 1e-9
    assert p_value(seen, flip_law(scores, Fraction(9, 50)), 15_000) < 1e-9


@pytest.mark.slow
def test_all_heads_are_drawn_evenly(p_value):
    assert p_value(flip_tally(np.full(10, 3), Fraction(2), 5000, 53), np.full(10, 0.1), 5000) > 1e-9
    assert p_value(flip_tally(np.array([LEAST, MOST, 0]), Fraction(0), 5000, 54), np.full(3, 1 / 3), 5000) > 1e-9


@pytest.mark.slow
def test_flips_of_differences_beyond_int64(p_value):
    scores = np.array([LEAST, MOST])
    assert p_value(flip_tally(scores, Fraction(1, 2**64), 5000, 55), flip_law(np.array([-1, 0]), 1), 5000) > 1e-9


def test_the_best_always_shows_heads(scripted):
    """Bits that are all ones show tails wherever the probability is below one."""
    for scores in (np.array([LEAST, 5, MOST]), np.array([3, 5, 6])):
        assert draw_permute_and_flip(scores, Fraction(1, 10**9), scripted([], (1 << 64) - 1)) == 2


def test_long_lists_are_searched_in_the_right_chunk():
    scores = np.zeros(200_000, dtype=np.int64)
    scores[[65_535, 65_536, 199_999]] = 10**6
    noise = SeededNoise(56)
    assert {draw_permute_and_flip(scores, Fraction(1), noise) for _ in range(30)} == {65_535, 65_536, 199_999}


@in_one_test("scores", [np.array([], dtype=np.int64), np.array([987654.0])])
def test_a_flip_refuses_without_naming_a_score(scores):
    with pytest.raises(ValueError, match="a selection needs") as caught:
        draw_permute_and_flip(scores, Fraction(1), SeededNoise(1))
    assert "987654" not in str(caught.value)


def test_cells_and_exponents_of_the_coins_agree(checked_coins, monkeypatch):
    monkeypatch.setattr(selection, "bernoulli_exp", checked_coins)
    scores = np.arange(-300, 1, dtype=np.int64) ** 3
    assert draw_permute_and_flip(scores, Fraction(1, 10**6), SeededNoise(57)) in range(301)


@in_one_test("chunk", [1, 2, 5])
def test_the_random_rank_is_the_place_among_all_heads(chunk, monkeypatch):
    """Coins of probability 1 are all heads: rank r is candidate r, in whatever chunk it stands."""
    monkeypatch.setattr(selection, "CHUNK", chunk)
    for rank in range(5):
        monkeypatch.setattr(selection, "uniform_below", lambda bound, noise, rank=rank: rank)
        assert draw_permute_and_flip(np.full(5, 7), Fraction(3), SeededNoise(58)) == rank


# Proposals: what owns each integer that may be drawn.


CASES = {
    "one": ([7], RATE),
    "all equal": ([5] * 300, RATE),
    "steps": (list(range(-150, 150)), RATE),
    "one outlier": ([0] * 299 + [10**6], Fraction(1, 100)),
    "one straggler": ([0] * 299 + [-(10**6)], Fraction(1, 100)),
    "huge gaps": ([0, 10**3, 10**6, 10**9, 10**12, 10**15, 10**18] * 20, Fraction(1, 10**14)),
    "edges of int64": ([LEAST, MOST, 0, -1, LEAST + 1, MOST - 1] * 9, Fraction(1, 2**62)),
    "edges, tiny rate": ([LEAST, MOST, 0] * 9, Fraction(1, 10**30)),
    "edges, huge rate": ([LEAST, MOST, MOST - 1] * 9, Fraction(10**30)),
    "rate 0": ([LEAST, MOST, 0, 3] * 9, Fraction(0)),
}


@pytest.mark.parametrize("make", [list_candidates, bucket_candidates])
@pytest.mark.parametrize("case", thinned(CASES, 2))
def test_every_candidate_owns_its_bound_and_the_bound_is_above_its_weight(case, make, monkeypatch, exp_minus):
    """Walks [0, total) run by run: the whole map from integers to candidates, so the whole law of a proposal."""
    monkeypatch.setattr(selection, "CHUNK", 64)
    values, rate = CASES[case]
    scores = np.array(values, dtype=np.int64)
    found = make(scores, max(values), rate, 40)
    owners = []
    point = 0
    while point < found.total:
        index, bound = found.pick(point)
        assert found.pick(point + bound - 1) == (index, bound)
        owners.append(index)
        point += bound
        weight = mpmath.ldexp(exp_minus(rate * (max(values) - values[index])), 40)
        assert weight <= bound
        assert weight >= (1 - mpmath.mpf(2) ** -7 - mpmath.mpf(2) ** -12) * (bound - 2)
    assert point == found.total
    assert sorted(owners) == list(range(len(values)))


@in_one_test("count", [1, 4096, 4097, 200_000])
def test_totals_stay_within_int64_and_trials_nearly_always_succeed(count, monkeypatch):
    rng = np.random.default_rng(count)
    for scores in (np.zeros(count, dtype=np.int64), rng.integers(-1000, 1, count), rng.integers(LEAST, MOST, count)):
        best = int(scores.max())
        found = propose(scores, best, Fraction(1, 50))
        true = float(np.exp(-np.minimum((best - scores.astype(float)) / 50, 700)).sum())
        assert 0 < found.total < 2**62
        assert 1 - 2.0**-6 < true / (found.total / 2.0**found.bits) <= 1 + 1e-9


def test_short_lists_are_kept_one_by_one():
    assert isinstance(propose(np.zeros(4096, dtype=np.int64), 0, RATE), selection.ListedProposal)
    assert isinstance(propose(np.zeros(4097, dtype=np.int64), 0, RATE), selection.BucketedProposal)
