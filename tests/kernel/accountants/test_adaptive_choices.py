"""The curve of adaptive choices against its recursion, solved by hand, and against real draws."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from support.cases import in_one_test, slow_but, thinned

from dpqr.kernel.accountants import loss_laws as adaptive_choices
from dpqr.kernel.accountants.loss_laws import AdaptiveChoices, GaussianPair

PARTS = [-1.5, -0.6, -0.6 + 1 / 240, 0.0, 1 / 240, 0.5, 0.5 + 1 / 240, 1.1, 1.8]
"""Where curves are compared, in multiples of the epsilon of one choice; at odd multiples of 1 / 240 the worst range of
one choice lies between points of the grid."""


def one_choice(epsilon, a):
    """The closed form (Dong, Durfee and Rogers 2020)."""
    if abs(a) >= epsilon:
        return max(0.0, -math.expm1(a))
    return (math.exp(epsilon / 2) - math.exp(a / 2)) ** 2 / math.expm1(epsilon)


def two_choices(epsilon, a):
    """The first range is chosen for the curve of the second draw."""
    best = 0.0
    for t in np.linspace(0, epsilon, 2001):
        upper = (math.exp(epsilon) - math.exp(t)) / math.expm1(epsilon)
        value = upper * one_choice(epsilon, a - t) + (1 - upper) * one_choice(epsilon, a - t + epsilon)
        best = max(best, value)
    return best


def normal_curve(mu, a):
    return float(mpmath.ncdf(mu / 2 - a / mu) - mpmath.exp(a) * mpmath.ncdf(-mu / 2 - a / mu))


@pytest.mark.parametrize("epsilon", thinned(["0.1", "1", "3"], 3))
@pytest.mark.parametrize(("count", "exact"), slow_but({0}, [(1, one_choice), (2, two_choices)]))
def test_the_curve_is_that_of_the_recursion(epsilon, count, exact):
    found = AdaptiveChoices(epsilon=Fraction(epsilon), count=count)
    for part in PARTS:
        a = part * float(epsilon)
        wanted = exact(float(epsilon), a)
        assert wanted * (1 - 1e-12) <= found.delta(Fraction(a)) <= wanted + 2e-3 * float(epsilon)


def test_no_loss_is_beyond_all_ranges_together():
    found = AdaptiveChoices(epsilon=Fraction(1, 2), count=3)
    assert found.delta(Fraction(3, 2)) < 1e-12
    assert found.delta(Fraction(-2)) == pytest.approx(-math.expm1(-2), rel=1e-5)


def test_normal_noise_beside_a_choice_that_costs_nearly_nothing_has_its_own_curve():
    pair = GaussianPair(squared_mu=Fraction(1, 4))
    found = AdaptiveChoices(epsilon=Fraction(1, 10**6), count=1, normal=pair)
    for a in (0.1, 0.7, 2.0):
        assert found.delta(Fraction(a)) == pytest.approx(normal_curve(0.5, a), rel=5e-3)
        assert found.delta(Fraction(a)) >= normal_curve(0.5, a)


def draws(epsilon):
    """Laws of an exponential mechanism on two candidates and a neighbouring table, each score moved by 1 at most."""
    for apart, moves in itertools.product((0.0, 1.0, 3.0, 8.0), itertools.product((-1, 0, 1), repeat=2)):
        here, there = (np.exp(epsilon / 2 * np.array([0.0, other])) for other in (apart, apart + moves[0] - moves[1]))
        yield here / here.sum(), there / there.sum()


def reached(epsilon, places, curve):
    """Largest curve of one choice at each place, its range chosen for the curve of what follows it."""
    return np.max(
        [sum(p * curve(places - math.log(p / q)) for p, q in zip(*laws, strict=True)) for laws in draws(epsilon)],
        axis=0,
    )


def nothing_follows(places):
    return np.maximum(0.0, -np.expm1(places))


@in_one_test("epsilon", [0.4, 1.5])
def test_no_two_exponential_mechanisms_with_noise_between_them_exceed_the_curve(epsilon):
    """The second mechanism may follow from the first choice and from the noise; the worst one does for each."""
    mu, (nodes, weights) = 0.5, np.polynomial.hermite_e.hermegauss(41)
    last = np.linspace(-8, 8, 3201)
    second = reached(epsilon, last, nothing_follows)

    def noisy(places):
        losses = mu**2 / 2 + mu * nodes
        return np.interp(places[:, None] - losses, last, second) @ weights / math.sqrt(2 * math.pi)

    found = AdaptiveChoices(epsilon=Fraction(epsilon), count=2, normal=GaussianPair(squared_mu=Fraction(mu) ** 2))
    places = np.array([-0.5, 0.3, 1.0]) * epsilon
    largest = reached(epsilon, places, noisy)
    bounds = np.array([found.delta(Fraction(a)) for a in places])
    assert (largest <= bounds + 1e-5).all()
    assert (largest > 0.9 * bounds).all()


@in_one_test("epsilon", [0.4, 1.5])
def test_half_the_epsilon_is_caught_by_the_same_comparison(epsilon):
    found = AdaptiveChoices(epsilon=Fraction(epsilon) / 2, count=1)
    assert reached(epsilon, np.zeros(1), nothing_follows)[0] > found.delta(Fraction(0)) + 1e-2


def test_a_finer_grid_lowers_the_curve_a_little(monkeypatch):
    coarse = AdaptiveChoices(epsilon=Fraction(1, 10), count=20).delta(Fraction(1))
    monkeypatch.setattr(adaptive_choices, "TOTAL_STEPS_PER_RANGE", 4 * adaptive_choices.TOTAL_STEPS_PER_RANGE)
    fine = AdaptiveChoices(epsilon=Fraction(1, 10), count=20).delta(Fraction(1))
    assert 0.97 * coarse < fine < coarse


def test_long_recursions_are_left_to_sums_of_losses():
    assert AdaptiveChoices.feasible(Fraction(1, 100), 300)
    assert not AdaptiveChoices.feasible(Fraction(1, 100), 3000)
    assert not AdaptiveChoices.feasible(Fraction(10), 40)
