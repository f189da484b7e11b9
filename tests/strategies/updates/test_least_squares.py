"""Least squares by group of attributes: the closed form, the solver, and the two against each other."""

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test
from support.rounding_error import least_squares
from support.small_universes import dense, marginal, measured, problem

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.values import replace
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.updates.least_squares import BucketLeastSquares, LeastSquares, WeightedAnswers, least_norm
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, Prefix
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.strategy_matrices import strategy_block
from dpqr.workload.trees import Tree

SHAPE = (2, 4, 3)
CDF = QueryBlock(name="cdf", factors=(Factor(axes=(1,), sizes=(4,), matrix=Prefix(4)), Factor.identity(0, 2)))
LAST = marginal((2,), SHAPE)
STRATEGY = strategy_block("s", (1, 0), (Tree(4, (4, 2, 1), (1, 2, 3)), Identity(2)))


def squares_problem(*blocks) -> Problem:
    return problem(SHAPE, blocks or (CDF, LAST))


def test_a_measured_strategy_is_inverted_in_closed_form_and_measured_twice_by_the_solver() -> None:
    values = np.arange(STRATEGY.rows) ** 2 % 17
    history = [measured([STRATEGY], [values], deviation=4.0)]
    found = LeastSquares().update(squares_problem(), LeastSquares().start(squares_problem()), history)
    written = np.stack(list(STRATEGY.coefficients())).astype(float)
    expected = (np.linalg.pinv(written) @ values).reshape(4, 2).T
    np.testing.assert_allclose(found.groups[0].cells, expected, atol=least_squares(written, values))
    assert found.groups[0].deviation == 4.0
    assert not found.groups[1].cells.any()
    with pytest.raises(ValueError, match="read-only"):
        found.groups[0].cells[0, 0] = 1.0
    solved = LeastSquares().update(squares_problem(), LeastSquares().start(squares_problem()), history * 2)
    assert solved.groups[0].strategy is None
    np.testing.assert_allclose(solved.groups[0].cells, found.groups[0].cells, atol=1e-6)


def test_what_noise_allows_is_weighed_by_its_variance() -> None:
    cells = marginal((2,), SHAPE)
    history = [measured([cells], [[10, 0, 4]], deviation=1.0), measured([cells], [[20, 10, 4]], deviation=3.0)]
    found = LeastSquares().update(squares_problem(LAST), LeastSquares().start(squares_problem(LAST)), history)
    np.testing.assert_allclose(found.answer(LAST), [11.0, 1.0, 4.0], atol=1e-6)


def test_scaled_answers_count_in_records() -> None:
    halves = dense([[1, 2, 3], [0, 1, 0], [1, 0, 0]], SHAPE, (2,), scale=Fraction(1, 2))
    values = halves.apply(np.array([4, 6, 8]))
    start = LeastSquares().start(squares_problem(LAST))
    found = LeastSquares().update(squares_problem(LAST), start, [measured([halves], [values])])
    np.testing.assert_allclose(found.answer(LAST), [4 * 1, 6, 8], atol=1e-6)


def test_groups_that_are_too_large_are_refused() -> None:
    small = LeastSquares(cells=7)
    assert "joins columns with 8 cells" in (small.footprint(squares_problem()).refusal or "")
    with pytest.raises(InfeasiblePlan):
        small.start(squares_problem())
    assert LeastSquares(cells=8).footprint(squares_problem()).bytes > 0


SMALL = (2, 3, 2)
BLOCKS = [
    marginal((2, 0), SMALL),
    marginal((1,), SMALL),
    dense([[1, 0, 2], [0, -1, 1]], SMALL, (1,), scale=Fraction(1, 2)),
    QueryBlock(name="total"),
]


def answered(block: QueryBlock, seed: int, deviation: float) -> WeightedAnswers:
    return WeightedAnswers(block=block, values=10.0 * np.cos(seed + np.arange(block.rows)), deviation=deviation)


def rows(block: QueryBlock) -> np.ndarray:
    """The block's coefficients on all cells, in records."""
    whole = []
    for unit in np.eye(block.rows):
        order = sorted(block.axes)
        tensor = block.adjoint(unit).transpose([block.axes.index(axis) for axis in order])
        missing = tuple(axis for axis in range(3) if axis not in order)
        whole.append(np.broadcast_to(np.expand_dims(tensor, missing), SMALL).reshape(-1) * float(block.scale))
    return np.stack(whole)


@in_one_test("count", [1, 2, 3, 4])
def test_the_shortest_of_the_best(count) -> None:
    answers = [answered(block, index, 1.0 + index) for index, block in enumerate(BLOCKS[:count])]
    matrix = np.concatenate([rows(one.block) / one.deviation for one in answers])
    targets = np.concatenate([one.values / one.deviation for one in answers])
    expected = (np.linalg.pinv(matrix) @ targets).reshape(SMALL)
    np.testing.assert_allclose(least_norm(answers, (0, 1, 2), SMALL), expected, atol=1e-6)


