"""Votes, noisy predictions and function releases: events from the fields that set the noise, laws, grids."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.fitted import FINENESS, rounded, squared_sensitivity, step
from dpqr.mechanisms.function_release import GaussianWeights, LaplaceWeights, weights_sensitivity
from dpqr.mechanisms.noisy_predictions import PREDICTION, Asked, GaussianPredictions, LaplacePredictions
from dpqr.mechanisms.votes import ExponentialVotes, LaplaceAverages
from dpqr.noise.discrete_laplace import DiscreteLaplace
from dpqr.noise.rounded_gaussian import RoundedGaussian
from dpqr.noise.source import SeededNoise
from dpqr.privacy.events import DiscreteLaplaceEvent, ExponentialEvent, RoundedGaussianEvent

NOISE = SeededNoise(3)


class Told:
    """A learner that was told its weights."""

    def __init__(self, weights, bound=Fraction(1, 8)):
        self.weights, self.bound = np.asarray(weights, dtype=float), bound

    def fit(self, counts):
        return self.weights


class Voters:
    parts, touched, predictions = 5, 1, 2

    def votes(self, counts, noise):
        return np.array([[5, 0, 0], [0, 0, 5]])

    def sums(self, counts, noise):
        return np.array([5, -5]) * FINENESS


@pytest.mark.parametrize("width", [1, 2, 7, 100])
def test_neighbouring_weights_stay_within_the_sensitivities_after_rounding(width):
    drawn = np.random.default_rng(0)
    bound = Fraction(3, 7)
    for _ in range(200):
        one = drawn.normal(size=width) * 10
        apart = drawn.normal(size=width)
        two = one + apart / np.linalg.norm(apart) * float(bound)
        moved = rounded(one, step(bound)) - rounded(two, step(bound))
        assert int((moved.astype(object) ** 2).sum()) <= squared_sensitivity(width)
        assert int(np.abs(moved).sum()) <= weights_sensitivity(width)


def test_a_function_release_is_the_weights_on_a_grid_and_noise_of_its_events_law():
    gaussian = GaussianWeights(learner=Told([1.0, -2.0]), width=2, variance=Fraction(9))
    assert gaussian.event == RoundedGaussianEvent(squared_sensitivity=squared_sensitivity(2), variance=Fraction(9))
    grid = step(Fraction(1, 8))
    assert gaussian.sample(None, NOISE) * grid == pytest.approx([1, -2], abs=30 * grid)
    laplace = LaplaceWeights(learner=Told([1.0, -2.0]), width=2, scale=Fraction(2))
    assert laplace.event == DiscreteLaplaceEvent(sensitivity=weights_sensitivity(2), scale=Fraction(2))
    assert laplace.sample(None, NOISE) * grid == pytest.approx([1, -2], abs=90 * grid)


def test_predictions_are_charged_point_by_point_and_clipped():
    points = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.5]])
    asked = Asked(learner=Told([0.5, -2.0]), points=points, limit=1)
    laplace = LaplacePredictions(asked=asked, scale=Fraction(3))
    event = DiscreteLaplaceEvent(sensitivity=PREDICTION, scale=Fraction(3), coordinates=1)
    assert laplace.events == ((event, 3),)
    assert laplace.sample(None, NOISE) * asked.step == pytest.approx([0.5, -1, -1], abs=1e-4)
    gaussian = GaussianPredictions(asked=asked, variance=Fraction(5))
    assert gaussian.events == ((RoundedGaussianEvent(squared_sensitivity=PREDICTION**2, variance=Fraction(5)), 3),)
    assert gaussian.sample(None, NOISE) * asked.step == pytest.approx([0.5, -1, -1], abs=1e-4)


def test_no_prediction_moves_further_than_its_limits_are_apart():
    wild = Told([0.0], bound=Fraction(50))
    assert Asked(learner=wild, points=np.ones((1, 1)), limit=1).bound == 2
    assert Asked(learner=wild, points=np.ones((1, 1)), limit=None).bound == 50


def test_votes_follow_half_the_epsilon():
    votes = ExponentialVotes(ensemble=Voters(), epsilon=Fraction(40))
    assert votes.rate == 20
    assert votes.events == ((ExponentialEvent(epsilon=Fraction(40)), 2),)
    assert votes.sample(None, NOISE).tolist() == [0, 2]


def test_averages_move_by_one_members_range():
    averages = LaplaceAverages(ensemble=Voters(), scale=Fraction(2))
    ((event, count),) = averages.events
    assert (event.sensitivity, count) == (2 * FINENESS, 2)
    assert averages.sample(None, NOISE) / FINENESS == pytest.approx([5, -5], abs=1e-3)


def test_noise_out_of_range_is_refused():
    for made in (
        lambda: GaussianWeights(learner=Told([0]), width=1, variance=Fraction(0)),
        lambda: GaussianWeights(learner=Told([0]), width=1, variance=Fraction(1, 65)),
        lambda: LaplaceWeights(learner=Told([0]), width=1, scale=Fraction(2**60)),
    ):
        with pytest.raises(InfeasiblePlan):
            made()


WIDTHS = [*range(1, 40), 99, 100, 101, 2**20 - 1, 2**20]


@pytest.mark.parametrize("width", WIDTHS)
def test_sensitivities_hold_the_bound_every_coordinates_rounding_and_the_division(width):
    """Worked out anew: 2^20 steps, half a step a coordinate at either end (sqrt(width) in L2, width in L1), and one
    step for the division in double precision. Whole numbers, rounded up to the next above the root."""
    root = next(r for r in range(isqrt(width), isqrt(width) + 2) if r * r > width)
    assert squared_sensitivity(width) == (2**20 + root + 1) ** 2
    spread = next(s for s in range(isqrt(width << 40), isqrt(width << 40) + 2) if s * s > width << 40)
    assert weights_sensitivity(width) == spread + width + 1


def test_one_prediction_moves_by_the_bound_one_rounding_and_the_arithmetic():
    assert FINENESS == 2**20
    assert PREDICTION == 2**20 + 1 + 1
    drawn = np.random.default_rng(1)
    asked = Asked(learner=Told([0.0], bound=Fraction(3, 7)), points=np.ones((1, 1)), limit=None)
    one = drawn.normal(size=5000) * 10
    for two in (one + 3 / 7, one - 3 / 7):
        assert int(np.abs(rounded(one, asked.step) - rounded(two, asked.step)).max()) <= 2**20 + 1


def test_rounding_is_to_the_nearest_multiple():
    values = np.array([0.24, 0.26, -0.24, -0.26, 1.1, -1.1, 7.0])
    assert rounded(values, 0.5).tolist() == [0, 1, 0, -1, 2, -2, 14]
    fine = np.random.default_rng(2).normal(size=1000)
    assert float(np.abs(rounded(fine, 2.0**-9) * 2.0**-9 - fine).max()) <= 2.0**-10


@pytest.mark.parametrize("width", [1, 2, 40])
def test_every_weight_has_the_next_draw_of_the_stated_law(width):
    """Noise is what the release adds to the weights on their grid: the law's own draws from the same bits."""
    told = Told(np.linspace(-3, 2, width))
    exact = rounded(told.weights, step(told.bound))
    gaussian = GaussianWeights(learner=told, width=width, variance=Fraction(9)).sample(None, SeededNoise(5))
    np.testing.assert_array_equal(gaussian - exact, RoundedGaussian(Fraction(9)).sample(width, SeededNoise(5)))
    laplace = LaplaceWeights(learner=told, width=width, scale=Fraction(70))
    drawn = laplace.sample(None, SeededNoise(5))
    np.testing.assert_array_equal(drawn - exact, DiscreteLaplace(Fraction(70)).sample(width, SeededNoise(5)))
    assert laplace.event.coordinates == (1 if width == 1 else None)


