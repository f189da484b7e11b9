"""P21 to P27: the base mechanisms, by sums over their stated laws."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mpmath import exp, gamma, inf, mpf, quad, sqrt
from proofs.exact import (
    LEAST,
    discrete_normal,
    exponential_law,
    gaussian_curve,
    geometric,
    hockey_stick,
    losses,
    permute_and_flip_law,
    real,
    renyi,
    rounded_normal,
    two_sided_geometric,
)
from support.cases import in_one_test, thinned

from dpqr.kernel.accountants.analytic import Analytic
from dpqr.kernel.accountants.losses import concentrated_rho, pure_epsilon
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    PermuteAndFlipEvent,
    RoundedGaussianEvent,
    SphericalLaplaceEvent,
)
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace, Geometric
from dpqr.kernel.noise.gaussian import DiscreteGaussian, RoundedGaussian
from dpqr.kernel.noise.spherical_laplace import SphericalLaplace
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.selection import ExponentialChoice, QueryScores
from dpqr.workload.block import Factor, QueryBlock


def moved(law, shift):
    """Laws of x + noise and x + shift + noise on the outcomes that both have."""
    shared = [k for k in law if k - shift in law]
    return [law[k] for k in shared], [law[k - shift] for k in shared]


def moments(law):
    """Standard deviation and mean size."""
    return sqrt(sum(k**2 * p for k, p in law.items())), sum(abs(k) * p for k, p in law.items())


@in_one_test("scale", [Fraction(1, 3), Fraction(2), Fraction(7, 2)])
def test_p21_a_shift_of_laplace_noise_loses_exactly_what_is_stated(scale):
    law = two_sided_geometric(scale, 60)
    for shift in (1, 2, 5):
        event = DiscreteLaplaceEvent(sensitivity=shift, scale=scale)
        below, above = losses(*moved(law, shift))
        assert max(abs(above), abs(below)) <= real(pure_epsilon(event)) + LEAST
        assert above >= real(pure_epsilon(event)) - LEAST
        assert (
            max(renyi(*moved(law, shift), order) / order for order in (2, 5)) <= real(concentrated_rho(event)) + LEAST
        )
    wide = two_sided_geometric(scale, 400)
    deviation, size = moments(wide)
    stated = DiscreteLaplace(scale)
    assert (stated.deviation, stated.mean_size) == pytest.approx((float(deviation), float(size)), rel=1e-9)
    for beta in (0.3, 0.01):
        k = stated.tail(beta)
        beyond = [sum(p for j, p in wide.items() if abs(j) > m) for m in (k, k - 1)]
        assert beyond[0] <= beta
        assert k == 0 or beyond[1] > beta


def test_p22_one_sided_noise_keeps_its_ratio_below_and_above():
    scale, law = Fraction(3), geometric(Fraction(3), 300)
    at_least = {t: sum(p for k, p in law.items() if k >= t) for t in range(-4, 40)}
    for t, m in product(range(-4, 30), (0, 1, 3)):
        assert at_least[t] <= exp(m / real(scale)) * at_least[t + m] + LEAST
        if t >= 0:
            assert abs(law[t] - exp(m / real(scale)) * law[t + m]) <= LEAST
    assert Geometric(scale).mean == pytest.approx(float(sum(k * p for k, p in law.items())), rel=1e-9)


@in_one_test("variance", [Fraction(1, 2), Fraction(4), Fraction(25)])
def test_p23_discrete_normal_noise_diverges_by_no_more_than_its_rho(variance):
    law = discrete_normal(variance, 60)
    for shift in (1, 2):
        event = DiscreteGaussianEvent(squared_sensitivity=shift**2, variance=variance)
        rho = real(concentrated_rho(event))
        found = [renyi(*moved(law, shift), order) / order for order in (mpf("1.01"), 2, 5)]
        assert max(found) <= rho + LEAST
        # A whole order times a whole shift meets the bound.
        assert abs(found[1] - rho) <= mpf(10) ** -10
    assert pure_epsilon(DiscreteGaussianEvent(squared_sensitivity=1, variance=variance)) is None
    deviation, size = moments(law)
    assert (DiscreteGaussian(variance).deviation, DiscreteGaussian(variance).mean_size) == pytest.approx(
        (float(deviation), float(size)), rel=1e-9
    )


@in_one_test("variance", [Fraction(1, 4), Fraction(4)])
def test_p24_rounded_normal_noise_keeps_to_the_curve_and_the_rho_of_the_normal(variance):
    law = rounded_normal(variance, 40)
    for shift in (1, 3):
        mu = shift / sqrt(real(variance))
        event = RoundedGaussianEvent(squared_sensitivity=shift**2, variance=variance)
        for epsilon in (mpf(1) / 10, mpf(1), mpf(3)):
            assert hockey_stick(*moved(law, shift), exp(epsilon)) <= gaussian_curve(mu, epsilon) + LEAST
        kept = [pair for pair in zip(*moved(law, shift), strict=True) if min(pair) > mpf(10) ** -25]
        assert renyi(*zip(*kept, strict=True), 2) / 2 <= real(concentrated_rho(event))
        stated = Analytic().epsilon(((event, 1),), Fraction(1, 10**6))
        assert (
            gaussian_curve(mu, real(stated)) <= mpf(10) ** -6 < gaussian_curve(mu, real(stated) * (1 - mpf(10) ** -8))
        )
    deviation, size = moments(law)
    assert (RoundedGaussian(variance).deviation, RoundedGaussian(variance).mean_size) == pytest.approx(
        (float(deviation), float(size)), rel=1e-9
    )


@in_one_test("width", [1, 2, 5])
def test_p25_spherical_noise_has_the_stated_ratio_and_deviation(width):
    """Densities on a grid of places and moves; the norm's law is the gamma law of `width`."""
    scale, drawn = Fraction(3), np.random.default_rng(5)
    event = SphericalLaplaceEvent(sensitivity=2, scale=scale, coordinates=width)
    for _ in range(200):
        place, move = drawn.normal(size=width) * 5, drawn.normal(size=width)
        move *= 2 / np.linalg.norm(move)
        ratio = (np.linalg.norm(place + move) - np.linalg.norm(place)) / float(scale)
        assert abs(ratio) <= float(pure_epsilon(event)) + 1e-12
    assert pure_epsilon(event) == Fraction(2, 3)
    squared = quad(lambda r: r ** (width + 1) * exp(-r), [0, inf]) / gamma(width)
    own = sqrt(squared * 9 / width + mpf(1) / 12)
    assert SphericalLaplace(scale, width).deviation == pytest.approx(float(own), rel=1e-9)


