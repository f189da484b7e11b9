"""Sums of a measured table: their figures, how often their intervals miss (exactly), and which plans have them."""

from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from support.cases import in_one_test
from support.handmade_release import make_plan
from support.plan_phases import changed

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.budget import Price
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import DiscreteGaussian
from dpqr.kernel.values import replace
from dpqr.releases.answers.noisy import BETA, Noisy, is_answered_alone, is_own_table, narrower, summed_answers
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.plan import Phase
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.workload import Measurement

SIZES = (2, 3, 4)
DOMAIN = Domain(tuple(Attribute(name=name, axis=Codes(size)) for name, size in zip("abc", SIZES, strict=True)))
A, B, C = (Factor.identity(axis, size) for axis, size in enumerate(SIZES))
TABLE, NARROWER = QueryBlock(name="table", factors=(A, B, C)), QueryBlock(name="ca", factors=(C, A))
COLUMN, TOTAL = QueryBlock(name="c", factors=(C,)), QueryBlock(name="total")
UP_TO = QueryBlock(name="up to", factors=(Factor(axes=(2,), sizes=(4,), matrix=Prefix(4)), A))
SUM = QueryBlock(
    name="sum", factors=(Factor(axes=(1,), sizes=(3,), matrix=Dense(np.array([[0, 1, 3]]))),), scale=Fraction(1, 2)
)
BLOCKS = (COLUMN, TOTAL, UP_TO, SUM)
CELLS = np.arange(24, dtype=np.int64)
LAW = DiscreteLaplace(Fraction(5))


def answered(block, values):
    return Measurement(blocks=(block,), values=(np.asarray(values, dtype=np.int64),), law=LAW)


def summed(law, *sources):
    history = [
        Measurement(blocks=(one,), values=(np.arange(one.rows) * (place + 1),), law=law)
        for place, one in enumerate(sources)
    ]
    return summed_answers(fixed(make_plan(DOMAIN, BLOCKS)), history)


def fixed(plan):
    return replace(plan, phases=tuple(phase for phase in plan.phases if phase.noun == "opening"))


def test_sums_of_cells_are_the_answers_of_every_block_in_the_table():
    law, tensor = DiscreteGaussian(Fraction(9)), CELLS.reshape(SIZES)
    found = summed(law, TABLE)
    assert set(found) == {block.name for block in BLOCKS}
    assert found["c"].values.tolist() == tensor.sum(axis=(0, 1)).tolist()
    assert found["total"].values.tolist() == [CELLS.sum()]
    assert found["up to"].values.tolist() == tensor.sum(axis=1).cumsum(axis=1).T.reshape(-1).tolist()
    assert found["sum"].values.tolist() == [(tensor.sum(axis=(0, 2)) @ [0, 1, 3]) / 2]
    for name, squares in {"c": [6] * 4, "total": [24], "up to": [3, 3, 6, 6, 9, 9, 12, 12], "sum": [80 / 4]}.items():
        assert found[name].deviation == pytest.approx(np.sqrt(squares) * law.deviation)
    quiet = summed(DiscreteLaplace(Fraction(1, 10)), TABLE)["c"]
    assert (quiet.margin.tolist(), (quiet.deviation > 0).all()) == ([0.0] * 4, True)


def masses(law, times):
    """Of `times` draws that are the same one, at all whole numbers up to 60 times as far."""
    k = np.arange(-60, 61)
    weights = np.exp(-2.0 * np.abs(k)) if isinstance(law, DiscreteLaplace) else np.exp(-2.0 * k * k)
    found = np.zeros(120 * times + 1)
    found[::times] = weights / weights.sum()
    return found


