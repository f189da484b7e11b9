"""Losses: their constants and derivatives, on grids."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.prediction_tables import TAPERED

from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball, Square, cornered_loss, errors, smooth_loss
from dpqr.prediction.learners.stable import opposed_pulls

QUANTILES = [Pinball(), Pinball(tau=Fraction(9, 10)), Pinball(tau=Fraction(1, 10))]
LOSSES = [Logistic(), Hinge(), Hinge(width=Fraction(1, 2)), *QUANTILES, Square(), *TAPERED]
GRID = np.linspace(-4, 4, 4001)
INSIDE = GRID[np.abs(GRID) <= 1]
"""What the square's constants speak of."""


@in_one_test("loss", LOSSES)
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


@in_one_test("loss", LOSSES)
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


# Losses by name, and the error of a prediction under each.

HALF = Fraction(1, 2)


def test_every_rounded_loss_has_its_cornered_one():
    assert smooth_loss("online", HALF) is None
    points = np.array([3.0, -2.0])
    targets = np.array([1.0, 1.0])
    for name, classifies in (("svm", True), ("quantile", False)):
        rounded, exact = smooth_loss(name, HALF), cornered_loss(HALF, classifies=classifies)
        assert rounded.value(points, targets) == pytest.approx(exact.value(points, targets))


def test_errors_of_classes_are_counted_and_of_numbers_weighed():
    predicted, targets = np.array([3.0, -2.0]), np.array([1.0, 1.0])
    assert errors(None, predicted, targets, classifies=True).tolist() == [0, 1]
    assert errors(None, predicted, targets, classifies=False).tolist() == [0, 4]
    assert errors(cornered_loss(HALF, classifies=False), predicted, targets, classifies=False).tolist() == [0, 1]


# Tapered losses.


def test_a_tapered_corner_stays_close_to_the_printed_loss():
    loss = TAPERED[2]
    apart = loss.value(GRID, np.zeros_like(GRID)) - loss.corner.value(GRID, np.zeros_like(GRID))
    assert -1e-12 <= apart.min() <= apart.max() <= float(loss.width) * np.log(2) + 1e-12
    assert float(np.sum(apart) * (GRID[1] - GRID[0])) == pytest.approx((np.pi * float(loss.width)) ** 2 / 6, rel=1e-3)


# The largest difference of two records' pulls: by search, and where it is met.


def pull(function, vector, target):
    return (function @ vector - target) * vector


@in_one_test("norm", ["1/100", "1/3", "1", "9/4", "30"])
def test_no_pair_of_records_pulls_further_apart(norm):
    """Random functions, rows (short ones too) and targets in three dimensions; half of them close to the worst pair."""
    drawn, reach, bound = np.random.default_rng(4), float(Fraction(norm)), float(opposed_pulls(Fraction(norm)))
    cosine = 2 * reach / (1 + np.sqrt(1 + 8 * reach**2))
    worst = np.array([cosine, np.sqrt(1 - cosine**2), 0.0])
    best = 0.0
    for trial in range(2000):
        near = trial % 2
        vectors = drawn.normal(size=(2, 3)) * (0.1 if near else 1.0)
        vectors += near * np.array([worst, worst * [1, -1, 1]])
        vectors /= np.linalg.norm(vectors, axis=1)[:, None] * (1 if near else drawn.uniform(1, 3, size=(2, 1)))
        targets = np.array([-1.0, -1.0]) if near else drawn.uniform(-1, 1, size=2)
        function = np.array([reach, 0.0, 0.0]) if near else drawn.normal(size=3)
        function *= reach / max(np.linalg.norm(function), reach)
        one, two = (pull(function, vector, target) for vector, target in zip(vectors, targets, strict=True))
        best = max(best, np.linalg.norm(one - two))
    assert 0.9 * bound <= best <= bound


@in_one_test("norm", ["0", "1/7", "1", "5"])
def test_it_is_met_and_lies_below_the_simpler_bounds(norm):
    reach, bound = Fraction(norm), float(opposed_pulls(Fraction(norm)))
    angles = np.linspace(0, np.pi, 100_001)
    assert bound == pytest.approx((2 * np.sin(angles) * (1 + float(reach) * np.cos(angles))).max(), rel=1e-8)
    assert float(reach) + np.sqrt(2) <= bound <= float(reach) + 2 + 1e-9
    assert bound <= 2 * (float(reach) + 1) + 1e-9


def test_it_is_never_rounded_down():
    """D(1) = 3 sqrt(3) / 2 and D(0) = 2."""
    assert opposed_pulls(Fraction(1)) ** 2 >= Fraction(27, 4)
    assert opposed_pulls(Fraction(0)) >= 2
