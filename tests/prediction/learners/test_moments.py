"""Noisy moments: exact integers, their sensitivity against all changes of tiny tables, and the function they give."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.prediction_tables import UNITS, VALUES, counts, examples

from dpqr.domain.histogram import SparseHistogram
from dpqr.kernel.events import RoundedGaussianEvent
from dpqr.kernel.noise.gaussian import RoundedGaussian
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.learners.moments import (
    LARGEST_NORM,
    STEPS,
    WEIGHT_STEP,
    MomentsFigures,
    MomentsLearner,
    NoisyMoments,
    integers,
    ridge,
)

VECTORS = [[1.0, 0.0], [-0.6, 0.8], [0.1, -0.3]]


def learner(relation=Neighbours.ADD_REMOVE, vectors=VECTORS, rows=1):
    unit = PrivacyUnit(neighbours=relation, columns=("p",), rows=rows) if rows > 1 else UNITS[relation]
    return MomentsLearner(examples=examples(vectors, VALUES), unit=unit)


def test_sums_by_hand():
    """Two rows of the first vector with target 1, one of the second with -1; steps of 2^-24."""
    found = learner().sums(counts([(0, 1), (0, 1), (1, 0)]))
    x, y = int(-0.6 * STEPS), int(0.8 * STEPS)
    assert found.tolist() == [2 * STEPS**2 + x * x, x * y, y * y, 2 * STEPS**2 - x * STEPS, -y * STEPS]
    assert found.dtype == np.int64


@in_one_test("often", [1, 2**16 + 3, 2**33 + 5])
def test_sums_are_exact_for_any_number_of_rows(often):
    table = SparseHistogram((1000, 1000), np.array([[1, 1]]), np.array([often], dtype=np.int64))
    one = learner().sums(counts([(1, 1)]))
    assert learner().sums(table).tolist() == [often * int(each) for each in one]


def test_no_rows_give_sums_of_nothing():
    assert learner().sums(counts(np.zeros((0, 2), dtype=int))).tolist() == [0] * 5


def test_the_forecast_needs_a_number_of_records():
    figures = {"width": 100, "squared_sensitivity": 2 * STEPS**4, "steps": 1, "reach": 0.5}
    assert MomentsFigures(**figures, records=None).spread(Fraction(1)) == math.inf
    less, more = (MomentsFigures(**figures, records=10**5).spread(Fraction(v)) for v in (2**40, 2**60))
    assert less < more


# Noisy moments: the event, the regularisation that follows from it, and the function of the noisy sums.


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
