"""Gram matrices of queries over cells and over buckets, against coefficients written out."""

import itertools

import numpy as np
import pytest
from support.cases import in_one_test
from support.rounding_error import summed

from dpqr.strategies.designs import gram as module
from dpqr.strategies.designs.gram import AxisQueries, BucketQueries, bucket_queries, importance
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.partition import Bisection, Boxes
from dpqr.workload.ranges import Ranges, everything

SIZE = 7
PAIRS = np.array(list(itertools.combinations(range(SIZE + 1), 2)))
MATRICES = {
    "prefix": Prefix(SIZE),
    "prefix with others": Prefix(SIZE - 2, 2),
    "identity": Identity(SIZE),
    "ranges": Ranges(PAIRS[:, 0], PAIRS[:, 1], SIZE),
    "everything": everything(SIZE),
    "signed": Dense(np.arange(3 * SIZE).reshape(3, SIZE) % 5 - 2),
}
every_matrix = pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())


def asked(matrix) -> tuple[AxisQueries, np.ndarray]:
    """The matrix and twice everything; and the weighted Gram matrix of both."""
    weights = 1.0 + np.arange(matrix.rows) % 3
    queries = AxisQueries(size=SIZE, terms=((matrix, weights), (everything(SIZE), np.full(1, 2.0))))
    table = matrix.table(0, matrix.rows)
    return queries, table.T @ (weights[:, None] * table) + 2.0


@every_matrix
def test_the_gram_matrix_on_groups_and_the_traces_of_projections(matrix, monkeypatch) -> None:
    monkeypatch.setattr(module, "SLICE", 2 * SIZE)
    queries, whole = asked(matrix)
    edges = np.array([0, 2, 3, 7])
    pairs, diagonal = queries.gram(edges)
    groups = np.repeat(np.arange(3), np.diff(edges))
    sums = (groups == np.arange(3)[:, None]).astype(float)
    np.testing.assert_allclose(pairs, sums @ whole @ sums.T)
    np.testing.assert_allclose(diagonal, sums @ np.diag(whole))
    for width, energy in zip((8, 4, 2, 1), queries.energies((8, 4, 2, 1)), strict=True):
        alike = np.arange(SIZE)[:, None] // width == np.arange(SIZE) // width
        assert energy == pytest.approx((whole * alike).sum() / width)


SHAPE = (4, 5)


def factor(axis, matrix) -> Factor:
    return Factor(axes=(axis,), sizes=(SHAPE[axis],), matrix=matrix)


TABLE = Dense(np.array([[1, -2, 3, 0, 1], [0, 1, 1, 1, 5], [2, 0, 0, 0, 1]]))
RANGES = Ranges(np.array([0, 1, 3]), np.array([2, 4, 4]), 4)
BLOCKS = {
    "prefix": QueryBlock(name="prefix", factors=(factor(0, Prefix(4)),)),
    "both": QueryBlock(name="both", factors=(factor(1, TABLE), factor(0, RANGES))),
    "rowwise": QueryBlock(name="rowwise", factors=(factor(0, RANGES), factor(1, TABLE)), rowwise=True),
    "one axis rowwise": QueryBlock(name="one", factors=(factor(1, TABLE),), rowwise=True),
    "cells": QueryBlock(name="cells", factors=(factor(0, Identity(4)), factor(1, Identity(5)))),
    "total": QueryBlock(name="total"),
}


def written(block) -> np.ndarray:
    """Coefficients over all cells, in C order."""
    cells = np.eye(20).reshape(20, *SHAPE)
    columns = [
        block.apply(
            cell.sum(axis=tuple(a for a in (0, 1) if a not in block.axes)).transpose(
                [sorted(block.axes).index(axis) for axis in block.axes]
            )
        )
        for cell in cells
    ]
    return np.stack(columns, axis=1)


@in_one_test("level", [0, 1, 3, 5])
@pytest.mark.parametrize("name", BLOCKS)
def test_the_gram_matrix_is_that_of_queries_on_evenly_spread_records(name, level, monkeypatch) -> None:
    monkeypatch.setattr(module, "SLICE", 7)
    bisection, block = Bisection(SHAPE), BLOCKS[name]
    places = bisection.places(level)
    sizes = np.bincount(places, minlength=2**level)
    spread = (places[:, None] == np.arange(2**level)) / np.maximum(sizes, 1)
    asked = written(block) @ spread
    found = bucket_queries((block,), (0, 1), bisection.boxes(level, np.arange(2**level)))
    # A sum over the queries of products of two sums over the cells, divided once more: their sizes are at most these.
    rounding = summed(2 * (asked.shape[0] + len(places) + 2), importance(block) * (asked**2).sum(axis=0).max() + 1)
    np.testing.assert_allclose(found.matrix, importance(block) * asked.T @ asked, atol=rounding)


def test_groups_energies_and_errors_are_those_of_queries_on_cells() -> None:
    block = QueryBlock(name="prefix", factors=(Factor(axes=(0,), sizes=(6,), matrix=Prefix(6)),))
    ends = np.arange(7)[:, None]
    ours = bucket_queries((block,), (0,), Boxes(starts=ends[:-1], stops=ends[1:]))
    theirs = AxisQueries(size=6, terms=((Prefix(6), np.ones(6)),))
    edges = np.array([0, 2, 3, 6])
    for mine, other in zip(ours.gram(edges), theirs.gram(edges), strict=True):
        np.testing.assert_allclose(mine, other)
    np.testing.assert_allclose(ours.energies((8, 4, 1)), theirs.energies((8, 4, 1)))
    assert not ours.plain
    assert not theirs.plain
    assert AxisQueries(size=2, terms=((Identity(2), np.ones(2)),)).plain
    queries = BucketQueries(matrix=np.array([[2.0, 1.0], [1.0, 3.0]]))
    assert queries.error(np.eye(2)) == pytest.approx(5)
    assert queries.error(2 * np.eye(2)) == pytest.approx(1.25)