# Bucket counts by least squares over all measurements of buckets, shrunk by their noise, spread evenly over cells.

SQUARES_SHAPE = (6,)
SQUARES_CDF = QueryBlock(name="cdf", factors=(Factor(axes=(0,), sizes=SQUARES_SHAPE, matrix=Prefix(6)),))
PROBLEM = problem(SQUARES_SHAPE, [SQUARES_CDF])
RULE = BucketLeastSquares()
COARSE = np.array([0, 0, 0, 1, 2, 2])
FINE = np.array([0, 0, 1, 1, 2, 2])
MANY = 10**8
"""Records beside which noise leaves next to nothing to shrink."""


def merged(matrix, buckets, name="buckets"):
    return QueryBlock(
        name=name, factors=(Factor(axes=(0,), sizes=SQUARES_SHAPE, matrix=BucketMatrix(matrix, buckets)),)
    )


def updated(*history, asked=PROBLEM):
    return RULE.update(asked, RULE.start(asked), list(history))


def test_one_measurement_is_spread_evenly() -> None:
    found = updated(measured([merged(Identity(3), COARSE)], [[6 * MANY, 5 * MANY, -4 * MANY]]))
    np.testing.assert_allclose(found.groups[0].cells, np.array([2, 2, 2, 5, -2, -2]) * MANY, rtol=1e-6)
    assert found.answer(SQUARES_CDF)[-1] == pytest.approx(7 * MANY)
    assert found.deviations(SQUARES_CDF) is None


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


@in_one_test("counted", [70, -70])
def test_a_total_below_zero_leaves_no_records(counted) -> None:
    buckets = measured([merged(Identity(3), COARSE)], [[6, 5, 4]], 50.0)
    cells = updated(measured([QueryBlock(name="count")], [[counted]], 50.0), buckets).groups[0].cells
    assert (cells.sum() > 0) == (counted > 0)
    assert (cells == 0).all() == (counted < 0)


def test_what_noise_may_have_made_is_shrunk_towards_an_even_spread() -> None:
    cells = updated(measured([merged(Identity(3), COARSE)], [[600, 190, 410]], 50.0)).groups[0].cells
    assert 190 < cells[3] < 200 < cells[0] < 201
    assert cells.sum() == pytest.approx(1200, abs=1)


def test_the_grid_of_a_block_is_minded_and_buckets_without_cells_are_left_out() -> None:
    halved = replace(merged(Identity(3), COARSE), scale=Fraction(1, 2))
    np.testing.assert_allclose(updated(measured([halved], [[6, 2, 4]])).groups[0].cells, [1, 1, 1, 1, 1, 1])
    block = merged(Identity(4), np.where(COARSE == 2, 3, COARSE))
    cells = updated(measured([block], [[6 * MANY, 5 * MANY, 99, 4 * MANY]])).groups[0].cells
    np.testing.assert_allclose(cells, np.array([2, 2, 2, 5, 2, 2]) * MANY, rtol=1e-6)


STRATEGY_LAST = measured([strategy_block("strategy", (0,), (Tree(6, (8, 2, 1), (1, 1, 2)),))], [np.arange(10)])


@in_one_test(
    ("before", "last"),
    [
        ([measured([QueryBlock(name="count")], [[70]])], STRATEGY_LAST),
        ([measured([merged(Identity(3), COARSE)], [[6, 5, -4]])], STRATEGY_LAST),
        ([], measured([SQUARES_CDF], [[1, 2, 3, 4, 5, 7]])),
    ],
)
def test_what_was_measured_last_of_single_cells_is_read_alone_by_plain_least_squares(before, last) -> None:
    found, plain = updated(*before, last), LeastSquares().update(PROBLEM, RULE.start(PROBLEM), [last])
    np.testing.assert_array_equal(found.answer(SQUARES_CDF), plain.answer(SQUARES_CDF))
    np.testing.assert_array_equal(found.deviations(SQUARES_CDF), plain.deviations(SQUARES_CDF))


def test_groups_without_buckets_are_those_of_least_squares() -> None:
    asked = problem((6, 2), [SQUARES_CDF, marginal((1,), (6, 2))])
    found = updated(
        measured([marginal((1,), (6, 2))], [[3, 4]]),
        measured([merged(Identity(3), COARSE)], [[6 * MANY, 5 * MANY, 4 * MANY]]),
        asked=asked,
    )
    np.testing.assert_allclose(found.groups[0].cells, np.array([2, 2, 2, 5, 2, 2]) * MANY, rtol=1e-6)
    np.testing.assert_allclose(found.groups[1].cells, [3, 4])


def test_no_mistake_bound_is_claimed_and_a_release_says_what_is_biased() -> None:
    assert "no such estimate is unbiased" in RULE.trust[0]
    assert LeastSquares().mistakes(PROBLEM, Level(value=Fraction(1, 4))) is None is RULE.mistakes(PROBLEM, None)
    assert RULE.footprint(PROBLEM) == LeastSquares().footprint(PROBLEM)
