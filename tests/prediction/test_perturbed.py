"""Objective perturbation: the minimiser, its tolerance, and the loss of privacy against densities worked out anew."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit
from support.prediction_tables import UNITS, counts, examples

from dpqr.data.unit import Neighbours
from dpqr.prediction.losses import Logistic
from dpqr.prediction.perturbed import CLOSING, Perturbation, PerturbedLearner, Pulled
from dpqr.privacy.accountants.analytic import Analytic
from dpqr.privacy.accountants.losses import pure_epsilon

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
    usual = {"width": 100, "gradient": Fraction(changes), "units": 1, "lipschitz": Fraction(1)}
    return Perturbation(**{**usual, "changes": changes, "smoothness": Fraction(1, 4), **given})


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


def test_where_the_determinant_costs_too_much_it_is_not_offered():
    wide = figures(width=1, units=50, smoothness=Fraction(4))
    assert wide.event(Fraction(1, 10)) is None
    assert wide.spread(None) == math.inf
