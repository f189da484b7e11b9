"""Every matrix against its coefficients written out, and its column figures against all columns and pairs."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from support.cases import in_one_test
from support.written_out import require_products

from dpqr.workload import matrix as columns
from dpqr.workload.matrix import Dense, Identity, Prefix, Sparse, largest_distance, largest_norm

SIGNED = np.array([[3, 0, -2, 1], [0, 0, 5, 1], [1, 1, 1, 1]])
ZERO_ONE = np.array([[1, 0, 1, 1, 0], [0, 0, 1, 1, 0]])
MATRICES = {
    "identity": Identity(4),
    "identity of one": Identity(1),
    "prefix": Prefix(5),
    "prefix of one": Prefix(1),
    "prefix with others": Prefix(3, 2),
    "dense signed": Dense(SIGNED),
    "dense zero-one": Dense(ZERO_ONE),
    "dense row": Dense(np.array([[0, 3, -1]])),
    "dense constant row": Dense(np.array([[2, 2, 2]])),
    "sparse signed": Sparse(csr_array(SIGNED)),
    "sparse zero-one": Sparse(csr_array(ZERO_ONE)),
    "sparse positive": Sparse(csr_array(np.array([[2, 3], [4, 4]]))),
    "sparse empty": Sparse(csr_array(np.zeros((2, 3), dtype=np.int64))),
    "sparse row": Sparse(csr_array(np.array([[0, 7, 0, -2]]))),
}
every_matrix = pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES.keys())


def written(matrix) -> np.ndarray:
    return np.stack([matrix.row(index) for index in range(matrix.rows)])


def norm(vector: np.ndarray, power: int) -> int:
    entries = [abs(int(entry)) for entry in vector]
    return max(entries) if power == 0 else sum(entry**power for entry in entries)


@every_matrix
def test_products_are_those_of_the_coefficients(matrix) -> None:
    require_products(matrix, written(matrix))


@in_one_test()
@every_matrix
def test_tables_are_the_rows(matrix) -> None:
    for start, stop in itertools.combinations(range(matrix.rows + 1), 2):
        table = matrix.table(start, stop)
        assert table.dtype == np.int64
        np.testing.assert_array_equal(table, written(matrix)[start:stop])


@in_one_test("power", [0, 1, 2])
@every_matrix
def test_column_figures_are_the_largest_over_columns_and_over_pairs(matrix, power) -> None:
    by_column = written(matrix).T
    assert matrix.column_norm(power) == max(norm(column, power) for column in by_column)
    distance = max(norm(one - other, power) for one in by_column for other in by_column)
    assert matrix.column_distance(power) == distance
    assert matrix.smallest == min(0, written(matrix).min())


@in_one_test(("rows", "entry"), [(2, 2**40), (4, 2**30), (8, 2**30), (16, 2**30), (17, 2**30), (64, 2**30)])
def test_figures_are_exact_where_int64_is_too_short(rows, entry) -> None:
    large = np.full((rows, 1), entry)
    for matrix in (Dense(large), Sparse(csr_array(large))):
        assert matrix.column_norm(2) == rows * entry**2
        assert matrix.column_norm(1) == rows * entry
    assert largest_norm(np.full((2, rows), -entry), 2) == rows * entry**2
    assert largest_norm(np.full((2, rows), 2**57), 1) == rows * 2**57
    assert largest_distance(np.full((2, rows), entry) * np.array([[1], [-1]]), 2) == 4 * rows * entry**2


def test_narrow_integers_are_widened_before_they_are_squared() -> None:
    narrow = np.array([[100, 0], [100, 1]], dtype=np.int8)
    for matrix in (Dense(narrow), Sparse(csr_array(narrow))):
        assert matrix.column_norm(2) == 20_000
        assert matrix.row(0).dtype == np.int64
        np.testing.assert_array_equal(matrix.apply(np.array([[100], [0]])), [[10_000], [10_000]])


def test_fractions_are_no_coefficients_and_coefficients_cannot_be_written() -> None:
    for make in (Dense, lambda table: Sparse(csr_array(table))):
        with pytest.raises(TypeError):
            make(np.array([[0.5]]))
    with pytest.raises(ValueError, match="read-only"):
        Dense(ZERO_ONE.copy()).coefficients[0, 0] = 9


def test_sparse_entries_given_twice_count_as_their_sum() -> None:
    for values, total in (([3, 2], 5), ([3, -2], 1)):
        twice = csr_array((np.array(values), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
        assert twice.nnz == 2
        for power, figure in ((0, total), (1, total), (2, total**2)):
            assert Sparse(twice).column_norm(power) == figure
        assert Sparse(twice).row(0).tolist() == [0, total]


@in_one_test("form", [Dense, lambda table: Sparse(csr_array(table))])
def test_a_distance_that_is_too_dear_is_unknown_but_the_largest_entry_is_not(form, monkeypatch) -> None:
    monkeypatch.setattr(columns, "PAIRWISE_WORK", 10)
    matrix = form(SIGNED)
    assert matrix.column_distance(1) is None
    assert matrix.column_distance(2) is None
    assert matrix.column_distance(0) == 5


VECTORS = np.array([[3, -4], [0, 5], [3, -4], [1, 1]])


@in_one_test(("power", "norm", "distance"), [(0, 5, 9), (1, 7, 12), (2, 25, 90)])
def test_figures_are_the_largest_over_vectors_and_pairs(power, norm, distance) -> None:
    assert largest_norm(VECTORS, power) == norm
    assert largest_distance(VECTORS, power) == distance


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
