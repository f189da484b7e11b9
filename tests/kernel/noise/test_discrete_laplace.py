from fractions import Fraction
from math import exp, log

import mpmath
import numpy as np
import pytest
from support.cases import in_one_test, slow_but, thinned
from support.noise_laws import counts, needed_for_weighted_sum

from dpqr.kernel.noise import discrete_laplace as geometric
from dpqr.kernel.noise.bits import CHUNK
from dpqr.kernel.noise.discrete_laplace import (
    DiscreteLaplace,
    Geometric,
    _sign_bracket,
    geometric_edges,
    geometric_parts,
)
from dpqr.kernel.noise.law import chernoff
from dpqr.kernel.noise.source import SeededNoise

SCALES = [Fraction(1, 30), Fraction(1, 2), Fraction(1), Fraction(20), Fraction(1000, 3), Fraction(3**126, 2**190)]
LONG = Fraction(3**126 + 2, 2**199 + 1)


def chances(scale, reach):
    q = np.exp(-1 / float(scale))
    return (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))


@in_one_test("scale", [Fraction(1, 4), Fraction(1), Fraction(7, 2), Fraction(40), LONG])
def test_chi_square_and_a_scale_ten_percent_off(scale, p_value):
    draws = DiscreteLaplace(scale).sample(150_000, SeededNoise(21))
    reach = int(scale * 8) + 3
    assert draws.dtype == np.int64
    assert p_value(counts(draws, reach), chances(scale, reach), len(draws)) > 1e-9
    for wrong in (scale * Fraction(10, 11), scale * Fraction(11, 10)):
        assert p_value(counts(draws, reach), chances(wrong, reach), len(draws)) < 1e-9


@in_one_test("scale", [Fraction(10**12, 7), Fraction(3**150, 2**199), Fraction(2**52)])
def test_huge_scales_follow_their_quantiles(scale, p_value):
    draws = DiscreteLaplace(scale).sample(100_000, SeededNoise(22)) / float(scale)
    levels = np.arange(-6, 6.25, 0.25)
    line = np.where(levels < 0, np.exp(levels) / 2, 1 - np.exp(-levels) / 2)
    seen = np.histogram(draws, levels)[0]
    assert p_value(seen, np.diff(line), len(draws)) > 1e-9
    stretched = np.where(levels < 0, np.exp(levels / 1.1) / 2, 1 - np.exp(-levels / 1.1) / 2)
    assert p_value(seen, np.diff(stretched), len(draws)) < 1e-9


def test_huge_draws_use_all_low_digits(p_value):
    draws = DiscreteLaplace(Fraction(10**12, 7)).sample(50_000, SeededNoise(23))
    assert p_value(np.bincount(draws % 16, minlength=16), np.full(16, 1 / 16), len(draws)) > 1e-9


@in_one_test("scale", SCALES)
def test_the_sign_has_probability_q_over_one_plus_q(scale, exp_minus):
    q = exp_minus(1 / scale)
    low, high = _sign_bracket(scale, 200)
    assert low <= mpmath.ldexp(q / (1 + q), 200) <= high <= low + 4


def test_the_figures_are_those_of_the_law(exp_minus):
    for scale in [*SCALES, LONG]:
        law = DiscreteLaplace(scale)
        q = exp_minus(1 / scale)
        assert law.deviation == pytest.approx(float(mpmath.sqrt(2 * q) / (1 - q)), rel=1e-9, abs=0)
        assert law.mean_size == pytest.approx(float(2 * q / (1 - q * q)), rel=1e-9, abs=0)
    assert DiscreteLaplace(Fraction(1, 10**400)).deviation < 1e-200


@in_one_test("beta", [1.0, 0.5, 0.05, 1e-3, 1e-9, 1e-200])
@pytest.mark.parametrize("scale", [*SCALES, LONG, Fraction(10**12, 7), Fraction(2**52)])
def test_tail_is_the_smallest(scale, beta, exp_minus):
    k = DiscreteLaplace(scale).tail(beta)
    q = exp_minus(1 / scale)
    assert 2 * exp_minus((k + 1) / scale) / (1 + q) <= beta
    assert k == 0 or 2 * exp_minus(k / scale) / (1 + q) > beta


