from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.releases.answers.figures import AddedUp, Covariances, fieller, invert_curve, rising
from dpqr.workload.figures import moments


def test_fieller_holds_the_quotients_that_are_not_contradicted() -> None:
    errors = np.array([[[4.0, 1.0], [1.0, 2.0]]])
    span = fieller(np.array([30.0]), np.array([20.0]), errors, 1.96)
    for quotient in (float(span.lower[0]), float(span.upper[0])):
        deviation = math.sqrt(4.0 - 2 * quotient + quotient**2 * 2.0)
        assert abs(30.0 - quotient * 20.0) == pytest.approx(1.96 * deviation)
    assert span.lower[0] < 1.5 < span.upper[0]
    assert not span.small[0]


def test_a_denominator_that_may_be_zero_says_nothing() -> None:
    errors = np.array([np.diag([1.0, 100.0])] * 2)
    span = fieller(np.array([5.0, 5.0]), np.array([12.0, -40.0]), errors, 1.96).within(0.0, 9.0)
    assert span.small.tolist() == [True, True]
    assert (span.lower.tolist(), span.upper.tolist()) == ([0.0, 0.0], [9.0, 9.0])
    assert np.isnan(span.error).all()


def test_covariances_follow_from_deviations_of_differences() -> None:
    wanted = np.array([[4.0, 1.0, -0.5], [1.0, 9.0, 2.0], [-0.5, 2.0, 1.0]])
    tests = moments(3)
    deviations = np.sqrt(np.einsum("ti,ij,tj->t", tests, wanted, tests))[None]
    assert Covariances.of(deviations, 3).each[0] == pytest.approx(wanted)


def test_errors_that_add_up_are_no_smaller_than_any_covariance_makes_them() -> None:
    random = np.random.default_rng(8)
    for _ in range(50):
        root = random.normal(size=(2, 2))
        known = Covariances((root @ root.T)[None])
        added = AddedUp(np.sqrt(np.diagonal(known.each, axis1=1, axis2=2)))
        slopes = random.normal(size=(1, 2))
        assert known.along(slopes)[0] <= added.along(slopes)[0] + 1e-12
        top, bottom = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        quotient = abs(random.normal())
        one, other = (each.pair(top, bottom)[0] for each in (known, added))
        line = np.array([1.0, -quotient])
        assert line @ one @ line <= line @ other @ line + 1e-12


def test_two_laplace_draws_stay_within_the_deviations_of_one_as_often() -> None:
    """P[|a X + b Y| > t] = (a^2 exp(-t / a) - b^2 exp(-t / b)) / (a^2 - b^2), X and Y of the standard Laplace law: the
    partial fractions of the product of their characteristic functions. Here a^2 + b^2 = 1."""
    t = math.log(20)  # of one draw, whose deviation a X + b Y has
    for angle in np.linspace(1e-6, math.pi / 4 - 1e-6, 101):
        a, b = math.cos(angle), math.sin(angle)
        assert (a**2 * math.exp(-t / a) - b**2 * math.exp(-t / b)) / (a**2 - b**2) <= 0.05 + 1e-9
    law = DiscreteLaplace(Fraction(1000))
    assert law.tail(0.05) / law.deviation == pytest.approx(t / math.sqrt(2), rel=1e-3)


def test_a_curve_is_inverted_outwards() -> None:
    excess = np.array([[-40.0, -5.0, 3.0, 60.0], [-1.0, 1.0, 2.0, 3.0], [9.0, 9.0, 9.0, 9.0]])
    first, last = invert_curve(excess - 6.0, excess + 6.0)
    assert (first.tolist(), last.tolist()) == ([1, 0, 0], [3, 4, 0])
    (first,), _ = invert_curve(np.array([[-6.0]]), np.array([[0.0]]))  # the quantile may lie at the bin's very end
    assert first == 0


def test_the_nearest_rising_curve_is_no_further_from_a_true_one() -> None:
    random = np.random.default_rng(5)
    truth = np.cumsum(random.exponential(1.0, size=(200, 30)), axis=1)
    deviations = random.uniform(1.0, 4.0, size=(200, 30))
    noisy = truth + deviations * random.normal(size=(200, 30))
    found = rising(noisy, deviations)
    assert (np.diff(found, axis=1) >= -1e-9).all()
    assert np.mean(((found - truth) / deviations) ** 2) < 0.5 * np.mean(((noisy - truth) / deviations) ** 2)
    assert rising(truth, deviations) == pytest.approx(truth)
