"""The scores of some candidates: those of all, and a sensitivity of their own, against all neighbours."""

from fractions import Fraction

import numpy as np
import pytest
from audits.neighbours import pairs

from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.selection import BlockScores, SomeScores
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

SHAPE = (2, 3)
STEEP = Dense(np.array([[0, 7, 0], [5, 0, 1]]))
BLOCKS = (
    QueryBlock(name="columns", factors=(Factor.identity(0, 2),)),
    QueryBlock(name="steep", factors=(Factor(axes=(1,), sizes=(3,), matrix=STEEP),)),
    QueryBlock(name="cells", factors=(Factor.identity(0, 2), Factor.identity(1, 3))),
)
EVERY = BlockScores(
    candidates=tuple((block,) for block in BLOCKS),
    multipliers=(Fraction(2), Fraction(5, 3), Fraction(1)),
    penalties=(1, 0, 2),
    expected=tuple((np.arange(block.rows),) for block in BLOCKS),
)


def test_they_are_those_of_all_candidates():
    counts = DenseHistogram(np.array([[5, 6, 7], [0, 2, 11]]))
    assert SomeScores(scores=EVERY, places=(2, 0)).evaluate(counts).tolist() == EVERY.evaluate(counts)[[2, 0]].tolist()


@pytest.mark.parametrize("places", [(0,), (1,), (2,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_no_neighbour_moves_them_by_more_than_the_sensitivity_of_those_that_are_left(relation, places):
    unit, some = PrivacyUnit(neighbours=relation), SomeScores(scores=EVERY, places=places)
    moves = [int(np.abs(some.evaluate(one) - some.evaluate(two)).max()) for one, two in pairs(SHAPE, 2, relation)]
    assert max(moves) <= some.sensitivity(unit)
    assert places != (0,) or max(moves) == some.sensitivity(unit)


def test_a_steeper_candidate_that_is_left_out_costs_nothing():
    unit = PrivacyUnit()
    assert SomeScores(scores=EVERY, places=(0,)).sensitivity(unit) < EVERY.sensitivity(unit)
