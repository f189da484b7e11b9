import numpy as np
import pytest

from dpqr.kernel.errors import DocumentError
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity
from dpqr.workload.workload import Workload, row_names


def marginal(name: str, *axes: int) -> QueryBlock:
    return QueryBlock(name=name, factors=tuple(Factor.identity(axis, axis + 2) for axis in axes))


def test_it_counts_its_queries_and_names_the_attributes_it_looks_at() -> None:
    workload = Workload((marginal("a", 3, 1), marginal("b", 0), QueryBlock(name="total")))
    assert workload.rows == 5 * 3 + 2 + 1
    assert workload.axes == (0, 1, 3)


def test_an_empty_workload_and_a_repeated_name_are_refused() -> None:
    with pytest.raises(DocumentError, match="asks nothing"):
        Workload(())
    with pytest.raises(DocumentError, match="named 'a'"):
        Workload((marginal("a", 0), marginal("a", 1)))


def labelled(axis, labels):
    return Factor(
        axes=(axis,), sizes=(3,), matrix=Dense(np.eye(3, dtype=np.int64)[: len(labels) or 3]), labels=tuple(labels)
    )


def details(block):
    names = row_names(block)
    return None if names.detail is None else [names.details[code] for code in names.detail]


def test_cells_of_rows_are_named_by_their_attributes_and_the_last_factor_varies_fastest():
    names = row_names(QueryBlock(name="m", factors=(Factor.identity(4, 2), Factor.identity(1, 3))))
    assert {axis: codes.tolist() for axis, codes in names.cells.items()} == {4: [0, 0, 0, 1, 1, 1], 1: [0, 1, 2] * 2}
    assert (names.details, names.detail) == ((), None)
    group = row_names(QueryBlock(name="g", factors=(Factor(axes=(2, 0), sizes=(2, 3), matrix=Identity(6)),)))
    assert {axis: codes.tolist() for axis, codes in group.cells.items()} == {2: [0, 0, 0, 1, 1, 1], 0: [0, 1, 2] * 2}
    total = row_names(QueryBlock(name="all"))
    assert (total.cells, total.detail) == ({}, None)


def test_names_belong_to_the_rows_that_the_block_answers():
    """Each row's coefficients, read off the block itself, select exactly the cells that the names claim."""
    block = QueryBlock(name="m", factors=(Factor.identity(0, 2), labelled(1, ("a", "b")), Factor.identity(2, 3)))
    names = row_names(block)
    for row, coefficients in enumerate(block.coefficients()):
        (cell,) = np.flatnonzero(coefficients)
        first, second, third = np.unravel_index(cell, (2, 3, 3))
        assert names.cells[0][row] == first
        assert names.cells[2][row] == third
        assert names.details[names.detail[row]] == "ab"[second]


def test_labels_are_joined_in_the_order_of_the_factors_and_go_together_row_by_row():
    pairs = (labelled(0, ("a", "b")), labelled(1, ("x", "y")))
    assert details(QueryBlock(name="r", factors=pairs, rowwise=True)) == ["a, x", "b, y"]
    assert details(QueryBlock(name="k", factors=pairs)) == ["a, x", "a, y", "b, x", "b, y"]
    mixed = QueryBlock(name="r", factors=(Factor.identity(0, 3), labelled(1, ("x", "y", "z"))), rowwise=True)
    assert (row_names(mixed).cells[0].tolist(), details(mixed)) == ([0, 1, 2], ["x", "y", "z"])
    single = Factor(axes=(0,), sizes=(3,), matrix=Dense(np.ones((1, 3), dtype=np.int64)))
    assert details(QueryBlock(name="s", factors=(single,))) is None
    assert details(QueryBlock(name="n", factors=(labelled(0, ()),))) == ["row 0", "row 1", "row 2"]
