"""Objective perturbation: the minimiser, its tolerance, and the loss of privacy against densities worked out anew."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize
from support.prediction_tables import UNITS, counts, examples

from dpqr.data.unit import Neighbours
from dpqr.prediction.losses import Logistic
from dpqr.prediction.perturbed import CLOSING, Perturbation, PerturbedLearner, Pulled
from dpqr.privacy.accountants.losses import pure_epsilon

SIGNS = [-1.0, 1.0]
VECTORS = [[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]
ROWS = [(0, 1), (1, 0), (2, 1), (2, 1)]


def learner(strength=1, relation=Neighbours.ADD_REMOVE, vectors=VECTORS, unit=None):
    return PerturbedLearner(
        examples=examples(vectors, SIGNS), loss=Logistic(), strength=Fraction(strength), unit=unit or UNITS[relation]
    )


def objective(rows, strength, pull, point):
    losses = [np.logaddexp(0, -SIGNS[sign] * (VECTORS[vector] @ point)) for vector, sign in rows]
    return sum(losses) + strength / 2 * point @ point + pull @ point


@pytest.mark.parametrize("strength", [0.25, 5])
@pytest.mark.parametrize("pull", [[0.0, 0.0], [3.0, -40.0], [-1e4, 5e3]])
def test_it_finds_the_minimiser(strength, pull):
    found = learner(strength).fit(counts(ROWS), np.array(pull))
    near = optimize.minimize(lambda w: objective(ROWS, strength, np.array(pull), w), found, tol=1e-12).x
    assert np.linalg.norm(found - near) <= float(learner(strength).tolerance)


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


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(8)])
def test_what_a_price_buys_costs_the_price(epsilon):
    figures = Perturbation(width=100, gradient=Fraction(1), units=1, lipschitz=Fraction(1), smoothness=Fraction(1, 4))
    event = figures.event(epsilon)
    assert pure_epsilon(event) == epsilon
    assert event.closing == CLOSING * epsilon
    known = Perturbation(
        width=100,
        gradient=Fraction(1),
        units=1,
        lipschitz=Fraction(1),
        smoothness=Fraction(1, 4),
        moments=(0.5, 0.1),
        records=1000,
    )
    assert known.spread(epsilon) < figures.spread(epsilon)


def test_where_the_determinant_costs_too_much_it_is_not_offered():
    wide = Perturbation(width=1, gradient=Fraction(1), units=50, lipschitz=Fraction(1), smoothness=Fraction(4))
    assert wide.event(Fraction(1, 10)) is None
    assert wide.spread(Fraction(1, 10)) == math.inf
