"""Perceptron: steps and projections."""

from fractions import Fraction

import numpy as np
import pytest
from support.small_universes import dense, marginal, measured, problem

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import Neighbours
from dpqr.strategies.problem import Level
from dpqr.strategies.updates.perceptron import Perceptron
from dpqr.workload.block import QueryBlock

SHAPE = (2, 3)
RULE = Perceptron()


def theory(variant):
    return problem(SHAPE, n=100, level="1/10", variant=variant, neighbours=Neighbours.REPLACE)


def test_the_printed_step():
    state = RULE.start(theory("printed"))
    assert not state.cells.any()
    f = np.array([0, 1, 2, 4, 0, 4]) / 4
    block = dense([0, 1, 2, 4, 0, 4], SHAPE, scale=Fraction(1, 4))
    up = RULE.update(theory("printed"), state, [measured([block], [[200]])])
    assert np.allclose(up.cells.reshape(-1), 0.1 / 6 * f)
    down = RULE.update(theory("printed"), state, [measured([block], [[-200]])])
    assert np.allclose(down.cells.reshape(-1), -0.1 / 6 * f)
    assert up.total == 100


def test_the_sharp_step_keeps_the_sum():
    state = RULE.start(theory("sharp"))
    assert np.allclose(state.cells, 1 / 6)
    block = dense([1, 0, 0], SHAPE, (1,))
    moved = RULE.update(theory("sharp"), state, [measured([block], [[0]])])
    assert np.allclose(moved.cells, 1 / 6 - 0.4 / 6 * np.array([2 / 3, -1 / 3, -1 / 3]))
    assert moved.cells.sum() == pytest.approx(1)


def test_mistake_bounds_of_the_oracle():
    facts = problem((64,))
    assert RULE.mistakes(facts, Level(value=Fraction(1, 40))) == 102_400
    assert RULE.mistakes(facts, Level(value=Fraction(1, 40), variant="sharp")) == 25_200
    assert RULE.mistakes(facts, Level(value=Fraction(3, 40))) == 11_377


def test_mistake_bounds_where_no_two_records_are_alike():
    """|X| / (n a^2) and (|X| / n - 1) / (4 a^2), rounded down: 64 cells, 16 records; none beyond the cells."""
    level, sharp = Level(value=Fraction(3, 40)), Level(value=Fraction(3, 40), variant="sharp")
    assert RULE.mistakes_distinct(problem((64,), n=16), level) == 711
    assert RULE.mistakes_distinct(problem((64,), n=16), sharp) == 133
    assert RULE.mistakes_distinct(problem((64,), n=64), sharp) == 0
    assert RULE.mistakes_distinct(problem((64,), n=65), level) is None
    assert RULE.mistakes_distinct(problem((64,)), level) is None


def test_without_a_level_a_marginal_is_met_exactly():
    facts = problem(SHAPE)
    block = marginal((1,), SHAPE)
    state = RULE.update(facts, RULE.start(facts), [measured([block], [[70, 20, 10]])])
    assert state.total == pytest.approx(100)
    assert np.allclose(state.answer(block), [70, 20, 10])


def test_without_a_level_overlapping_rows_never_overshoot():
    facts = problem((4,), n=40, neighbours=Neighbours.REPLACE)
    block = dense([[1, 1, 1, 0], [1, 1, 0, 0], [2, -1, 0, 0]], (4,))
    state = RULE.start(facts)
    gap = np.abs([30, 5, 9] - state.answer(block))
    for _ in range(200):
        state = RULE.update(facts, state, [measured([block], [[30, 5, 9]])])
        closer = np.abs([30, 5, 9] - state.answer(block))
        assert (closer @ closer) <= (gap @ gap) + 1e-9
        gap = closer
    assert gap.max() < 0.1


def test_no_records_only_a_total_or_too_many_cells():
    facts = problem(SHAPE)
    state = RULE.update(facts, RULE.start(facts), [measured([marginal((0,), SHAPE)], [[-5, -5]])])
    assert state.total == 0
    state = RULE.update(facts, state, [measured([QueryBlock(name="total")], [[42]])])
    assert state.total == pytest.approx(42)
    assert np.allclose(state.answer(QueryBlock(name="total")), 42)
    with pytest.raises(InfeasiblePlan, match="at most 5"):
        Perceptron(cells=5).start(problem(SHAPE))
    assert RULE.footprint(problem(SHAPE)).refusal is None
