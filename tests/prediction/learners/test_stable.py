"""Certified bounds against measured changes: never exceeded, and nearly reached by some pair."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, thinned
from support.prediction_tables import LOSSES, UNITS, built_share, counts, learner, measured_shares

from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.prediction.learners.examples import LossScale
from dpqr.prediction.learners.losses import Pinball
from dpqr.prediction.learners.stable import LipschitzLearner, opposed_pulls

PAIRS = 125
"""For each learner and relation, 1,000 together; `tests/benchmarks/predict.py --only sensitivity` has more."""
ATTAINED = ("hinge", "exact hinge", "pinball", "exact pinball", "least squares")


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("name", thinned(LOSSES, 6))
def test_random_neighbours_stay_within_the_bound(name, relation):
    drawn = np.random.default_rng(5)
    pairs = PAIRS // 8 if name.startswith("exact") else PAIRS
    assert max(measured_shares(drawn, name, relation, pairs)) <= 1


@in_one_test("relation", Neighbours)
@pytest.mark.parametrize("name", ATTAINED)
def test_some_neighbours_come_near_the_bound(name, relation):
    """A vector of norm 1 comes, or is turned round, and there is enough regularisation for full slopes."""
    stable = learner(name, [[1.0, 0.0], [-1.0, 0.0]], Fraction(20), UNITS[relation], 2)
    one, two = [(0, 1)], [(0, 1), (0, 1)]
    if relation is Neighbours.REPLACE:
        one, two = two, [(0, 1), (1, 1)]
    moved = np.linalg.norm(stable.fit(counts(one)) - stable.fit(counts(two)))
    assert 0.8 * float(stable.bound) <= moved <= float(stable.bound)


def test_least_squares_keeps_to_its_ball_and_needs_none_where_no_minimiser_leaves_it():
    rows = counts([(0, 1)] * 3)
    small = learner("least squares", [[0.1, 0.0]], Fraction(1, 10**6), UNITS[Neighbours.ADD_REMOVE], 1)
    assert np.linalg.norm(small.fit(rows)) == pytest.approx(1.0, abs=1e-9)
    large = learner("least squares", [[1.0, 0.0]], Fraction(1, 2), UNITS[Neighbours.REPLACE], 3)
    assert large.radius == large.reach
    assert large.fit(rows)[0] == pytest.approx(1 / 1.5)


@in_one_test("name", LOSSES)
def test_tables_that_teach_nothing_are_learned_from_like_any_other(name):
    for rows in ([], [(0, 0)], [(0, 1)] * 50, [(0, 0)] * 10**4):
        stable = learner(name, [[1.0, 0.0]], Fraction(1, 100), UNITS[Neighbours.ADD_REMOVE], 3)
        table = counts(np.array(rows, dtype=int).reshape(len(rows), 2))
        assert np.isfinite(stable.fit(table)).all()


@in_one_test("name", ["pinball", "least squares"])
def test_a_row_without_a_target_teaches_nothing(name):
    stable = learner(name, [[1.0, 0.0], [0.6, 0.8]], Fraction(1, 10), UNITS[Neighbours.ADD_REMOVE], 9)
    unknown = len(stable.examples.values)
    lacking = replace(stable, examples=replace(stable.examples, values=np.append(stable.examples.values, np.nan)))
    rows = [(0, 1), (1, 0), (1, 3)]
    assert lacking.fit(counts([*rows, (0, unknown), (1, unknown)])).tolist() == stable.fit(counts(rows)).tolist()
    assert not lacking.fit(counts([(0, unknown)])).any()


ETA = Fraction(1, 64)
HEAVIEST = (1 + ETA) ** 2 / (4 * ETA)
ULP = 2.0**-52
WIDTH = 2
VECTORS = [[1.0, 0.0], [-1.0, 0.0]]


@in_one_test("rows", [1, 5])
@pytest.mark.parametrize("relation", Neighbours)
def test_distances_of_lipschitz_losses_by_hand(relation, rows):
    """C_L = 4/5. Rows that are replaced: C_L / (lambda m). Others: (1 + eta) C_L / (2 lambda m0), K or 2K times."""
    unit = PrivacyUnit(neighbours=relation, **({"columns": ("p",), "rows": rows} if rows > 1 else {}))
    stable = learner("pinball", VECTORS, Fraction(1, 10), unit, 100)
    one = (1 + ETA) * Fraction(4, 5) / (2 * Fraction(1, 10) * 100)
    replaced = 2 * rows * one if rows > 1 else Fraction(4, 5) / (Fraction(1, 10) * 100)
    assert stable.distance == (replaced if relation is Neighbours.REPLACE else rows * one)


def test_distances_of_least_squares_by_hand():
    """In the ball of radius R = min(1, 1 / (2 sqrt(lambda))) gradients have norm 2 (R + 1), and two of them differ by
    2 D(R) at most."""
    added = learner("least squares", VECTORS, Fraction(1, 16), UNITS[Neighbours.ADD_REMOVE], 100)
    assert added.radius == 1
    assert added.distance == (1 + ETA) * 4 / (2 * Fraction(1, 16) * 100)
    for penalty, radius in ((1, Fraction(1, 2)), (Fraction(1, 100), 1)):
        replaced = learner("least squares", VECTORS, Fraction(penalty), UNITS[Neighbours.REPLACE], 100)
        assert float(replaced.radius) == pytest.approx(radius)
        assert replaced.distance == opposed_pulls(replaced.radius) / (Fraction(penalty) * 100)


@in_one_test("relation", Neighbours)
def test_logistic_loss_comes_within_15_percent_of_its_bound(relation):
    assert 0.85 <= built_share("logistic", relation) <= 1


@in_one_test("relation", Neighbours)
def test_least_squares_comes_near_its_bound_where_short_rows_hold_it(relation):
    assert 0.9 <= built_share("least squares", relation) <= 1


@in_one_test("relation", Neighbours)
def test_a_solvers_constants_by_hand(relation):
    """Modulus 2 lambda; smoothness and F(0) by the weight of all losses together; a tolerance of a 1024th of the
    distance, and twice the gradient's rounding over the modulus."""
    heaviest = Fraction(1) if relation is Neighbours.REPLACE else HEAVIEST
    penalty = Fraction(1, 8)
    stable = learner("pinball", VECTORS, penalty, UNITS[relation], 10**6)
    assert stable.solver.modulus == Fraction(1, 4)
    assert stable.solver.smoothness == heaviest * 16 + Fraction(1, 4)
    assert stable.solver.start == heaviest * (Fraction(4, 5) + Fraction(1, 32))
    norm = 2 * math.sqrt(heaviest * Fraction(133, 160) / penalty)
    summed = 0.8 * (2**12 + 64) * heaviest + 4 / 8 * norm
    rounding = ULP * (summed + heaviest * 16 * (WIDTH * norm + 8))
    assert float(stable.solver.tolerance) == pytest.approx(
        float(stable.distance) / 1024 + 8 * rounding, rel=1e-9, abs=0
    )


