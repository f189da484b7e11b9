"""Bounds hold for every member of every piece, however often they are refined; scores are those of the boxes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workload.test_box_index import BLOCKS, SHAPE, boxes

from dpqr.data.marginals import dense_marginal
from dpqr.mechanisms import box_search
from dpqr.mechanisms.box_search import BoxSearch, box_bounds
from dpqr.workload import box_index as index_module
from dpqr.workload.box_index import box_index


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


@pytest.mark.parametrize("first", [1, 2**18])
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
