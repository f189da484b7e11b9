"""Trees against their written-out coefficients, their inverse against the pseudo-inverse."""

import itertools

import numpy as np
import pytest
from support.cases import in_one_test
from support.written_out import require_strategy, require_variances

from dpqr.workload import trees as weighted_levels
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.ranges import Ranges
from dpqr.workload.trees import CutGroups, NestedTree, Nesting, Tree, dyadic

TREES = {
    "binary, cut short": Tree(7, (8, 4, 2, 1), (3, 1, 2, 5)),
    "two levels": Tree(7, (4, 1), (2, 3)),
    "one cell": Tree(1, (1,), (4,)),
    "one cell, two levels": Tree(1, (2, 1), (4, 1)),
    "branching four": Tree(16, (16, 4, 1), (1, 2, 3)),
    "uneven": Tree(13, (6, 3, 1), (7, 1, 2)),
    "cells alone": Tree(5, (1,), (2,)),
}
every_tree = pytest.mark.parametrize("matrix", TREES.values(), ids=TREES.keys())


def all_ranges(cells: int) -> Ranges:
    """Empty ones too: whoever asks nothing is told it without noise."""
    starts, stops = np.array(list(itertools.combinations_with_replacement(range(cells + 1), 2))).T
    return Ranges(starts, stops, cells)


def written(matrix) -> np.ndarray:
    """Level by level, group by group."""
    rows = []
    for width, weight in zip(matrix.widths, matrix.weights, strict=True):
        for start in range(0, matrix.size, width):
            row = np.zeros(matrix.size, dtype=np.int64)
            row[start : start + width] = weight
            rows.append(row)
    return np.stack(rows)


@every_tree
def test_products_norms_and_recovery_are_those_of_the_coefficients(matrix) -> None:
    require_strategy(matrix, written(matrix))


@every_tree
@pytest.mark.parametrize("form", ["ranges", "table", "prefix", "identity", "merged", "signed"])
def test_variances_are_the_quadratic_form(matrix, form, monkeypatch) -> None:
    monkeypatch.setattr(weighted_levels, "SLICE", 3 * matrix.size)
    cells = matrix.size
    queries = {
        "ranges": all_ranges(cells),
        "table": Dense(all_ranges(cells).table(0, all_ranges(cells).rows)),
        "prefix": Prefix(cells),
        "identity": Identity(cells),
        "merged": BucketMatrix(Identity(3), np.arange(cells) % 3),
        "signed": Dense(np.arange(4 * cells).reshape(4, cells) % 7 - 3),
    }[form]
    require_variances(matrix, written(matrix), queries)


def test_a_multiple_has_every_coefficient_multiplied() -> None:
    matrix = TREES["uneven"]
    np.testing.assert_array_equal(written(matrix.scaled(3)), 3 * written(matrix))


@in_one_test(("widths", "weights"), [((4, 2), (1, 1)), ((3, 2, 1), (1, 1, 1)), ((2, 1), (1, 0)), ((), ())])
def test_what_is_no_tree_is_refused(widths, weights) -> None:
    with pytest.raises(ValueError, match="nested widths"):
        Tree(4, widths, weights)


def test_dyadic_widths_end_at_one_and_begin_at_the_size_or_above() -> None:
    assert dyadic(1) == (1,)
    assert dyadic(8) == (8, 4, 2, 1)
    assert dyadic(9) == (16, 8, 4, 2, 1)


@pytest.mark.slow
def test_a_long_tree_is_answered_without_its_coefficients() -> None:
    """2^20 cells and 10^4 ranges: 10^10 coefficients."""
    size = 2**20
    matrix = Tree(size, dyadic(size), (1,) * 21)
    starts = np.arange(10**4, dtype=np.int64)
    variances = matrix.variances(Ranges(starts, starts + size // 3, size))
    assert ((variances > 0.5) & (variances < 40)).all()
    truth = np.arange(float(size))[:, None] % 5
    np.testing.assert_allclose(matrix.recover(matrix.apply(truth)), truth, atol=1e-6)


@in_one_test(
    ("start", "stop", "whole", "cut"),
    [(0, 4, 2, 0), (0, 5, 3, 0), (1, 4, 1, 1), (1, 3, 0, 2), (0, 1, 0, 1), (2, 3, 0, 1), (3, 5, 1, 1), (2, 2, 0, 0)],
)
def test_pairs_over_five_cells(start: int, stop: int, whole: int, cut: int) -> None:
    """Cells of weight 1 under pairs of weight 1, the last pair a lone cell: T = 1 + 1 1^T on a pair, so a whole pair
    has the form 2 - 4/3 and one of its cells 1 - 1/3; the lone cell 1 - 1/2."""
    after, before = np.ones(5), np.array([2.0, 2.0, 1.0])
    ends = CutGroups(np.array([start]), np.array([stop]), 5)
    ends.widen(after, 1, 2, before, 1.0)
    pairs = np.array([2 / 3, 2 / 3, 1 / 2])
    reached = range(-(-start // 2), -(-start // 2) + whole)
    assert ends.total(pairs, 2)[0] == pytest.approx(sum(pairs[group] for group in reached) + cut * 2 / 3)


# What both kinds of trees share: a tree of neighbours and the same levels as sets of cells are one matrix.

NEIGHBOURS = Tree(7, (4, 2, 1), (2, 1, 3))
SETS = NestedTree(Nesting.of_levels([np.arange(7) // 4, np.arange(7) // 2], 7), (2, 1, 3))


def test_the_same_levels_are_the_same_matrix() -> None:
    np.testing.assert_array_equal(NEIGHBOURS.table(0, NEIGHBOURS.rows), SETS.table(0, SETS.rows))
    values = np.arange(2.0 * SETS.rows).reshape(-1, 2)
    np.testing.assert_array_equal(NEIGHBOURS.recover(values), SETS.recover(values))
    for power in (0, 1, 2):
        assert NEIGHBOURS.column_norm(power) == SETS.column_norm(power)
        assert NEIGHBOURS.column_distance(power) == SETS.column_distance(power)


@in_one_test("rows", [0, 1, 5])
def test_written_out_rows_in_any_number_of_slices(rows, monkeypatch) -> None:
    asked = Dense(np.arange(rows * 7).reshape(rows, 7) % 4 - 1)
    whole = NEIGHBOURS.of_table(asked)
    monkeypatch.setattr(weighted_levels, "SLICE", 14)
    np.testing.assert_array_equal(SETS.of_table(asked), whole)
    assert whole.shape == (rows,)
