"""The kernel itself against its exact features, its certified bound against measured changes."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, thinned
from support.prediction_tables import KERNEL_VALUES as VALUES
from support.prediction_tables import (
    Given,
    built_kernel_share,
    counts,
    exact_kernel,
    examples,
    measured_kernel_shares,
    unit_vectors,
)

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.learners.exact_kernel import KernelObjective
from dpqr.prediction.learners.examples import LossScale
from dpqr.prediction.learners.features import Kernel
from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball, Square
from dpqr.prediction.learners.stable import LipschitzLearner, RidgeRegression, opposed_pulls

REPLACED = PrivacyUnit(neighbours=Neighbours.REPLACE)
LOSSES = [Logistic(), Hinge(), Pinball(tau=Fraction(3, 4)), Square()]
KERNELS = [Kernel(name="gaussian", bandwidth=Fraction(1, 2)), Kernel(name="polynomial", degree=3)]
POINTS = np.arange(8)[:, None]


def values(learner, rows):
    return learner.at(POINTS).fit(counts(rows))


def stream(drawn, number):
    return [(int(drawn.integers(8)), int(drawn.integers(2))) for _ in range(number)]


@in_one_test("loss", LOSSES)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_it_is_the_learner_on_features_that_make_the_kernel(loss, kernel):
    drawn = np.random.default_rng(3)
    vectors, rows = unit_vectors(drawn), stream(drawn, 30)
    spectrum, axes = np.linalg.eigh(kernel.matrix(vectors, vectors))
    features = axes * np.sqrt(np.maximum(spectrum, 0))
    given = {"examples": examples(features, VALUES), "penalty": Fraction(1, 4)}
    given["scale"] = LossScale(unit=REPLACED, records=30)
    plain = RidgeRegression(**given) if loss == Square() else LipschitzLearner(loss=loss, **given)
    learner = exact_kernel(vectors, loss, kernel, 30, "1/4")
    expected = Given(features).of(POINTS) @ plain.fit(counts(rows))
    assert values(learner, rows) == pytest.approx(expected, abs=float(learner.solver.tolerance) * 2)
    if loss != Square():  # whose ball is another one
        assert float(learner.bound) == pytest.approx(float(plain.bound), rel=1e-6)


@pytest.mark.parametrize("loss", thinned(LOSSES, 4), ids=repr)
def test_random_neighbours_stay_within_the_bound(loss):
    assert max(measured_kernel_shares(np.random.default_rng(7), loss, KERNELS[0], 40)) <= 1


def test_logistic_loss_comes_within_15_percent_of_the_bound():
    assert 0.85 <= built_kernel_share() <= 1


@in_one_test("loss", LOSSES[1:])
def test_some_neighbours_come_near_the_bound(loss):
    opposite = np.repeat([[1.0, 0.0], [-1.0, 0.0]], 4, axis=0)
    learner = exact_kernel(opposite, loss, Kernel(), 2, "20")
    near = values(learner, [(0, 1), (0, 1)]) - values(learner, [(0, 1), (7, 1)])
    assert 0.8 * float(learner.bound) <= np.abs(near).max() <= float(learner.bound)


def test_a_label_that_changes_among_balanced_ones_meets_the_bound():
    """Of the hinge at lambda = 1: f is 0 at their place, where every slope is full, and one of 20 slopes turns."""
    learner = exact_kernel(unit_vectors(np.random.default_rng(7)), Hinge(), KERNELS[0], 20, "1")
    rows = [(0, number % 2) for number in range(20)]
    moved = values(learner, rows) - values(learner, [*rows[:-1], (0, 0)])
    assert 0.95 * float(learner.bound) <= np.abs(moved).max() <= float(learner.bound)


def test_the_bound_by_hand():
    """lambda = 1/16, m = 1000, width 3. Pinball 3/4: C_L / (lambda m); least squares D(r) / (lambda m), r = 2.

    A value's rounding, twice: (m + 11 (1 + 2 / b^2) 2) ulp C_L / lambda, b = 1/2; the solver's tolerance, twice.
    """
    vectors = unit_vectors(np.random.default_rng(1))
    for loss, distance in ((LOSSES[2], 0.75 * 16 / 1000), (Square(), float(opposed_pulls(Fraction(2))) * 16 / 1000)):
        learner, ulp = exact_kernel(vectors, loss, KERNELS[0], 1000, "1/16"), 2.0**-52
        slope = float(loss.lipschitz)
        wrong = ulp * (1000 + 11 * 9 * 2) * slope * 16
        gradient = float(loss.smoothness) * wrong + ulp * 80 * slope
        tolerance = distance / 1024 + 2 * gradient / (2 / 16)
        assert float(learner.distance) == pytest.approx(distance, rel=1e-12)
        assert float(learner.solver.tolerance) == pytest.approx(tolerance, rel=1e-9, abs=0)
        expected = (distance + 2 * tolerance + 2 * wrong) * (1 + 2.0**-20)
        assert float(learner.bound) == pytest.approx(expected, rel=1e-13, abs=0)


def test_the_gradient_is_that_of_the_value_and_its_norm_is_at_most_its_size():
    drawn = np.random.default_rng(9)
    vectors = unit_vectors(drawn)
    gram = Kernel().matrix(vectors, vectors)
    objective = KernelObjective(
        gram=gram, targets=drawn.choice([-1.0, 1.0], 8), weights=drawn.random(8), loss=Logistic(), penalty=0.3
    )
    point, step = drawn.normal(size=8), 1e-6 * np.eye(8)
    found = objective.gradient(point)
    numeric = [(objective.value(point + each) - objective.value(point - each)) / 2e-6 for each in step]
    assert gram @ found == pytest.approx(numeric, abs=1e-6)
    alike = KernelObjective(gram=np.ones((8, 8)), targets=point, weights=point, loss=Logistic(), penalty=0.3)
    ones = np.full(8, 0.5)
    assert alike.size(ones) >= np.sqrt(alike.inner(ones, ones)) * (1 - 1e-15)


def test_both_ways_of_the_solver_agree(monkeypatch):
    drawn = np.random.default_rng(5)
    learner, rows = exact_kernel(unit_vectors(drawn), Hinge(), KERNELS[0], 20), stream(drawn, 20)
    newton = values(learner, rows)
    monkeypatch.setattr("dpqr.prediction.learners.solver.Solver._newton", lambda *_: None)
    assert values(learner, rows) == pytest.approx(newton, abs=2 * float(learner.solver.tolerance))


def test_no_rows_predict_zero_and_there_are_no_weights_to_release():
    learner = exact_kernel(unit_vectors(np.random.default_rng(1)), Hinge(), KERNELS[0], 4)
    assert not values(learner, []).any()
    with pytest.raises(InfeasiblePlan, match="--features"):
        learner.fit(counts([]))
