"""Released weights: their event from the fields that set the noise, one draw a coordinate."""

from fractions import Fraction

import numpy as np
import pytest
from support.fakes import Told

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import RoundedGaussianEvent, SphericalLaplaceEvent
from dpqr.kernel.noise.gaussian import RoundedGaussian
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.noise.spherical_laplace import SphericalLaplace
from dpqr.prediction.learned_functions import (
    GaussianWeights,
    SphericalWeights,
    round_to_grid,
    step,
    weights_sensitivity,
)

NOISE = SeededNoise(3)


def test_a_function_release_is_the_weights_on_a_grid_and_noise_of_its_events_law():
    gaussian = GaussianWeights(learner=Told([1.0, -2.0]), width=2, variance=Fraction(9))
    assert gaussian.event == RoundedGaussianEvent(squared_sensitivity=weights_sensitivity(2) ** 2, variance=Fraction(9))
    grid = step(Fraction(1, 8))
    assert gaussian.sample(None, NOISE) * grid == pytest.approx([1, -2], abs=30 * grid)
    spherical = SphericalWeights(learner=Told([1.0, -2.0]), width=2, scale=Fraction(2))
    sensitivity = weights_sensitivity(2)
    assert spherical.event == SphericalLaplaceEvent(sensitivity=sensitivity, scale=Fraction(2), coordinates=2)
    assert spherical.sample(None, NOISE) * grid == pytest.approx([1, -2], abs=90 * grid)


@pytest.mark.parametrize("width", [1, 2, 40])
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