def exact_sum_quantile(scale, draws, beta):
    """Smallest b with Pr[sum of |draw| > b] <= beta, by convolution."""
    q = np.exp(-1 / float(scale))
    size = np.arange(int(60 * scale) + 40)
    one = np.where(size == 0, 1.0, 2.0) * (1 - q) / (1 + q) * q**size
    total = np.ones(1)
    for _ in range(draws):
        total = np.convolve(total, one)
    beyond = np.cumsum(total[::-1])[::-1]
    return int(np.count_nonzero(beyond[1:] > beta))


@in_one_test("beta", [0.05, 1e-6])
@pytest.mark.parametrize(
    ("scale", "draws"), [(Fraction(1, 2), 40), (Fraction(3), 1), (Fraction(3), 2), (Fraction(5), 30)]
)
def test_sum_tail_holds_and_is_not_vain(scale, draws, beta):
    bound = DiscreteLaplace(scale).sum_tail(draws, beta)
    needed = exact_sum_quantile(scale, draws, beta)
    assert needed <= bound <= 1.6 * needed + 2


def test_sum_tail_approaches_the_mean_of_many_and_of_nothing_is_nothing():
    law = DiscreteLaplace(Fraction(10**9))
    assert 1 < law.sum_tail(10**8, 1e-6) / (10**8 * law.mean_size) < 1.001
    assert law.sum_tail(0, 0.1) == 0


@in_one_test("beta", [0.3, 0.05, 1e-3])
@pytest.mark.parametrize("scale", [Fraction(1, 20), Fraction(1, 2), Fraction(2), Fraction(7)])
@pytest.mark.parametrize("weights", [(1,), (1, 1), (3, 1, -1), (1,) * 9], ids=str)
def test_weighted_tail_holds(scale, weights, beta):
    """Against the exact law of small whole weights; it is at most 2.5 times what is needed, or nothing is."""
    reach = int(40 * float(scale)) + 40
    bound = DiscreteLaplace(scale).weighted_tail(beta) * float(np.linalg.norm(weights))
    needed = needed_for_weighted_sum(chances(scale, reach), weights, beta)
    assert bound >= needed
    assert bound <= 2.5 * (needed + 1) * max(1.0, (0.01 / beta) ** 0.25)


@in_one_test("scale", [Fraction(0), Fraction(-1), Fraction(2**52 + 1)])
def test_refuses_other_scales(scale):
    with pytest.raises(ValueError, match="scale"):
        DiscreteLaplace(scale)


@in_one_test("beta", [0.0, -1.0, float("nan")])
def test_refuses_impossible_tails(beta):
    with pytest.raises(ValueError, match="beta"):
        DiscreteLaplace(Fraction(1)).tail(beta)
    with pytest.raises(ValueError, match="beta"):
        DiscreteLaplace(Fraction(1)).sum_tail(3, beta)


@in_one_test("scale", [*SCALES, LONG, Fraction(2**52)])
def test_the_weighted_tail_is_the_better_of_the_two_moment_bounds(scale, exp_minus):
    """One draw's own second and fourth moment, from sum k^n q^k for n = 2, 4 (Eulerian polynomials)."""
    q = exp_minus(1 / scale)
    once = 2 * (1 - q) / (1 + q)
    second = once * (q + q**2) / (1 - q) ** 3
    fourth = once * (q + 11 * q**2 + 11 * q**3 + q**4) / (1 - q) ** 5
    for beta in (0.3, 0.05, 1e-3, 1e-9):
        bound = min((second / beta) ** 0.5, (fourth / beta) ** 0.25)
        assert bound <= DiscreteLaplace(scale).weighted_tail(beta) <= bound * (1 + 1e-5)


def test_no_chunk_of_a_long_draw_repeats_another():
    """At this scale two equal draws in a row of 1000 have a chance of 2^-40."""
    draws = DiscreteLaplace(Fraction(2**50)).sample(2 * CHUNK, SeededNoise(25)).reshape(2, CHUNK)
    assert not (draws[0, :1000] == draws[1, :1000]).any()
    assert not (np.abs(draws[0, :1000]) == np.abs(draws[1, :1000])).any()
    assert len(np.unique(np.sign(draws))) == 2


