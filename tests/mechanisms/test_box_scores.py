"""Scores of boxes: those of the queries on a finer grid, and their sensitivity."""

import numpy as np
import pytest
from audits.neighbours import pairs
from support.brute_force_persons import largest_move, person
from workload.test_box_index import BLOCKS, SHAPE, boxes

from dpqr.data.histogram import DenseHistogram
from dpqr.data.marginals import dense_marginal
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.box_scores import BoxScores
from dpqr.mechanisms.query_scores import QueryScores
from dpqr.workload.box_index import box_index

UNIT = PrivacyUnit()
COUNTS = DenseHistogram(np.random.default_rng(0).integers(0, 30, SHAPE))


def scores(bits=3, expected=None, blocks=BLOCKS, **more):
    table = np.full(SHAPE, 100) if expected is None else expected
    return BoxScores(blocks=blocks, index=box_index(blocks), expected=table, bits=bits, **more)


def test_a_score_is_the_error_of_the_box_on_the_finer_grid() -> None:
    expected = np.random.default_rng(1).integers(0, 30, SHAPE)
    plain = QueryScores(
        blocks=BLOCKS,
        ratios=(1,) * len(BLOCKS),
        expected=np.concatenate([block.answer(DenseHistogram(expected)) for block in BLOCKS]),
    )
    made = scores(5, expected << 5)
    assert len(made) == len(plain)
    np.testing.assert_array_equal(made.evaluate(COUNTS), plain.evaluate(COUNTS) << 5)
    for unit in (UNIT, PrivacyUnit(neighbours=Neighbours.REPLACE), PrivacyUnit(column="id", rows=3)):
        assert made.sensitivity(unit) == plain.sensitivity(unit) << 5


@pytest.mark.parametrize("relation", list(Neighbours))
def test_the_sensitivity_is_the_largest_move_of_any_score(relation) -> None:
    shape, blocks = (2, 2), (boxes((0, 1), 30, 1, shape=(2, 2)),)
    made = BoxScores(blocks=blocks, index=box_index(blocks), expected=np.full(shape, -1), bits=2)
    moves = [np.abs(made.evaluate(one) - made.evaluate(two)).max() for one, two in pairs(shape, 2, relation)]
    assert max(moves) == made.sensitivity(PrivacyUnit(neighbours=relation)) == 4


def test_scores_that_could_overflow_are_refused() -> None:
    scores(bits=20)
    for wrong in ({"bits": 26}, {"bits": 20, "records": 2**42}, {"expected": np.full(SHAPE, 2**58)}):
        with pytest.raises(InfeasiblePlan, match="2\\^62"):
            scores(**wrong)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("relation", list(Neighbours))
def test_a_person_moves_a_score_by_all_of_their_rows(relation, rows) -> None:
    shape, blocks, unit = (2, 2), (boxes((0, 1), 30, 1, shape=(2, 2)),), person(relation, rows)
    made = BoxScores(blocks=blocks, index=box_index(blocks), expected=np.full(shape, -1), bits=2)
    assert made.sensitivity(unit) == largest_move(made.evaluate, shape, unit) == 4 * rows


def test_the_search_scores_what_the_queries_score() -> None:
    """The search's own table, cell by cell, on the finer grid."""
    expected = np.random.default_rng(2).integers(-90, 90, SHAPE)
    made = scores(3, expected)
    table = np.random.default_rng(0).integers(0, 30, SHAPE) * 8 - expected
    written = np.abs(np.concatenate([block.apply(dense_marginal(table, block.axes)) for block in BLOCKS]))
    np.testing.assert_array_equal(made.search(COUNTS).evaluate(), written)