@pytest.mark.parametrize("epsilon", thinned([Fraction(1, 2), Fraction(3)], 2))
@pytest.mark.parametrize("sensitivity", thinned([1, 3], 2))
def test_p26_p27_no_scores_lose_more_than_a_selection_costs(epsilon, sensitivity):
    """All moves of up to the sensitivity, up and down, of three scores."""
    block = QueryBlock(name="counts", factors=(Factor.identity(0, 3),))
    scores = QueryScores(blocks=(block,), ratios=(sensitivity,), expected=np.zeros(3, dtype=np.int64))
    rate = ExponentialChoice(scores=scores, unit=PrivacyUnit(), epsilon=epsilon).rate
    assert rate == epsilon / (2 * sensitivity)
    worst, widest, rho = [mpf(0), mpf(0)], [mpf(0), mpf(0)], [mpf(0), mpf(0)]
    for start in ((0, 0, 0), (0, 1, 4), (0, 0, 6)):
        for move in product((-sensitivity, 0, sensitivity), repeat=3):
            other = [score + by for score, by in zip(start, move, strict=True)]
            for kind, law in enumerate((exponential_law, permute_and_flip_law)):
                pair = law(start, rate), law(other, rate)
                below, above = losses(*pair)
                worst[kind] = max(worst[kind], above, -below)
                widest[kind] = max(widest[kind], above - below)
                rho[kind] = max(rho[kind], *(renyi(*pair, order) / order for order in (mpf("1.1"), 2, 8)))
    for kind, event in enumerate((ExponentialEvent(epsilon=epsilon), PermuteAndFlipEvent(epsilon=epsilon))):
        stated = real(pure_epsilon(event))
        assert stated * mpf("0.7") <= worst[kind] <= stated + LEAST
        assert rho[kind] <= real(concentrated_rho(event))
    # Bounded range holds for the first and fails for the second.
    assert widest[0] <= real(epsilon) + LEAST < widest[1]
