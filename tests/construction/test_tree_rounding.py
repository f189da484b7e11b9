"""Whole counts of trees: they add up, are non-negative and near, and repeat."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from dpqr.construction.tree_rounding import whole_answers, whole_nodes
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, Prefix
from dpqr.workload.nested_tree import Nesting
from dpqr.workload.partition import Merged

REGIONS = np.array([1, 0, 1, 1, 0, 2])
COUNTRIES = np.array([0, 0, 0, 0, 0, 1])


def level(groups, axis=0):
    return Factor(axes=(axis,), sizes=(len(groups),), matrix=Merged(Identity(int(groups.max()) + 1), groups))


def sums(table, groups):
    return np.stack([table[groups == node].sum(axis=0) for node in range(groups.max() + 1)])


def random_tree(random) -> Nesting:
    """Up to four levels, and nodes of one child."""
    sizes = np.sort(random.integers(1, 30, size=random.integers(1, 5)))
    parents = []
    for above, below in pairwise(sizes):
        parents.append(random.permutation(np.concatenate([np.arange(above), random.integers(0, above, below - above)])))
    return Nesting(int(sizes[-1]), tuple(parents))


def test_every_node_is_the_sum_of_its_children_in_a_thousand_cases() -> None:
    random = np.random.default_rng(7)
    for case in range(100):
        tree, base = random_tree(random), 1 + 4 * (case % 2)
        values = [random.normal(random.choice([-3, 0, 40], 10), 6, size=(count, 10)) for count in tree.counts]
        kept = np.concatenate(values)
        whole = whole_nodes(tree, values, base)
        for above, below, parents in zip(whole, whole[1:], tree.parents, strict=False):
            np.testing.assert_array_equal(above, sums(below, parents))
        assert all((each >= 0).all() and not (each % base).any() and each.dtype == np.int64 for each in whole)
        np.testing.assert_array_equal(np.concatenate(whole_nodes(tree, values, base)), np.concatenate(whole))
        np.testing.assert_array_equal(np.concatenate(values), kept)


def test_whole_counts_that_add_up_stay_as_they_are() -> None:
    leaves = np.array([[3], [0], [5], [0], [2], [7]])
    tree = Nesting.of_levels([COUNTRIES, REGIONS], 6)
    values = [sums(leaves, COUNTRIES), sums(leaves, REGIONS), leaves]
    for exact, whole in zip(values, whole_nodes(tree, [each.astype(float) for each in values]), strict=True):
        np.testing.assert_array_equal(exact, whole)


def test_a_child_is_within_one_of_the_nearest_counts_that_add_up() -> None:
    random = np.random.default_rng(1)
    values, parents = random.normal(2, 4, size=50), random.permutation(np.arange(50) % 7)
    totals = random.integers(0, 40, size=7)
    tree = Nesting(50, (parents,))
    whole = whole_nodes(tree, [totals[:, None].astype(float), values[:, None]])[1][:, 0]
    for node in range(7):
        own = values[parents == node]
        low, high = own.min() - totals[node] - 1, own.max()
        for _ in range(200):  # bisection of the shift
            middle = (low + high) / 2
            low, high = (middle, high) if np.maximum(own - middle, 0).sum() > totals[node] else (low, middle)
        assert (np.abs(whole[parents == node] - np.maximum(own - low, 0)) < 1).all()


def test_answers_of_levels_in_any_order_crossed_with_other_columns() -> None:
    sex = Factor.identity(1, 2)
    blocks = [
        QueryBlock(name="region", factors=(sex, level(REGIONS))),
        QueryBlock(name="town", factors=(sex, Factor.identity(0, 6))),
        QueryBlock(name="country", factors=(sex, level(COUNTRIES))),
    ]
    counts = np.arange(12.0).reshape(6, 2)
    answers = [block.apply(counts.T) + 0.4 for block in blocks]
    whole = whole_answers(blocks, answers)
    assert whole is not None
    region, town, country = (each.reshape(2, -1).T for each in whole)
    np.testing.assert_array_equal(region, sums(town, REGIONS))
    np.testing.assert_array_equal(country, sums(town, COUNTRIES))
    assert np.abs(town - counts).max() <= 1


def test_the_lowest_level_need_not_be_asked() -> None:
    blocks = [
        QueryBlock(name="country", factors=(level(COUNTRIES),)),
        QueryBlock(name="region", factors=(level(REGIONS),)),
    ]
    whole = whole_answers(blocks, [np.array([8.6, 1.2]), np.array([4.3, 4.4, -2.0])])
    assert whole is not None
    assert [each.tolist() for each in whole] == [[9, 1], [4, 5, 1]]


@pytest.mark.parametrize(
    "factors",
    [
        [(Factor.identity(0, 6),)],
        [(level(REGIONS),), (Factor(axes=(0,), sizes=(6,), matrix=Prefix(6)),)],
        [(level(REGIONS),), (Factor.identity(0, 6), Factor.identity(1, 2))],
        [(level(REGIONS),), (level(np.array([0, 0, 1, 1, 0, 2])),)],
        [(level(REGIONS), level(COUNTRIES, axis=1))],
    ],
)
def test_what_is_no_level_of_one_column_has_none(factors) -> None:
    blocks = [QueryBlock(name=str(place), factors=each) for place, each in enumerate(factors)]
    assert whole_answers(blocks, [np.zeros(block.rows) for block in blocks]) is None
