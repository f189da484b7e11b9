"""The attack on mechanisms whose loss is known: never above it but for the stated alarm, and near it with many runs."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from dpqr.evaluation.attack import attack, proved_by, strongest
from dpqr.evaluation.claim import Claim
from dpqr.evaluation.outcomes import Outcomes

EPSILON = Fraction(1)
CLAIM = Claim(epsilon=EPSILON)
TRUTH = 1 / (1 + np.exp(-1.0))


def seen(column):
    empty = np.zeros((len(column), 0), dtype=np.int64)
    return Outcomes(context=empty, measured=np.asarray(column, dtype=np.int64)[:, None], derived=empty)


def responses(generator, runs):
    """Randomised response to a bit that is set, and to one that is not: the claim is attained in both directions."""
    one, two = generator.random((2, runs))
    return seen(one < TRUTH), seen(two >= TRUTH)


def test_the_bound_comes_near_the_truth_and_stays_below():
    loss = attack(*responses(np.random.default_rng(1), 200_000), CLAIM, 1e-6)
    assert 0.95 < loss.share <= 1.0
    assert loss.epsilon == pytest.approx(loss.share)
    assert not loss.breach
    assert loss.rho is None


def test_a_claim_that_is_too_small_is_refuted():
    loss = attack(*responses(np.random.default_rng(2), 20_000), Claim(epsilon=Fraction(4, 5)), 1e-6)
    assert loss.breach


@pytest.mark.parametrize("alarm", [0.5, 0.1])
def test_false_alarms_are_no_more_frequent_than_they_may_be(alarm):
    """At loose alarms, where frequencies can be seen: in 400 attacks on a claim that is attained."""
    generator = np.random.default_rng(3)
    alarms = sum(attack(*responses(generator, 400), CLAIM, alarm).breach for _ in range(400))
    assert binom.sf(alarms - 1, 400, alarm) > 1e-9


def test_nothing_is_found_between_equals_with_many_outcomes():
    """The runs that chose an event always seem to refute; fresh ones do not."""
    generator = np.random.default_rng(4)
    claim = Claim(epsilon=Fraction(1, 1000))
    fooled = 0
    for _ in range(100):
        one, two = (seen(generator.integers(0, 40, 400)) for _ in range(2))
        assert not attack(one, two, claim, 1e-3).breach
        event = strongest(*(each.halves()[0] for each in (one, two)), claim, 0.05)
        fooled += proved_by(event, *(each.halves()[0] for each in (one, two)), claim, 0.05).breach
    assert fooled > 10


def test_delta_is_granted_before_the_ratio_is_taken():
    """A mechanism that tells all with probability 1/20 and nothing otherwise is (0, 1/20)-DP."""
    generator = np.random.default_rng(5)
    told = generator.random((2, 50_000)) < 0.05
    one, two = seen(np.where(told[0], 1, 0)), seen(np.where(told[1], -1, 0))
    assert not attack(one, two, Claim(epsilon=Fraction(1, 100), delta=Fraction(1, 20)), 1e-6).breach
    assert attack(one, two, Claim(epsilon=Fraction(1, 100), delta=Fraction(1, 25)), 1e-6).breach


def test_a_rho_is_refuted_where_its_epsilon_at_delta_is_not():
    one, two = responses(np.random.default_rng(6), 40_000)
    loose = Claim(epsilon=Fraction(10), delta=Fraction(1, 100), rho=Fraction(1, 3))
    assert attack(one, two, loose, 1e-6).breach
    exact = replace(loose, rho=EPSILON**2 / 2)
    assert not attack(one, two, exact, 1e-6).breach
