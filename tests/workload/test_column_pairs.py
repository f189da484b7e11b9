"""Distances of columns of Kronecker products against all pairs of columns."""

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.workload import sensitivity as column_pairs
from dpqr.workload.matrix import Dense, Identity, IntMatrix, Prefix
from dpqr.workload.sensitivity import ColumnPairs, kronecker_distance
from dpqr.workload.trees import Tree


def truth(matrices: list[IntMatrix], power: int) -> int:
    product = np.ones((1, 1), dtype=np.int64)
    for matrix in matrices:
        product = np.kron(product, matrix.table(0, matrix.rows))
    return int((np.abs(product[:, :, None] - product[:, None, :]) ** power).sum(axis=0).max())


def drawn(generator: np.random.Generator, largest: int) -> IntMatrix:
    cells, rows = int(generator.integers(1, 5)), int(generator.integers(1, 4))
    others = int(generator.integers(0, 2))
    kinds = (Identity(cells), Prefix(cells, others), Dense(generator.integers(0, largest + 1, (rows, cells))))
    return (*kinds, Tree(cells, (4, 2, 1), (2, 1, largest)))[int(generator.integers(4 if largest > 1 else 3))]


@in_one_test("power", [1, 2])
@pytest.mark.parametrize("largest", [1, 3])
def test_it_is_the_distance_of_the_farthest_columns(power, largest) -> None:
    """Exact in squared L2 and for 0/1 entries; in L1 for others a bound, and the truth for most."""
    generator, exact = np.random.default_rng(largest), 0
    for _ in range(80):
        matrices = [drawn(generator, largest) for _ in range(int(generator.integers(1, 4)))]
        found, true = kronecker_distance(matrices, power), truth(matrices, power)
        assert found is not None
        assert found >= true, matrices
        exact += found == true
    assert exact == 80 or (power == 1 and largest == 3 and exact > 40)


def test_prefixes_of_two_columns_are_charged_half_of_the_triangle_inequality() -> None:
    assert kronecker_distance([Prefix(10), Prefix(10)], 2) == 99
    assert kronecker_distance([Prefix(10), Prefix(10, 1)], 1) == 100


def test_beyond_the_limits_of_time_and_of_int64_it_is_not_known(monkeypatch) -> None:
    wide = Dense(np.full((1, 2), 2**20))
    assert kronecker_distance([wide, wide], 2) is None
    monkeypatch.setattr(column_pairs, "MOST", 4)
    assert kronecker_distance([Prefix(3), Prefix(3)], 2) is None
    assert kronecker_distance([Prefix(3), Prefix(3), Identity(2)], 2) is None
    monkeypatch.setattr(column_pairs, "PAIRWISE_WORK", 32)
    assert ColumnPairs.of(Dense(np.ones((2, 2), dtype=np.int64)), 2) is None


def test_what_another_pair_exceeds_everywhere_is_left_out() -> None:
    pairs = ColumnPairs.of(Dense(np.array([[3, 1, 0], [0, 1, 1]])), 2)
    assert pairs is not None
    found = set(zip(pairs.first.tolist(), pairs.second.tolist(), pairs.shared.tolist(), strict=True))
    assert found == {(9, 1, 0), (1, 9, 0), (2, 2, 2), (9, 2, 3), (2, 9, 3), (9, 9, 9)}
