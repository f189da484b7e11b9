"""Objective perturbation: the minimiser, its tolerance, and the loss of privacy against densities worked out anew."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit
from support.prediction_tables import UNITS, built_pull_share, counts, examples, measured_pull_shares

from dpqr.data.unit import Neighbours
from dpqr.prediction.learners.losses import Logistic
from dpqr.prediction.learners.perturbed import PerturbedLearner, Pulled

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


@pytest.mark.parametrize("name", ["logistic", "hinge", "pinball"])
@pytest.mark.parametrize("relation", Neighbours)
def test_one_record_moves_the_minimiser_by_its_gradient_over_the_strength_at_most(name, relation):
    assert max(measured_pull_shares(np.random.default_rng(6), name, relation, 20)) <= 1
    assert 0.85 <= built_pull_share(name, relation) <= 1
