"""Released weights: their event from the fields that set the noise, one draw a coordinate."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from support.fakes import Told, neighbouring_weights

from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.learned_functions import (
    GaussianWeights,
    LaplaceWeights,
    rounded,
    squared_sensitivity,
    step,
    weights_sensitivity,
)
from dpqr.noise.discrete_laplace import DiscreteLaplace
from dpqr.noise.rounded_gaussian import RoundedGaussian
from dpqr.noise.source import SeededNoise
from dpqr.privacy.events import DiscreteLaplaceEvent, RoundedGaussianEvent

NOISE = SeededNoise(3)


@pytest.mark.parametrize("width", [1, 2, 7, 100])
def test_neighbouring_weights_stay_within_the_sensitivity_after_rounding(width):
    for one, two, grid in neighbouring_weights(width):
        assert int(np.abs(rounded(one, grid) - rounded(two, grid)).sum()) <= weights_sensitivity(width)


@pytest.mark.parametrize("width", [*range(1, 40), 99, 100, 101, 2**20 - 1, 2**20])
def test_the_sensitivity_holds_the_bound_every_coordinates_rounding_and_the_division(width):
    """Worked out anew: sqrt(width) 2^20 steps (Cauchy and Schwarz), rounded up to the next whole number above, one step
    a coordinate for the rounding, and one for the division in double precision."""
    spread = next(s for s in range(isqrt(width << 40), isqrt(width << 40) + 2) if s * s > width << 40)
    assert weights_sensitivity(width) == spread + width + 1


def test_a_function_release_is_the_weights_on_a_grid_and_noise_of_its_events_law():
    gaussian = GaussianWeights(learner=Told([1.0, -2.0]), width=2, variance=Fraction(9))
    assert gaussian.event == RoundedGaussianEvent(squared_sensitivity=squared_sensitivity(2), variance=Fraction(9))
    grid = step(Fraction(1, 8))
    assert gaussian.sample(None, NOISE) * grid == pytest.approx([1, -2], abs=30 * grid)
    laplace = LaplaceWeights(learner=Told([1.0, -2.0]), width=2, scale=Fraction(2))
    assert laplace.event == DiscreteLaplaceEvent(sensitivity=weights_sensitivity(2), scale=Fraction(2))
    assert laplace.sample(None, NOISE) * grid == pytest.approx([1, -2], abs=90 * grid)


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
    event = GaussianWeights(learner=told, width=width, variance=Fraction(9)).event
    assert event.squared_sensitivity == squared_sensitivity(width) >= (2**20 + width**0.5 + 1) ** 2
    assert laplace.event.sensitivity == weights_sensitivity(width) >= width**0.5 * 2**20 + width + 1


def test_noise_out_of_range_is_refused():
    for made in (
        lambda: GaussianWeights(learner=Told([0]), width=1, variance=Fraction(0)),
        lambda: GaussianWeights(learner=Told([0]), width=1, variance=Fraction(1, 65)),
        lambda: LaplaceWeights(learner=Told([0]), width=1, scale=Fraction(2**60)),
    ):
        with pytest.raises(InfeasiblePlan):
            made()
