"""What pure draws and draws of bounded range cost in mu^2, held against the trade-off curves themselves."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import expit, ndtri
from scipy.stats import norm

from dpqr.kernel.budget import LARGE, SMALLEST, pure_of_squared_mu, squared_mu_of_pure, squared_mu_of_ranged

EPSILONS = [
    Fraction(1, 10**9),
    Fraction(1, 1000),
    Fraction(1, 3),
    Fraction(1),
    Fraction(6),
    Fraction(40),
    Fraction(1000),
]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_cost_is_the_least_one_rounded_up(epsilon):
    with mpmath.workdps(60):
        level = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        place = mpmath.sqrt(mpmath.mpf(squared_mu_of_pure(epsilon).numerator)) / mpmath.sqrt(
            squared_mu_of_pure(epsilon).denominator
        )
        reached = mpmath.log(mpmath.ncdf(place / 2) / mpmath.ncdf(-place / 2))
        assert 0 <= reached / level - 1 < mpmath.mpf(10) ** -25


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_what_a_price_buys_costs_no_more(epsilon):
    bought = pure_of_squared_mu(epsilon)
    assert squared_mu_of_pure(bought) <= epsilon
    assert squared_mu_of_pure(bought * (1 + Fraction(1, 10**13))) > epsilon


def test_nothing_costs_nothing_and_no_epsilon_is_too_small_or_too_large():
    assert squared_mu_of_pure(Fraction(0)) == squared_mu_of_ranged(Fraction(0)) == 0
    assert 0 < squared_mu_of_pure(Fraction(1, 10**80)) == squared_mu_of_pure(SMALLEST) < Fraction(1, 10**39)
    assert squared_mu_of_pure(Fraction(10**80)) == 8 * 10**80
    assert Fraction(99, 100) < squared_mu_of_pure(Fraction(LARGE)) / (8 * LARGE) < 1


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 3.0, 10.0])
def test_no_draw_of_bounded_range_needs_more_mu(epsilon):
    """Two outcomes whose log-odds move by epsilon, wherever they lie: probit p - probit q is largest in the middle."""
    middles = np.linspace(-12, 12, 2001)
    needed = ndtri(expit(middles + epsilon / 2)) - ndtri(expit(middles - epsilon / 2))
    cost = float(squared_mu_of_ranged(Fraction(epsilon))) ** 0.5
    assert needed.max() == pytest.approx(cost, rel=1e-9)
    assert (needed <= cost * (1 + 1e-9)).all()


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 3.0])
def test_randomised_response_stays_below_the_curve_of_its_mu_and_touches_it(epsilon):
    mu = float(squared_mu_of_pure(Fraction(epsilon))) ** 0.5
    levels = np.linspace(-epsilon, epsilon, 401)
    spent = (np.exp(epsilon) - np.exp(levels)) / (1 + np.exp(epsilon))
    curve = norm.cdf(mu / 2 - levels / mu) - np.exp(levels) * norm.cdf(-mu / 2 - levels / mu)
    assert (spent <= curve + 1e-12).all()
    assert spent[200] == pytest.approx(curve[200], rel=1e-9)
