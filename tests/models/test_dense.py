from itertools import product

import numpy as np
import pytest
from support.cases import in_one_test
from support.small_universes import dense, marginal

from dpqr.domain.histogram import DenseHistogram
from dpqr.models.hypothesis import Clippable, DenseDistribution, SignedVector, row_extremes
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

RAMP = np.arange(1.0, 25.0).reshape(2, 3, 4)


@pytest.fixture
def skewed():
    return DenseDistribution(probabilities=RAMP / RAMP.sum(), total=600.0)


def test_answers_are_records_on_the_axes_of_the_block_and_scale_with_the_total(skewed):
    tensor, block, row = 2 * RAMP, marginal((2, 0), (2, 3, 4)), np.arange(24) % 5 - 2
    assert np.allclose(skewed.answer(block), tensor.sum(axis=1).T.reshape(-1))
    assert np.allclose(skewed.answer(dense(row, (2, 3, 4))), row @ tensor.reshape(-1))
    assert np.allclose(skewed.answer(QueryBlock(name="total")), 600)
    assert np.allclose(skewed.weights(), tensor)
    assert skewed.marginal((1, 2)) is skewed.marginal((1, 2))
    half = skewed.with_total(np.int64(300))
    assert np.allclose(half.answer(block), skewed.answer(block) / 2)
    assert (half.total, type(half.total), skewed.total) == (300.0, float, 600.0)


@pytest.mark.parametrize("count", [0, 1, 7, 1000])
def test_rows_are_the_expected_numbers_rounded_and_repeat_with_their_seed_only(skewed, count):
    rows = skewed.rows(count, seed=3)
    assert (rows.shape, rows.dtype) == ((count, 3), np.int64)
    found = np.zeros((2, 3, 4))
    np.add.at(found, tuple(rows.T), 1)
    assert np.abs(found - count * skewed.probabilities).max() < 1
    assert np.array_equal(rows, skewed.rows(count, seed=3))
    assert count < 2 or not np.array_equal(rows, skewed.rows(count, seed=4))
    assert count < 1000 or set(rows[:100, 0].tolist()) == {0, 1}, "the first rows are no corner of the domain"


def test_rows_are_unbiased():
    """The mean over many seeds is the model, cell by cell: 6 standard errors of a coin of the cell's remainder."""
    model = DenseDistribution(probabilities=np.array([0.02, 0.17, 0.31, 0.5]), total=1.0)
    counts = np.mean([np.bincount(model.rows(3, seed)[:, 0], minlength=4) for seed in range(1000)], axis=0)
    assert np.abs(counts - 3 * model.probabilities).max() < 6 * 0.5 / 1000**0.5


def test_rows_keep_parities_that_nobody_measured():
    """Half a record a cell: a sampling step in the order of the cells would pick every other one, all of a kind."""
    rows = DenseDistribution.uniform((2,) * 12, 1.0).rows(2048, seed=5)
    for parity in (rows[:, -1], rows[:, 0], rows.sum(axis=1) % 2, rows[:, ::2].sum(axis=1) % 2):
        assert abs(parity.mean() - 0.5) < 6 * 0.5 / 2048**0.5


def test_the_loop_sees_raw_answers_and_a_release_what_a_database_could_answer():
    vector = SignedVector(cells=np.array([[0.9, -0.4], [0.7, 0.1]]), total=10.0)
    assert np.allclose(vector.answer(marginal((1, 0), (2, 2))), [9, 7, -4, 1])
    assert isinstance(vector, Clippable)
    clipped = vector.clipped()
    assert np.allclose(clipped.answer(marginal((1, 0), (2, 2))), [9, 7, 0, 1])
    assert np.allclose(clipped.answer(marginal((0,), (2, 2))), [5, 8])
    assert np.allclose(clipped.answer(dense([[3, 0, 3, 0], [-2, -1, 0, 0]], (2, 2))), [30, -14])
    assert clipped.answer(QueryBlock(name="total")).tolist() == [10] == [clipped.total]


@in_one_test("rowwise", [False, True])
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


def test_clipping_never_moves_an_answer_away_from_a_database():
    """All databases of 2 records on 3 cells against a wild vector: no query's error grows."""
    wild = SignedVector(cells=np.array([2.5, -1.0, 0.2]), total=2.0)
    block = dense([[1, 0, 0], [0, 1, 1], [1, -1, 2]], (3,))
    raw, shown = wild.answer(block), wild.clipped().answer(block)
    for counts in (counts for counts in product(range(3), repeat=3) if sum(counts) == 2):
        truth = block.answer(DenseHistogram(np.array(counts)))
        assert (np.abs(shown - truth) <= np.abs(raw - truth)).all()
