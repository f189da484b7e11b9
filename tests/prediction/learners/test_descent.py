"""Gradient descent: its steps, its bound against measured changes, and that nothing observed steers it."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, thinned
from support.prediction_tables import (
    UNITS,
    VECTORS,
    built_descent_share,
    counts,
    descent,
    measured_descent_shares,
    pair,
)

from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.prediction.learners.gradient_steps import MOST_STEPS
from dpqr.prediction.learners.losses import Logistic
from dpqr.prediction.learners.solver import evaluation_error
from dpqr.prediction.learners.stable import ARITHMETIC

AXIS = [[1.0, 0.0], [-1.0, 0.0]]
REPLACE, ADDED = UNITS[Neighbours.REPLACE], UNITS[Neighbours.ADD_REMOVE]


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("name", thinned(["logistic", "hinge", "pinball", "least squares"], 2))
def test_random_neighbours_stay_within_the_bound(name, relation):
    assert max(measured_descent_shares(np.random.default_rng(5), name, relation, 30)) <= 1


@in_one_test("unit", [REPLACE, ADDED])
def test_a_hinge_that_is_never_satisfied_uses_all_of_the_bound(unit):
    """Full slopes at every step: m = 1, the label turned round, or the only record coming."""
    stable = descent("hinge", AXIS, radius=2, horizon=Fraction(4, 5), unit=unit, records=1)
    tables = ([(0, 1)], [(1, 1)]) if unit is REPLACE else ([], [(0, 1)])
    one, two = (stable.fit(counts(np.array(rows, dtype=int).reshape(len(rows), 2))) for rows in tables)
    assert 0.97 * float(stable.bound) <= np.linalg.norm(one - two) <= float(stable.bound)


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
def test_logistic_loss_comes_within_15_percent_of_the_bound(relation):
    assert 0.85 <= built_descent_share(relation) <= 1


def test_the_distance_by_hand():
    """Replace: 2 s G / m, R / sqrt(m) at s = R sqrt(m) / (2 G); add-remove: (1 + eta) s G / m0, for each of K rows."""
    assert descent(
        "logistic", AXIS, radius=3, horizon=Fraction(15), unit=REPLACE, records=100
    ).distance == 3 / Fraction(10)
    person = PrivacyUnit(columns=("who",), rows=4)
    eta = Fraction(65, 64)
    assert descent("pinball", AXIS, radius=1, horizon=Fraction(8), unit=ADDED, records=50).distance == (
        eta * 8 * Fraction(4, 5) / 50
    )
    assert descent("least squares", AXIS, radius=1, horizon=Fraction(8), unit=person, records=50).distance == (
        4 * eta * 8 * 4 / Fraction(50)
    )


@in_one_test("unit", [REPLACE, ADDED])
@pytest.mark.parametrize("name", ["logistic", "hinge", "least squares"])
def test_no_step_is_longer_than_the_smoothness_of_the_heaviest_table_allows(name, unit):
    stable = descent(name, AXIS, radius=1, horizon=Fraction(50), unit=unit, records=9)
    length = stable.reached / stable.steps
    assert length * stable.scale.heaviest * stable.loss.smoothness <= 2
    assert length * stable.loss.smoothness <= 1


def test_a_descent_that_would_need_too_many_steps_stops_earlier_and_moves_less():
    stable = descent("hinge", AXIS, radius=1, horizon=Fraction(10**6), unit=ADDED, records=10**4)
    assert stable.steps == MOST_STEPS
    assert stable.reached < stable.horizon
    assert stable.distance == Fraction(65, 64) * stable.reached / 10**4


def test_the_function_stays_in_its_ball_and_empty_tables_give_zero():
    stable = descent("least squares", AXIS, radius=Fraction(1, 4), horizon=Fraction(40), unit=REPLACE, records=3)
    assert np.linalg.norm(stable.fit(counts([(0, 1)] * 3))) == pytest.approx(0.25, abs=1e-12)
    added = descent("logistic", AXIS, radius=1, horizon=Fraction(4), unit=ADDED, records=3)
    assert not added.fit(counts(np.zeros((0, 2), dtype=int))).any()


def test_it_is_the_recursion_as_written():
    drawn = np.random.default_rng(3)
    vectors = drawn.normal(size=(VECTORS, 2)) / 3
    stable = descent("logistic", vectors, radius=2, horizon=Fraction(30), unit=REPLACE, records=6)
    rows, _ = pair(drawn, "logistic", Neighbours.REPLACE, 6)
    weights, loss, length = np.zeros(2), Logistic(), float(stable.reached / stable.steps)
    for _ in range(stable.steps):
        slopes = [loss.slope(vectors[v] @ weights, [-1.0, 1.0][y]) * vectors[v] for v, y in rows]
        weights = weights - length * np.sum(slopes, axis=0) / 6
        weights /= max(1.0, np.linalg.norm(weights) / 2)
    assert stable.fit(counts(rows)) == pytest.approx(weights, abs=1e-12)


def test_rounding_of_every_step_is_charged():
    """s (heaviest (G (BLOCK + 64) + smoothness (width R + 8))) + (width + 8) (steps R + s heaviest G) ulp."""
    stable = descent("logistic", AXIS, radius=2, horizon=Fraction(100), unit=REPLACE, records=5)
    assert float(stable.tolerance) == pytest.approx(
        2.0**-52 * (100 * (4096 + 64 + (4 + 8) / 4) + 10 * (stable.steps * 2 + 100)), rel=1e-12, abs=0
    )
    wrong = stable.tolerance + evaluation_error(2, stable.norm + stable.tolerance)
    assert stable.bound == (stable.distance + 2 * wrong) * ARITHMETIC
