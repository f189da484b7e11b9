"""Intervals by their ends against their coefficients written out.

One row by itself: the same coefficients, in the matrix' own form."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.cases import in_one_test
from support.written_out import require_products

from dpqr.workload import ranges
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix, Sparse
from dpqr.workload.ranges import Overlaps, Ranges, everything, group_sums, row_extremes, row_tops, single_row, spans


def intervals(pairs, cells: int) -> Ranges:
    starts, stops = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Ranges(starts, stops, cells)


EVERY = list(itertools.combinations(range(6), 2))
CASES = {
    "every": intervals(EVERY, 5),
    "some": intervals([(0, 4), (2, 3), (1, 5), (2, 3)], 5),
    "an empty one": intervals([(2, 2), (0, 1)], 3),
    "one": intervals([(1, 3)], 4),
    "everything": everything(3),
    "everything twice": intervals([(0, 2), (0, 2)], 2),
    "one cell": everything(1),
}
every_case = pytest.mark.parametrize("matrix", CASES.values(), ids=CASES.keys())


@every_case
def test_places_are_the_ends_in_rising_order(matrix) -> None:
    distinct, starts, stops = matrix.places
    assert (np.diff(distinct) > 0).all()
    np.testing.assert_array_equal(distinct[starts], matrix.starts)
    np.testing.assert_array_equal(distinct[stops], matrix.stops)


@every_case
def test_products_are_those_of_the_coefficients(matrix) -> None:
    require_products(matrix, matrix.table(0, matrix.rows))


@in_one_test("power", [0, 1, 2])
@every_case
def test_column_figures_are_those_of_all_columns_and_pairs(matrix, power) -> None:
    columns = [tuple(column) for column in matrix.table(0, matrix.rows).T.tolist()]
    gaps = [[abs(a - b) for a, b in zip(one, two, strict=True)] for one in columns for two in columns]
    figure = max if power == 0 else sum
    assert matrix.column_norm(power) == max(figure(column) for column in columns)
    assert matrix.column_distance(power) == max(figure(gap) for gap in gaps)
    assert matrix.smallest <= matrix.table(0, matrix.rows).min()


def test_a_distance_that_is_too_dear_is_unknown_but_the_largest_entry_is_not(monkeypatch) -> None:
    monkeypatch.setattr(ranges, "PAIRWISE_WORK", 32 * 24)
    matrix = intervals([(0, 4), (2, 3)], 5)
    assert matrix.column_distance(1) is None
    assert matrix.column_distance(2) is None
    assert matrix.column_distance(0) == 1


def test_memory_does_not_grow_with_rows_times_cells() -> None:
    """10^5 ranges of 10^6 cells would be 10^11 coefficients."""
    cells, rows = 10**6, 10**5
    starts = np.arange(rows, dtype=np.int64)
    matrix = Ranges(starts, starts + cells // 2, cells)
    counts = np.ones((cells, 1), dtype=np.int64)
    assert (matrix.apply(counts) == cells // 2).all()
    assert matrix.column_norm(1) == rows
    assert matrix.adjoint(np.ones((rows, 1)))[cells // 2 - 1, 0] == rows


def test_ends_cannot_be_written_through_the_matrix() -> None:
    with pytest.raises(ValueError, match="read-only"):
        intervals([(0, 1)], 2).starts[0] = 1


@in_one_test("matrix", [Identity(4), Prefix(3, 2), intervals([(1, 3), (0, 4)], 5)])
def test_the_spans_are_the_rows(matrix) -> None:
    starts, stops = spans(matrix)
    np.testing.assert_array_equal(
        Ranges(starts, stops, matrix.cells).table(0, matrix.rows), matrix.table(0, matrix.rows)
    )
    assert spans(Dense(np.eye(2, dtype=np.int64))) is None


@in_one_test("matrix", [Prefix(5), intervals(EVERY, 5), Dense(np.array([[1, -2, 3, 0, 4], [0, 0, 1, 1, 1]]))])
def test_group_sums_are_those_of_the_coefficients(matrix) -> None:
    edges = np.array([0, 2, 3, 5])
    table = matrix.table(0, matrix.rows)
    sums, squares = group_sums(matrix, edges, 1, matrix.rows)
    for group, (first, last) in enumerate(itertools.pairwise(edges)):
        np.testing.assert_array_equal(sums[:, group], table[1:, first:last].sum(axis=1))
        np.testing.assert_array_equal(squares[:, group], (table[1:, first:last] ** 2).sum(axis=1))


TABLE = np.array([[0, 3, -2, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
MATRICES = {
    "identity": Identity(4),
    "prefix": Prefix(3, others=1),
    "ranges": Ranges(np.array([0, 1, 2]), np.array([4, 3, 2]), 4),
    "dense": Dense(TABLE),
    "sparse": Sparse(csr_array(TABLE)),
}


@in_one_test("matrix", MATRICES.values())
def test_it_is_the_row_with_the_figures_of_its_coefficients(matrix) -> None:
    assert row_tops(matrix).tolist() == [int(abs(matrix.row(index)).max()) for index in range(matrix.rows)]
    for index in range(matrix.rows):
        row, alone = matrix.row(index), single_row(matrix, index)
        assert (alone.rows, alone.cells) == (1, matrix.cells)
        np.testing.assert_array_equal(alone.table(0, 1)[0], row)
        assert row_extremes(alone) == (row.min(), row.max())
        for power in (0, 1, 2):
            assert alone.column_norm(power) == Dense(row[None]).column_norm(power)
            assert alone.column_distance(power) in (None, Dense(row[None]).column_distance(power))


def test_a_range_stays_two_numbers_and_a_matrix_of_one_row_is_its_row() -> None:
    """So that its norms are worked out once."""
    assert isinstance(single_row(Prefix(10**6), 5), Ranges)
    assert isinstance(single_row(Sparse(csr_array(TABLE)), 1), Sparse)
    for matrix in (Dense(TABLE[:1]), Sparse(csr_array(TABLE[:1])), Ranges(np.array([1]), np.array([2]), 4)):
        assert single_row(matrix, 0) is matrix
    assert isinstance(single_row(Identity(1), 0), Ranges)


@in_one_test("rowwise", [True, False])
def test_the_largest_row_of_a_block(rowwise) -> None:
    factors = (
        Factor(axes=(0,), sizes=(4,), matrix=Dense(TABLE)),
        Factor(axes=(1,), sizes=(2,), matrix=Dense(np.array([[1, 0], [0, 9], [5, 5]]))),
    )
    block = QueryBlock(name="both", factors=factors, rowwise=rowwise)
    tops = [int(abs(row).max()) for row in block.coefficients()]
    assert list(abs(next(block.largest_row.coefficients()))) == list(
        abs(list(block.coefficients())[tops.index(max(tops))])
    )
    assert QueryBlock(name="total").largest_row.rows == 1


# Overlaps of intervals with groups, against the matrix written out.

RNG = np.random.default_rng(5)
ENDS = np.sort(RNG.integers(0, 40, (200, 2)), axis=1)
STARTS, STOPS = ENDS[:, 0], ENDS[:, 1]
WEIGHTS = RNG.integers(1, 5, 200).astype(float)
EDGES = {
    "single cells": np.arange(41),
    "one group": np.array([0, 40]),
    "groups": np.array([0, 1, 7, 8, 20, 40]),
    "not all cells": np.array([5, 9, 30]),
}
every_edges = pytest.mark.parametrize("edges", EDGES.values(), ids=EDGES.keys())


def written(edges):
    overlap = np.minimum(STOPS[:, None], edges[1:]) - np.maximum(STARTS[:, None], edges[:-1])
    return np.maximum(overlap, 0).astype(float)


@every_edges
def test_products_are_those_of_the_matrix(edges):
    """All are integers below 2^53, so there is no rounding."""
    overlaps, table = Overlaps.of(STARTS, STOPS, edges), written(edges)
    steps = RNG.integers(-3, 4, (len(edges) - 1, 3)).astype(float)
    np.testing.assert_array_equal(overlaps.dot(steps), table @ steps)
    np.testing.assert_array_equal(overlaps.sums(WEIGHTS), WEIGHTS @ table)
    np.testing.assert_array_equal(overlaps.gram(WEIGHTS), table.T @ (WEIGHTS[:, None] * table))


def test_memory_grows_with_rows_plus_groups():
    edges = np.arange(0, 10**6 + 1, 10)
    overlaps = Overlaps.of(np.arange(1000), np.arange(1000) + 500_000, edges)
    assert (overlaps.dot(np.ones((len(edges) - 1, 1))) == 500_000).all()
    nothing = Overlaps.of(np.zeros(0, int), np.zeros(0, int), np.array([0, 3, 4]))
    assert nothing.dot(np.ones((2, 1))).shape == (0, 1)
    assert not nothing.gram(np.zeros(0)).any()
