from fractions import Fraction
from math import sqrt

import mpmath
import numpy as np
import pytest

from dpqr.kernel.noise import gaussian as discrete_gaussian
from dpqr.kernel.noise.bits import CHUNK, LAST_CELL
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import SUMMED_VARIANCE, DiscreteGaussian, _envelope
from dpqr.kernel.noise.source import SeededNoise

LONG = Fraction(3**126 + 2, 2**195 + 1)
VARIANCES = [Fraction(1, 50), Fraction(1, 2), Fraction(1), Fraction(400), LONG, Fraction(10**6), Fraction(10**20)]


def chances(variance, reach):
    sizes = np.arange(-reach - 200, reach + 201)
    weights = np.exp(-(sizes**2) / (2 * float(variance)))
    return (weights / weights.sum())[200:-200]


def counts(draws, reach):
    inside = draws[np.abs(draws) <= reach]
    return np.bincount(inside + reach, minlength=2 * reach + 1)


@pytest.mark.parametrize("beta", [0.3, 0.05, 1e-3])
@pytest.mark.parametrize("variance", [Fraction(1, 20), Fraction(1, 2), Fraction(4), Fraction(30)])
@pytest.mark.parametrize("weights", [(1,), (3, 1, -1), (1,) * 9], ids=str)
def test_weighted_tail_holds(variance, weights, beta):
    """Against the exact law of small whole weights."""
    reach = int(12 * float(variance) ** 0.5) + 4
    total = np.ones(1)
    for weight in weights:
        spread = np.zeros(2 * reach * abs(weight) + 1)
        spread[:: abs(weight)] = chances(variance, reach)
        total = np.convolve(total, spread)
    sizes = np.abs(np.arange(len(total)) - len(total) // 2)
    bound = DiscreteGaussian(variance).weighted_tail(beta) * float(np.linalg.norm(weights))
    assert total[sizes > bound].sum() <= beta
    needed = next(size for size in range(len(total)) if total[sizes > size].sum() <= beta)
    assert bound <= 2 * (needed + 1) or variance < 1


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(1), Fraction(5, 2), LONG, Fraction(400)])
def test_chi_square_and_a_deviation_ten_percent_off(variance, p_value):
    draws = DiscreteGaussian(variance).sample(150_000, SeededNoise(31))
    reach = int(5 * sqrt(variance)) + 2
    assert draws.dtype == np.int64
    assert p_value(counts(draws, reach), chances(variance, reach), len(draws)) > 1e-9
    for wrong in (variance / Fraction(121, 100), variance * Fraction(121, 100)):
        assert p_value(counts(draws, reach), chances(wrong, reach), len(draws)) < 1e-9


@pytest.mark.parametrize("variance", [Fraction(10**8, 3), Fraction(10**20), Fraction(2**100)])
def test_huge_variances_follow_the_normal_quantiles(variance, follows_normal):
    follows_normal(DiscreteGaussian(variance).sample(100_000, SeededNoise(32)) / sqrt(variance))


@pytest.mark.parametrize("variance", VARIANCES)
def test_proposal_times_coin_is_the_law(variance):
    """|k| / t + exponent(k) - k^2 / (2 v) does not depend on k: exact, in fractions."""
    envelope = _envelope(variance)
    rests = {
        k / envelope.law.scale + envelope.exponent(k) - Fraction(k * k) / (2 * variance) for k in (0, 1, 2, 9, 10**12)
    }
    assert len(rests) == 1


@pytest.mark.parametrize("variance", [*VARIANCES, Fraction(2**100)])
def test_cells_lie_below_and_near(variance):
    envelope = _envelope(variance)
    deviation = sqrt(variance)
    sizes = sorted({int(deviation * k / 50) + d for k in range(600) for d in (0, 1)} | {2**62})
    for size, cell in zip(sizes, envelope.cells(np.array(sizes)).tolist(), strict=True):
        place = envelope.exponent(size) * (1 << 14)
        assert 0 <= cell <= place
        assert place < cell + 2 or cell == LAST_CELL


@pytest.mark.parametrize("count", [0, 1, 7, CHUNK + 1])
def test_gives_as_many_as_asked(count):
    assert DiscreteGaussian(Fraction(100)).sample(count, SeededNoise(1)).shape == (count,)
    assert not DiscreteGaussian(Fraction(1, 50)).sample(count, SeededNoise(33)).any(), "a tiny one is nearly silent"


def law_table(variance):
    reach = int(45 * mpmath.sqrt(float(variance))) + 3
    v = mpmath.mpf(variance.numerator) / variance.denominator
    weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * v)) for k in range(reach)]
    total = weights[0] + 2 * mpmath.fsum(weights[1:])
    return [weights[0] / total] + [2 * w / total for w in weights[1:]]


@pytest.mark.parametrize("variance", [Fraction(1, 50), Fraction(1, 2), Fraction(1), Fraction(400)])
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


@pytest.mark.parametrize("beta", [0.05, 1e-6])
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


@pytest.mark.parametrize("variance", [Fraction(0), Fraction(-1), Fraction(2**100 + 1)])
def test_refuses_other_variances(variance):
    with pytest.raises(ValueError, match="variance"):
        DiscreteGaussian(variance)


@pytest.mark.parametrize("beta", [0.0, 1e-300, float("nan")])
def test_refuses_impossible_tails(beta):
    for variance in (Fraction(1), Fraction(10**9)):
        with pytest.raises(ValueError, match="beta"):
            DiscreteGaussian(variance).tail(beta)
        with pytest.raises(ValueError, match="beta"):
            DiscreteGaussian(variance).sum_tail(3, beta)


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(5, 2), LONG, Fraction(10**20)])
def test_proposals_are_kept_by_the_stated_variance(variance, checked_coins, monkeypatch):
    """The cells and exponents that a draw asks for are those of its own variance, proposal by proposal."""
    asked = []

    def coins(cells, exact, noise):
        asked.append([exact(i) for i in range(len(cells))])
        return checked_coins(cells, exact, noise)

    scale = Fraction(int(mpmath.floor(mpmath.sqrt(float(variance)))) + 1)
    proposals = np.abs(DiscreteLaplace(scale).sample(40, SeededNoise(34))).tolist()
    monkeypatch.setattr(discrete_gaussian, "bernoulli_exp", coins)
    DiscreteGaussian(variance)._propose(40, SeededNoise(34))
    assert asked == [[(size - variance / scale) ** 2 / (2 * variance) for size in proposals]]


def test_draws_are_negative_as_often_as_positive(p_value):
    draws = DiscreteGaussian(Fraction(100)).sample(20_000, SeededNoise(35))
    halves = [int((draws < 0).sum()), int((draws > 0).sum())]
    assert p_value(halves, [0.5, 0.5], sum(halves)) > 1e-9


@pytest.mark.parametrize(("draws", "beta"), [(1, 0.05), (50, 1e-6), (10**6, 1e-9)])
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


@pytest.mark.parametrize("variance", [Fraction(1, 20), Fraction(9), Fraction(10**20)])
def test_the_weighted_tail_is_the_two_sided_bound_of_normal_noise(variance):
    for beta in (0.3, 1e-9):
        bound = float(mpmath.sqrt(2 * float(variance) * mpmath.log(2 / mpmath.mpf(beta))))
        assert bound <= DiscreteGaussian(variance).weighted_tail(beta) <= bound * (1 + 1e-5)


@pytest.mark.parametrize("beta", [0.3, 1e-2, 1e-9])
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
