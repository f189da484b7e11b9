"""Noisy moments: the event, the regularisation that follows from it, and the function of the noisy sums."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.prediction_tables import UNITS, VALUES, counts, examples

from dpqr.kernel.events import RoundedGaussianEvent
from dpqr.kernel.noise.gaussian import RoundedGaussian
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours
from dpqr.prediction.learners.moments import (
    LARGEST_NORM,
    STEPS,
    WEIGHT_STEP,
    MomentsLearner,
    NoisyMoments,
    integers,
    ridge,
)

VECTORS = [[1.0, 0.0], [-0.6, 0.8], [0.1, -0.3]]


def learner():
    return MomentsLearner(examples=examples(VECTORS, VALUES), unit=UNITS[Neighbours.ADD_REMOVE])


def test_rounding_is_towards_0():
    assert integers(np.array([0.9999, -0.9999, 1.0, -1.0, 1e-9])).tolist() == [4095, -4095, 4096, -4096, 0]


def test_the_event_and_the_regularisation_follow_from_the_variance():
    weights = NoisyMoments(learner=learner(), variance=Fraction(2**60))
    assert weights.event == RoundedGaussianEvent(
        squared_sensitivity=learner().squared_sensitivity, variance=Fraction(2**60)
    )
    assert 2 * STEPS**4 <= learner().squared_sensitivity <= 2 * STEPS**4 * (1 + 1e-9) + 1
    assert float(weights.penalty) == ridge(2**60, 2) == pytest.approx(2 * math.sqrt(2) * 2**30 / 2**24)


def test_the_function_is_that_of_the_noisy_sums():
    given, table = learner(), counts([(0, 1), (1, 0), (2, 3)] * 5)
    weights = NoisyMoments(learner=given, variance=Fraction(2**40))
    sums = given.sums(table)
    noisy = sums + RoundedGaussian(Fraction(2**40)).sample(5, SeededNoise(4))
    assert weights.sample(table, SeededNoise(4)).tolist() == weights.function(noisy).tolist()
    a, b, c, d, e = noisy / STEPS**2
    matrix = np.array([[a, b], [b, c]]) + float(weights.penalty) * np.eye(2)
    np.testing.assert_allclose(weights.function(noisy) * WEIGHT_STEP, np.linalg.solve(matrix, [d, e]), atol=1e-8)


def test_sums_that_no_table_has_give_a_function_of_bounded_norm():
    weights = NoisyMoments(learner=learner(), variance=Fraction(1))
    wild = np.array([-(2**62), 2**61, -(2**62), 2**62, 2**62])
    found = weights.function(wild) * WEIGHT_STEP
    assert np.isfinite(found).all()
    assert np.linalg.norm(found) <= LARGEST_NORM * (1 + 1e-9)
