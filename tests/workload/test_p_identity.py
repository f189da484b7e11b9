"""p-Identity strategies against their written-out coefficients, their inverse against the pseudo-inverse."""

import numpy as np
import pytest
from support.cases import in_one_test
from support.written_out import require_strategy, require_variances

from dpqr.workload import matrix as matrix_module
from dpqr.workload import strategy_matrices as p_identity
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.ranges import everything
from dpqr.workload.strategy_matrices import PIdentity


def made(widths, diagonal, sums) -> PIdentity:
    rows = np.array(sums, dtype=np.int64).reshape(-1, len(widths))
    return PIdentity(np.array(widths), np.array(diagonal), rows)


CASES = {
    "cells as groups": made([1, 1, 1, 1], [3, 1, 4, 2], [[1, 5, 0, 2], [2, 0, 0, 7]]),
    "groups": made([3, 2, 1], [5, 2, 8], [[1, 0, 2], [3, 3, 1]]),
    "one group": made([4], [3], [[2]]),
    "one cell": made([1], [3], [[2]]),
    "no sums": made([2, 2], [1, 3], []),
    "negative": made([2, 1], [1, 3], [[-2, 1]]),
}
every_case = pytest.mark.parametrize("matrix", CASES.values(), ids=CASES.keys())


def written(matrix) -> np.ndarray:
    cells = np.repeat(np.arange(len(matrix.widths)), matrix.widths)
    return np.concatenate([np.diag(matrix.diagonal[cells]), matrix.sums[:, cells]])


@every_case
def test_products_norms_and_recovery_are_those_of_the_coefficients(matrix) -> None:
    require_strategy(matrix, written(matrix))


def test_a_distance_that_is_too_dear_is_unknown(monkeypatch) -> None:
    monkeypatch.setattr(matrix_module, "PAIRWISE_WORK", 10)
    matrix = made([3, 2, 1], [5, 2, 8], [[1, 0, 2], [3, 3, 1]])
    assert matrix.column_distance(1) is None
    assert matrix.column_distance(0) == 8


@every_case
def test_variances_are_the_quadratic_form(matrix, monkeypatch) -> None:
    monkeypatch.setattr(p_identity, "SLICE", 2 * matrix.cells)
    signed = Dense(np.arange(5 * matrix.cells).reshape(5, -1) % 7 - 3)
    for queries in (Prefix(matrix.cells), Identity(matrix.cells), everything(matrix.cells), signed):
        require_variances(matrix, written(matrix), queries)


def test_a_multiple_has_every_coefficient_multiplied() -> None:
    matrix = CASES["groups"]
    np.testing.assert_array_equal(written(matrix.scaled(3)), 3 * written(matrix))


@in_one_test(("widths", "diagonal"), [([1, 0], [1, 1]), ([1, 1], [1, 0])])
def test_groups_without_cells_and_cells_without_weight_are_refused(widths, diagonal) -> None:
    with pytest.raises(ValueError, match="positive weight"):
        made(widths, diagonal, [])
