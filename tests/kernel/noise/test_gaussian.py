"""Discrete and rounded Gaussian noise."""

from fractions import Fraction
from itertools import pairwise
from math import sqrt

import mpmath
import numpy as np
import pytest
from support.cases import in_one_test, slow_but, thinned
from support.noise_laws import counts, needed_for_weighted_sum

from dpqr.kernel.noise import bits, gaussian
from dpqr.kernel.noise.bits import CHUNK, LAST_CELL, LazyUniform
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import (
    LARGEST_ROUNDED_VARIANCE,
    SMALLEST_VARIANCE,
    SUMMED_VARIANCE,
    DiscreteGaussian,
    RoundedGaussian,
    _cells,
    _envelope,
)
from dpqr.kernel.noise.source import SeededNoise

LONG = Fraction(3**126 + 2, 2**195 + 1)
VARIANCES = [Fraction(1, 50), Fraction(1, 2), Fraction(1), Fraction(400), LONG, Fraction(10**6), Fraction(10**20)]


def chances(variance, reach):
    sizes = np.arange(-reach - 200, reach + 201)
    weights = np.exp(-(sizes**2) / (2 * float(variance)))
    return (weights / weights.sum())[200:-200]


def real(value):
    return mpmath.mpf(value.numerator) / value.denominator


def rounded_law(variance, reach):
    """Pr[k] for |k| <= reach."""
    with mpmath.workprec(100):
        deviation = mpmath.sqrt(real(variance))
        edges = [mpmath.ncdf((k - mpmath.mpf(1) / 2) / deviation) for k in range(-reach, reach + 2)]
        return np.array([float(after - before) for before, after in pairwise(edges)])


LAWS = {"discrete": (DiscreteGaussian, chances), "rounded": (RoundedGaussian, rounded_law)}
every_kind = pytest.mark.parametrize("kind", [DiscreteGaussian, RoundedGaussian])


@pytest.mark.parametrize(("kind", "law"), LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("variance", thinned([Fraction(1, 4), Fraction(1), Fraction(5, 2), LONG, Fraction(400)], 3))
def test_chi_square_of_the_law_of_a_deviation_ten_percent_off_and_of_the_other_law(variance, kind, law, p_value):
    """At variance 1/4 the two differ by far: the rounded one moves in three draws of ten, the other in two."""
    draws = kind(variance).sample(150_000, SeededNoise(31))
    reach = int(5 * sqrt(variance)) + 2
    assert draws.dtype == np.int64
    assert p_value(counts(draws, reach), law(variance, reach), len(draws)) > 1e-9
    for wrong in (variance / Fraction(121, 100), variance * Fraction(121, 100)):
        assert p_value(counts(draws, reach), law(wrong, reach), len(draws)) < 1e-9
    if variance < 1:
        other = chances if kind is RoundedGaussian else rounded_law
        assert p_value(counts(draws, reach), other(variance, reach), len(draws)) < 1e-9


@every_kind
@pytest.mark.parametrize("variance", [Fraction(10**8, 3), Fraction(10**20), Fraction(2**100)])
def test_huge_variances_follow_the_normal_quantiles(variance, kind, follows_normal):
    follows_normal(kind(variance).sample(100_000, SeededNoise(32)) / sqrt(variance))
    assert kind(variance).deviation == pytest.approx(sqrt(variance), rel=1e-8)


@in_one_test("count", [0, 1, 7, CHUNK + 1])
@every_kind
def test_gives_as_many_as_asked_and_is_nearly_silent_at_a_tiny_variance(count, kind):
    assert kind(Fraction(100)).sample(count, SeededNoise(1)).shape == (count,)
    tiny = SMALLEST_VARIANCE if kind is RoundedGaussian else Fraction(1, 50)
    assert np.count_nonzero(kind(tiny).sample(count, SeededNoise(44))) <= count / 500


@in_one_test(
    ("kind", "variance"),
    [
        *((DiscreteGaussian, Fraction(bad)) for bad in (0, -1, 2**100 + 1)),
        *((RoundedGaussian, Fraction(bad)) for bad in (0, -1, "1/65", LARGEST_ROUNDED_VARIANCE + 1)),
    ],
)
def test_refuses_other_variances(kind, variance):
    with pytest.raises(ValueError, match="variance"):
        kind(variance)


# Discrete Gaussian noise.


@in_one_test("beta", [0.3, 0.05, 1e-3])
@pytest.mark.parametrize("variance", [Fraction(1, 20), Fraction(1, 2), Fraction(4), Fraction(30)])
@pytest.mark.parametrize("weights", [(1,), (3, 1, -1), (1,) * 9], ids=str)
def test_weighted_tail_holds(variance, weights, beta):
    """Against the exact law of small whole weights."""
    reach = int(12 * float(variance) ** 0.5) + 4
    bound = DiscreteGaussian(variance).weighted_tail(beta) * float(np.linalg.norm(weights))
    needed = needed_for_weighted_sum(chances(variance, reach), weights, beta)
    assert bound >= needed
    assert bound <= 2 * (needed + 1) or variance < 1


@in_one_test("variance", VARIANCES)
def test_proposal_times_coin_is_the_law(variance):
    """|k| / t + exponent(k) - k^2 / (2 v) does not depend on k: exact, in fractions."""
    envelope = _envelope(variance)
    rests = {
        k / envelope.law.scale + envelope.exponent(k) - Fraction(k * k) / (2 * variance) for k in (0, 1, 2, 9, 10**12)
    }
    assert len(rests) == 1


@in_one_test("variance", [*VARIANCES, Fraction(2**100)])
def test_cells_lie_below_and_near(variance):
    envelope = _envelope(variance)
    deviation = sqrt(variance)
    sizes = sorted({int(deviation * k / 50) + d for k in range(600) for d in (0, 1)} | {2**62})
    for size, cell in zip(sizes, envelope.cells(np.array(sizes)).tolist(), strict=True):
        place = envelope.exponent(size) * (1 << 14)
        assert 0 <= cell <= place
        assert place < cell + 2 or cell == LAST_CELL


def law_table(variance):
    reach = int(45 * mpmath.sqrt(float(variance))) + 3
    v = mpmath.mpf(variance.numerator) / variance.denominator
    weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * v)) for k in range(reach)]
    total = weights[0] + 2 * mpmath.fsum(weights[1:])
    return [weights[0] / total] + [2 * w / total for w in weights[1:]]


