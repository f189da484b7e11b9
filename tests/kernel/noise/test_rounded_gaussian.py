from fractions import Fraction
from itertools import pairwise
from math import sqrt

import mpmath
import numpy as np
import pytest

from dpqr.kernel.noise import gaussian as rounded_gaussian
from dpqr.kernel.noise.bits import CHUNK, LAST_CELL, LazyUniform
from dpqr.kernel.noise.gaussian import LARGEST_ROUNDED_VARIANCE, SMALLEST_VARIANCE, RoundedGaussian, _cells
from dpqr.kernel.noise.source import SeededNoise

LONG = Fraction(3**126 + 2, 2**195 + 1)
VARIANCES = [SMALLEST_VARIANCE, Fraction(1, 2), Fraction(1), Fraction(400), LONG, Fraction(10**6), Fraction(10**20)]
GRAIN = 256
"""Parts of a cell, in the sum that stands for its integral."""


def real(value):
    return mpmath.mpf(value.numerator) / value.denominator


def law(variance, reach):
    """Pr[k] for |k| <= reach."""
    with mpmath.workprec(100):
        deviation = mpmath.sqrt(real(variance))
        edges = [mpmath.ncdf((k - mpmath.mpf(1) / 2) / deviation) for k in range(-reach, reach + 2)]
        return np.array([float(after - before) for before, after in pairwise(edges)])


def counts(draws, reach):
    inside = draws[np.abs(draws) <= reach]
    return np.bincount(inside + reach, minlength=2 * reach + 1)


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(5, 2), LONG, Fraction(400)])
def test_chi_square_and_a_deviation_ten_percent_off(variance, p_value):
    draws = RoundedGaussian(variance).sample(150_000, SeededNoise(41))
    reach = int(5 * sqrt(variance)) + 2
    assert draws.dtype == np.int64
    assert p_value(counts(draws, reach), law(variance, reach), len(draws)) > 1e-9
    for wrong in (variance / Fraction(121, 100), variance * Fraction(121, 100)):
        assert p_value(counts(draws, reach), law(wrong, reach), len(draws)) < 1e-9


def test_the_law_is_not_the_discrete_gaussian_one(p_value):
    """At variance 1/4 the two differ by far: the rounded one moves in three draws of ten, the other in two."""
    draws = RoundedGaussian(Fraction(1, 4)).sample(100_000, SeededNoise(42))
    weights = np.exp(-2.0 * np.arange(-4, 5) ** 2)
    assert p_value(counts(draws, 4), weights / weights.sum(), len(draws)) < 1e-9


@pytest.mark.parametrize("variance", [Fraction(10**8, 3), Fraction(10**20), Fraction(2**100)])
def test_huge_variances_follow_the_normal_quantiles(variance, follows_normal):
    follows_normal(RoundedGaussian(variance).sample(100_000, SeededNoise(43)) / sqrt(variance))
    assert RoundedGaussian(variance).deviation == pytest.approx(sqrt(variance), rel=1e-8)


@pytest.mark.parametrize("variance", VARIANCES)
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


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(9)])
def test_the_law_by_integration_of_what_is_kept(variance):
    """Proposal times mean coin, summed over fine parts of each cell, against the normal law's mass."""
    cells, scale = _cells(variance), None
    uniforms = [Fraction(2 * part + 1, 2 * GRAIN) for part in range(GRAIN)]
    for size in range(6):
        coins = [float(np.exp(-float(cells.exponent(size, each)))) for each in uniforms]
        kept = np.exp(-size / float(cells.law.scale)) * np.mean(coins)
        mass = law(variance, size)[-1]
        scale = scale or kept / mass
        assert kept / mass == pytest.approx(scale, rel=1e-3)


@pytest.mark.parametrize("variance", [*VARIANCES, Fraction(2**100)])
def test_cells_lie_below_and_near(variance):
    cells, deviation = _cells(variance), sqrt(variance)
    sizes = sorted({int(deviation * k / 50) + d for k in range(600) for d in (0, 1)} | {2**62})
    words = SeededNoise(45).words(len(sizes)).copy()
    words[::7], words[1::7] = 0, 2**64 - 1
    found = cells.of(np.array(sizes), words).tolist()
    for size, word, cell in zip(sizes, words.tolist(), found, strict=True):
        low, high = (cells.exponent(size, Fraction(word + end, 1 << 64)) * (1 << 14) for end in (0, 1))
        assert 0 <= cell <= low
        assert high <= cell + 2 or cell == LAST_CELL


@pytest.mark.parametrize("size", [0, 1, 7])
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


def test_coins_that_floats_cannot_decide_follow_the_same_law(monkeypatch, p_value):
    """With cells so blunt that every coin is decided by the brackets."""

    def exactly(cells, threshold, noise):
        return np.array([LazyUniform(noise).below(threshold(i)) for i in range(len(cells))], dtype=bool)

    monkeypatch.setattr(rounded_gaussian, "bernoulli_below", exactly)
    draws = RoundedGaussian(Fraction(1)).sample(3_000, SeededNoise(47))
    assert p_value(counts(draws, 3), law(Fraction(1), 3), len(draws)) > 1e-9
    assert p_value(counts(draws, 3), law(Fraction(16, 10), 3), len(draws)) < 1e-9


