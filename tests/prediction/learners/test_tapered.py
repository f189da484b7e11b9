"""Tapered losses: second derivatives that fall towards either slope, corners close to the printed ones."""

import numpy as np
import pytest
from support.prediction_tables import TAPERED

from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball, Tapered

GRID = np.linspace(-4, 4, 4001)


@pytest.mark.parametrize("loss", [Logistic(), *TAPERED, Hinge(), Pinball()], ids=repr)
def test_second_derivatives_of_tapered_losses_fall_towards_either_slope(loss):
    """At most 4 smoothness p (1 - p), which those of a corner rounded by a parabola exceed."""
    for target in (-1.0, 1.0):
        targets = np.full_like(GRID, target)
        slopes, largest = loss.slope(GRID, targets), float(loss.lipschitz)
        least = -largest if slopes.min() < -0.9 * largest else -float(loss.opposite)
        place = (slopes - least) / (largest + float(loss.opposite))
        most = 4 * float(loss.smoothness) * place * (1 - place)
        assert (loss.curvature(GRID, targets) <= most + 1e-9).all() == isinstance(loss, Tapered)


def test_a_tapered_corner_stays_close_to_the_printed_loss():
    loss = TAPERED[2]
    apart = loss.value(GRID, np.zeros_like(GRID)) - loss.corner.value(GRID, np.zeros_like(GRID))
    assert -1e-12 <= apart.min() <= apart.max() <= float(loss.width) * np.log(2) + 1e-12
    assert float(np.sum(apart) * (GRID[1] - GRID[0])) == pytest.approx((np.pi * float(loss.width)) ** 2 / 6, rel=1e-3)
