from itertools import product

import numpy as np
import pytest
from support.small_universes import dense, marginal

from dpqr.data.histogram import DenseHistogram
from dpqr.hypotheses.hypothesis import Clippable
from dpqr.hypotheses.signed_vector import SignedVector, row_extremes
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix


@pytest.fixture
def vector():
    return SignedVector(cells=np.array([[0.9, -0.4], [0.7, 0.1]]), total=10.0)


def test_the_loop_sees_raw_answers(vector):
    assert np.allclose(vector.answer(marginal((1, 0), (2, 2))), [9, 7, -4, 1])


def test_a_release_sees_what_a_database_could_answer(vector):
    assert isinstance(vector, Clippable)
    clipped = vector.clipped()
    assert clipped.total == 10
    assert np.allclose(clipped.answer(marginal((1, 0), (2, 2))), [9, 7, 0, 1])
    assert np.allclose(clipped.answer(marginal((0,), (2, 2))), [5, 8])
    assert np.allclose(clipped.answer(dense([[3, 0, 3, 0], [-2, -1, 0, 0]], (2, 2))), [30, -14])


@pytest.mark.parametrize("rowwise", [False, True])
def test_extremes_are_those_of_the_written_out_rows(rowwise):
    rng = np.random.default_rng(1)
    factors = (
        Factor(axes=(0,), sizes=(3,), matrix=Dense(rng.integers(-4, 5, (3, 3)))),
        Factor(axes=(1,), sizes=(3,), matrix=Prefix(3)),
        Factor(axes=(2,), sizes=(2,), matrix=Dense(rng.integers(-2, 3, (3, 2)))),
    )
    block = QueryBlock(name="b", factors=factors, rowwise=rowwise)
    low, high = row_extremes(block)
    rows = np.stack(list(block.coefficients()))
    assert low.tolist() == rows.min(axis=1).tolist()
    assert high.tolist() == rows.max(axis=1).tolist()


def test_the_total_is_clipped_to_itself(vector):
    assert vector.clipped().answer(QueryBlock(name="total")).tolist() == [10]


def test_clipping_never_moves_an_answer_away_from_a_database():
    """All databases of 2 records on 3 cells against a wild vector: no query's error grows."""
    wild = SignedVector(cells=np.array([2.5, -1.0, 0.2]), total=2.0)
    block = dense([[1, 0, 0], [0, 1, 1], [1, -1, 2]], (3,))
    raw, shown = wild.answer(block), wild.clipped().answer(block)
    for counts in product(range(3), repeat=3):
        if sum(counts) == 2:
            truth = block.answer(DenseHistogram(np.array(counts)))
            assert (np.abs(shown - truth) <= np.abs(raw - truth)).all()
