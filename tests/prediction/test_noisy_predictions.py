"""Predictions and functions: one draw and one charge a number, and how far one of them moves."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from support.cases import in_one_test
from support.fakes import Told
from support.fakes import neighbouring_weights as neighbours

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import DiscreteLaplaceEvent, RoundedGaussianEvent, SphericalLaplaceEvent
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import RoundedGaussian
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.noise.spherical_laplace import SphericalLaplace
from dpqr.prediction.learned_functions import (
    FINENESS,
    PREDICTION,
    GaussianPredictions,
    GaussianWeights,
    LaplacePredictions,
    LearnerAtPoints,
    SphericalWeights,
    round_to_grid,
    step,
    weights_sensitivity,
)

NOISE = SeededNoise(3)


def test_predictions_are_charged_point_by_point_and_clipped():
    points = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.5]])
    asked = LearnerAtPoints(learner=Told([0.5, -2.0]), points=points, limit=1)
    laplace = LaplacePredictions(at_points=asked, scale=Fraction(3))
    event = DiscreteLaplaceEvent(sensitivity=PREDICTION, scale=Fraction(3), coordinates=1)
    assert laplace.events == ((event, 3),)
    assert laplace.sample(None, NOISE) * asked.step == pytest.approx([0.5, -1, -1], abs=1e-4)
    gaussian = GaussianPredictions(at_points=asked, variance=Fraction(5))
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


@in_one_test("own", [False, True])
def test_every_prediction_has_the_next_draw_of_the_stated_law_and_is_charged(own):
    """At public points, or at the learner's own, whose values it fits."""
    points = np.random.default_rng(3).normal(size=(30, 2)) / 10
    fitted = points @ [1.0, -2.0] if own else [1.0, -2.0]
    asked = LearnerAtPoints(learner=Told(fitted), points=None if own else points, limit=1, own=30 if own else 0)
    exact = round_to_grid(points @ [1.0, -2.0], asked.step)
    gaussian = GaussianPredictions(at_points=asked, variance=Fraction(500))
    added = gaussian.sample(None, SeededNoise(6)) - exact
    np.testing.assert_array_equal(added, RoundedGaussian(Fraction(500)).sample(30, SeededNoise(6)))
    laplace = LaplacePredictions(at_points=asked, scale=Fraction(70))
    added = laplace.sample(None, SeededNoise(6)) - exact
    np.testing.assert_array_equal(added, DiscreteLaplace(Fraction(70)).sample(30, SeededNoise(6)))
    assert [count for events in (gaussian.events, laplace.events) for _, count in events] == [30, 30]


# The grid of a learner's weights, and how far they move on it.


@in_one_test("width", [1, 2, 7, 100])
def test_neighbouring_weights_stay_within_the_sensitivity_after_rounding(width):
    for one, two, grid in neighbours(width):
        moved = round_to_grid(one, grid) - round_to_grid(two, grid)
        assert int((moved.astype(object) ** 2).sum()) <= weights_sensitivity(width) ** 2


WIDTHS = [*range(1, 40), 99, 100, 101, 2**20 - 1, 2**20]


@in_one_test("width", WIDTHS)
def test_the_sensitivity_holds_the_bound_every_coordinates_rounding_and_the_division(width):
    """Worked out anew: 2^20 steps, half a step a coordinate at either end, sqrt(width) together, rounded up to the next
    whole number above, and one step for the division in double precision."""
    root = next(r for r in range(isqrt(width), isqrt(width) + 2) if r * r > width)
    assert weights_sensitivity(width) == 2**20 + root + 1


def test_the_grid_has_as_many_steps_in_the_bound_as_the_sensitivity_counts():
    assert FINENESS == 2**20
    assert step(Fraction(3, 7)) * 2**20 == pytest.approx(3 / 7, rel=1e-15)


def test_rounding_is_to_the_nearest_multiple():
    values = np.array([0.24, 0.26, -0.24, -0.26, 1.1, -1.1, 7.0])
    assert round_to_grid(values, 0.5).tolist() == [0, 1, 0, -1, 2, -2, 14]
    fine = np.random.default_rng(2).normal(size=1000)
    assert float(np.abs(round_to_grid(fine, 2.0**-9) * 2.0**-9 - fine).max()) <= 2.0**-10


# Released weights: their event from the fields that set the noise, one draw a coordinate.


def test_a_function_release_is_the_weights_on_a_grid_and_noise_of_its_events_law():
    gaussian = GaussianWeights(learner=Told([1.0, -2.0]), width=2, variance=Fraction(9))
    assert gaussian.event == RoundedGaussianEvent(squared_sensitivity=weights_sensitivity(2) ** 2, variance=Fraction(9))
    grid = step(Fraction(1, 8))
    assert gaussian.sample(None, NOISE) * grid == pytest.approx([1, -2], abs=30 * grid)
    spherical = SphericalWeights(learner=Told([1.0, -2.0]), width=2, scale=Fraction(2))
    sensitivity = weights_sensitivity(2)
    assert spherical.event == SphericalLaplaceEvent(sensitivity=sensitivity, scale=Fraction(2), coordinates=2)
    assert spherical.sample(None, NOISE) * grid == pytest.approx([1, -2], abs=90 * grid)


@in_one_test("width", [1, 2, 40])
def test_every_weight_has_the_next_draw_of_the_stated_law(width):
    """Noise is what the release adds to the weights on their grid: the law's own draws from the same bits."""
    told = Told(np.linspace(-3, 2, width))
    exact = round_to_grid(told.weights, step(told.bound))
    gaussian = GaussianWeights(learner=told, width=width, variance=Fraction(9)).sample(None, SeededNoise(5))
    np.testing.assert_array_equal(gaussian - exact, RoundedGaussian(Fraction(9)).sample(width, SeededNoise(5)))
    spherical = SphericalWeights(learner=told, width=width, scale=Fraction(70)).sample(None, SeededNoise(5))
    np.testing.assert_array_equal(spherical - exact, SphericalLaplace(Fraction(70), width).sample(SeededNoise(5)))
    event = GaussianWeights(learner=told, width=width, variance=Fraction(9)).event
    assert event.squared_sensitivity == weights_sensitivity(width) ** 2 >= (2**20 + width**0.5 + 1) ** 2


def test_noise_out_of_range_is_refused():
    for made in (
        lambda: GaussianWeights(learner=Told([0]), width=1, variance=Fraction(0)),
        lambda: GaussianWeights(learner=Told([0]), width=1, variance=Fraction(1, 65)),
        lambda: SphericalWeights(learner=Told([0]), width=1, scale=Fraction(2**60)),
    ):
        with pytest.raises(InfeasiblePlan):
            made()
