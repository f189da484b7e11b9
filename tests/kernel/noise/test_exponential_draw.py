from fractions import Fraction

import mpmath
import numpy as np
import pytest
from support.slow_cases import slowly

from dpqr.kernel.noise.selection import acceptance_bracket, draw_exponential, propose
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


@pytest.mark.parametrize(
    "exponent", [Fraction(0), Fraction(1, 7), Fraction(30), Fraction(3**80, 2**120), Fraction(10**9)]
)
def test_the_share_kept_is_the_weight_over_its_bound(exponent, exp_minus):
    weight = mpmath.ldexp(exp_minus(exponent), 50)
    bound = int(mpmath.ceil(weight)) + 3
    for bits in (64, 128, 256):
        low, high = acceptance_bracket(exponent, 50, bound, bits)
        assert low <= mpmath.ldexp(weight / bound, bits) <= high <= low + 2


@pytest.mark.parametrize("count", [8, 5000])
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


def test_equal_scores_are_drawn_evenly_in_both_paths(p_value):
    for count in (20, 5000):
        seen = tally(np.full(count, -7), RATE, 4000, np.arange(count) % 20, 42)
        assert p_value(seen, np.full(20, 1 / 20), 4000) > 1e-9


def test_rate_zero_ignores_the_scores(p_value):
    scores = np.array([LEAST, MOST, 0, 5])
    assert p_value(tally(scores, Fraction(0), 4000, np.arange(4), 43), np.full(4, 0.25), 4000) > 1e-9


@pytest.mark.parametrize("copies", [1, 3000])
def test_differences_beyond_int64(copies, p_value):
    scores = np.repeat(np.array([LEAST, MOST]), copies)
    seen = tally(scores, Fraction(1, 2**64), 4000, np.repeat([0, 1], copies), 44)
    chance = 1 / (1 + np.exp(-1))
    assert p_value(seen, [1 - chance, chance], 4000) > 1e-9


@pytest.mark.parametrize("count", [10, 6000])
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


@pytest.mark.parametrize(
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
