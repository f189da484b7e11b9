"""What double precision adds to a sensitivity: bounds against exact arithmetic, worst cases included."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.prediction_tables import UNITS, VALUES, Given, counts, examples

from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.learned_functions import PREDICTION, LearnerAtPoints, round_to_grid, step
from dpqr.prediction.learners.examples import MOST_RECORDS, Examples, LossScale, TrainingRows
from dpqr.prediction.learners.features import clip_to_unit_norm
from dpqr.prediction.learners.losses import Hinge, Logistic, Pinball, Square
from dpqr.prediction.learners.solver import (
    FEATURE_NORM,
    UNIT,
    Objective,
    Solver,
    evaluation_error,
    gamma,
    gradient_error,
)
from dpqr.prediction.learners.stable import ARITHMETIC, LipschitzLearner


def task(loss, penalty=Fraction(1, 50), rows=40, width=3, seed=0):
    drawn = np.random.default_rng(seed)
    vectors = drawn.normal(size=(rows, width))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    values = np.where(drawn.random(rows) < 0.5, -1.0, 1.0)
    learner = LipschitzLearner(
        examples=examples(vectors, values),
        loss=loss,
        penalty=penalty,
        scale=LossScale(unit=PrivacyUnit(), records=rows),
    )
    return learner, counts([(row, row) for row in range(rows)])


@in_one_test("loss", [Logistic(), Hinge(), Pinball(tau=Fraction(1, 4))])
def test_both_ways_end_within_the_tolerance_of_each_other(loss, monkeypatch):
    learner, table = task(loss)
    newton = learner.fit(table)
    monkeypatch.setattr("dpqr.prediction.learners.solver.Solver._newton", lambda *_: None)
    monkeypatch.setattr("dpqr.prediction.learners.solver.Solver._searched", lambda solver, of, point: (point, False))
    assert 0 < np.linalg.norm(learner.fit(table) - newton) <= 2 * float(learner.solver.tolerance)


@pytest.mark.slow
def test_the_proved_number_of_steps_is_enough_without_any_certificate(monkeypatch):
    learner, table = task(Hinge(), penalty=Fraction(1, 5))
    exact = learner.fit(table)
    monkeypatch.setattr("dpqr.prediction.learners.solver.Solver._newton", lambda *_: None)
    monkeypatch.setattr("dpqr.prediction.learners.solver.Solver.certified", lambda *_: False)
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
    monkeypatch.setattr("dpqr.prediction.learners.solver.Solver._newton", lambda *_: None)
    assert np.linalg.norm(SOLVER.minimise(parabola) - parabola.centre) <= 0.0005


@in_one_test("loss", [Logistic(), Pinball(tau=Fraction(1, 4)), Square()])
def test_the_gradient_is_that_of_the_value_and_no_norm_is_underestimated(loss):
    learner, _ = task(Logistic())
    codes = np.arange(7)[:, None]
    rows = TrainingRows(
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


def exactly(one, two):
    return sum((Fraction(a) * Fraction(b) for a, b in zip(one.tolist(), two.tolist(), strict=True)), Fraction(0))


def norm_above(vector):
    """At least the exact norm."""
    return Fraction(float(np.linalg.norm(vector))) * (1 + Fraction(1, 2**30))


def in_order(one, two):
    """A dot product summed from left to right."""
    total = 0.0
    for product in (one * two).tolist():
        total += product
    return total


@pytest.mark.slow
@in_one_test("width", [1, 2, 17, 300, 4096])
def test_a_dot_product_is_as_exact_as_its_bound_says(width):
    drawn = np.random.default_rng(width)
    for spread in (0.0, 3.0, 20.0):
        for _ in range(5):
            weights = drawn.normal(size=width) * np.exp(spread * drawn.normal(size=width))
            features = clip_to_unit_norm(drawn.normal(size=(1, width)) * 10)[0]
            bound, truth = evaluation_error(width, norm_above(weights)), exactly(weights, features)
            for computed in (float(features @ weights), in_order(weights, features), in_order(features, weights)):
                assert abs(Fraction(computed) - truth) <= bound


def test_the_bound_is_met_within_a_small_factor_by_a_sum_that_always_rounds_down():
    """1 and many times u: each addition, half way between two doubles, goes back to 1."""
    width = 2**12
    products = np.array([1.0] + [float(UNIT)] * (width - 1))
    features = np.full(width, 2.0**-6)  # norm 1
    weights = products * 2.0**6
    wrong = abs(Fraction(in_order(weights, features)) - exactly(weights, features))
    assert wrong == (width - 1) * UNIT
    bound = evaluation_error(width, norm_above(weights))
    assert bound / 65 < wrong <= bound  # |w| . |phi| is 1 where ||w|| ||phi|| is 64


@in_one_test("width", [1, 50, 4096])
def test_a_row_of_features_keeps_to_its_norm_in_exact_arithmetic(width):
    drawn = np.random.default_rng(5)
    for size in (1e-3, 1.0, 1e6):
        (row,) = clip_to_unit_norm(drawn.normal(size=(1, width)) * size)
        assert exactly(row, row) <= FEATURE_NORM**2


def test_gamma_is_highams():
    assert gamma(0) == 0
    assert gamma(2**12) == Fraction(2**12, 2**53 - 2**12)


def test_the_bound_by_hand():
    """Ten products and their sum, the quotient by the grid's step, and underflow: gamma_12."""
    u = Fraction(1, 2**53)
    assert evaluation_error(10, Fraction(3)) == 12 * u / (1 - 12 * u) * 3 * (1 + Fraction(1, 2**40))