@pytest.mark.parametrize(
    ("draws", "beta"), slow_but({0, 3}, [(1, 0.05), (2, 0.3), (2, 1e-9), (3, 0.01), (30, 1e-6), (10**5, 1e-9)])
)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(20), Fraction(10**9)])
def test_the_sum_tail_is_chernoffs_bound_or_the_union_bound(scale, draws, beta, exp_minus):
    """The moments from the law's own formula, minimised over a grid of t, apart from the search."""
    law, q, rate = DiscreteLaplace(scale), exp_minus(1 / scale), float(1 / scale)

    def bound(t):
        grown = q * mpmath.exp(t)
        moment = (1 - q) / (1 + q) * (1 + 2 * grown / (1 - grown))
        return (draws * mpmath.log(moment) - mpmath.log(beta)) / t

    with mpmath.workprec(120):
        best = float(min(bound(mpmath.mpf(rate * (1 - x))) for x in (np.arange(1, 400) / 400).tolist()))
        near = float(min(bound(mpmath.mpf(rate) * mpmath.mpf(2) ** (-k / 4)) for k in range(1, 80)))
    union = draws * law.tail(beta / draws)
    found = law.sum_tail(draws, beta)
    assert found <= min(best, near, union) * (1 + 1e-5)
    assert found >= min(best, near, union) * (1 - 1e-2)


@in_one_test("count", [0, 1, 2, 7, CHUNK, CHUNK + 1])
def test_every_entry_is_drawn(count):
    """At this scale one of them is 0, or what its neighbour is, with a chance below 2^-30; at a tiny one all are 0."""
    draws = DiscreteLaplace(Fraction(2**50)).sample(count, SeededNoise(26))
    assert draws.shape == (count,)
    assert (np.abs(draws) > 2**14).all()
    assert (np.diff(draws) != 0).all()
    for scale in (Fraction(1, 30), Fraction(1, 10**400)):
        assert not DiscreteLaplace(scale).sample(count, SeededNoise(24)).any()


ONES = (1 << 64) - 1
TABLE_SCALES = [Fraction(1, 30), Fraction(1), Fraction(7, 3), Fraction(3**120, 2**187), Fraction(32)]


@in_one_test("scale", TABLE_SCALES)
def test_edges_are_the_floors_of_the_thresholds(scale, exp_minus):
    edges = geometric_edges(scale)
    truth = [int(mpmath.floor(mpmath.ldexp(exp_minus(j / scale), 32))) for j in range(len(edges), 0, -1)]
    assert edges.tolist() == truth
    assert edges[0] == 0


