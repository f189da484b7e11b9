"""Losses by name, and the error of a prediction under each."""

from fractions import Fraction

import numpy as np
import pytest

from dpqr.prediction.learners.losses import cornered_loss, errors, smooth_loss

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
