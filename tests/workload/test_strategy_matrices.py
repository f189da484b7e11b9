"""Kronecker strategies against their matrices multiplied out."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.rounding_error import least_squares, quadratic_form
from support.small_universes import dense, marginal

from dpqr.kernel.values import replace
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, Prefix
from dpqr.workload.ranges import Ranges
from dpqr.workload.strategy_matrices import (
    PIdentity,
    is_strategy,
    on_single_axes,
    query_variances,
    recover_cells,
    recoverable,
    scale_strategy,
    squared_norms,
    strategy_block,
)
from dpqr.workload.trees import Tree

SHAPE = (3, 4, 2)
TREE = Tree(4, (4, 2, 1), (1, 2, 3))
TUNED = PIdentity(np.array([2, 1]), np.array([3, 1]), np.array([[1, 2]]))
STRATEGIES = {
    "one axis": strategy_block("s", (1,), (TREE,)),
    "two axes": strategy_block("s", (1, 0), (TREE, TUNED)),
    "three axes": strategy_block("s", (0, 1, 2), (TUNED, TREE, Identity(2))),
    "total": QueryBlock(name="s"),
}
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES.keys())


def written(block: QueryBlock) -> np.ndarray:
    return np.stack(list(block.coefficients())).astype(float)


def boxes() -> QueryBlock:
    spans = (np.array([0, 1, 2]), np.array([2, 3, 3])), (np.array([1, 0, 3]), np.array([4, 2, 4]))
    factors = tuple(
        Factor(axes=(axis,), sizes=(SHAPE[axis],), matrix=Ranges(*ends, SHAPE[axis])) for axis, ends in enumerate(spans)
    )
    return QueryBlock(name="boxes", factors=factors, rowwise=True)


QUERIES = {
    "total": QueryBlock(name="total"),
    "cells": marginal((1,), SHAPE),
    "pairs, turned": marginal((1, 0), SHAPE),
    "prefix": QueryBlock(name="cdf", factors=(Factor(axes=(1,), sizes=(4,), matrix=Prefix(4)), Factor.identity(0, 3))),
    "boxes": boxes(),
    "as many rows each": QueryBlock(
        name="by",
        factors=(
            Factor(axes=(0,), sizes=(3,), matrix=Prefix(3)),
            Factor(axes=(1,), sizes=(4,), matrix=Dense(np.array([[1, 0, 2, 0], [0, 3, 0, 0], [1, 1, 1, -1]]))),
        ),
    ),
    "sums": dense([[1, -2, 5]], SHAPE, (0,)),
}


@every_strategy
def test_recovery_is_the_pseudo_inverse_of_all_factors(strategy) -> None:
    values = np.arange(float(strategy.rows)) ** 2 % 13
    sizes = [SHAPE[axis] for axis in strategy.axes]
    expected = (np.linalg.pinv(written(strategy)) @ values).reshape(sizes)
    np.testing.assert_allclose(recover_cells(strategy, values), expected, atol=least_squares(written(strategy), values))


@in_one_test("query", QUERIES.values())
def test_variances_are_the_quadratic_form_of_all_factors(query) -> None:
    strategy = STRATEGIES["three axes"]
    order = sorted(query.axes)
    rows = []
    for row in np.eye(query.rows):
        tensor = query.adjoint(row).transpose([query.axes.index(axis) for axis in order])
        missing = tuple(axis for axis in range(3) if axis not in order)
        rows.append(np.broadcast_to(np.expand_dims(tensor, missing), SHAPE).reshape(-1))
    asked = np.stack(rows)
    inverse = np.linalg.inv(written(strategy).T @ written(strategy))
    expected = ((asked @ inverse) * asked).sum(axis=1)
    rounding = quadratic_form(written(strategy), asked)
    np.testing.assert_allclose(query_variances(strategy, query), expected, atol=rounding)


def test_a_share_multiplies_every_coefficient_and_divides_the_variance() -> None:
    for strategy in (STRATEGIES["two axes"], strategy_block("s", (0,), (Identity(3),))):
        np.testing.assert_array_equal(written(scale_strategy(strategy, 5)), 5 * written(strategy))
        query = marginal((0,), SHAPE)
        np.testing.assert_allclose(
            25 * query_variances(scale_strategy(strategy, 5), query), query_variances(strategy, query)
        )
    assert scale_strategy(STRATEGIES["total"], 5) is STRATEGIES["total"]


def test_what_is_no_strategy() -> None:
    assert all(is_strategy(strategy) for strategy in STRATEGIES.values())
    assert is_strategy(marginal((0, 1), SHAPE))
    assert not is_strategy(dense([[1, 0, 0], [0, 1, 0], [0, 0, 1]], SHAPE, (0,)))
    assert not is_strategy(boxes())
    assert recoverable(Dense(np.eye(2, dtype=np.int64))) is None
    two = dense([[1, 0, 0, 1, 1, 0]], SHAPE, (0, 2))
    assert not is_strategy(two)
    assert not on_single_axes(two)
    assert on_single_axes(boxes())


def test_a_grid_multiplies_the_variance_by_its_square() -> None:
    strategy = STRATEGIES["two axes"]
    query = marginal((1,), SHAPE)
    twice = replace(strategy, scale=Fraction(3, 2))
    np.testing.assert_allclose(query_variances(twice, query), query_variances(strategy, query) * 9 / 4, rtol=1e-14)


@in_one_test("rowwise", [False, True])
def test_squared_norms_are_those_of_the_rows(rowwise):
    one = Factor(axes=(0, 2), sizes=(3, 2), matrix=Dense(np.array([[1, 0, -2, 0, 3, 1], [0, 1, 0, 0, 0, 0]])))
    two = Factor(axes=(1,), sizes=(4,), matrix=Dense(np.array([[1, 1, 1, 1], [0, 2, 0, 0]])))
    found = squared_norms(QueryBlock(name="q", factors=(one, two), rowwise=rowwise))
    assert found.tolist() == pytest.approx([15 * 4, 4] if rowwise else [15 * 4, 15 * 4, 4, 4])
