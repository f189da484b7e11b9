"""The grid of a learner's weights, and how far they move on it."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from support.fakes import neighbouring_weights as neighbours

from dpqr.prediction.learned_functions import FINENESS, round_to_grid, step, weights_sensitivity


@pytest.mark.parametrize("width", [1, 2, 7, 100])
def test_neighbouring_weights_stay_within_the_sensitivity_after_rounding(width):
    for one, two, grid in neighbours(width):
        moved = round_to_grid(one, grid) - round_to_grid(two, grid)
        assert int((moved.astype(object) ** 2).sum()) <= weights_sensitivity(width) ** 2


WIDTHS = [*range(1, 40), 99, 100, 101, 2**20 - 1, 2**20]


@pytest.mark.parametrize("width", WIDTHS)
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
