"""Objective perturbation: the loss of privacy against densities worked out anew, and the event of what is drawn."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.prediction_tables import UNITS, examples

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.learned_functions import FINENESS
from dpqr.mechanisms.perturbed_functions import SENSITIVITY, PerturbedWeights
from dpqr.prediction.losses import Logistic
from dpqr.prediction.perturbed import PerturbedLearner
from dpqr.privacy.accountants.losses import log_above, pure_epsilon

SIGNS = [-1.0, 1.0]
VECTORS = [[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]]
ROWS = [(0, 1), (1, 0), (2, 1), (2, 1)]


def learner(strength=1, relation=Neighbours.ADD_REMOVE, vectors=VECTORS, unit=None):
    return PerturbedLearner(
        examples=examples(vectors, SIGNS), loss=Logistic(), strength=Fraction(strength), unit=unit or UNITS[relation]
    )


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
