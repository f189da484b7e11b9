"""Scores of boxes: those of the queries on a finer grid, and their sensitivity.

Bounds hold for every member of every piece, however often they are refined; scores are those of the boxes.
"""

import numpy as np
import pytest
from audits.neighbours import pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from support.brute_force_persons import largest_move, person
from support.cases import in_one_test, thinned
from workload.test_box_index import BLOCKS, SHAPE, boxes

from dpqr.domain.histogram import DenseHistogram, dense_marginal
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms import box_scores as box_search
from dpqr.mechanisms.box_scores import BoxScores, BoxSearch, box_bounds
from dpqr.mechanisms.selection import QueryScores
from dpqr.workload import box_index as index_module
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
    for unit in (UNIT, PrivacyUnit(neighbours=Neighbours.REPLACE), PrivacyUnit(columns=("id",), rows=3)):
        assert made.sensitivity(unit) == plain.sensitivity(unit) << 5


@pytest.mark.parametrize("relation", thinned(list(Neighbours), 2))
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


@in_one_test("rows", [1, 3])
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


def written_out(blocks, table):
    return np.abs(np.concatenate([block.apply(dense_marginal(table, block.axes)) for block in blocks]))


def checked(search, scores):
    """Every candidate is in one piece, with its own score, which its piece's bound does not lie below."""
    pieces = np.repeat(np.arange(len(search.counts)), search.counts)
    ranks = np.arange(len(pieces)) - np.repeat(np.cumsum(search.counts) - search.counts, search.counts)
    numbers = [search.candidate(piece, rank) for piece, rank in zip(pieces.tolist(), ranks.tolist(), strict=True)]
    assert sorted(numbers) == list(range(len(scores)))
    found = search.score(pieces, ranks)
    np.testing.assert_array_equal(found, scores[numbers])
    assert (found <= search.bounds[pieces]).all()
    known = search.known[pieces] > 0
    np.testing.assert_array_equal(found[known], search.bounds[pieces][known])


@pytest.mark.parametrize("first", thinned([1, 2**18], 2))
@given(seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_bounds_hold_from_the_first_to_the_last_refinement(first, seed) -> None:
    generator = np.random.default_rng(seed)
    table = generator.integers(-(2 ** int(generator.integers(1, 55))), 2**50, SHAPE)
    scores = written_out(BLOCKS, table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_module, "FIRST", first)
        search = BoxSearch(box_index(BLOCKS), table)
        np.testing.assert_array_equal(search.evaluate(), scores)
        checked(search, scores)
        while not search.known.all():
            left = np.flatnonzero(search.known == 0)
            assert search.refine(generator.choice(left, int(generator.integers(1, len(left) + 1)), replace=False))
            checked(search, scores)
        assert not search.refine(np.arange(len(search.known)))


def test_bounds_of_one_attribute_are_attained() -> None:
    tensors = np.random.default_rng(1).integers(-9, 9, (50, 6))
    sums = np.concatenate([np.zeros((50, 1), dtype=np.int64), np.cumsum(tensors, axis=1)], axis=1)
    best = np.abs(sums[:, :, None] - sums[:, None, :]).max(axis=(1, 2))
    np.testing.assert_array_equal(box_bounds(tensors, (6,)), best)
    np.testing.assert_array_equal(box_bounds(tensors, (2, 3)), [max(t[t > 0].sum(), -t[t < 0].sum()) for t in tensors])


def test_refining_ends_where_scoring_all_is_less_work(monkeypatch) -> None:
    monkeypatch.setattr(index_module, "FIRST", 1)
    monkeypatch.setattr(box_search, "ALLOWANCE", 0)
    blocks = (boxes((0, 1, 2), 60, 3),)
    search = BoxSearch(box_index(blocks), np.ones(SHAPE, dtype=np.int64))
    before = search.bounds.copy()
    assert search.refine(np.arange(len(before))) is False
    np.testing.assert_array_equal(search.bounds, before)


def test_slices_do_not_change_the_scores(monkeypatch) -> None:
    table = np.random.default_rng(2).integers(-5, 9, SHAPE)
    monkeypatch.setattr(box_search, "SLICE", 3)
    np.testing.assert_array_equal(BoxSearch(box_index(BLOCKS), table).evaluate(), written_out(BLOCKS, table))
