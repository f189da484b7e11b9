"""Bucket counts by least squares over all measurements of buckets, shrunk by their noise, spread evenly over cells."""

import numpy as np
import pytest
from support.small_universes import marginal, measured, problem

from dpqr.strategies.updates.least_squares import BucketLeastSquares, LeastSquares
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.strategy_matrices import strategy_block
from dpqr.workload.trees import Tree

SHAPE = (6,)
CDF = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=SHAPE, matrix=Prefix(6)),))
PROBLEM = problem(SHAPE, [CDF])
RULE = BucketLeastSquares()
COARSE = np.array([0, 0, 0, 1, 2, 2])
FINE = np.array([0, 0, 1, 1, 2, 2])
MANY = 10**8
"""Records beside which noise leaves next to nothing to shrink."""


def merged(matrix, buckets, name="buckets"):
    return QueryBlock(name=name, factors=(Factor(axes=(0,), sizes=SHAPE, matrix=BucketMatrix(matrix, buckets)),))


def updated(*history, asked=PROBLEM):
    return RULE.update(asked, RULE.start(asked), list(history))


def test_one_measurement_is_spread_evenly() -> None:
    found = updated(measured([merged(Identity(3), COARSE)], [[6 * MANY, 5 * MANY, -4 * MANY]]))
    np.testing.assert_allclose(found.groups[0].cells, np.array([2, 2, 2, 5, -2, -2]) * MANY, rtol=1e-6)
    assert found.answer(CDF)[-1] == pytest.approx(7 * MANY)
    assert found.deviations(CDF) is None


def test_all_measurements_count_by_their_precision_on_the_last_ones_buckets() -> None:
    tree = Tree(3, (4, 2, 1), (1, 2, 3))
    values = [(np.arange(6) * 3 - 2) * MANY, np.array([9, 1, 4]) * MANY]
    history = [
        measured([merged(tree, FINE)], [values[0]], 2.0),
        measured([merged(Identity(3), COARSE)], [values[1]], 0.5),
    ]
    found = updated(*history)
    spread = (COARSE[:, None] == np.arange(3)) / np.bincount(COARSE)
    rows = np.concatenate([tree.table(0, 6)[:, FINE] @ spread / 2.0, np.eye(3) / 0.5])
    counts = np.linalg.lstsq(rows, np.concatenate([values[0] / 2.0, np.array(values[1]) / 0.5]), rcond=None)[0]
    np.testing.assert_allclose(found.groups[0].cells, spread @ counts, rtol=1e-6)


def test_counts_of_all_records_count_too() -> None:
    buckets = measured([merged(Identity(3), COARSE)], [[6, 5, 4]])
    found = updated(measured([QueryBlock(name="count")], [[70]], 1e-9), buckets)
    assert found.groups[0].cells.sum() == pytest.approx(70, rel=1e-2)


def test_what_noise_may_have_made_is_shrunk_towards_an_even_spread() -> None:
    cells = updated(measured([merged(Identity(3), COARSE)], [[600, 190, 410]], 50.0)).groups[0].cells
    assert 190 < cells[3] < 200 < cells[0] < 201
    assert cells.sum() == pytest.approx(1200, abs=1)


def test_the_grid_of_a_block_is_minded() -> None:
    block = merged(Identity(3), COARSE)
    halved = QueryBlock(name="half", factors=block.factors, scale=block.scale / 2)
    np.testing.assert_allclose(updated(measured([halved], [[6, 2, 4]])).groups[0].cells, [1, 1, 1, 1, 1, 1])


def test_buckets_without_cells_are_left_out() -> None:
    block = merged(Identity(4), np.where(COARSE == 2, 3, COARSE))
    cells = updated(measured([block], [[6 * MANY, 5 * MANY, 99, 4 * MANY]])).groups[0].cells
    np.testing.assert_allclose(cells, np.array([2, 2, 2, 5, 2, 2]) * MANY, rtol=1e-6)


def test_a_strategy_over_cells_is_taken_by_itself_with_known_deviations() -> None:
    strategy = strategy_block("strategy", (0,), (Tree(6, (8, 2, 1), (1, 1, 2)),))
    count = measured([QueryBlock(name="count")], [[70]])
    told = measured([strategy], [np.arange(10)])
    found, plain = updated(count, told), LeastSquares().update(PROBLEM, RULE.start(PROBLEM), [told])
    np.testing.assert_array_equal(found.answer(CDF), plain.answer(CDF))
    np.testing.assert_array_equal(found.deviations(CDF), plain.deviations(CDF))


def test_a_strategy_over_cells_takes_the_place_of_buckets_before_it() -> None:
    told = measured([strategy_block("strategy", (0,), (Tree(6, (8, 2, 1), (1, 1, 2)),))], [np.arange(10)])
    found = updated(measured([merged(Identity(3), COARSE)], [[6, 5, -4]]), told)
    plain = LeastSquares().update(PROBLEM, RULE.start(PROBLEM), [told])
    np.testing.assert_array_equal(found.answer(CDF), plain.answer(CDF))
    np.testing.assert_array_equal(found.deviations(CDF), plain.deviations(CDF))


def test_other_measurements_are_those_of_least_squares() -> None:
    told = measured([CDF], [[1, 2, 3, 4, 5, 7]])
    found, plain = updated(told), LeastSquares().update(PROBLEM, RULE.start(PROBLEM), [told])
    np.testing.assert_array_equal(found.answer(CDF), plain.answer(CDF))


def test_groups_without_buckets_are_those_of_least_squares() -> None:
    asked = problem((6, 2), [CDF, marginal((1,), (6, 2))])
    found = updated(
        measured([marginal((1,), (6, 2))], [[3, 4]]),
        measured([merged(Identity(3), COARSE)], [[6 * MANY, 5 * MANY, 4 * MANY]]),
        asked=asked,
    )
    np.testing.assert_allclose(found.groups[0].cells, np.array([2, 2, 2, 5, 2, 2]) * MANY, rtol=1e-6)
    np.testing.assert_allclose(found.groups[1].cells, [3, 4])


def test_what_a_release_must_say() -> None:
    (sentence,) = RULE.trust
    assert "no such estimate is unbiased" in sentence
    assert RULE.cumulative
    assert RULE.fits(PROBLEM, [], [])
    assert RULE.mistakes(PROBLEM, None) is None
    assert RULE.footprint(PROBLEM) == LeastSquares().footprint(PROBLEM)
