"""The loss of a stated law against closed forms: every figure here can be worked out by hand.

The audit's own prices: by hand, and against the accountants, which must not claim less.
"""

from fractions import Fraction
from math import erfc, exp, inf, log, sqrt

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.audit.case import (
    Claim,
    LossDistribution,
    claimed_share,
    epsilon_at,
    epsilon_of,
    exact_share,
    loss_law,
    rho_of,
)
from dpqr.audit.law import IntegerGaussian, Selection, TwoSidedGeometric
from dpqr.audit.run import cases_by_name
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    PermuteAndFlipEvent,
    PureSumEvent,
    RhoSumEvent,
    RoundedGaussianEvent,
    SphericalLaplaceEvent,
)


def laplace(*answers, scale=2.0):
    return tuple(TwoSidedGeometric(answer=answer, scale=scale) for answer in answers)


def gaussian(*answers, variance=9.0):
    return tuple(IntegerGaussian(answer=answer, variance=variance) for answer in answers)


def test_laplace_loses_the_distance_over_the_scale():
    assert loss_law(laplace(0, 5), laplace(1, 3)).epsilon == pytest.approx(3 / 2, abs=1e-9)


def test_gaussian_loses_half_the_squared_distance_over_the_variance():
    assert loss_law(gaussian(0, 0), gaussian(3, 0)).rho == pytest.approx(9 / 18, rel=2e-3)  # losses lie on a grid


def test_the_gaussian_curve():
    """Balle and Wang 2018, Theorem 8, at a shift of 300 and a deviation of 300: mu = 1."""

    def normal(x):
        return erfc(-x / sqrt(2)) / 2

    law = loss_law(gaussian(0, variance=300.0**2), gaussian(300, variance=300.0**2))
    assert law.delta(1.0) == pytest.approx(normal(-0.5) - exp(1) * normal(-1.5), rel=2e-2)


def test_losses_of_independent_numbers_add_up():
    two = LossDistribution(np.array([-1.0, 1.0]), np.array([0.25, 0.75]))
    both = two.plus(two)
    assert both.losses == pytest.approx([-2, 0, 2], abs=1e-9)
    assert both.chances == pytest.approx([1 / 16, 6 / 16, 9 / 16])


@in_one_test(("epsilon", "refuted"), [(Fraction(3, 2), False), (Fraction(149, 100), True)])
def test_a_pure_claim_is_held_against_the_largest_loss(epsilon, refuted):
    assert (exact_share(laplace(0), laplace(3), Claim(epsilon=epsilon)) > 1) is refuted


def test_a_claim_in_rho_is_held_against_it():
    one, two = gaussian(0), gaussian(3)
    assert exact_share(one, two, Claim(epsilon=Fraction(50), delta=Fraction(1, 100), rho=Fraction(1, 2))) <= 1
    assert exact_share(one, two, Claim(epsilon=Fraction(50), delta=Fraction(1, 100), rho=Fraction(48, 100))) > 1


def test_a_claim_at_a_delta_is_held_against_its_curve():
    one, two = (Selection(scores=np.array([0.0, gap]), rate=1.0) for gap in (0.0, 2.0))
    p, q = 1 / 2, 1 / (1 + exp(2))
    delta = p - exp(0.5) * q
    sound = Claim(epsilon=Fraction(1, 2), delta=Fraction(delta) * Fraction(1001, 1000))
    assert exact_share((one,), (two,), sound) <= 1
    assert exact_share((one,), (two,), Claim(epsilon=Fraction(1, 2), delta=Fraction(delta) * Fraction(99, 100))) > 1


LAPLACE = DiscreteLaplaceEvent(sensitivity=3, scale=Fraction(6))
GAUSSIAN = DiscreteGaussianEvent(squared_sensitivity=4, variance=Fraction(8))
ROUNDED = RoundedGaussianEvent(squared_sensitivity=4, variance=Fraction(8))


@in_one_test(
    ("event", "epsilon", "rho"),
    [
        (LAPLACE, 1 / 2, 1 / 8),
        (SphericalLaplaceEvent(sensitivity=3, scale=Fraction(6), coordinates=9), 1 / 2, 1 / 8),
        (GAUSSIAN, inf, 1 / 4),
        (ROUNDED, inf, 1 / 4),
        (ExponentialEvent(epsilon=Fraction(2)), 2, 1 / 2),
        (PermuteAndFlipEvent(epsilon=Fraction(2)), 2, 2),
        (PureSumEvent(epsilon=Fraction(2)), 2, 2),
        (RhoSumEvent(rho=Fraction(3)), inf, 3),
    ],
)
def test_prices_by_hand(event, epsilon, rho):
    assert epsilon_of(event) == epsilon
    assert rho_of(event) == pytest.approx(rho, rel=1e-15)


def test_the_conversion_lies_below_the_simple_one_and_above_the_mean_loss():
    """Bun and Steinke 2016, Proposition 1.3: rho + 2 sqrt(rho log(1 / delta)) is proved; nothing below rho can be."""
    rho, delta = 0.3, 1e-6
    assert rho < epsilon_at(rho, delta) < rho + 2 * sqrt(rho * log(1 / delta))


def test_a_claim_that_is_too_small_is_seen():
    events = ((LAPLACE, 2), (ExponentialEvent(epsilon=Fraction(1)), 1))
    assert claimed_share(Claim.pure(events)) <= 1
    assert claimed_share(Claim(epsilon=Fraction(19, 10), events=events)) > 1
    drawn = ((GAUSSIAN, 3),)
    sound = Claim.concentrated(drawn, Fraction(1, 10**6))
    assert claimed_share(sound) <= 1
    for less in (
        Claim(epsilon=sound.epsilon * Fraction(999, 1000), delta=sound.delta, rho=sound.rho, events=drawn),
        Claim(epsilon=sound.epsilon, delta=sound.delta, rho=sound.rho * Fraction(999, 1000), events=drawn),
    ):
        assert claimed_share(less) > 1


def test_no_case_of_the_build_claims_less():
    assert {
        name: claimed_share(case.claim) for name, case in cases_by_name().items() if claimed_share(case.claim) > 1
    } == {}
