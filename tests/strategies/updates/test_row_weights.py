"""Row weights meet what was measured, within its noise, whatever was measured before."""

import numpy as np
import pytest
from support.small_universes import dense, measured, problem

from dpqr.kernel.errors import InfeasiblePlan
from dpqr.models.hypothesis import DenseDistribution
from dpqr.models.rows import WeightedRows
from dpqr.strategies.updates.multiplicative_weights import RowWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix

SHAPE = (4, 4)
PROBLEM = problem(SHAPE, [QueryBlock(name="all")])


@pytest.fixture
def rule():
    return RowWeights(start_rows=WeightedRows.of(DenseDistribution.uniform(SHAPE, 10_000.0), SHAPE, 0))


def test_a_query_and_a_table_are_met_together(rule):
    one = dense([1, 1, 0, 0], SHAPE, (0,))
    halves = Dense(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]))
    table = QueryBlock(
        name="table", factors=tuple(Factor(axes=(axis,), sizes=(4,), matrix=halves) for axis in range(2))
    )
    history = [measured([one], [7_000])]
    first = rule.update(PROBLEM, rule.start(PROBLEM), history)
    assert first.answer(one) == pytest.approx([7_000], abs=5)
    history.append(measured([table], [[6_000, 1_000, 500, 2_500]]))
    both = rule.update(PROBLEM, first, history)
    assert both.answer(table) == pytest.approx([6_000, 1_000, 500, 2_500], abs=10)
    assert both.answer(one) == pytest.approx([7_000], abs=10)
    assert both.answer(QueryBlock(name="all")) == pytest.approx([10_000])
    again = rule.update(PROBLEM, rule.start(PROBLEM), history)
    assert again.marginal((0, 1)) == pytest.approx(both.marginal((0, 1)), abs=5)


def test_what_no_table_could_have_does_not_break_it(rule):
    one = dense([1, 0, 0, 0], SHAPE, (0,))
    for impossible in (-500, 20_000):
        found = rule.update(PROBLEM, rule.start(PROBLEM), [measured([one], [impossible])])
        assert np.isfinite(found.shares).all()
        assert found.shares.min() >= 0
        assert 0 <= found.answer(one)[0] <= 10_000 * (1 + 1e-9)


def test_what_it_says_of_itself(rule):
    assert (rule.trust, rule.mistakes(PROBLEM, None), rule.fits(PROBLEM, (), ())) == ((), None, True)
    assert rule.footprint(PROBLEM).bytes > 0
    overlapping = QueryBlock(name="p", factors=(Factor(axes=(0,), sizes=(4,), matrix=Prefix(4)),))
    with pytest.raises(InfeasiblePlan, match="overlap"):
        rule.update(PROBLEM, rule.start(PROBLEM), [measured([overlapping], [[1, 2, 3, 4]])])