@in_one_test("name", LOSSES)
def test_both_ends_of_a_pair_are_charged_for_the_solver_and_for_a_value(name):
    """bound = (distance + 2 (tolerance + e)) (1 + 2^-20), e = gamma_(width + 2) times the norm."""
    stable = learner(name, VECTORS, Fraction(1, 8), UNITS[Neighbours.ADD_REMOVE], 10**9 // 4)
    if name == "least squares":
        rounding = (2**8 * WIDTH + 2 * 2**12) * float(HEAVIEST) * ULP
        assert float(stable.tolerance) == pytest.approx(float(stable.distance) / 1024 + 8 * rounding, rel=1e-9, abs=0)
        tolerance, norm = stable.tolerance, stable.radius
    else:
        tolerance, norm = stable.solver.tolerance, stable.norm
    error = Fraction(4, 2**53) * (norm + tolerance)
    expected = (stable.distance + 2 * (tolerance + error)) * (1 + Fraction(1, 2**20))
    assert float(stable.bound) == pytest.approx(float(expected), rel=1e-12, abs=0)
    assert stable.bound >= expected


def test_no_minimiser_is_longer_than_the_norm_that_is_charged_for():
    """The most that a table can weigh, all of it one row: m u / m0 = heaviest at m = (1 + 1 / eta) m0 / 2."""
    scale = LossScale(unit=PrivacyUnit(), records=64)
    most = max(range(64, 65 * 64), key=lambda m: m * scale.weight(m))
    stable = learner("pinball", VECTORS, Fraction(20), UNITS[Neighbours.ADD_REMOVE], 64)
    found = np.linalg.norm(stable.fit(counts([(0, 1)] * most)))
    assert 0.99 * float(stable.norm) <= found <= float(stable.norm + stable.solver.tolerance)
    assert float(HEAVIEST) == pytest.approx(most * scale.weight(most), rel=1e-4)


def test_on_the_ball_it_is_the_minimiser_there():
    """Its gradient points inwards along the function itself, with a multiplier of 0 or more."""
    drawn = np.random.default_rng(8)
    vectors = drawn.normal(size=(6, 2))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stable = learner("least squares", vectors, Fraction(1, 10**5), UNITS[Neighbours.ADD_REMOVE], 6)
    rows = [(place, int(vectors[place, 0] < 0.2)) for place in range(6)] * 40
    weights = stable.fit(counts(rows))
    taken = stable.scale.weight(len(rows))
    targets = np.array([[-1.0, 1.0][value] for _, value in rows])
    seen = vectors[[place for place, _ in rows]]
    gradient = 2 * taken * seen.T @ (seen @ weights - targets) + 2e-5 * weights
    assert np.linalg.norm(weights) == pytest.approx(1, abs=1e-9)
    assert np.linalg.norm(gradient + np.linalg.norm(gradient) * weights) <= 1e-7 * np.linalg.norm(gradient)


def test_a_low_quantile_has_the_slope_of_its_longer_side():
    given = learner("pinball", VECTORS, Fraction(20), UNITS[Neighbours.ADD_REMOVE], 2)
    low = LipschitzLearner(
        examples=given.examples, loss=Pinball(tau=Fraction(1, 10)), penalty=Fraction(20), scale=given.scale
    )
    moved = np.linalg.norm(low.fit(counts([(0, 0)])) - low.fit(counts([(0, 0), (0, 0)])))
    assert 0.8 * float(low.bound) <= moved <= float(low.bound)


@in_one_test("relation", Neighbours)
def test_where_lambda_is_tiny_the_bound_without_a_lipschitz_constant_is_smaller(relation):
    """Hinge, 2 records, lambda 1/100: sqrt(2 B / (2 lambda m)) with B = 1 + ||f||, against 1 / (lambda m) = 50."""
    stable = learner("exact hinge", VECTORS, Fraction(1, 100), UNITS[relation], 2)
    heaviest = 1 if relation is Neighbours.REPLACE else float(HEAVIEST)
    share = 2 if relation is Neighbours.REPLACE else float(1 + ETA)
    largest = 1 + min(math.sqrt(heaviest * 100), heaviest * 50)
    lipschitz = stable.scale.distance(Fraction(1), Fraction(2, 100))
    without = stable.scale.bounded_distance(Fraction(largest), Fraction(2, 100))
    assert float(without) == pytest.approx(math.sqrt(share * largest / (2 * 0.01 * 2)), rel=1e-6)
    assert float(stable.distance) == pytest.approx(float(min(lipschitz, without)), rel=1e-6)
    assert (without < lipschitz) == (relation is Neighbours.REPLACE)
    assert learner("exact hinge", VECTORS, Fraction(1), UNITS[relation], 100).distance < stable.distance