@in_one_test("variance", [Fraction(1, 50), Fraction(1, 2), Fraction(1), Fraction(400)])
def test_the_figures_are_those_of_the_law(variance):
    with mpmath.workprec(120):
        table = law_table(variance)
        law = DiscreteGaussian(variance)
        assert law.deviation == pytest.approx(float(mpmath.sqrt(sum(k * k * p for k, p in enumerate(table)))), rel=1e-9)
        assert law.mean_size == pytest.approx(float(sum(k * p for k, p in enumerate(table))), rel=1e-9, abs=0)
        for beta in (1.0, 0.5, 0.05, 1e-3, 1e-9, 1e-200):
            k = law.tail(beta)
            assert sum(table[k + 1 :]) <= beta
            assert k == 0 or sum(table[k:]) > beta


@pytest.mark.slow
def test_the_bounds_of_large_variances_meet_the_sums_of_small_ones():
    small, large = (
        DiscreteGaussian(Fraction(SUMMED_VARIANCE)),
        DiscreteGaussian(Fraction(SUMMED_VARIANCE) + Fraction(1, 9)),
    )
    assert small.deviation == pytest.approx(large.deviation, rel=1e-5)
    assert small.mean_size == pytest.approx(large.mean_size, rel=1e-5)
    for beta in (0.9, 0.6, 0.3, 0.05, 1e-9, 1e-250):
        assert small.tail(beta) <= large.tail(beta) <= small.tail(beta) + 1
    for draws, beta in ((1, 0.05), (10, 1e-9), (10**6, 1e-9)):
        assert small.sum_tail(draws, beta) <= large.sum_tail(draws, beta) <= 1.01 * small.sum_tail(draws, beta) + 1


@in_one_test("beta", [0.05, 1e-6])
@pytest.mark.parametrize(
    ("variance", "draws"), [(Fraction(1, 3), 40), (Fraction(9), 1), (Fraction(9), 2), (Fraction(25), 30)]
)
def test_sum_tail_holds_and_is_not_vain(variance, draws, beta):
    one = np.array([float(p) for p in law_table(variance)])
    total = np.ones(1)
    for _ in range(draws):
        total = np.convolve(total, one)
    needed = int(np.count_nonzero(np.cumsum(total[::-1])[::-1][1:] > beta))
    assert needed <= DiscreteGaussian(variance).sum_tail(draws, beta) <= 1.3 * needed + 2


def test_sum_tail_approaches_the_mean_of_many():
    for variance in (Fraction(100), Fraction(10**12)):
        law = DiscreteGaussian(variance)
        assert 1 < law.sum_tail(10**8, 1e-6) / (10**8 * law.mean_size) < 1.001
        assert law.sum_tail(0, 0.1) == 0


