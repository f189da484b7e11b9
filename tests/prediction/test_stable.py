"""Certified bounds against measured changes: never exceeded, and nearly reached by some pair."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tables_of_prediction import LOSSES, UNITS, counts, learner, measured_shares

from dpqr.data.unit import Neighbours

PAIRS = 125
"""For each learner and relation, 1,000 together; `tests/benchmarks/predict.py --only sensitivity` has more."""
ATTAINED = ("hinge", "pinball", "least squares")


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("name", LOSSES)
def test_random_neighbours_stay_within_the_bound(name, relation):
    drawn = np.random.default_rng(5)
    assert max(measured_shares(drawn, name, relation, PAIRS)) <= 1


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


@pytest.mark.parametrize("name", ["pinball", "least squares"])
def test_a_row_without_a_target_teaches_nothing(name):
    stable = learner(name, [[1.0, 0.0], [0.6, 0.8]], Fraction(1, 10), UNITS[Neighbours.ADD_REMOVE], 9)
    unknown = len(stable.examples.values)
    lacking = replace(stable, examples=replace(stable.examples, values=np.append(stable.examples.values, np.nan)))
    rows = [(0, 1), (1, 0), (1, 3)]
    assert lacking.fit(counts([*rows, (0, unknown), (1, unknown)])).tolist() == stable.fit(counts(rows)).tolist()
    assert not lacking.fit(counts([(0, unknown)])).any()
