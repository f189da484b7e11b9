"""Plans of ordered workloads: prices, what is planned as by strategy, what is said before."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.cases import in_one_test, slowly, thinned
from support.ordered_releases import BOTH, CDF, REPLACE, SHAPE, WIDE, names, planned, released, table
from support.plan_phases import without
from support.small_universes import dense, marginal

from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.guard import unfit
from dpqr.strategies.plan import Explaining
from dpqr.strategies.schedules import ordered as sequence
from dpqr.strategies.schedules.ordered import RECORDS, TUNING, Ordered
from dpqr.strategies.schedules.split import Split, plan_split
from dpqr.strategies.schedules.strategy import Strategy
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix


def stages(plan):
    return [phase.price for phase in plan.named("stage")]


@in_one_test("delta", ["0", "0.001"])
def test_the_whole_budget_is_cut_in_four(delta) -> None:
    plan = planned(delta=delta)
    prices = [price.epsilon or price.rho for price in (plan.price("opening"), *stages(plan))]
    total = sum(prices)
    rest = 1 - TUNING.count - TUNING.first_look
    shares = [TUNING.count, TUNING.first_look, rest * TUNING.boxes, rest * (1 - TUNING.boxes)]
    assert [price / total for price in prices] == shares
    assert plan.epsilon <= plan.budget.epsilon
    assert plan.opening == ((RECORDS,),)
    assert plan.schedule == Ordered()
    if delta == "0":
        assert total == plan.epsilon == 1


@pytest.mark.parametrize("delta", thinned(["0", "0.001"], 2))
@pytest.mark.parametrize("records", thinned([0, 40, 10**6], 3))
@pytest.mark.parametrize("blocks", [(CDF,), *slowly((BOTH, CDF))], ids=["one column", "two"])
def test_every_branch_spends_the_budget_and_no_more(records, delta, blocks) -> None:
    plan = planned(*blocks, delta=delta)
    _, guard = released(plan, table(records))
    charged = plan.roles.accountant.epsilon(guard.events, plan.budget.delta)
    assert charged <= plan.budget.epsilon
    assert float(charged) == pytest.approx(float(plan.epsilon), rel=1e-9)
    assert 3 <= len(guard.charged) <= 6


@in_one_test("records", [30, 10**6])
def test_a_public_number_of_records_is_not_counted(records) -> None:
    plan = planned(unit=REPLACE, n=records)
    assert (plan.opening, plan.price("opening"), len(stages(plan))) == ((), None, 3)
    assert plan.notes[-1].startswith("noisy counts of boxes")
    release, guard = released(plan, table(records))
    assert "number of records" not in names(release)
    assert len(guard.charged) in (1, 2, 3)


def test_what_cannot_be_merged_is_planned_as_by_strategy() -> None:
    few = planned(marginal((1,), SHAPE))
    assert few.schedule == Strategy()
    assert "too few cells" in few.notes[-1]


@pytest.mark.slow
def test_shares_of_the_budget_follow_what_groups_are_hard_to_tell() -> None:
    shape = (256, 8)
    small = QueryBlock(name="small", factors=(Factor(axes=(1,), sizes=(8,), matrix=Prefix(8)),))
    plan = planned(WIDE, small, shape=shape)
    one, two = (stages(plan)[3 * group + 2].epsilon for group in range(2))
    assert 3 < one / two < 20


def test_too_many_cells_are_planned_as_by_strategy(monkeypatch) -> None:
    monkeypatch.setattr(sequence, "TUNING", replace(sequence.TUNING, most_cells=15))
    assert "16 cells are more than 15" in planned().notes[-1]


def test_what_a_strategy_cannot_take_is_refused() -> None:
    with pytest.raises(InfeasiblePlan, match="several columns into one predicate"):
        planned(dense(np.ones((1, 48), dtype=int), SHAPE, name="joint"))


def test_prices_that_depend_on_releases_need_a_filter() -> None:
    assert Ordered().adaptive
    assert unfit(ACCOUNTANTS["optimal"], Ordered()) is not None
    assert unfit(ACCOUNTANTS["basic"], Ordered()) is None
    assert Ordered().distinguisher is None
    assert isinstance(Ordered(), Explaining)


def test_the_count_of_what_was_left_out_takes_its_share_of_all_prices() -> None:
    alone = planned(unit=PrivacyUnit(columns=("person",)))
    plan = plan_split(Ordered(), Split(left_out=Fraction(1, 10)), alone.problem, alone.budget, alone.roles)
    paid = [plan.price("left out"), plan.price("opening"), *stages(plan)]
    assert sum(price.epsilon for price in paid) == 1
    assert plan.price("left out").epsilon == Fraction(1, 10)


def test_the_forecast_is_the_strategys_with_what_the_count_leaves() -> None:
    plan, direct = planned(), planned(schedule=Strategy())
    assert plan.noise == pytest.approx(direct.noise / (1 - float(TUNING.count + TUNING.first_look)), rel=0.01)
    assert "forecast is that of all cells" in plan.notes[-1]
    assert Ordered().reasons(without(plan, "stage"), Transcript()) == ()
