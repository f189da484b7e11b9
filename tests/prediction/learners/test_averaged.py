"""The mean of learners of disjoint parts: its bound is a part's over their number, measured and by hand."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.prediction_tables import UNITS, VALUES, counts, descent, examples, learner

from dpqr.kernel.unit import Neighbours
from dpqr.prediction.learners.examples import LossScale
from dpqr.prediction.learners.gradient_steps import Averaged
from dpqr.prediction.learners.losses import Hinge
from dpqr.prediction.learners.stable import CLOSENESS, LipschitzLearner
from dpqr.prediction.recipes import Stability

AXIS = [[1.0, 0.0], [-1.0, 0.0], [0.6, 0.8]]
SHAPE = (1000, 1000, 4)
PARTS = 4


def hinge(unit, records=1, penalty=Fraction(2), parts=PARTS):
    scale = LossScale(unit=unit, records=records, part=True)
    member = LipschitzLearner(examples=examples(AXIS, VALUES), loss=Hinge(), penalty=penalty, scale=scale)
    return Stability(parts=parts).penalised(member)


def means(stable, rows):
    return stable.fit(counts(np.array(rows, dtype=int).reshape(len(rows), 3), SHAPE))


@in_one_test("relation", Neighbours)
def test_one_record_moves_the_mean_by_nearly_its_bound_and_never_beyond(relation):
    """The part's only record comes, or turns round."""
    stable = hinge(UNITS[relation])
    others = [(0, 1, part) for part in range(1, PARTS)]
    tables = ([(1, 1, 0), *others] if relation is Neighbours.REPLACE else others, [(0, 1, 0), *others])
    moved = np.linalg.norm(means(stable, tables[0]) - means(stable, tables[1]))
    assert 0.85 * float(stable.bound) <= moved <= float(stable.bound)


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
def test_random_neighbours_stay_within_the_bound_whatever_their_parts(relation):
    drawn = np.random.default_rng(4)
    member = descent("logistic", AXIS, radius=3, horizon=Fraction(12), unit=UNITS[relation], records=3, part=True)
    for stable in (hinge(UNITS[relation], 3, Fraction(1, 10)), Averaged(learner=member, parts=PARTS)):
        for _ in range(15):
            rows = [(*drawn.integers((3, 2)), drawn.integers(PARTS)) for _ in range(8)]
            other = rows[:-1]
            if relation is Neighbours.REPLACE:  # the record that comes is in the part of the one that goes
                other = [*other, (*drawn.integers((3, 2)), rows[-1][2])]
            assert np.linalg.norm(means(stable, rows) - means(stable, other)) <= float(stable.bound)


def test_the_bound_by_hand():
    """gamma / r, gamma of a part whose size is private: two records come and go under replace; and the tolerance of
    all members, which is made smaller by their number."""
    for relation, moved in ((Neighbours.REPLACE, 2), (Neighbours.ADD_REMOVE, 1)):
        stable = hinge(UNITS[relation], 25)
        assert stable.learner.distance == moved * Fraction(65, 64) / (2 * 2 * 25)
        assert stable.distance == stable.learner.distance / PARTS
        assert stable.learner.closeness == CLOSENESS / PARTS
        assert stable.distance < stable.bound < stable.distance * (1 + Fraction(1, 400))
        assert stable.bound >= stable.distance + (stable.learner.bound - stable.learner.distance)


def test_it_is_the_mean_of_the_parts_functions_and_an_empty_part_has_none():
    stable = hinge(UNITS[Neighbours.ADD_REMOVE], 2, Fraction(1, 20))
    rows = [(0, 1, 0), (2, 0, 0), (1, 1, 2)]
    alone = learner("hinge", AXIS, Fraction(1, 20), UNITS[Neighbours.ADD_REMOVE], 2)
    parts = [alone.fit(counts([(0, 1), (2, 0)])), alone.fit(counts([(1, 1)]))]
    assert means(stable, rows) == pytest.approx(np.sum(parts, axis=0) / PARTS, abs=1e-2)
    assert not means(stable, []).any()


def test_descent_gains_by_the_root_of_the_number_of_parts():
    """R / sqrt(n / r) / r = R / sqrt(n r), but for the two records of a part of private size."""
    unit = UNITS[Neighbours.REPLACE]
    whole = descent("logistic", AXIS, radius=3, horizon=Fraction(150), unit=unit, records=10**4)
    member = descent("logistic", AXIS, radius=3, horizon=Fraction(15), unit=unit, records=100, part=True)
    assert float(whole.distance / Averaged(learner=member, parts=100).distance) == pytest.approx(10 * 64 / 65)
