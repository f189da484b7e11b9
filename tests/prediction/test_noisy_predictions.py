"""Predictions: one draw and one charge a point, and how far one of them moves."""

from fractions import Fraction

import numpy as np
import pytest
from support.fakes import Told

from dpqr.kernel.events import DiscreteLaplaceEvent, RoundedGaussianEvent
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import RoundedGaussian
from dpqr.kernel.noise.source import SeededNoise
from dpqr.prediction.learned_functions import (
    FINENESS,
    PREDICTION,
    GaussianPredictions,
    LaplacePredictions,
    LearnerAtPoints,
    round_to_grid,
)

NOISE = SeededNoise(3)


def test_predictions_are_charged_point_by_point_and_clipped():
    points = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.5]])
    asked = LearnerAtPoints(learner=Told([0.5, -2.0]), points=points, limit=1)
    laplace = LaplacePredictions(asked=asked, scale=Fraction(3))
    event = DiscreteLaplaceEvent(sensitivity=PREDICTION, scale=Fraction(3), coordinates=1)
    assert laplace.events == ((event, 3),)
    assert laplace.sample(None, NOISE) * asked.step == pytest.approx([0.5, -1, -1], abs=1e-4)
    gaussian = GaussianPredictions(asked=asked, variance=Fraction(5))
    assert gaussian.events == ((RoundedGaussianEvent(squared_sensitivity=PREDICTION**2, variance=Fraction(5)), 3),)
    assert gaussian.sample(None, NOISE) * asked.step == pytest.approx([0.5, -1, -1], abs=1e-4)


def test_no_prediction_moves_further_than_its_limits_are_apart():
    wild = Told([0.0], bound=Fraction(50))
    assert LearnerAtPoints(learner=wild, points=np.ones((1, 1)), limit=1).bound == 2
    assert LearnerAtPoints(learner=wild, points=np.ones((1, 1)), limit=None).bound == 50


def test_one_prediction_moves_by_the_bound_one_rounding_and_the_arithmetic():
    assert FINENESS == 2**20
    assert PREDICTION == 2**20 + 1 + 1
    drawn = np.random.default_rng(1)
    asked = LearnerAtPoints(learner=Told([0.0], bound=Fraction(3, 7)), points=np.ones((1, 1)), limit=None)
    one = drawn.normal(size=5000) * 10
    for two in (one + 3 / 7, one - 3 / 7):
        assert int(np.abs(round_to_grid(one, asked.step) - round_to_grid(two, asked.step)).max()) <= 2**20 + 1


@pytest.mark.parametrize("own", [False, True])
def test_every_prediction_has_the_next_draw_of_the_stated_law_and_is_charged(own):
    """At public points, or at the learner's own, whose values it fits."""
    points = np.random.default_rng(3).normal(size=(30, 2)) / 10
    fitted = points @ [1.0, -2.0] if own else [1.0, -2.0]
    asked = LearnerAtPoints(learner=Told(fitted), points=None if own else points, limit=1, own=30 if own else 0)
    exact = round_to_grid(points @ [1.0, -2.0], asked.step)
    gaussian = GaussianPredictions(asked=asked, variance=Fraction(500))
    added = gaussian.sample(None, SeededNoise(6)) - exact
    np.testing.assert_array_equal(added, RoundedGaussian(Fraction(500)).sample(30, SeededNoise(6)))
    laplace = LaplacePredictions(asked=asked, scale=Fraction(70))
    added = laplace.sample(None, SeededNoise(6)) - exact
    np.testing.assert_array_equal(added, DiscreteLaplace(Fraction(70)).sample(30, SeededNoise(6)))
    assert [count for events in (gaussian.events, laplace.events) for _, count in events] == [30, 30]
