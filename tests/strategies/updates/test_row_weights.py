"""Row weights meet what was measured, within its noise, whatever was measured before."""

from fractions import Fraction

import numpy as np
import pytest

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.unit import PrivacyUnit
from dpqr.models.hypothesis import DenseDistribution
from dpqr.models.rows import WeightedRows
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.multiplicative_weights import RowWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.workload import Measurement, Workload

SHAPE = (4, 4)
LAW = DiscreteGaussian(Fraction(1))
DOMAIN = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(4)) for axis in range(2)))
PROBLEM = Problem(domain=DOMAIN, workload=Workload((QueryBlock(name="all"),)), unit=PrivacyUnit())


def start():
    return WeightedRows.of(DenseDistribution.uniform(SHAPE, 10_000.0), SHAPE, 0)


def predicate(axis, *row):
    return Factor(axes=(axis,), sizes=(4,), matrix=Dense(np.array([row])))


def measured(block, *values):
    return Measurement(blocks=(block,), values=(np.array(values),), law=LAW)


def test_a_query_and_a_table_are_met_together():
    rule = RowWeights(start_rows=start())
    one = QueryBlock(name="one", factors=(predicate(0, 1, 1, 0, 0),))
    halves = Dense(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]))
    table = QueryBlock(
        name="table", factors=tuple(Factor(axes=(axis,), sizes=(4,), matrix=halves) for axis in range(2))
    )
    history = [measured(one, 7_000)]
    first = rule.update(PROBLEM, rule.start(PROBLEM), history)
    assert first.answer(one) == pytest.approx([7_000], abs=5)
    history.append(measured(table, 6_000, 1_000, 500, 2_500))
    both = rule.update(PROBLEM, first, history)
    assert both.answer(table) == pytest.approx([6_000, 1_000, 500, 2_500], abs=10)
    assert both.answer(one) == pytest.approx([7_000], abs=10)
    assert both.answer(QueryBlock(name="all")) == pytest.approx([10_000])
    again = rule.update(PROBLEM, rule.start(PROBLEM), history)
    assert again.marginal((0, 1)) == pytest.approx(both.marginal((0, 1)), abs=5)


def test_what_no_table_could_have_does_not_break_it():
    rule = RowWeights(start_rows=start())
    one = QueryBlock(name="one", factors=(predicate(0, 1, 0, 0, 0),))
    for impossible in (-500, 20_000):
        found = rule.update(PROBLEM, rule.start(PROBLEM), [measured(one, impossible)])
        assert np.isfinite(found.shares).all()
        assert found.shares.min() >= 0
        assert 0 <= found.answer(one)[0] <= 10_000 * (1 + 1e-9)


def test_what_it_says_of_itself():
    rule = RowWeights(start_rows=start())
    assert (rule.trust, rule.mistakes(PROBLEM, None), rule.fits(PROBLEM, (), ())) == ((), None, True)
    assert rule.footprint(PROBLEM).bytes > 0
    overlapping = QueryBlock(name="p", factors=(Factor(axes=(0,), sizes=(4,), matrix=Prefix(4)),))
    with pytest.raises(InfeasiblePlan, match="overlap"):
        rule.update(PROBLEM, rule.start(PROBLEM), [measured(overlapping, 1, 2, 3, 4)])
