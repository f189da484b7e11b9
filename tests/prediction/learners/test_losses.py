"""Losses: their constants and derivatives, on grids."""

from fractions import Fraction

import numpy as np
import pytest
from support.prediction_tables import TAPERED

from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball, Square

QUANTILES = [Pinball(), Pinball(tau=Fraction(9, 10)), Pinball(tau=Fraction(1, 10))]
LOSSES = [Logistic(), Hinge(), Hinge(width=Fraction(1, 2)), *QUANTILES, Square(), *TAPERED]
GRID = np.linspace(-4, 4, 4001)
INSIDE = GRID[np.abs(GRID) <= 1]
"""What the square's constants speak of."""


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("target", [-1.0, 1.0])
def test_constants_hold_and_the_slope_is_the_derivative(loss, target):
    grid = INSIDE if loss == Square() else GRID
    targets = np.full_like(grid, target)
    values, slopes = loss.value(grid, targets), loss.slope(grid, targets)
    numeric = np.diff(values) / np.diff(grid)
    assert np.abs(numeric - (slopes[1:] + slopes[:-1]) / 2).max() < 2e-2
    assert np.abs(slopes).max() <= float(loss.lipschitz) + 1e-12
    steps = np.diff(slopes) / np.diff(grid)
    assert (steps >= -1e-9).all()
    assert steps.max() <= float(loss.smoothness) * (1 + 1e-6)
    assert loss.value(np.zeros(1), np.array([target]))[0] <= float(loss.start)
    assert (values >= 0).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_smaller_constant_would_do(loss):
    """Slopes come as near to C_L as floats tell, so a sensitivity that is proved by it is no larger than needed."""
    grid = INSIDE if loss == Square() else np.linspace(-40, 40, 4001)
    slopes = [np.abs(loss.slope(grid, np.full_like(grid, target))).max() for target in (-1.0, 1.0)]
    assert max(slopes) == pytest.approx(float(loss.lipschitz), rel=1e-12)


def test_rounded_corners_stay_close_to_the_printed_losses():
    hinge, pinball = Hinge(), Pinball(tau=Fraction(1, 4))
    apart = hinge.value(GRID, np.ones_like(GRID)) - np.maximum(0, 1 - GRID)
    assert 0 <= apart.min() <= apart.max() <= float(hinge.width) / 4 + 1e-12
    short = -GRID
    apart = pinball.value(GRID, np.zeros_like(GRID)) - np.maximum(short / 4, -3 * short / 4)
    assert -1e-12 <= apart.min() <= apart.max() <= float(pinball.width) / 4 + 1e-12