@pytest.mark.parametrize("scale", thinned([Fraction(1, 30), Fraction(1), Fraction(7, 3), Fraction(19)], 4))
def test_law_by_the_intervals_of_the_first_bits(scale, scripted, exp_minus):
    """Words beside and on every edge, followed by zeros and by ones: the draw counts the thresholds above U."""
    edges = geometric_edges(scale).astype(np.int64)
    words = np.unique(np.clip(np.concatenate([edges - 1, edges, edges + 1, [2**32 - 1]]), 0, 2**32 - 1))
    words = words[words > 0]
    words = words[: len(words) // 2 * 2]
    script = words.astype(np.uint32).view(np.uint64)
    for rest, end in ((0, mpmath.mpf(0)), (ONES, 1 - mpmath.ldexp(1, -500))):
        drawn = geometric_parts(scale).sample(len(words), scripted(script, rest))
        for word, value in zip(words.tolist(), drawn.tolist(), strict=True):
            uniform = (word + end) / mpmath.mpf(2**32)
            assert uniform < exp_minus(value / scale)
            assert uniform >= exp_minus((value + 1) / scale)


def test_the_end_of_the_table_is_not_the_end_of_the_law(scripted):
    draw = geometric_parts(Fraction(2)).sample(1, scripted([0, 1 << 32, 5], rest=ONES))
    assert draw[0] > len(geometric_edges(Fraction(2)))


@in_one_test("scale", [Fraction(1, 30), Fraction(7, 3), Fraction(33), Fraction(1000, 3), Fraction(10**6)])
def test_chi_square(scale, p_value):
    draws = geometric_parts(scale).sample(200_000, SeededNoise(11))
    step = max(1, int(scale / 10))

    def chances(true_scale):
        edges = np.exp(-np.arange(0, 101) * step / float(true_scale))
        return edges[:-1] - edges[1:]

    seen = np.bincount(draws[draws < 100 * step] // step, minlength=100)
    assert p_value(seen, chances(scale), len(draws)) > 1e-9
    if scale > 1:
        assert p_value(seen, chances(scale * Fraction(11, 10)), len(draws)) < 1e-9


@in_one_test("scale", [Fraction(100), Fraction(2**15), Fraction(2**40, 3)])
def test_the_low_bits_have_their_own_law(scale, p_value):
    """G mod 2^width is proportional to exp(-r / scale): seen through its leading bits, against the uniform law too."""
    parts = geometric_parts(scale)
    assert 16 < scale / 2**parts.width <= 32
    cells = 1 << min(parts.width, 3)
    draws = parts.sample(200_000, SeededNoise(12)) & ((1 << parts.width) - 1)
    seen = np.bincount(draws >> (parts.width - (cells.bit_length() - 1)), minlength=cells)
    ratio = np.exp(-np.arange(cells) * (2**parts.width / cells / float(scale)))
    assert p_value(seen, ratio / ratio.sum(), len(draws)) > 1e-9
    reverse = ratio[::-1]
    assert p_value(seen, reverse / reverse.sum(), len(draws)) < 1e-9


@in_one_test("scale", [Fraction(100), Fraction(10**6, 7), Fraction(2**40, 3)])
def test_cells_and_exponents_of_the_remainders_agree(scale, checked_coins, monkeypatch):
    monkeypatch.setattr(geometric, "bernoulli_exp", checked_coins)
    assert geometric_parts(scale).sample(300, SeededNoise(13)).shape == (300,)


def test_only_remainders_that_were_kept_are_given(monkeypatch):
    """However often they are drawn again: here the odd ones are kept."""
    monkeypatch.setattr(geometric, "bernoulli_exp", lambda cells, exact, noise: cells % 2 == 1)
    monkeypatch.setattr(geometric.DistanceGrid, "cells", lambda grid, distances: distances.astype(np.int64))
    parts = geometric_parts(Fraction(2**20))
    assert (parts.sample(2000, SeededNoise(14)) % 2 == 1).all()


# One-sided geometric noise: its law by frequencies, and its figures.


@in_one_test("scale", [Fraction(1, 3), Fraction(2), Fraction(300)])
def test_frequencies_follow_the_geometric_law(scale):
    """Each tail frequency stays within Hoeffding's bound of exp(-k / scale), all of them but with probability 1e-9."""
    draws, count = Geometric(scale).sample(50_000, SeededNoise(3)), 50_000
    places = np.unique(np.rint(np.linspace(0, 5 * float(scale), 12)).astype(int))
    room = np.sqrt(log(2 * len(places) / 1e-9) / (2 * count))
    assert draws.min() >= 0
    for place in places:
        assert abs((draws >= place).mean() - exp(-place / scale)) < room


@in_one_test("scale", [Fraction(1, 100), Fraction(1), Fraction(7, 2), Fraction(2**40)])
def test_figures_of_geometric_noise(scale):
    law, q = Geometric(scale), exp(-1 / scale)
    assert law.mean == pytest.approx(q / (1 - q), rel=1e-6)
    for beta in (0.5, 1e-3, 1e-12):
        k = law.tail(beta)
        assert exp(-(k + 1) / scale) <= beta * (1 + 1e-6)
        assert k <= 2 or exp(-(k - 1) / scale) > beta * (1 - 1e-3)
    assert law.tail(1.0) == 0


def test_what_is_no_geometric_law():
    for scale in (Fraction(0), Fraction(-1), Fraction(2**52 + 1)):
        with pytest.raises(ValueError, match="scale"):
            Geometric(scale)
    with pytest.raises(ValueError, match="beta"):
        Geometric(Fraction(1)).tail(0.0)


# Chernoff's bound.


@in_one_test(("draws", "beta"), [(1, 0.05), (10, 1e-9), (10**9, 1e-3)])
def test_finds_the_best_point_of_a_normal_sum(draws, beta):
    """log E exp(t X) = t^2 / 2 has the bound sqrt(2 draws log(1 / beta)) at its best t."""
    best = (2 * draws * log(1 / beta)) ** 0.5
    found = chernoff(lambda point: point * point / 2, 100.0, draws, beta)
    assert best * (1 + 2.0**-20) * (1 - 2.0**-40) <= found <= best * (1 + 1e-5)


def test_finds_the_best_point_of_an_exponential_sum():
    """E exp(t X) = 1 / (1 - t): for one draw the bound is 1 + log(1 / beta) + log(b) at its fixed point."""
    found = chernoff(lambda point: -log(1 - point), 1.0, 1, 1e-6)
    grid = min((-log(1 - t / 10**4) - log(1e-6)) / (t / 10**4) for t in range(1, 10**4))
    assert found == pytest.approx(grid, rel=1e-5)
