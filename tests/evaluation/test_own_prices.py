"""The audit's own prices: by hand, and against the accountants, which must not claim less."""

from fractions import Fraction
from math import inf, log, sqrt

import pytest

from dpqr.app.audit import known_cases
from dpqr.evaluation.claim import Claim
from dpqr.evaluation.own_prices import epsilon_at, epsilon_of, own_share, rho_of
from dpqr.privacy.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    PermuteAndFlipEvent,
    PureSumEvent,
    RhoSumEvent,
    RoundedGaussianEvent,
)

LAPLACE = DiscreteLaplaceEvent(sensitivity=3, scale=Fraction(6))
GAUSSIAN = DiscreteGaussianEvent(squared_sensitivity=4, variance=Fraction(8))
ROUNDED = RoundedGaussianEvent(squared_sensitivity=4, variance=Fraction(8))


@pytest.mark.parametrize(
    ("event", "epsilon", "rho"),
    [
        (LAPLACE, 1 / 2, 1 / 8),
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
    assert own_share(Claim.pure(events)) <= 1
    assert own_share(Claim(epsilon=Fraction(19, 10), events=events)) > 1
    drawn = ((GAUSSIAN, 3),)
    sound = Claim.concentrated(drawn, Fraction(1, 10**6))
    assert own_share(sound) <= 1
    for less in (
        Claim(epsilon=sound.epsilon * Fraction(999, 1000), delta=sound.delta, rho=sound.rho, events=drawn),
        Claim(epsilon=sound.epsilon, delta=sound.delta, rho=sound.rho * Fraction(999, 1000), events=drawn),
    ):
        assert own_share(less) > 1


def test_no_case_of_the_build_claims_less():
    assert {name: own_share(case.claim) for name, case in known_cases().items() if own_share(case.claim) > 1} == {}