class Told:
    """A learner with these weights, whose function is promised to move by `bound` at most."""

    def __init__(self, weights, bound):
        self.weights, self.bound = weights, bound

    def fit(self, counts):
        return self.weights


def learner(width, records, penalty=Fraction(100)):
    given = Examples(features=Given(np.zeros((1, width))), axis=1, values=VALUES)
    scale = LossScale(unit=UNITS[Neighbours.ADD_REMOVE], records=records)
    return LipschitzLearner(examples=given, loss=Logistic(), penalty=penalty, scale=scale)


def without_evaluation(learner):
    """The bound as it was before the dot product's error was charged for."""
    return (learner.distance + 2 * learner.solver.tolerance) * ARITHMETIC


def worst_pair(learner, width):
    """Weights as far apart as the exact part of the bound allows, and a point at which sums from left to right go
    wrong in opposite directions: one stays at or above a power of two, whose doubles are twice as far apart, and
    loses each small term; the other stays below it, and subtracts nearly twice as much each time."""
    apart = float(without_evaluation(learner) / ARITHMETIC) * (1 - 2.0**-30)
    boundary = 2.0 ** np.floor(np.log2(float(learner.norm)) - 2.0**-20)
    features = np.full(width, 2.0**-26)
    features[0] = 1 - 2.0**-40
    one = np.full(width, -0.51 * 2.0**-53 * boundary * 2.0**26)
    one[0] = boundary * (1 + 2.0**-39)
    two = one.copy()
    two[0] -= apart
    assert exactly(features, features) <= 1
    assert exactly(one - two, one - two) <= (without_evaluation(learner) / ARITHMETIC) ** 2
    assert max(norm_above(one), norm_above(two)) <= learner.norm
    return one, two, features


def steps_moved(pair, bound):
    one, two, features = pair
    values = np.array([in_order(features, weights) for weights in (one, two)])
    first, second = round_to_grid(values, step(bound)).tolist()
    return abs(first - second)


@in_one_test(("width", "records"), [(64, 10**5), (4096, 2**24), (4096, MOST_RECORDS)])
def test_in_the_worst_case_predictions_move_by_the_sensitivity_at_most(width, records):
    found = learner(width, records)
    assert steps_moved(worst_pair(found, width), found.bound) <= PREDICTION


def test_without_the_dot_products_error_the_sensitivity_is_exceeded():
    found = learner(4096, MOST_RECORDS)
    pair = worst_pair(found, 4096)
    assert steps_moved(pair, without_evaluation(found)) > PREDICTION + 1000


@in_one_test(("width", "records"), [(1, 10), (64, 10**5), (4096, MOST_RECORDS)])
def test_functions_within_the_bound_predict_within_the_sensitivity(width, records):
    found, drawn = learner(width, records), np.random.default_rng(7)
    apart = float(without_evaluation(found) / ARITHMETIC) * (1 - 2.0**-30)
    for _ in range(20):
        direction = np.abs(drawn.normal(size=width))
        direction /= np.linalg.norm(direction) * (1 + 2.0**-40)
        one = direction * float(found.norm) * (1 - 2.0**-20)
        told = [Told(each, found.bound) for each in (one, one - direction * apart)]
        first, second = (
            LearnerAtPoints(learner=each, points=direction[None], limit=None).predictions(None) for each in told
        )
        assert abs(int(first[0]) - int(second[0])) <= PREDICTION
