"""Objective perturbation: the minimiser, its tolerance, and the loss of privacy against densities worked out anew."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize
from support.prediction_tables import UNITS, counts, examples

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.learned_functions import FINENESS
from dpqr.mechanisms.perturbed_functions import SENSITIVITY, PerturbedWeights
from dpqr.prediction.losses import Logistic
from dpqr.prediction.perturbed import CLOSING, Perturbation, PerturbedLearner, Pulled
from dpqr.privacy.accountants.losses import log_above, pure_epsilon

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


def density(rows, strength, scale, point):
    """log density of the minimiser at a point: that of the pull which leads there, times the determinant."""
    gradient, curved = strength * point, strength * np.eye(2)
    for vector, sign in rows:
        x, y = np.array(VECTORS[vector]), SIGNS[sign]
        share = 1 / (1 + math.exp(y * (x @ point)))
        gradient = gradient - y * share * x
        curved = curved + share * (1 - share) * np.outer(x, x)
    return -np.linalg.norm(gradient) / scale + math.log(np.linalg.det(curved))


@pytest.mark.parametrize(
    ("relation", "one", "two"),
    [
        (Neighbours.ADD_REMOVE, ROWS, ROWS[:-1]),
        (Neighbours.ADD_REMOVE, [(0, 1)], []),
        (Neighbours.REPLACE, [(0, 1)], [(0, 0)]),
        (Neighbours.REPLACE, [*ROWS, (0, 1)], [*ROWS, (1, 1)]),
    ],
)
@pytest.mark.parametrize("strength", [0.25, 2])
def test_no_density_ratio_exceeds_the_stated_loss(relation, one, two, strength):
    """Both directions, on a grid and far out; and the loss comes within 15% of it somewhere."""
    scale, drawn = 1.0, np.random.default_rng(0)
    given = learner(strength, relation)
    stated = float(given.gradient) / scale + given.units * math.log1p(0.25 / strength)
    assert stated <= float(given.gradient) / scale + given.units * float(log_above(given.curvature))
    worst = 0.0
    for size in (0.1, 1, 10, 100):
        for point in size * drawn.normal(size=(100, 2)):
            worst = max(worst, abs(density(one, strength, scale, point) - density(two, strength, scale, point)))
    assert worst <= stated


def test_the_loss_is_nearly_reached_by_one_row():
    """At 0 curvature is largest and the gradient half of its bound; far out the gradient is full: the pull's part."""
    far = np.array([-30.0, 0.0])
    moved = abs(density([(0, 1)], 2, 1.0, far) - density([], 2, 1.0, far))
    assert moved == pytest.approx(1, abs=1e-6)
    stated = 1 + math.log1p(1 / 8)
    assert moved >= 0.85 * stated


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("relation", Neighbours)
def test_the_event_is_what_is_drawn(relation, rows):
    unit = PrivacyUnit(neighbours=relation, **({"column": "p", "rows": rows} if rows > 1 else {}))
    given = learner(2, unit=unit)
    weights = PerturbedWeights(learner=given, scale=Fraction(SENSITIVITY) * 3, closing=Fraction(2**20 * 100))
    gradients = rows * (2 if relation is Neighbours.REPLACE else 1)
    assert given.gradient == gradients
    assert (weights.event.units, weights.event.coordinates) == (rows, 2)
    assert float(weights.event.curvature) == pytest.approx(1 / 8)
    expected = 1 / 3 + rows * math.log1p(1 / 8) + (2**20 + 3) / (2**20 * 100)
    assert float(pure_epsilon(weights.event)) == pytest.approx(expected, rel=1e-3)
    assert float(pure_epsilon(weights.event)) >= expected
    half_a_step = gradients / FINENESS / 2 * math.sqrt(2) / 2
    assert float(weights.wrong) >= float(given.tolerance) + half_a_step
    assert weights.grid == pytest.approx(2 * float(weights.wrong) / FINENESS)


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
