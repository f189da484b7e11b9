"""Weighted rows answer as the table of their records does."""

import numpy as np
import pytest

from dpqr.models.factored import FactoredDistribution
from dpqr.models.hypothesis import DenseDistribution
from dpqr.models.rows import LISTED, WeightedRows
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

SHAPE = (2, 3)
CELLS = np.array([[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]])


@pytest.fixture
def rows():
    model = DenseDistribution(probabilities=CELLS / CELLS.sum(), total=32.0)
    return WeightedRows.of(model, SHAPE, 0)


def test_few_cells_are_listed_and_answers_are_the_models(rows):
    table = CELLS / CELLS.sum() * 32.0
    first = Factor(axes=(0,), sizes=(2,), matrix=Dense(np.array([[0, 1]])))
    second = Factor(axes=(1,), sizes=(3,), matrix=Prefix(3))
    assert len(rows.codes) == CELLS.size
    assert rows.marginal(()) == pytest.approx(32.0)
    assert rows.marginal((1, 0)) == pytest.approx(table.T)
    assert rows.answer(QueryBlock(name="a", factors=(first,))) == pytest.approx([table[1].sum()])
    both = QueryBlock(name="b", factors=(first, second))
    assert rows.answer(both) == pytest.approx(np.cumsum(table[1]))
    assert rows.answer(both.row(1)) == pytest.approx([np.cumsum(table[1])[1]])
    assert rows.answer(QueryBlock(name="all")) == pytest.approx([32.0])


def test_synthetic_rows_follow_the_shares(rows):
    drawn = rows.rows(2_000, seed=1)
    counts = np.zeros(SHAPE)
    np.add.at(counts, tuple(drawn.T), 1)
    assert counts == pytest.approx(CELLS / CELLS.sum() * 2_000, abs=1)


def test_many_cells_are_drawn():
    made = WeightedRows.of(FactoredDistribution.uniform((50,) * 6, 10.0), (50,) * 6, 0)
    assert made.codes.shape == (LISTED, 6)
    assert made.codes.dtype.itemsize == 1
    assert made.marginal((0,)) == pytest.approx(np.full(50, 0.2), rel=0.05)
