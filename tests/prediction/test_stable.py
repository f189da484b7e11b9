"""Certified bounds against measured changes: never exceeded, and nearly reached by some pair."""

from fractions import Fraction

import numpy as np
import pytest
from tables_of_prediction import counts, examples

from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.prediction.losses import Hinge, Logistic, Pinball
from dpqr.prediction.scale import Scale
from dpqr.prediction.stable import LeastSquares, LipschitzLearner

UNITS = {each: PrivacyUnit(neighbours=each) for each in Neighbours}
PAIRS = 125
VECTORS = 12
VALUES = np.array([-1.0, 1.0, 0.0, 0.3])
LOSSES = {"logistic": Logistic(), "hinge": Hinge(), "pinball": Pinball(tau=Fraction(4, 5)), "least squares": None}
ATTAINED = ("hinge", "pinball", "least squares")


def learner(name, vectors, penalty, unit, records):
    given = {"examples": examples(vectors, VALUES), "penalty": penalty, "scale": Scale(unit=unit, records=records)}
    return LipschitzLearner(loss=LOSSES[name], **given) if LOSSES[name] else LeastSquares(**given)


def pair(drawn, name, relation, size):
    """Two tables of rows (vector, value), neighbours; classifiers see signs only."""
    kinds = 2 if name in ("logistic", "hinge") else len(VALUES)
    rows = [(int(drawn.integers(VECTORS)), int(drawn.integers(kinds))) for _ in range(size)]
    if drawn.random() < 0.5:  # everybody alike but for one
        rows = [rows[0]] * (size - 1) + [(rows[0][0], 1 - rows[0][1] % 2)]
    if relation is Neighbours.ADD_REMOVE:
        return rows, rows[:-1]
    return rows, [*rows[:-1], (int(drawn.integers(VECTORS)), int(drawn.integers(kinds)))]


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("name", LOSSES)
def test_random_neighbours_stay_within_the_bound(name, relation):
    drawn = np.random.default_rng(5)
    for _ in range(PAIRS):
        vectors = drawn.normal(size=(VECTORS, 2))
        vectors /= np.maximum(1, np.linalg.norm(vectors, axis=1, keepdims=True))
        size = int(drawn.integers(2, 9))
        declared = size if relation is Neighbours.REPLACE else int(drawn.integers(1, 2 * size))
        penalty = Fraction(int(10 ** drawn.uniform(0, 5)), 1000)
        stable = learner(name, vectors, penalty, UNITS[relation], declared)
        one, two = (stable.fit(counts(rows)) for rows in pair(drawn, name, relation, size))
        assert np.linalg.norm(one - two) <= float(stable.bound)


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("name", ATTAINED)
def test_some_neighbours_come_near_the_bound(name, relation):
    """A vector of norm 1 comes, or is turned round, and there is enough regularisation for full slopes."""
    stable = learner(name, [[1.0, 0.0], [-1.0, 0.0]], Fraction(20), UNITS[relation], 2)
    one, two = [(0, 1)], [(0, 1), (0, 1)]
    if relation is Neighbours.REPLACE:
        one, two = two, [(0, 1), (1, 1)]
    moved = np.linalg.norm(stable.fit(counts(one)) - stable.fit(counts(two)))
    assert 0.8 * float(stable.bound) <= moved <= float(stable.bound)


def test_least_squares_keeps_to_its_ball_and_to_the_whole_space_where_that_is_cheaper():
    rows = counts([(0, 1)] * 3)
    small = learner("least squares", [[0.1, 0.0]], Fraction(1, 10**6), UNITS[Neighbours.ADD_REMOVE], 1)
    assert np.linalg.norm(small.fit(rows)) == pytest.approx(1.0, abs=1e-9)
    large = learner("least squares", [[1.0, 0.0]], Fraction(1, 2), UNITS[Neighbours.REPLACE], 3)
    assert large.radius is None
    assert large.fit(rows)[0] == pytest.approx(1 / 1.5)


def test_equal_tables_give_equal_weights():
    stable = learner("logistic", [[1.0, 0.0], [0.0, 1.0]], Fraction(1, 10), UNITS[Neighbours.ADD_REMOVE], 4)
    one, two = counts([(0, 0), (1, 1), (1, 0)]), counts([(1, 0), (0, 0), (1, 1)])
    assert stable.fit(one).tolist() == stable.fit(two).tolist()


@pytest.mark.parametrize("name", LOSSES)
def test_tables_that_teach_nothing_are_learned_from_like_any_other(name):
    for rows in ([], [(0, 0)], [(0, 1)] * 50, [(0, 0)] * 10**4):
        stable = learner(name, [[1.0, 0.0]], Fraction(1, 100), UNITS[Neighbours.ADD_REMOVE], 3)
        table = counts(np.array(rows, dtype=int).reshape(len(rows), 2))
        assert np.isfinite(stable.fit(table)).all()
