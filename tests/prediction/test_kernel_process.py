"""A kernel's function at points in coordinates: their sensitivity, the covariance of their noise, and the plan."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.prediction_tables import counts, examples, unit_vectors

from dpqr.kernel.budget import Price
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.forms import ProcessForm
from dpqr.prediction.learned_functions import GaussianWeights, step, weights_sensitivity
from dpqr.prediction.learners.exact_kernel import ExactKernel
from dpqr.prediction.learners.examples import LossScale
from dpqr.prediction.learners.features import Kernel
from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball, Square
from dpqr.prediction.plan import NUGGET, KernelProcess

GAUSSIAN = Kernel(name="gaussian", bandwidth=Fraction(1, 2))
POINTS = np.arange(8)[:, None]


def process(vectors, loss=None, kernel=GAUSSIAN, records=20, penalty="1/50", points=POINTS):
    scale = LossScale(unit=PrivacyUnit(neighbours=Neighbours.REPLACE), records=records)
    given = {"kernel": kernel, "loss": loss or Hinge(), "penalty": Fraction(penalty), "scale": scale}
    return KernelProcess(values=ExactKernel(examples=examples(vectors, [-1.0, 1.0]), **given).at(points))


@pytest.mark.slow
@in_one_test("loss", [Hinge(), Logistic(), Pinball(), Square()])
@pytest.mark.parametrize("kernel", [GAUSSIAN, Kernel(name="polynomial", degree=3)], ids=lambda one: one.name)
def test_no_random_neighbours_coordinates_are_further_apart_than_the_bound(loss, kernel):
    drawn = np.random.default_rng(5)
    for _ in range(20):
        given = process(unit_vectors(drawn), loss, kernel)
        rows = [(int(drawn.integers(8)), int(drawn.integers(2))) for _ in range(20)]
        other = [*rows[:-1], (int(drawn.integers(8)), int(drawn.integers(2)))]
        one, two = given.fit(counts(rows)), given.fit(counts(other))
        assert np.linalg.norm(one - two) <= given.bound


def test_a_replaced_label_comes_near_the_bound_and_so_it_would_without_the_points():
    """20 records of balanced labels at one place, far from others; one changes. Half of the bound would be a fault."""
    rows = [(0, number % 2) for number in range(20)]
    given = process(unit_vectors(np.random.default_rng(1)), penalty="1", points=POINTS[:3])
    moved = np.linalg.norm(given.fit(counts(rows)) - given.fit(counts([*rows[:-1], (0, 0)])))
    assert 0.95 * given.bound <= moved <= given.bound
    learner = given.values.learner
    assert given.bound > learner.distance + 2 * learner.solver.tolerance


def test_more_points_leave_the_bound_as_it_is():
    vectors = unit_vectors(np.random.default_rng(1), 200)
    few, many = (process(vectors, points=np.arange(number)[:, None]).bound for number in (1, 200))
    assert 1 <= many / few < 1 + 1e-3


@pytest.mark.slow
def test_values_come_back_and_the_noise_has_the_kernels_covariance():
    """2,000 seeded draws: variances of sums of points, within 15%."""
    vectors = unit_vectors(np.random.default_rng(2), 4)
    given, rows = process(vectors, points=POINTS[:4]), [(number % 4, number % 2) for number in range(20)]
    grid = step(given.bound)
    without = given.predictions(np.rint(given.fit(counts(rows)) / grid).astype(np.int64)) * grid
    assert without == pytest.approx(given.values.fit(counts(rows)), abs=1e-5)
    weights = GaussianWeights(learner=given, width=4, variance=Fraction(2**50))
    source, wide = SeededNoise(3), 2.0**25
    drawn = np.array([given.predictions(weights.law.sample(4, source)) / wide for _ in range(2000)])
    expected = GAUSSIAN.matrix(vectors, vectors) + float(NUGGET) * np.eye(4)
    for signs in ([1, 0, 0, 0], [1, 1, 1, 1], [1, -1, 1, -1]):
        assert np.var(drawn @ signs) == pytest.approx(signs @ expected @ signs, rel=0.15)


def test_points_on_the_same_place_get_nearly_the_same_noise():
    given = process(np.ones((4, 1)), points=POINTS[:4])
    noise = given.predictions(np.array([2**30, -(2**30), 2**29, 0]))
    assert np.ptp(noise) < 0.1 * 2**30


def test_one_draw_pays_for_all_points():
    form, price = ProcessForm(points=50), Price(rho=Fraction(1, 8))
    assert form.event(price, "gaussian").squared_sensitivity == weights_sensitivity(50) ** 2
    assert form.spread(price, "gaussian") == pytest.approx(2, rel=1e-4)
