from fractions import Fraction

import numpy as np
import pytest

from dpqr.io.documents.entries import rows
from dpqr.io.documents.entries.rows import coarsest_grid, integer_matrix, interval_matrix
from dpqr.workload.matrix import Dense, Sparse


@pytest.mark.parametrize(
    ("values", "grid"),
    [
        (["6", "-4", "0"], "2"),
        (["1/2", "1/3"], "1/6"),
        (["0.25", "1"], "0.25"),
        (["0"], "0"),
        (["5/7"], "5/7"),
    ],
)
def test_the_coarsest_grid(values: list[str], grid: str) -> None:
    numbers = [Fraction(value) for value in values]
    found = coarsest_grid(numbers)
    assert found == Fraction(grid)
    assert all(found and (number / found).denominator == 1 for number in numbers if number)


def test_small_matrices_are_dense_large_ones_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    starts, stops = np.array([0, 2, 1]), np.array([4, 3, 5])
    places = (np.array([0, 2, 2]), np.array([3, 0, 1]), np.array([7, -1, 2]))
    dense, few = interval_matrix(starts, stops, 5), integer_matrix(*places, (3, 5))
    monkeypatch.setattr(rows, "DENSE_ENTRIES", 14)
    sparse, few_sparse = interval_matrix(starts, stops, 5), integer_matrix(*places, (3, 5))
    assert isinstance(dense, Dense)
    assert isinstance(sparse, Sparse)
    assert dense.coefficients.tolist() == [[1, 1, 1, 1, 0], [0, 0, 1, 0, 0], [0, 1, 1, 1, 1]]
    assert few.coefficients.tolist() == [[0, 0, 0, 7, 0], [0, 0, 0, 0, 0], [-1, 2, 0, 0, 0]]
    np.testing.assert_array_equal(sparse.csr.toarray(), dense.coefficients)
    np.testing.assert_array_equal(few_sparse.csr.toarray(), few.coefficients)
