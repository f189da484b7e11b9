"""Least squares by group of attributes: the closed form, the solver, and the two against each other."""

from fractions import Fraction

import numpy as np
import pytest
from support.rounding_error import least_squares
from support.small_universes import dense, domain, marginal, measured

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import PrivacyUnit
from dpqr.strategies.problem import Level, Problem
from dpqr.strategies.updates.least_squares import LeastSquares, WeightedAnswers, least_norm
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity, Prefix
from dpqr.workload.strategy_matrices import strategy_block
from dpqr.workload.trees import Tree
from dpqr.workload.workload import Workload

SHAPE = (2, 4, 3)
CDF = QueryBlock(name="cdf", factors=(Factor(axes=(1,), sizes=(4,), matrix=Prefix(4)), Factor.identity(0, 2)))
LAST = marginal((2,), SHAPE)
STRATEGY = strategy_block("s", (1, 0), (Tree(4, (4, 2, 1), (1, 2, 3)), Identity(2)))


def problem(*blocks) -> Problem:
    return Problem(domain=domain(SHAPE), workload=Workload(blocks or (CDF, LAST)), unit=PrivacyUnit())


def test_it_starts_from_nothing() -> None:
    start = LeastSquares().start(problem())
    assert [group.axes for group in start.groups] == [(0, 1), (2,)]
    assert not any(group.cells.any() for group in start.groups)


def test_a_measured_strategy_is_inverted_in_closed_form() -> None:
    values = np.arange(STRATEGY.rows) ** 2 % 17
    history = [measured([STRATEGY], [values], deviation=4.0)]
    found = LeastSquares().update(problem(), LeastSquares().start(problem()), history)
    written = np.stack(list(STRATEGY.coefficients())).astype(float)
    expected = (np.linalg.pinv(written) @ values).reshape(4, 2).T
    np.testing.assert_allclose(found.groups[0].cells, expected, atol=least_squares(written, values))
    assert found.groups[0].deviation == 4.0
    assert not found.groups[1].cells.any()
    with pytest.raises(ValueError, match="read-only"):
        found.groups[0].cells[0, 0] = 1.0


def test_both_ways_to_the_estimate_agree() -> None:
    """The same strategy said twice goes to the solver; with equal answers the estimate is the same."""
    values = np.arange(STRATEGY.rows) ** 2 % 17
    once = [measured([STRATEGY], [values], deviation=4.0)]
    start = LeastSquares().start(problem())
    closed, solved = (LeastSquares().update(problem(), start, history) for history in (once, once * 2))
    assert solved.groups[0].strategy is None
    np.testing.assert_allclose(solved.groups[0].cells, closed.groups[0].cells, atol=1e-6)


def test_what_noise_allows_is_weighed_by_its_variance() -> None:
    cells = marginal((2,), SHAPE)
    history = [measured([cells], [[10, 0, 4]], deviation=1.0), measured([cells], [[20, 10, 4]], deviation=3.0)]
    found = LeastSquares().update(problem(LAST), LeastSquares().start(problem(LAST)), history)
    np.testing.assert_allclose(found.answer(LAST), [11.0, 1.0, 4.0], atol=1e-6)


def test_answers_are_right_on_average_over_symmetric_noise() -> None:
    """Linear: the mean of the estimates from noise and from its opposite is the estimate from the truth."""
    truth = np.arange(24).reshape(SHAPE) % 5
    exact = STRATEGY.apply(truth.sum(axis=2).T)
    noise = np.arange(STRATEGY.rows) % 7 - 3
    start = LeastSquares().start(problem())
    either = [
        LeastSquares().update(problem(), start, [measured([STRATEGY], [exact + sign * noise])]).answer(CDF)
        for sign in (1, -1)
    ]
    np.testing.assert_allclose(sum(either) / 2, CDF.apply(truth.sum(axis=2).T), atol=1e-9)


def test_scaled_answers_count_in_records() -> None:
    halves = dense([[1, 2, 3], [0, 1, 0], [1, 0, 0]], SHAPE, (2,), scale=Fraction(1, 2))
    values = halves.apply(np.array([4, 6, 8]))
    start = LeastSquares().start(problem(LAST))
    found = LeastSquares().update(problem(LAST), start, [measured([halves], [values])])
    np.testing.assert_allclose(found.answer(LAST), [4 * 1, 6, 8], atol=1e-6)


def test_groups_that_are_too_large_are_refused() -> None:
    small = LeastSquares(cells=7)
    assert "joins columns with 8 cells" in (small.footprint(problem()).refusal or "")
    with pytest.raises(InfeasiblePlan):
        small.start(problem())
    assert LeastSquares(cells=8).footprint(problem()).bytes > 0


def test_no_mistake_bound_is_claimed() -> None:
    assert LeastSquares().mistakes(problem(), Level(value=Fraction(1, 4))) is None
    assert LeastSquares().cumulative


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


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_shortest_of_the_best(count) -> None:
    answers = [answered(block, index, 1.0 + index) for index, block in enumerate(BLOCKS[:count])]
    matrix = np.concatenate([rows(one.block) / one.deviation for one in answers])
    targets = np.concatenate([one.values / one.deviation for one in answers])
    expected = (np.linalg.pinv(matrix) @ targets).reshape(SMALL)
    np.testing.assert_allclose(least_norm(answers, (0, 1, 2), SMALL), expected, atol=1e-6)


def test_nothing_measured_is_nothing_known() -> None:
    np.testing.assert_array_equal(least_norm([], (0, 1), (2, 3)), np.zeros((2, 3)))