@in_one_test("beta", [0.0, 1e-300, float("nan")])
def test_refuses_impossible_tails(beta):
    for variance in (Fraction(1), Fraction(10**9)):
        with pytest.raises(ValueError, match="beta"):
            DiscreteGaussian(variance).tail(beta)
        with pytest.raises(ValueError, match="beta"):
            DiscreteGaussian(variance).sum_tail(3, beta)


@in_one_test("variance", [Fraction(1, 4), Fraction(5, 2), LONG, Fraction(10**20)])
def test_proposals_are_kept_by_the_stated_variance(variance, checked_coins, monkeypatch):
    """The cells and exponents that a draw asks for are those of its own variance, proposal by proposal."""
    asked = []

    def coins(cells, exact, noise):
        asked.append([exact(i) for i in range(len(cells))])
        return checked_coins(cells, exact, noise)

    scale = Fraction(int(mpmath.floor(mpmath.sqrt(float(variance)))) + 1)
    proposals = np.abs(DiscreteLaplace(scale).sample(40, SeededNoise(34))).tolist()
    monkeypatch.setattr(gaussian, "bernoulli_exp", coins)
    DiscreteGaussian(variance)._propose(40, SeededNoise(34))
    assert asked == [[(size - variance / scale) ** 2 / (2 * variance) for size in proposals]]


def test_draws_are_negative_as_often_as_positive(p_value):
    draws = DiscreteGaussian(Fraction(100)).sample(20_000, SeededNoise(35))
    halves = [int((draws < 0).sum()), int((draws > 0).sum())]
    assert p_value(halves, [0.5, 0.5], sum(halves)) > 1e-9


@pytest.mark.parametrize(("draws", "beta"), slow_but({0}, [(1, 0.05), (50, 1e-6), (10**6, 1e-9)]))
def test_the_bound_of_a_large_sum_is_that_of_normal_sizes_and_a_step_each(draws, beta):
    """E exp(t |N|) = exp(t^2 v / 2) erfc(-t sqrt(v / 2)), minimised over a grid of t, apart from the search."""
    variance = Fraction(2 * SUMMED_VARIANCE)
    law = DiscreteGaussian(variance)
    points = np.exp(np.arange(-16, 0, 0.02))

    def bound(t):
        moment = mpmath.exp(t * t * float(variance) / 2) * mpmath.erfc(-t * mpmath.sqrt(float(variance) / 2))
        return (draws * mpmath.log(moment) - mpmath.log(beta)) / t

    with mpmath.workprec(80):
        normal = float(min(bound(mpmath.mpf(t)) for t in points.tolist()))
    together = draws * law.tail(beta / draws)
    assert law.sum_tail(draws, beta) == pytest.approx(min(together, draws + normal), rel=1e-4)
    assert together > draws + normal or draws == 1


@in_one_test("variance", [Fraction(1, 20), Fraction(9), Fraction(10**20)])
def test_the_weighted_tail_is_the_two_sided_bound_of_normal_noise(variance):
    for beta in (0.3, 1e-9):
        bound = float(mpmath.sqrt(2 * float(variance) * mpmath.log(2 / mpmath.mpf(beta))))
        assert bound <= DiscreteGaussian(variance).weighted_tail(beta) <= bound * (1 + 1e-5)


@pytest.mark.slow
@in_one_test("beta", [0.3, 1e-2, 1e-9])
@pytest.mark.parametrize("draws", [1, 2, 3, 40])
@pytest.mark.parametrize("variance", [Fraction(1, 50), Fraction(1, 3), Fraction(9), Fraction(400)])
def test_the_sum_tail_is_chernoffs_bound_or_the_union_bound(variance, draws, beta):
    """Moments summed from the law, minimised over a grid of t, apart from the search; tails from the same sums."""
    v, sizes = float(variance), np.arange(int(80 * sqrt(variance)) + 60)
    exponents = -(sizes**2) / (2 * v) + np.log(np.where(sizes == 0, 1, 2))
    law = exponents - np.logaddexp.reduce(exponents)
    beyond = np.cumsum(np.exp(law)[::-1])[::-1]
    union = draws * int(np.count_nonzero(beyond[1:] > beta / draws))
    points = np.exp(np.arange(-12, np.log(60 / sqrt(v) + 2 / v), 0.02))
    moments = np.logaddexp.reduce(law + points[:, None] * sizes, axis=1)
    chernoff = float(((draws * moments - np.log(beta)) / points).min())
    assert DiscreteGaussian(variance).sum_tail(draws, beta) == pytest.approx(min(union, chernoff), rel=1e-3)


# Rounded Gaussian noise.


