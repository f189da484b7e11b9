"""One row by itself: the same coefficients, in the matrix' own form."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix, Sparse
from dpqr.workload.ranges import Ranges
from dpqr.workload.single_row import row_extremes, row_tops, single_row

TABLE = np.array([[0, 3, -2, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
MATRICES = {
    "identity": Identity(4),
    "prefix": Prefix(3, others=1),
    "ranges": Ranges(np.array([0, 1, 2]), np.array([4, 3, 2]), 4),
    "dense": Dense(TABLE),
    "sparse": Sparse(csr_array(TABLE)),
}


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())
def test_it_is_the_row_with_the_figures_of_its_coefficients(matrix) -> None:
    for index in range(matrix.rows):
        row, alone = matrix.row(index), single_row(matrix, index)
        assert (alone.rows, alone.cells) == (1, matrix.cells)
        np.testing.assert_array_equal(alone.table(0, 1)[0], row)
        assert row_extremes(alone) == (row.min(), row.max())
        for power in (0, 1, 2):
            assert alone.column_norm(power) == Dense(row[None]).column_norm(power)
            assert alone.column_distance(power) in (None, Dense(row[None]).column_distance(power))


def test_a_range_stays_two_numbers() -> None:
    assert isinstance(single_row(Prefix(10**6), 5), Ranges)
    assert isinstance(single_row(Sparse(csr_array(TABLE)), 1), Sparse)


def test_a_matrix_of_one_row_is_its_row() -> None:
    """So that its norms are worked out once."""
    for matrix in (Dense(TABLE[:1]), Sparse(csr_array(TABLE[:1])), Ranges(np.array([1]), np.array([2]), 4)):
        assert single_row(matrix, 0) is matrix
    assert isinstance(single_row(Identity(1), 0), Ranges)


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())
def test_the_largest_coefficient_of_every_row(matrix) -> None:
    rows = [matrix.row(index) for index in range(matrix.rows)]
    assert row_tops(matrix).tolist() == [int(abs(row).max()) for row in rows]


@pytest.mark.parametrize("rowwise", [True, False])
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
