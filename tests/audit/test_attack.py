"""The attack on mechanisms whose loss is known: never above it but for the stated alarm, and near it with many runs.

Limits against the equation that defines them, in 40 digits, and against how often they really hold.
"""

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import beta, binom

from dpqr.audit.attack import attack, lower_limits, proved_by, strongest, upper_limits
from dpqr.audit.case import Claim, Outcomes

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


CASES = [(1, 10), (7, 10), (9, 10), (3, 1_500), (375, 1_500), (1_499, 1_500), (12, 50_000), (30_000, 50_000)]
ALPHAS = [1e-9, 1e-4, 0.05]


def tail(runs: int, hits: int, probability: float) -> mpmath.mpf:
    """Pr[Binomial(runs, probability) >= hits], summed from the side with fewer terms."""
    with mpmath.workdps(40):
        p = mpmath.mpf(float(probability))
        few = range(hits, runs + 1) if runs - hits < hits else range(hits)
        mass = mpmath.fsum(mpmath.binomial(runs, k) * p**k * (1 - p) ** (runs - k) for k in few)
        return mass if runs - hits < hits else 1 - mass


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("hits", "runs"), [case for case in CASES if case[1] <= 1_500])
def test_the_limits_solve_their_equations(hits, runs, alpha):
    low, high = lower_limits(np.array([hits]), runs, alpha)[0], upper_limits(np.array([hits]), runs, alpha)[0]
    assert tail(runs, hits, low) <= alpha < tail(runs, hits, low * (1 + 1e-6))
    assert 1 - tail(runs, hits + 1, high) <= alpha < 1 - tail(runs, hits + 1, high * (1 - 1e-6))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_limits_are_quantiles_of_beta_laws(alpha):
    hits, runs = np.array([hits for hits, _ in CASES[-2:]]), 50_000
    assert lower_limits(hits, runs, alpha) == pytest.approx(beta.ppf(alpha, hits, runs - hits + 1), rel=1e-7)
    assert upper_limits(hits, runs, alpha) == pytest.approx(beta.isf(alpha, hits + 1, runs - hits), rel=1e-7)


def test_nothing_and_everything():
    assert lower_limits(np.array([0]), 50, 0.01).tolist() == [0.0]
    assert upper_limits(np.array([50]), 50, 0.01).tolist() == [1.0]
    assert upper_limits(np.array([0]), 50, 0.01)[0] == pytest.approx(1 - 0.01 ** (1 / 50))
    assert lower_limits(np.array([50]), 50, 0.01)[0] == pytest.approx(0.01 ** (1 / 50))


@pytest.mark.parametrize("probability", [0.003, 0.2, 0.5, 0.97])
def test_each_limit_fails_no_more_often_than_it_says(probability):
    runs, alpha, hits = 300, 0.03, np.arange(301)
    weights = binom.pmf(hits, runs, probability)
    assert weights[lower_limits(hits, runs, alpha) > probability].sum() <= alpha
    assert weights[upper_limits(hits, runs, alpha) < probability].sum() <= alpha
