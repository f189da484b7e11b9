import math
from fractions import Fraction

import numpy as np
import pytest
from support.prediction_tables import counts, examples

from dpqr.data.unit import PrivacyUnit
from dpqr.prediction.losses import Hinge, Logistic, Pinball, Square
from dpqr.prediction.rows import Rows
from dpqr.prediction.scale import Scale
from dpqr.prediction.solver import Objective, Solver, gradient_error
from dpqr.prediction.stable import LipschitzLearner


def task(loss, penalty=Fraction(1, 50), rows=40, width=3, seed=0):
    drawn = np.random.default_rng(seed)
    vectors = drawn.normal(size=(rows, width))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    values = np.where(drawn.random(rows) < 0.5, -1.0, 1.0)
    learner = LipschitzLearner(
        examples=examples(vectors, values), loss=loss, penalty=penalty, scale=Scale(unit=PrivacyUnit(), records=rows)
    )
    return learner, counts([(row, row) for row in range(rows)])


@pytest.mark.parametrize("loss", [Logistic(), Hinge(), Pinball(tau=Fraction(1, 4))], ids=repr)
def test_both_ways_end_within_the_tolerance_of_each_other(loss, monkeypatch):
    learner, table = task(loss)
    newton = learner.fit(table)
    monkeypatch.setattr("dpqr.prediction.solver.Solver._newton", lambda *_: None)
    assert 0 < np.linalg.norm(learner.fit(table) - newton) <= 2 * float(learner.solver.tolerance)


def test_the_proved_number_of_steps_is_enough_without_any_certificate(monkeypatch):
    learner, table = task(Hinge(), penalty=Fraction(1, 5))
    exact = learner.fit(table)
    monkeypatch.setattr("dpqr.prediction.solver.Solver._newton", lambda *_: None)
    monkeypatch.setattr("dpqr.prediction.solver.Solver.certified", lambda *_: False)
    assert np.linalg.norm(learner.fit(table) - exact) <= float(learner.solver.tolerance)


def test_steps_are_public():
    one, _ = task(Logistic(), seed=0)
    two, _ = task(Logistic(), seed=1)
    assert one.solver == two.solver
    assert one.solver.steps == two.solver.steps > 10


def test_no_records_give_zero():
    learner, _ = task(Logistic())
    assert learner.fit(counts(np.zeros((0, 2), dtype=int))).tolist() == [0, 0, 0]


MODULUS, SMOOTH, START, TOLERANCE = Fraction(1, 50), Fraction(3), Fraction(2), Fraction(1, 1000)
SOLVER = Solver(modulus=MODULUS, smoothness=SMOOTH, start=START, tolerance=TOLERANCE)


def test_a_point_is_certified_where_its_gradient_shows_half_the_tolerance():
    """||f - f*|| <= ||grad F(f)|| / mu, and the other half is for rounding."""
    half = 0.02 * 0.001 / 2
    assert SOLVER.certified(half * (1 - 1e-12))
    assert not SOLVER.certified(half * (1 + 1e-12))


def test_the_number_of_steps_is_that_of_the_theorem():
    """2 (1 - sqrt(mu / L))^k F(0) <= mu (tolerance / 2)^2 / 2, and not one step earlier."""

    def left(steps):
        return 2 * (1 - math.sqrt(0.02 / 3)) ** steps * 2

    wanted = 0.02 * 0.0005**2 / 2
    assert left(SOLVER.steps) <= wanted * (1 + 1e-9)
    assert left(SOLVER.steps - 1) > wanted * (1 - 1e-9)


class Slope:
    """|f - 1| of one number, to be stepped through by a Newton step that never arrives."""

    shape = (1, 1)

    def value(self, point):
        return float(abs(point[0] - 1))

    def gradient(self, point):
        return np.sign(point - 1)

    def newton_step(self, point, gradient):
        return np.full(1, 1e-9)

    def size(self, gradient):
        return float(np.abs(gradient).sum())

    def inner(self, one, two):
        return float(one @ two)


def test_newton_gives_up_where_no_point_is_certified():
    assert SOLVER._newton(Slope(), np.zeros(1)) is None


class Paraboloid(Slope):
    """mu / 2 ||f - c||^2 in the plane: the distance from the minimiser is the gradient's norm over mu, exactly."""

    shape, centre = (2, 2), np.array([0.3, -0.4])

    def value(self, point):
        return float(0.01 * np.square(point - self.centre).sum())

    def gradient(self, point):
        return 0.02 * (point - self.centre)

    def newton_step(self, point, gradient):
        return 0.9 * gradient / 0.02

    def size(self, gradient):
        return float(np.linalg.norm(gradient))


def test_what_is_returned_is_within_half_the_tolerance(monkeypatch):
    parabola = Paraboloid()
    assert np.linalg.norm(SOLVER.minimise(parabola) - parabola.centre) <= 0.0005
    monkeypatch.setattr("dpqr.prediction.solver.Solver._newton", lambda *_: None)
    assert np.linalg.norm(SOLVER.minimise(parabola) - parabola.centre) <= 0.0005


@pytest.mark.parametrize("loss", [Logistic(), Pinball(tau=Fraction(1, 4)), Square()], ids=repr)
def test_the_gradient_is_that_of_the_value_and_no_norm_is_told_too_small(loss):
    learner, _ = task(Logistic())
    codes = np.arange(7)[:, None]
    rows = Rows(
        features=learner.features, codes=codes, targets=np.linspace(-1, 1, 7), weights=np.linspace(0.01, 0.3, 7)
    )
    objective, point = Objective(rows=rows, loss=loss, penalty=0.3), np.array([0.7, -0.2, 0.4])
    found = objective.gradient(point)
    step = 1e-6 * np.eye(3)
    numeric = [(objective.value(point + each) - objective.value(point - each)) / 2e-6 for each in step]
    assert found == pytest.approx(numeric, abs=1e-6)  # a value of order 1 rounds by 2^-53, over a step of 2e-6
    assert objective.size(np.array([3.0, -4.0])) == pytest.approx(5)
    assert objective.inner(np.array([1.0, 2.0]), np.array([3.0, -1.0])) == 1


def test_a_gradients_rounding_by_hand():
    """Pinball tau = 1/4: C_L 3/4, smoothness 16, L(0, y) at most 3/4 + 1/32; weights 2, lambda 1/8, 10 features.

    N = sqrt(2 (25/32) / (1/8)) = sqrt(12.5), points up to 2 N; 2^12 + 64 ulp for a block's sum.
    """
    norm = 2 * math.sqrt(12.5)
    by_hand = 2.0**-52 * (0.75 * (4096 + 64) * 2 + 4 / 8 * norm + 2 * 16 * (10 * norm + 8))
    found = gradient_error(heaviest=Fraction(2), loss=Pinball(tau=Fraction(1, 4)), penalty=Fraction(1, 8), width=10)
    assert float(found) == pytest.approx(by_hand, rel=1e-9, abs=0)
