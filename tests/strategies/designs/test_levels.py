"""Weights of declared levels: none alone can be bettered, and what is measured follows from what is asked."""

from fractions import Fraction

import numpy as np
import pytest
from strategies.designs.errors import every_norm, queries_of, scaled_error
from support.cases import thinned

from dpqr.kernel.values import replace
from dpqr.strategies.designs.kronecker import designs
from dpqr.strategies.designs.trees import balance_levels, levels_tree, nested_levels
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.ranges import everything
from dpqr.workload.sensitivity import Norm
from dpqr.workload.strategy_matrices import query_variances
from dpqr.workload.trees import NestedTree

CELLS = 400
REGION = np.random.default_rng(0).permutation(np.arange(CELLS) % 20)
COUNTRY = (np.arange(20) % 3)[REGION]


def level(groups) -> BucketMatrix:
    return BucketMatrix(Identity(int(groups.max()) + 1), groups)


QUERIES = {
    "all levels": queries_of(level(COUNTRY), level(REGION), Identity(CELLS)),
    "weighted": queries_of(level(COUNTRY), level(REGION), Identity(CELLS), weights=[100.0, 1.0, 0.1]),
    "no cells": queries_of(level(COUNTRY), level(REGION)),
    "other rows": queries_of(level(COUNTRY), Identity(CELLS), everything(CELLS), Prefix(CELLS)),
}


@every_norm
@pytest.mark.parametrize("name", QUERIES)
def test_no_weight_alone_can_be_bettered(name, norm) -> None:
    queries = QUERIES[name]
    best = levels_tree(queries, norm, 4096)
    error = scaled_error(best, queries, norm)
    for place in range(len(best.weights)):
        for factor in (0.8, 1.25):
            weights = [1000 * weight for weight in best.weights]
            weights[place] = int(weights[place] * factor)
            assert scaled_error(NestedTree(best.nesting, tuple(weights)), queries, norm) > 0.998 * error


def test_a_level_that_counts_more_gets_more() -> None:
    plain, weighted = (levels_tree(QUERIES[name], Norm.L1, 1024) for name in ("all levels", "weighted"))
    assert plain.counts == (20, CELLS)  # the sums of regions are as good as a measured country
    assert weighted.counts == (3, 20, CELLS)
    assert weighted.weights[0] > 0.4 * sum(weighted.weights)


def test_levels_once_each_the_coarsest_first_and_none_that_are_not_nested() -> None:
    renamed = BucketMatrix(Identity(30), 29 - REGION)  # the same groups, and ten without a cell
    found = nested_levels([Identity(CELLS), level(REGION), level(COUNTRY), renamed])
    assert [int(groups.max()) + 1 for groups in found[:1]] == [3]
    assert len({tuple(np.unique(groups, return_index=True)[1]) for groups in found}) == 2
    assert nested_levels([level(np.arange(6) % 2), level(np.arange(6) // 2)]) == ()


def test_the_levels_of_one_column_and_the_cells_of_another() -> None:
    blocks = crossed(*(matrix for matrix, _ in QUERIES["all levels"].terms))
    found = designs("s", (0, 1), (CELLS, 2), blocks, Norm.L1)
    assert [design.kinds for design in found] == [("identity", "identity"), ("levels", "identity")]
    assert isinstance(found[1].strategy.factors[0].matrix, NestedTree)


def crossed(*levels) -> tuple[QueryBlock, ...]:
    """A block a level, crossed with a column of two cells."""
    factors = [Factor(axes=(0,), sizes=(CELLS,), matrix=matrix) for matrix in levels]
    return tuple(QueryBlock(name=str(at), factors=(each, Factor.identity(1, 2))) for at, each in enumerate(factors))


@every_norm
@pytest.mark.parametrize(
    "levels", thinned([(COUNTRY, REGION), (REGION,), (COUNTRY,), (np.zeros(CELLS, dtype=int), REGION)], 4)
)
def test_no_level_is_far_above_an_equal_split(levels, norm) -> None:
    blocks = crossed(*map(level, levels), Identity(CELLS))
    count = len(blocks)
    (strategy,) = {one.strategy for one in designs("s", (0, 1), (CELLS, 2), blocks, norm) if "levels" in one.kinds}
    column = strategy.factors[0].matrix.column_norm(norm.value)
    for place, block in enumerate(blocks):
        variance = query_variances(strategy, block).mean() * (column**2 if norm is Norm.L1 else column)
        ratio = variance / (count**2 if norm is Norm.L1 else count)
        assert ratio < (1.01 if place == count - 1 else ((count + 1) / count) ** 2 * 1.02)
    best = min(designs("s", (0, 1), (CELLS, 2), blocks, norm), key=lambda each: each.error)
    assert "levels" in best.kinds


def test_weights_of_blocks_multiply_those_of_levels() -> None:
    blocks = crossed(level(COUNTRY), level(REGION), Identity(CELLS))
    plain = balance_levels((*blocks, QueryBlock(name="other", factors=(Factor.identity(1, 2),))))
    assert [each.weight * each.rows for each in plain] == [*(Fraction(846 * part, 10) for part in (1, 1, 8)), 2]
    heavy = balance_levels((replace(blocks[0], weight=Fraction(3)), *blocks[1:]))
    assert heavy[0].weight == 3 * plain[0].weight
    assert [each.weight for each in heavy[1:]] == [each.weight for each in plain[1:3]]
