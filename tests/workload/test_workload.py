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


def test_the_last_factor_varies_fastest():
    names = row_names(QueryBlock(name="m", factors=(Factor.identity(4, 2), Factor.identity(1, 3))))
    assert {axis: codes.tolist() for axis, codes in names.cells.items()} == {4: [0, 0, 0, 1, 1, 1], 1: [0, 1, 2] * 2}
    assert names.details == ()
    assert names.detail is None


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


def test_an_identity_over_a_group_names_every_attribute_of_it():
    names = row_names(QueryBlock(name="g", factors=(Factor(axes=(2, 0), sizes=(2, 3), matrix=Identity(6)),)))
    assert names.cells[2].tolist() == [0, 0, 0, 1, 1, 1]
    assert names.cells[0].tolist() == [0, 1, 2, 0, 1, 2]


def test_rows_of_a_rowwise_block_go_together():
    block = QueryBlock(name="r", factors=(labelled(0, ("a", "b")), labelled(1, ("x", "y"))), rowwise=True)
    names = row_names(block)
    assert [names.details[code] for code in names.detail] == ["a, x", "b, y"]


def test_several_labels_are_joined_in_the_order_of_the_factors():
    block = QueryBlock(name="k", factors=(labelled(0, ("a", "b")), labelled(1, ("x", "y", "z"))))
    names = row_names(block)
    assert [names.details[code] for code in names.detail] == [f"{one}, {two}" for one in "ab" for two in "xyz"]


def test_one_unnamed_row_needs_no_detail_but_several_are_numbered():
    single = Factor(axes=(0,), sizes=(3,), matrix=Dense(np.ones((1, 3), dtype=np.int64)))
    assert row_names(QueryBlock(name="s", factors=(single,))).detail is None
    names = row_names(QueryBlock(name="n", factors=(labelled(0, ()),)))
    assert [names.details[code] for code in names.detail] == ["row 0", "row 1", "row 2"]


def test_the_total_has_no_names():
    names = row_names(QueryBlock(name="all"))
    assert names.cells == {}
    assert names.detail is None


def test_cells_of_a_rowwise_block_are_those_of_its_own_rows():
    block = QueryBlock(name="r", factors=(Factor.identity(0, 3), labelled(1, ("x", "y", "z"))), rowwise=True)
    names = row_names(block)
    assert names.cells[0].tolist() == [0, 1, 2]
    assert [names.details[code] for code in names.detail] == ["x", "y", "z"]
