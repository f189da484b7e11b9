import numpy as np
import pytest

from dpqr.workload import columns
from dpqr.workload.columns import largest_distance, largest_norm

VECTORS = np.array([[3, -4], [0, 5], [3, -4], [1, 1]])


@pytest.mark.parametrize(("power", "norm", "distance"), [(0, 5, 9), (1, 7, 12), (2, 25, 90)])
def test_figures_are_the_largest_over_vectors_and_pairs(power, norm, distance) -> None:
    assert largest_norm(VECTORS, power) == norm
    assert largest_distance(VECTORS, power) == distance


def test_squares_beyond_int64_are_summed_exactly() -> None:
    huge = np.full((2, 3), 2**40) * np.array([[1], [-1]])
    assert largest_norm(huge, 2) == 3 * 2**80
    assert largest_distance(huge, 2) == 3 * 2**82


def test_equal_vectors_are_compared_once(monkeypatch) -> None:
    monkeypatch.setattr(columns, "PAIRWISE_WORK", 3 * 8 * 32)
    assert largest_distance(np.repeat(VECTORS[:1], 12, axis=0), 1) == 0
    assert largest_distance(np.arange(24).reshape(12, 2) * 1, 1) == 44
    assert largest_distance(np.arange(26).reshape(13, 2), 1) is None


def test_the_farthest_pair_is_found_wherever_it_stands() -> None:
    vectors = np.array([[0, 0], [1, 1], [7, -6], [-1, 9], [2, 2]])
    for turned in (vectors, vectors[::-1], -vectors):
        assert largest_distance(turned, 1) == 8 + 15
        assert largest_distance(turned, 2) == 64 + 225


@pytest.mark.parametrize("columns_", [15, 16, 17, 64])
def test_many_squares_that_fit_int64_one_by_one_are_summed_exactly(columns_) -> None:
    assert largest_norm(np.full((2, columns_), -(2**30)), 2) == columns_ * 2**60
    assert largest_norm(np.full((2, columns_), 2**60), 1) == columns_ * 2**60
