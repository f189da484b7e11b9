"""A distribution that is constant on pieces against the same one cell by cell."""

import numpy as np
import pytest
from support.cases import in_one_test
from support.rounding_error import summed
from support.small_universes import dense, marginal

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.models import piecewise
from dpqr.models.hypothesis import DenseDistribution, prepare
from dpqr.models.piecewise import PiecewiseDistribution
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix
from dpqr.workload.ranges import Ranges

SHAPE = (9, 3, 6)
EDGES = (np.array([0, 2, 3, 9]), np.arange(4), np.array([0, 6]))
MASSES = np.arange(1.0, 10.0).reshape(3, 3, 1) / 45
PIECEWISE = PiecewiseDistribution(edges=EDGES, masses=MASSES, total=90.0)
CELLS = np.repeat(np.repeat(MASSES / np.array([2, 1, 6]).reshape(3, 1, 1), [2, 1, 6], axis=0), 6, axis=2) / 6
WHOLE = DenseDistribution(probabilities=CELLS, total=90.0)
ROUNDING = summed(4 * CELLS.size)
"""Sums over the cells of products of up to four numbers; an empty range is a difference of two of them."""


def ranged(axis, pairs):
    starts, stops = np.array(pairs).T
    return Factor(axes=(axis,), sizes=(SHAPE[axis],), matrix=Ranges(starts, stops, SHAPE[axis]))


LONG, SHORT, LAST = ranged(0, [(0, 9), (1, 7), (4, 4)]), ranged(1, [(0, 1), (1, 3), (0, 3)]), ranged(2, [(1, 6)] * 3)
CDF = Factor(axes=(2,), sizes=(6,), matrix=Prefix(5, others=1))
BLOCKS = {
    "total": QueryBlock(name="total"),
    "ranges": QueryBlock(name="ranges", factors=(LONG,)),
    "prefix": QueryBlock(name="prefix", factors=(CDF,)),
    "cells": marginal((0,), SHAPE),
    "boxes": QueryBlock(name="boxes", factors=(LAST, LONG, SHORT), rowwise=True),
    "products": QueryBlock(name="products", factors=(CDF, SHORT, LONG)),
    "marginal": marginal((2, 0), SHAPE),
    "any rows": dense(np.arange(27) % 4, SHAPE, axes=(1, 0)),
}


@in_one_test("block", BLOCKS.values())
def test_it_answers_as_its_cells_do_whether_blocks_were_announced_or_not(block) -> None:
    announced = PiecewiseDistribution(edges=EDGES, masses=MASSES, total=90.0)
    prepare(announced, [*BLOCKS.values()])
    for one in (PIECEWISE, announced):
        np.testing.assert_allclose(one.answer(block), WHOLE.answer(block), rtol=ROUNDING, atol=ROUNDING * 90)


def test_marginals_and_weights_are_written_out_but_of_no_domain_that_is_too_large(monkeypatch) -> None:
    np.testing.assert_allclose(PIECEWISE.marginal((1, 0)), WHOLE.marginal((1, 0)))
    np.testing.assert_allclose(PIECEWISE.weights(), WHOLE.weights())
    monkeypatch.setattr(piecewise, "LISTED", 100)
    with pytest.raises(InfeasiblePlan, match="162 cells, and at most 100"):
        PIECEWISE.weights()


def test_synthetic_rows_follow_the_pieces_and_fill_them() -> None:
    rows = PIECEWISE.rows(45_000, seed=1)
    assert rows.shape == (45_000, 3)
    seen = np.histogramdd(rows, bins=[np.append(EDGES[0], 9)[:4], [0, 1, 2, 3], [0, 6]])[0]
    np.testing.assert_allclose(seen, MASSES * 45_000, atol=1)
    assert set(map(tuple, rows)) == {tuple(cell) for cell in np.argwhere(CELLS > 0)}
    np.testing.assert_array_equal(rows, PIECEWISE.rows(45_000, seed=1))