@pytest.mark.parametrize("own", [False, True])
def test_every_prediction_has_the_next_draw_of_the_stated_law_and_is_charged(own):
    """At public points, or at the learner's own, whose values it fits."""
    points = np.random.default_rng(3).normal(size=(30, 2)) / 10
    fitted = points @ [1.0, -2.0] if own else [1.0, -2.0]
    asked = Asked(learner=Told(fitted), points=None if own else points, limit=1, own=30 if own else 0)
    exact = rounded(points @ [1.0, -2.0], asked.step)
    gaussian = GaussianPredictions(asked=asked, variance=Fraction(500))
    added = gaussian.sample(None, SeededNoise(6)) - exact
    np.testing.assert_array_equal(added, RoundedGaussian(Fraction(500)).sample(30, SeededNoise(6)))
    laplace = LaplacePredictions(asked=asked, scale=Fraction(70))
    added = laplace.sample(None, SeededNoise(6)) - exact
    np.testing.assert_array_equal(added, DiscreteLaplace(Fraction(70)).sample(30, SeededNoise(6)))
    assert [count for events in (gaussian.events, laplace.events) for _, count in events] == [30, 30]


class Shared(Voters):
    """An ensemble in which one unit is in several parts."""

    touched = 3


def test_a_unit_in_several_parts_moves_that_many_votes_and_members():
    """Votes for one label rise by 3 while those for another fall by 3; a sum moves by 3 ranges [-1, 1]."""
    votes = ExponentialVotes(ensemble=Shared(), epsilon=Fraction(12))
    assert votes.rate == 2
    one, two = (float(votes.rate) * np.array(each) for each in ([3, 100], [0, 103]))
    laws = [logits - np.logaddexp.reduce(logits) for logits in (one, two)]
    assert np.abs(laws[0] - laws[1]).max() == pytest.approx(float(votes.epsilon))
    averages = LaplaceAverages(ensemble=Shared(), scale=Fraction(2))
    ((event, count),) = averages.events
    assert (event.sensitivity, event.scale, count) == (2 * 3 * FINENESS, 2, 2)


def test_every_average_has_the_next_draw_of_the_stated_law():
    averages = LaplaceAverages(ensemble=Voters(), scale=Fraction(900))
    added = averages.sample(None, SeededNoise(7)) - np.array([5, -5]) * FINENESS
    np.testing.assert_array_equal(added, DiscreteLaplace(Fraction(900)).sample(2, SeededNoise(7)))