@pytest.mark.parametrize("variance", [SMALLEST_VARIANCE, Fraction(1, 10), Fraction(1), Fraction(7, 2), Fraction(400)])
def test_the_deviation_is_that_of_the_law(variance):
    reach = int(10 * sqrt(variance)) + 3
    sizes = np.arange(-reach, reach + 1)
    assert RoundedGaussian(variance).deviation == pytest.approx(sqrt((sizes**2 * law(variance, reach)).sum()), rel=1e-9)


@pytest.mark.parametrize("count", [0, 1, 7, CHUNK + 1])
def test_gives_as_many_as_asked(count):
    assert RoundedGaussian(Fraction(100)).sample(count, SeededNoise(1)).shape == (count,)
    silent = RoundedGaussian(SMALLEST_VARIANCE).sample(count, SeededNoise(44))
    assert np.count_nonzero(silent) <= count / 500


@pytest.mark.parametrize(
    "variance", [Fraction(0), Fraction(-1), Fraction(1, 65), Fraction(LARGEST_ROUNDED_VARIANCE + 1)]
)
def test_refuses_other_variances(variance):
    with pytest.raises(ValueError, match="variance"):
        RoundedGaussian(variance)


@pytest.mark.parametrize("variance", [SMALLEST_VARIANCE, Fraction(5, 2), Fraction(10**12)])
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

    monkeypatch.setattr(rounded_gaussian, "bernoulli_below", coins)
    RoundedGaussian(variance)._propose(60, SeededNoise(48))
    inside = [place for place in places if 0 < place[0] < LAST_CELL]
    assert len(set(inside)) == len(inside) > 10


@pytest.mark.parametrize("guard", [-8, 0, 8])
@pytest.mark.parametrize("size", [0, 1, 7])
def test_a_bracket_holds_for_every_place_that_its_bits_leave_open(size, guard, exp_minus, monkeypatch):
    """With fewer bits of the place than of the bracket, the two ends of what is open lie far apart."""
    monkeypatch.setattr(rounded_gaussian, "_GUARD_BITS", guard)
    cells = _cells(Fraction(5, 2))
    for seed in range(10):
        uniform = LazyUniform(SeededNoise(seed))
        low, high = cells.share_kept(size, uniform)(64)
        start = uniform.prefix(64 + guard)
        for end in (0, 1):
            truth = exp_minus(cells.exponent(size, Fraction(start + end, 1 << (64 + guard))))
            assert low <= mpmath.ldexp(truth, 64) <= high


FIGURED = [Fraction(1, 64), Fraction(1, 4), Fraction(2), Fraction(90)]


@pytest.mark.parametrize("variance", FIGURED)
def test_the_other_figures_are_those_of_the_law(variance):
    reach = int(12 * sqrt(variance)) + 3
    masses, sizes = law(variance, reach), np.abs(np.arange(-reach, reach + 1))
    noise = RoundedGaussian(variance)
    assert noise.mean_size == pytest.approx(float(masses @ sizes), rel=1e-9)
    for beta in (0.3, 1e-3, 1e-12):
        beyond = [float(masses[sizes > k].sum()) for k in (noise.tail(beta) - 1, noise.tail(beta))]
        assert beyond[1] <= beta < beyond[0] * (1 + 1e-5) or noise.tail(beta) == 0
    for point in np.array([0.1, 1.0, 3.0]) / max(1, sqrt(variance)):
        exact = float(np.log(masses @ np.exp(point * sizes)))
        assert noise._log_moment(point) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("variance", FIGURED)
@pytest.mark.parametrize("point", [0.05, 0.7, 4.0])
def test_a_weighted_sum_is_no_wider_than_its_bound_says(variance, point):
    """E exp(t k) <= exp(t^2 w / 2), by which the bound follows; and w is near the law's own variance from 1 on."""
    point /= max(1, sqrt(variance))
    reach = int(12 * sqrt(variance)) + 3
    exact = np.log(law(variance, reach) @ np.exp(point * np.arange(-reach, reach + 1)))
    width = RoundedGaussian(variance).weighted_tail(0.5) ** 2 / (2 * np.log(4))
    assert exact <= point**2 * width / 2
    if variance >= 1:
        assert width == pytest.approx(RoundedGaussian(variance).deviation ** 2, rel=1e-4)


def test_figures_of_large_variances_meet_the_sums_of_small_ones(monkeypatch):
    noise = RoundedGaussian(Fraction(3000))
    summed = noise.mean_size, noise.sum_tail(50, 1e-3)
    monkeypatch.setattr(rounded_gaussian, "SUMMED_VARIANCE", 0)
    assert noise.mean_size == pytest.approx(summed[0], rel=1e-6)
    assert summed[1] <= noise.sum_tail(50, 1e-3) <= summed[1] * 1.02


@pytest.mark.parametrize("draws", [1, 40])
def test_sums_of_sizes_stay_within_their_tail(draws):
    noise = RoundedGaussian(Fraction(2))
    sums = np.abs(noise.sample(4000 * draws, SeededNoise(44))).reshape(4000, draws).sum(axis=1)
    assert (sums > noise.sum_tail(draws, 0.05)).mean() < 0.08
    assert noise.sum_tail(0, 0.05) == 0
