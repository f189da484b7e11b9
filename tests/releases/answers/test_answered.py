import numpy as np
import pytest
from support.handmade_release import make_release

from dpqr.releases.answers.answered import DETAIL, answered_block


@pytest.fixture(scope="module")
def blocks():
    release = make_release()
    return {each.block.name: answered_block(each, release.plan.problem.domain) for each in release.answers}


def test_cells_by_column_in_the_order_of_the_rows(blocks):
    block = blocks["sex by age"]
    assert [block.cells(row) for row in (0, 1, 8)] == [("F", "[0, 20)"), ("F", "[20, 40)"), ("(null)", "[40, 60]")]
    assert [(each.name, each.ordered, each.own) for each in block.columns] == [("sex", False, 1), ("age", True, 0)]
    assert (block.rows, block.certain) == (9, True)


def test_what_is_no_cell_is_a_detail(blocks):
    assert [column.name for column in blocks["years"].columns] == ["sex", DETAIL]
    assert blocks["cdf"].cells(2) == ("<= 60",)
    assert blocks["all"].cells(0) == ()
    assert not blocks["cdf"].certain


def test_some_rows_in_another_order(blocks):
    block = blocks["sex by age"].chosen(np.array([8, 0]))
    assert [block.cells(row) for row in range(block.rows)] == [("(null)", "[40, 60]"), ("F", "[0, 20)")]
    assert block.measured.tolist() == [4, -4]
    assert blocks["sex by age"].first(2).estimate.tolist() == [5, 4.5]
    assert blocks["sex by age"].first(99).rows == 9
