"""What both kinds of trees share: a tree of neighbours and the same levels as sets of cells are one matrix."""

import numpy as np
import pytest

from dpqr.workload import trees as weighted_levels
from dpqr.workload.matrix import Dense
from dpqr.workload.trees import NestedTree, Nesting, Tree

NEIGHBOURS = Tree(7, (4, 2, 1), (2, 1, 3))
SETS = NestedTree(Nesting.of_levels([np.arange(7) // 4, np.arange(7) // 2], 7), (2, 1, 3))


def test_the_same_levels_are_the_same_matrix() -> None:
    np.testing.assert_array_equal(NEIGHBOURS.table(0, NEIGHBOURS.rows), SETS.table(0, SETS.rows))
    values = np.arange(2.0 * SETS.rows).reshape(-1, 2)
    np.testing.assert_array_equal(NEIGHBOURS.recover(values), SETS.recover(values))
    for power in (0, 1, 2):
        assert NEIGHBOURS.column_norm(power) == SETS.column_norm(power)
        assert NEIGHBOURS.column_distance(power) == SETS.column_distance(power)


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_written_out_rows_in_any_number_of_slices(rows, monkeypatch) -> None:
    asked = Dense(np.arange(rows * 7).reshape(rows, 7) % 4 - 1)
    whole = NEIGHBOURS.of_table(asked)
    monkeypatch.setattr(weighted_levels, "SLICE", 14)
    np.testing.assert_array_equal(SETS.of_table(asked), whole)
    assert whole.shape == (rows,)