ROUNDED_VARIANCES = [
    SMALLEST_VARIANCE,
    Fraction(1, 2),
    Fraction(1),
    Fraction(400),
    LONG,
    Fraction(10**6),
    Fraction(10**20),
]
GRAIN = 256
"""Parts of a cell, in the sum that stands for its integral."""


@in_one_test("variance", ROUNDED_VARIANCES)
def test_proposal_times_coin_is_the_normal_density(variance):
    """k / t + x - y^2 / (2 v) depends neither on k nor on the place in its cell: exact, in fractions. For k = 0 the
    two halves of the cell are one: its places have half the width and are taken for both signs."""
    cells = _cells(variance)
    rests = set()
    for size in (0, 1, 2, 9, 10**12):
        for uniform in (Fraction(0), Fraction(1, 3), Fraction(99, 100)):
            place = size - Fraction(1, 2) + uniform if size else uniform / 2
            x = cells.exponent(size, uniform)
            assert x >= 0
            rests.add(size / cells.law.scale + x - place * place / (2 * variance))
    assert len(rests) == 1


@pytest.mark.parametrize("variance", thinned([Fraction(1, 4), Fraction(1), Fraction(9)], 3))
def test_the_law_by_integration_of_what_is_kept(variance):
    """Proposal times mean coin, summed over fine parts of each cell, against the normal law's mass."""
    cells, scale = _cells(variance), None
    uniforms = [Fraction(2 * part + 1, 2 * GRAIN) for part in range(GRAIN)]
    for size in range(6):
        coins = [float(np.exp(-float(cells.exponent(size, each)))) for each in uniforms]
        kept = np.exp(-size / float(cells.law.scale)) * np.mean(coins)
        mass = rounded_law(variance, size)[-1]
        scale = scale or kept / mass
        assert kept / mass == pytest.approx(scale, rel=1e-3)


@pytest.mark.slow
@in_one_test("variance", [*ROUNDED_VARIANCES, Fraction(2**100)])
def test_cells_of_places_lie_below_and_near(variance):
    cells, deviation = _cells(variance), sqrt(variance)
    sizes = sorted({int(deviation * k / 50) + d for k in range(600) for d in (0, 1)} | {2**62})
    words = SeededNoise(45).words(len(sizes)).copy()
    words[::7], words[1::7] = 0, 2**64 - 1
    found = cells.of(np.array(sizes), words).tolist()
    for size, word, cell in zip(sizes, words.tolist(), found, strict=True):
        low, high = (cells.exponent(size, Fraction(word + end, 1 << 64)) * (1 << 14) for end in (0, 1))
        assert 0 <= cell <= low
        assert high <= cell + 2 or cell == LAST_CELL


@in_one_test("size", [0, 1, 7])
@pytest.mark.parametrize("variance", [SMALLEST_VARIANCE, Fraction(5, 2), Fraction(10**12)])
def test_brackets_enclose_and_close_in(variance, size, exp_minus):
    """While ever more bits of the place are drawn, the coin's probability is enclosed ever closer."""
    cells = _cells(variance)
    uniform = LazyUniform(SeededNoise(46))
    share = cells.share_kept(size, uniform)
    place = Fraction(uniform.prefix(500), 1 << 500)
    truth = exp_minus(cells.exponent(size, place))
    for precision in (64, 128, 256):
        low, high = share(precision)
        assert low <= mpmath.ldexp(truth, precision) <= high
        assert high - low <= 4


@pytest.mark.slow
def test_coins_that_floats_cannot_decide_follow_the_same_law(monkeypatch, p_value):
    """With cells so blunt that every coin is decided by the brackets."""

    def exactly(cells, threshold, noise):
        return np.array([LazyUniform(noise).below(threshold(i)) for i in range(len(cells))], dtype=bool)

    monkeypatch.setattr(gaussian, "bernoulli_below", exactly)
    draws = RoundedGaussian(Fraction(1)).sample(3_000, SeededNoise(47))
    assert p_value(counts(draws, 3), rounded_law(Fraction(1), 3), len(draws)) > 1e-9
    assert p_value(counts(draws, 3), rounded_law(Fraction(16, 10), 3), len(draws)) < 1e-9


@in_one_test("variance", [SMALLEST_VARIANCE, Fraction(1, 10), Fraction(1), Fraction(7, 2), Fraction(400)])
def test_the_deviation_is_that_of_the_law(variance):
    reach = int(10 * sqrt(variance)) + 3
    sizes = np.arange(-reach, reach + 1)
    assert RoundedGaussian(variance).deviation == pytest.approx(
        sqrt((sizes**2 * rounded_law(variance, reach)).sum()), rel=1e-9
    )


