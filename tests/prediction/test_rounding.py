"""What double precision adds to a sensitivity: bounds against exact arithmetic, worst cases included."""

from fractions import Fraction

import numpy as np
import pytest
from support.prediction_tables import LOSSES, UNITS, VALUES, Given

from dpqr.data.unit import Neighbours
from dpqr.mechanisms.learned_functions import PREDICTION, Asked, rounded, step
from dpqr.prediction.features import clipped
from dpqr.prediction.losses import Logistic
from dpqr.prediction.rounding import FEATURE_NORM, UNIT, evaluation_error, gamma
from dpqr.prediction.scale import MOST_RECORDS, Scale
from dpqr.prediction.stable import ARITHMETIC, Examples, LeastSquares, LipschitzLearner


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


@pytest.mark.parametrize("width", [1, 2, 17, 300, 4096])
def test_a_dot_product_is_as_exact_as_its_bound_says(width):
    drawn = np.random.default_rng(width)
    for spread in (0.0, 3.0, 20.0):
        for _ in range(5):
            weights = drawn.normal(size=width) * np.exp(spread * drawn.normal(size=width))
            features = clipped(drawn.normal(size=(1, width)) * 10)[0]
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


@pytest.mark.parametrize("width", [1, 50, 4096])
def test_a_row_of_features_keeps_to_its_norm_in_exact_arithmetic(width):
    drawn = np.random.default_rng(5)
    for size in (1e-3, 1.0, 1e6):
        (row,) = clipped(drawn.normal(size=(1, width)) * size)
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
    scale = Scale(unit=UNITS[Neighbours.ADD_REMOVE], records=records)
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
    first, second = rounded(values, step(bound)).tolist()
    return abs(first - second)


@pytest.mark.parametrize(("width", "records"), [(64, 10**5), (4096, 2**24), (4096, MOST_RECORDS)])
def test_in_the_worst_case_predictions_move_by_the_sensitivity_at_most(width, records):
    found = learner(width, records)
    assert steps_moved(worst_pair(found, width), found.bound) <= PREDICTION


def test_without_the_dot_products_error_the_sensitivity_is_exceeded():
    found = learner(4096, MOST_RECORDS)
    pair = worst_pair(found, 4096)
    assert steps_moved(pair, without_evaluation(found)) > PREDICTION + 1000


@pytest.mark.parametrize(("width", "records"), [(1, 10), (64, 10**5), (4096, MOST_RECORDS)])
def test_functions_within_the_bound_predict_within_the_sensitivity(width, records):
    found, drawn = learner(width, records), np.random.default_rng(7)
    apart = float(without_evaluation(found) / ARITHMETIC) * (1 - 2.0**-30)
    for _ in range(20):
        direction = np.abs(drawn.normal(size=width))
        direction /= np.linalg.norm(direction) * (1 + 2.0**-40)
        one = direction * float(found.norm) * (1 - 2.0**-20)
        told = [Told(each, found.bound) for each in (one, one - direction * apart)]
        first, second = (Asked(learner=each, points=direction[None], limit=None).predictions(None) for each in told)
        assert abs(int(first[0]) - int(second[0])) <= PREDICTION


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("relation", Neighbours)
def test_every_learner_charges_for_twice_the_error_of_a_value(name, relation):
    width, records, penalty = 100, 10**6, Fraction(1, 100)
    given = Examples(features=Given(np.zeros((1, width))), axis=1, values=VALUES)
    scale = Scale(unit=UNITS[relation], records=records)
    if LOSSES[name] is None:
        found = LeastSquares(examples=given, penalty=penalty, scale=scale)
        norm, tolerance = found.radius or found.reach, found.tolerance
    else:
        found = LipschitzLearner(examples=given, loss=LOSSES[name], penalty=penalty, scale=scale)
        norm, tolerance = found.norm, found.solver.tolerance
    assert found.bound >= found.distance + 2 * tolerance + 2 * evaluation_error(width, norm)
