"""Votes, noisy predictions and function releases: events from the fields that set the noise, laws, grids."""

from fractions import Fraction

import numpy as np
import pytest

from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.fitted import FINENESS, rounded, squared_sensitivity, step
from dpqr.mechanisms.function_release import GaussianWeights, LaplaceWeights, weights_sensitivity
from dpqr.mechanisms.noisy_predictions import PREDICTION, Asked, GaussianPredictions, LaplacePredictions
from dpqr.mechanisms.votes import ExponentialVotes, LaplaceAverages
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