@in_one_test("variance", [SMALLEST_VARIANCE, Fraction(5, 2), Fraction(10**12)])
def test_cells_and_brackets_speak_of_one_place_in_each_cell(variance, monkeypatch):
    """A coin that its cell decides and one that its bracket decides are coins of one probability; and no two proposals
    share a place."""
    places = []

    def coins(cells, threshold, noise):
        for i, cell in enumerate(cells.tolist()):
            low, high = threshold(i)(64)
            assert high >= mpmath.ldexp(mpmath.exp(-mpmath.mpf(cell + 2) / 2**14), 64) or cell == LAST_CELL
            assert low <= mpmath.ldexp(mpmath.exp(-mpmath.mpf(cell) / 2**14), 64)
            places.append((cell, low))
        return np.ones(len(cells), dtype=bool)

    monkeypatch.setattr(gaussian, "bernoulli_below", coins)
    RoundedGaussian(variance)._propose(60, SeededNoise(48))
    inside = [place for place in places if 0 < place[0] < LAST_CELL]
    assert len(set(inside)) == len(inside) > 10


@in_one_test("guard", [-8, 0, 8])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_bracket_holds_for_every_place_that_its_bits_leave_open(size, guard, exp_minus, monkeypatch):
    """With fewer bits of the place than of the bracket, the two ends of what is open lie far apart."""
    monkeypatch.setattr(bits, "_UNIFORM_GUARD_BITS", guard)
    cells = _cells(Fraction(5, 2))
    for seed in range(10):
        uniform = LazyUniform(SeededNoise(seed))
        low, high = cells.share_kept(size, uniform)(64)
        start = uniform.prefix(64 + guard)
        for end in (0, 1):
            truth = exp_minus(cells.exponent(size, Fraction(start + end, 1 << (64 + guard))))
            assert low <= mpmath.ldexp(truth, 64) <= high


FIGURED = [Fraction(1, 64), Fraction(1, 4), Fraction(2), Fraction(90)]


@in_one_test("variance", FIGURED)
def test_the_other_figures_are_those_of_the_law(variance):
    reach = int(12 * sqrt(variance)) + 3
    masses, sizes = rounded_law(variance, reach), np.abs(np.arange(-reach, reach + 1))
    noise = RoundedGaussian(variance)
    assert noise.mean_size == pytest.approx(float(masses @ sizes), rel=1e-9)
    for beta in (0.3, 1e-3, 1e-12):
        beyond = [float(masses[sizes > k].sum()) for k in (noise.tail(beta) - 1, noise.tail(beta))]
        assert beyond[1] <= beta < beyond[0] * (1 + 1e-5) or noise.tail(beta) == 0
    for point in np.array([0.1, 1.0, 3.0]) / max(1, sqrt(variance)):
        exact = float(np.log(masses @ np.exp(point * sizes)))
        assert noise._log_moment(point) == pytest.approx(exact, rel=1e-6)


@in_one_test("variance", FIGURED)
@pytest.mark.parametrize("point", [0.05, 0.7, 4.0])
def test_a_weighted_sum_is_no_wider_than_its_bound_says(variance, point):
    """E exp(t k) <= exp(t^2 w / 2), by which the bound follows; and w is near the law's own variance from 1 on."""
    point /= max(1, sqrt(variance))
    reach = int(12 * sqrt(variance)) + 3
    exact = np.log(rounded_law(variance, reach) @ np.exp(point * np.arange(-reach, reach + 1)))
    width = RoundedGaussian(variance).weighted_tail(0.5) ** 2 / (2 * np.log(4))
    assert exact <= point**2 * width / 2
    if variance >= 1:
        assert width == pytest.approx(RoundedGaussian(variance).deviation ** 2, rel=1e-4)


def test_figures_of_large_variances_meet_the_sums_of_small_ones(monkeypatch):
    noise = RoundedGaussian(Fraction(3000))
    summed = noise.mean_size, noise.sum_tail(50, 1e-3)
    monkeypatch.setattr(gaussian, "SUMMED_VARIANCE", 0)
    assert noise.mean_size == pytest.approx(summed[0], rel=1e-6)
    assert summed[1] <= noise.sum_tail(50, 1e-3) <= summed[1] * 1.02


@in_one_test("draws", [1, 40])
def test_sums_of_sizes_stay_within_their_tail(draws):
    noise = RoundedGaussian(Fraction(2))
    sums = np.abs(noise.sample(4000 * draws, SeededNoise(44))).reshape(4000, draws).sum(axis=1)
    assert (sums > noise.sum_tail(draws, 0.05)).mean() < 0.08
    assert noise.sum_tail(0, 0.05) == 0
