"""Trees of declared levels against their written-out coefficients, their inverse against the pseudo-inverse."""

import numpy as np
import pytest
from support.cases import in_one_test
from support.written_out import require_strategy, require_variances

from dpqr.workload.matrix import Dense, Identity
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.ranges import everything
from dpqr.workload.trees import NestedTree, Nesting

REGIONS = np.array([2, 0, 1, 2, 2, 1, 3])
COUNTRIES = np.array([0, 1, 0, 1])
TREES = {
    "cells alone": NestedTree(Nesting(3, ()), (2,)),
    "one level": NestedTree(Nesting(7, (REGIONS,)), (3, 2)),
    "two levels": NestedTree(Nesting(7, (COUNTRIES, REGIONS)), (1, 3, 2)),
    "three levels, one root": NestedTree(Nesting(7, (np.array([0, 0]), COUNTRIES, REGIONS)), (5, 1, 2, 4)),
    "lone children": NestedTree(Nesting(2, (np.array([1, 0]), np.array([1, 0]))), (1, 2, 3)),
}
every_tree = pytest.mark.parametrize("tree", TREES.values(), ids=TREES.keys())


def written(tree: NestedTree) -> np.ndarray:
    levels = zip(tree.nesting.groups, tree.counts, tree.weights, strict=True)
    return np.concatenate([weight * (np.arange(count)[:, None] == groups) for groups, count, weight in levels])


@every_tree
def test_products_norms_and_recovery_are_those_of_the_coefficients(tree) -> None:
    require_strategy(tree, written(tree))


@every_tree
def test_variances_of_levels_and_of_any_rows(tree) -> None:
    levels = [
        BucketMatrix(Identity(count), groups) for groups, count in zip(tree.nesting.groups, tree.counts, strict=True)
    ]
    rows = np.arange(4 * tree.cells).reshape(4, -1) % 5 - 1
    for level, asked in enumerate(levels):
        np.testing.assert_allclose(tree.level_variances(level), tree.variances(asked), rtol=1e-12)
    for asked in (*levels, Identity(tree.cells), everything(tree.cells), Dense(rows)):
        require_variances(tree, written(tree), asked)


@in_one_test(
    "groups",
    [
        [1, 0, 2, 1, 1, 2, 3],  # a level of the tree, numbered otherwise
        [0, 0, 0, 0, 0, 0, 0],  # above all levels
        [0, 1, 2, 3, 4, 2, 5],  # below the regions: some of their cells together
        [0, 1, 1, 0, 0, 1, 0],  # across the levels
        [0, 1, 2, 3, 3, 1, 2],  # nested in no level
    ],
)
def test_levels_that_were_not_measured(groups) -> None:
    tree = TREES["two levels"]
    require_variances(tree, written(tree), BucketMatrix(Identity(max(groups) + 1), np.array(groups)))


def test_levels_are_composed_from_the_groups_of_cells() -> None:
    tree = NestedTree(Nesting.of_levels([COUNTRIES[REGIONS], REGIONS], 7), (1, 3, 2))
    np.testing.assert_array_equal(written(tree), written(TREES["two levels"]))
    assert tree.scaled(2).weights == (2, 6, 4)


@in_one_test("parents", [([0, 2, 0],), ([0, 1],), ([0, 0], [0, 0, 0])])
def test_a_level_with_an_empty_group_is_refused(parents) -> None:
    with pytest.raises(ValueError, match="a cell in every group"):
        Nesting(3, tuple(map(np.array, parents)))


@in_one_test("weights", [(1,), (1, 0)])
def test_a_level_without_a_weight_is_refused(weights) -> None:
    with pytest.raises(ValueError, match="a positive weight"):
        NestedTree(Nesting(2, (np.zeros(2, dtype=int),)), weights)