@in_one_test("law", [DiscreteLaplace(Fraction(1, 2)), DiscreteGaussian(Fraction(1, 4))])
@pytest.mark.parametrize(("name", "coefficients"), [("c", [1] * 6), ("total", [1] * 24), ("sum", [1] * 8 + [3] * 8)])
def test_the_margins_are_missed_seldom_enough_exactly(law, name, coefficients):
    of_sum = reduce(np.convolve, [masses(law, times) for times in coefficients])
    scale = 0.5 if name == "sum" else 1.0
    off, margin = np.abs(np.arange(len(of_sum)) - len(of_sum) // 2) * scale, summed(law, TABLE)[name].margin[0]
    assert of_sum[off > margin].sum() <= BETA
    assert margin <= 5 * (of_sum * off**2).sum() ** 0.5


def test_the_smallest_table_is_summed():
    found = summed(DiscreteGaussian(Fraction(9)), TABLE, NARROWER)
    assert found["c"].values.tolist() == (2 * np.arange(8).reshape(4, 2).sum(axis=1)).tolist()
    assert found["sum"].values.tolist() == summed(DiscreteGaussian(Fraction(9)), TABLE)["sum"].values.tolist()
    assert set(summed(DiscreteGaussian(Fraction(9)), COLUMN)) == {"c", "total"}


def test_where_selections_decide_what_is_measured_nothing_is_summed():
    plan = make_plan(DOMAIN, BLOCKS)
    one = Measurement(blocks=(TABLE,), values=(CELLS,), law=DiscreteGaussian(Fraction(9)))
    assert changed(plan, "selection").named("selection")
    assert summed_answers(plan, [one]) == {}
    assert summed_answers(fixed(plan), [one])


def test_wider_intervals_than_others_are_left_out():
    given = np.array([1.0, 2.0, 3.0])
    found = narrower(Noisy(values=given, deviation=given, margin=given), np.array([2.0, 1.0, np.nan]))
    assert np.isnan(found.margin).tolist() == [False, True, False]
    assert (found.values == given).all()


def opening_alone(plan, table):
    return replace(plan, phases=(Phase(noun="opening", count=1, price=Price(epsilon=Fraction(1)), blocks=((table,),)),))


def test_a_query_inside_the_one_measured_table_is_its_sum():
    """Its deviation is that of so many independent draws, each times its coefficient."""
    sizes = tuple(attribute.size for attribute in make_plan().problem.domain.attributes)
    table = QueryBlock(name="table", factors=tuple(Factor.identity(axis, size) for axis, size in enumerate(sizes)))
    plan, values = opening_alone(make_plan(), table), np.arange(table.cells) * 7 - 50
    noisy = summed_answers(plan, [answered(table, values)])
    assert set(noisy) >= {block.name for block in plan.problem.workload.blocks}
    for block in plan.problem.workload.blocks:
        gone = tuple(axis for axis in range(len(sizes)) if axis not in block.axes)
        kept = [axis for axis in range(len(sizes)) if axis in block.axes]
        tensor = values.reshape(sizes).sum(axis=gone).transpose([kept.index(axis) for axis in block.axes])
        rows = np.stack(list(block.coefficients())).astype(float)
        spread = LAW.deviation * np.sqrt((rows**2).sum(axis=1) * table.cells / block.cells)
        scale, found = float(block.scale), noisy[block.name]
        np.testing.assert_allclose(found.values, block.apply(tensor) * scale)
        np.testing.assert_allclose(found.deviation, spread * scale)
        assert (found.margin <= spread * scale * LAW.weighted_tail(BETA) / LAW.deviation).all()


@in_one_test(("most", "apart"), [(None, False), (3, False), (1, True)])
def test_answers_rest_on_their_own_table_where_tables_count_different_rows(most, apart):
    """A sum over a wider table counts other rows than the narrow table: no interval is claimed of it."""
    asked = {"domain": {"sex": 2, "age": 5}, "queries": [{"marginal": ["sex"]}, {"marginal": ["sex", "age"]}]}
    bound = {"unit": "who", "max_rows": 3, "max_rows_per_cell": most}
    plan = plan_release(PlanRequest(queries=asked, epsilon="1", delta="1e-9", **bound))
    narrow, wide = plan.problem.workload.blocks
    law = DiscreteGaussian(Fraction(1))
    measured = [Measurement(blocks=(wide,), values=(np.zeros(10, dtype=np.int64),), law=law)]
    assert is_own_table(plan, narrow, wide) is not apart
    assert is_own_table(plan, wide, wide)
    few, many = frozenset(narrow.axes), frozenset(wide.axes)
    assert is_answered_alone(plan, narrow, {many}) is not apart
    assert is_answered_alone(plan, wide, {many})
    assert is_answered_alone(plan, wide, {many, few}) is not apart
    found = summed_answers(replace(plan, phases=()), measured)
    assert set(found) == ({wide.name} if apart else {narrow.name, wide.name})
