from fractions import Fraction

import numpy as np
import pytest

from dpqr.prediction.losses import Hinge, Logistic, Pinball

LOSSES = [Logistic(), Hinge(), Hinge(width=Fraction(1, 2)), Pinball(), Pinball(tau=Fraction(9, 10))]
GRID = np.linspace(-4, 4, 4001)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("target", [-1.0, 1.0])
def test_constants_hold_and_the_slope_is_the_derivative(loss, target):
    targets = np.full_like(GRID, target)
    values, slopes = loss.value(GRID, targets), loss.slope(GRID, targets)
    numeric = np.diff(values) / np.diff(GRID)
    assert np.abs(numeric - (slopes[1:] + slopes[:-1]) / 2).max() < 2e-2
    assert np.abs(slopes).max() <= float(loss.lipschitz) + 1e-12
    steps = np.diff(slopes) / np.diff(GRID)
    assert (steps >= -1e-9).all()
    assert steps.max() <= float(loss.smoothness) * (1 + 1e-6)
    assert loss.value(np.zeros(1), np.array([target]))[0] <= float(loss.start)
    assert (values >= 0).all()


def test_rounded_corners_stay_close_to_the_printed_losses():
    hinge, pinball = Hinge(), Pinball(tau=Fraction(1, 4))
    apart = hinge.value(GRID, np.ones_like(GRID)) - np.maximum(0, 1 - GRID)
    assert 0 <= apart.min() <= apart.max() <= float(hinge.width) / 4 + 1e-12
    short = -GRID
    apart = pinball.value(GRID, np.zeros_like(GRID)) - np.maximum(short / 4, -3 * short / 4)
    assert -1e-12 <= apart.min() <= apart.max() <= float(pinball.width) / 4 + 1e-12
