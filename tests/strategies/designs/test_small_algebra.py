import numpy as np
import pytest
from support.rounding_error import solved

from dpqr.strategies.designs import small_algebra
from dpqr.strategies.designs.small_algebra import inverse, product


@pytest.mark.parametrize("piece", [1, 20, 2**18])
def test_products_in_pieces_are_products(piece, monkeypatch) -> None:
    monkeypatch.setattr(small_algebra, "PIECE", piece)
    left, right = np.arange(12.0).reshape(3, 4), np.arange(28.0).reshape(4, 7) ** 2
    np.testing.assert_array_equal(product(left, right), left @ right)


@pytest.mark.parametrize("size", [1, 4, 5, 13])
def test_inverses_by_halves_are_inverses(size, monkeypatch) -> None:
    monkeypatch.setattr(small_algebra, "SMALL", 2)
    rows = np.cos(np.arange(float(size * size))).reshape(size, size)
    matrix = rows @ rows.T + np.eye(size)
    # Halves of halves: the inverse of the last block has the condition number once more.
    rounding = solved(size) * np.linalg.cond(matrix) ** 2
    np.testing.assert_allclose(inverse(matrix) @ matrix, np.eye(size), atol=rounding)
