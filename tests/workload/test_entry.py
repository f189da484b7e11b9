from fractions import Fraction

import numpy as np
import pytest

from dpqr.workload import entry
from dpqr.workload.entry import coarsest_grid, integer_matrix
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
    places = (np.array([0, 2, 2]), np.array([3, 0, 1]), np.array([7, -1, 2]))
    dense = integer_matrix(*places, (3, 5))
    monkeypatch.setattr(entry, "DENSE_ENTRIES", 14)
    sparse = integer_matrix(*places, (3, 5))
    assert isinstance(dense, Dense)
    assert isinstance(sparse, Sparse)
    assert dense.coefficients.tolist() == [[0, 0, 0, 7, 0], [0, 0, 0, 0, 0], [-1, 2, 0, 0, 0]]
    np.testing.assert_array_equal(sparse.csr.toarray(), dense.coefficients)
