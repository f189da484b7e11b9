"""Objective perturbation: the minimiser, its tolerance, and the loss of privacy against densities worked out anew."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit
from support.prediction_tables import UNITS, counts, examples

from dpqr.data.unit import Neighbours
from dpqr.prediction.losses import Hinge, Logistic, Pinball
from dpqr.prediction.perturbed import CLOSING, Perturbation, PerturbedLearner, Pulled, widened
from dpqr.prediction.solver import FEATURE_NORM
from dpqr.privacy.accountants.analytic import Analytic
from dpqr.privacy.accountants.losses import log_above, pure_epsilon

SIGNS = [-1.0, 1.0]
VECTORS = [[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]
ROWS = [(0, 1), (1, 0), (2, 1), (2, 1)]


def learner(strength=1, relation=Neighbours.ADD_REMOVE, vectors=VECTORS, unit=None):
    return PerturbedLearner(
        examples=examples(vectors, SIGNS), loss=Logistic(), strength=Fraction(strength), unit=unit or UNITS[relation]
    )


def gradient(rows, strength, pull, point):
    slopes = [-SIGNS[sign] * expit(-SIGNS[sign] * (np.array(VECTORS[vector]) @ point)) for vector, sign in rows]
    pulls = [slope * np.array(VECTORS[vector]) for slope, (vector, _) in zip(slopes, rows, strict=True)]
    return sum(pulls) + strength * point + pull


@pytest.mark.parametrize("strength", [0.25, 5])
@pytest.mark.parametrize("pull", [[0.0, 0.0], [3.0, -40.0], [-1e4, 5e3]])
def test_it_finds_the_minimiser(strength, pull):
    """By strong convexity a point is no further from it than its gradient over the strength."""
    found = learner(strength).fit(counts(ROWS), np.array(pull))
    assert np.linalg.norm(gradient(ROWS, strength, np.array(pull), found)) <= strength * learner(strength).tolerance


def test_the_sum_of_losses_is_no_average():
    """Twice the rows at twice the strength and pull have the same minimiser; nothing is divided by their number."""
    once, twice = learner(3).fit(counts(ROWS), np.ones(2)), learner(6).fit(counts(ROWS * 2), 2 * np.ones(2))
    np.testing.assert_allclose(once, twice, atol=2e-4)


def test_extended_precision_gives_the_same_function(monkeypatch):
    exact = learner().fit(counts(ROWS), np.ones(2))
    seen = []

    def rounding(self, point, weight):
        seen.append(self.extended)
        return 1e9

    monkeypatch.setattr(Pulled, "rounding", rounding)
    np.testing.assert_allclose(learner().fit(counts(ROWS), np.ones(2)), exact, atol=1e-3)
    assert seen == [False]


def test_no_rows_and_a_large_pull_are_no_error():
    assert learner(2).fit(counts([]), np.array([4.0, 0.0])) == pytest.approx([-2, 0], abs=1e-3)


def figures(changes=1, **given):
    usual = {"width": 100, "gradient": Fraction(changes), "units": 1, "loss": Logistic(), "reach": 10}
    return Perturbation(**{**usual, "changes": changes, **given})


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)])
def test_what_a_price_buys_costs_the_price(epsilon):
    event = figures().event(epsilon)
    assert pure_epsilon(event) == epsilon
    assert event.closing == CLOSING * epsilon
    known = figures(moments=(0.5, 0.1), records=1000)
    assert known.spread(event) < figures().spread(event)


@pytest.mark.parametrize("changes", [1, 2, 6])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(8)])
def test_what_a_price_buys_of_a_normal_pull_costs_the_price(epsilon, changes):
    given = figures(changes, delta=Fraction(1, 10**6))
    event = given.gaussian_event(epsilon)
    assert 0 <= epsilon - Analytic().epsilon(((event, 1),), given.delta) <= epsilon / 10**6
    assert event.closing == CLOSING * epsilon
    balanced = max(10 * given.deviation(event) * changes / 10, 0.25)
    assert float(given.strength(event)) == pytest.approx(balanced, rel=0.3)


def test_a_normal_pull_needs_a_delta_and_few_records_of_a_person():
    delta = Fraction(1, 10**6)
    assert [figures(changes, delta=delta).normal for changes in (1, 16, 17)] == [True, True, False]
    assert not figures().normal
    assert figures(16, delta=delta).gaussian_event(Fraction(1, 10**5)) is None


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(30)])
@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Pinball(tau=Fraction(9, 10))])
def test_the_determinant_has_a_quarter_of_epsilon_at_most(loss, epsilon):
    """Whatever the loss, the width and the persons' rows, by either pull."""
    given = figures(6, width=1, units=3, loss=loss, gradient=6 * loss.lipschitz, delta=Fraction(1, 10**6))
    for event, number in ((given.event(epsilon), 3), (given.gaussian_event(epsilon), 6)):
        assert number * log_above(event.curvature) <= epsilon * Fraction(21, 80)
        assert given.strength(event) * event.curvature == loss.smoothness * FEATURE_NORM**2
    assert pure_epsilon(given.event(epsilon)) == epsilon
    assert Analytic().epsilon(((given.gaussian_event(epsilon), 1),), given.delta) <= epsilon


def test_an_opposite_slope_costs_more_than_none_and_less_than_a_second_record():
    price, delta = Fraction(1), Fraction(1, 10**6)
    median, most, one = (
        figures(loss=loss, delta=delta).gaussian_event(price).variance
        for loss in (Pinball(), Pinball(tau=Fraction(99, 100)), Hinge(width=Fraction(1, 32)))
    )
    assert one <= most < 1.01 * one < median < 1.1 * one


def test_a_corner_is_rounded_more_widely_where_records_are_few_and_epsilon_is_small():
    widths = [widened(Hinge(), 10, n, epsilon).width for n, epsilon in ((10**7, 1), (10**4, 1), (10**4, Fraction(1, 10)))]
    assert widths == [Fraction(1, 8), Fraction(47, 100), 1]
    assert widened(Hinge(), 10, None, Fraction(1)).width == Fraction(47, 100)
    assert widened(Logistic(), 10, 100, Fraction(1)) == Logistic()
    assert widened(Pinball(tau=Fraction(3, 4)), 2, 10**4, Fraction(1)).tau == Fraction(3, 4)
