"""A count that decides on the accountant: where it is bought, what it leads to, and what is charged on either path."""

import numpy as np
import pytest
from support.cases import in_one_test, slow_but, thinned
from support.staged_runs import run

from dpqr.domain.histogram import DenseHistogram, SeparateTables
from dpqr.kernel.accountants.accountant import EveryFilter
from dpqr.kernel.accountants.by_count import ByCount
from dpqr.kernel.events import DiscreteLaplaceEvent, MuSumEvent, PureSumEvent, RoundedGaussianEvent
from dpqr.kernel.values import replace
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.guard import make_filter
from dpqr.strategies.schedules.by_count import CountedFirst, actual_plan
from dpqr.strategies.transcript import Round, Transcript
from dpqr.workload.workload import Measurement

SIZES = {f"c{number}": size for number, size in enumerate((2, 2, 3, 3, 4, 4, 5, 6))}
DOCUMENT = {"domain": SIZES, "queries": [{"marginals": {"ways": 2, "columns": [*SIZES]}}]}


def planned(epsilon="0.1", **stated):
    return plan_release(PlanRequest(queries=DOCUMENT, epsilon=epsilon, delta="1e-9", **stated))


PLAN = planned()


def counted(records):
    """The round in which the count was drawn, as `records`; None: it was lost."""
    step = PLAN.schedule.next(PLAN, PLAN.schedule.start(PLAN))
    blocks = step.only
    law = PLAN.roles.check.law(blocks, PLAN.problem.unit, step.measure)
    measured = None if records is None else Measurement(blocks=blocks, values=(np.array([records]),), law=law)
    return Round(choice=None, measurement=measured, charges=(0,))


def after(records):
    state = PLAN.schedule.after(PLAN.schedule.start(PLAN), counted(records))
    return state.following, PLAN.schedule.next(PLAN, state)


def ran(records, seed, *, apart=False):
    """The transcript of a run over so many equal records, and what it was charged. apart: whether nothing is counted
    but the tables that the plan names."""
    cells = np.zeros(tuple(SIZES.values()), dtype=np.int64)
    cells[(0,) * len(SIZES)] = records
    counts = DenseHistogram(cells)
    if apart:
        counts = SeparateTables(counts.shape, {axes: counts.marginal(axes) for axes in PLAN.column_sets})
    guard = EveryFilter(filters=(make_filter(PLAN),))
    return run(PLAN, seed=seed, counts=counts, guard=guard), guard.events


def test_the_count_is_bought_where_every_role_is_free():
    assert isinstance(PLAN.schedule, CountedFirst)
    assert (PLAN.roles.accountant.name, PLAN.schedule.name) == ("by-count", "marginals")
    assert PLAN.epsilon == PLAN.budget.epsilon
    assert any("decides what charges the rest" in note for note in PLAN.notes)


@pytest.mark.parametrize(
    "stated",
    thinned(
        [
            {"accountant": "gdp"},
            {"accountant": "basic"},
            {"check": "laplace"},
            {"distinguisher": "exponential"},
            {"certify": "0.1"},
            {"error_bars": "0.1"},
            {"count_dropped": "0.1"},
            {"schedule": "rounds"},
        ],
        3,
    ),
    ids=lambda stated: next(iter(stated)),
)
def test_no_count_decides_where_something_is_stated_that_it_would_change(stated):
    plan = plan_release(PlanRequest(queries=DOCUMENT, epsilon="0.1", delta="1e-9", **stated))
    assert plan.roles.accountant.name != "by-count"


def test_a_pure_budget_has_one_theorem():
    assert plan_release(PlanRequest(queries=DOCUMENT, epsilon="0.1")).roles.accountant.name == "basic"


def test_the_plan_states_the_count_and_both_sums():
    events = [event for event, _ in PLAN.events if not hasattr(event, "event")]
    assert [type(event) for event in events] == [DiscreteLaplaceEvent, PureSumEvent, MuSumEvent]
    assert 1 / events[0].scale == PLAN.budget.epsilon * ByCount.SHARE
    assert events[1].epsilon == PLAN.budget.epsilon * (1 - ByCount.SHARE)


@in_one_test(("records", "accountant"), [(10, "basic"), (10**6, "gdp")])
def test_the_count_leads_to_either_accountant_with_all_that_it_leaves(records, accountant):
    following, step = after(records)
    assert following.roles.accountant.name == accountant
    assert following.budget == ByCount().rest(PLAN.budget)
    assert following.epsilon <= following.budget.epsilon
    assert step.measure.currency == ("epsilon" if accountant == "basic" else "squared_mu")
    assert following.problem.counted < records + 1


def test_a_lost_count_leads_to_a_plan_that_needs_none():
    following, step = after(None)
    assert following.problem.counted is None
    assert step is not None


@pytest.mark.parametrize(
    ("records", "noise"), slow_but({0}, [(0, DiscreteLaplaceEvent), (10**6, RoundedGaussianEvent)])
)
def test_a_run_is_charged_by_the_theorem_that_its_count_called_for(records, noise):
    outcome, events = ran(records, 5)
    kinds = {type(event) for event, _ in events}
    assert noise in kinds
    assert (RoundedGaussianEvent in kinds) is (noise is RoundedGaussianEvent)
    assert ByCount().epsilon(events, PLAN.budget.delta) <= PLAN.budget.epsilon
    made = actual_plan(PLAN, outcome.transcript)
    assert made.roles.accountant.name in PLAN.schedule.reasons(PLAN, outcome.transcript)[0]


def test_the_same_rounds_lead_to_the_same_steps():
    outcome, _ = ran(500, 7)
    state, prices = PLAN.schedule.start(PLAN), []
    for finished in outcome.transcript.rounds:
        prices.append(PLAN.schedule.next(PLAN, state).measure)
        state = PLAN.schedule.after(state, finished)
    assert PLAN.schedule.next(PLAN, state) is None
    again, _ = ran(500, 7)
    assert len(again.transcript.rounds) == len(prices)


def test_before_a_count_the_plan_itself_is_followed():
    assert actual_plan(PLAN, Transcript()) is PLAN
    assert PLAN.schedule.reasons(PLAN, Transcript()) == ()
    other = replace(PLAN, schedule=PLAN.schedule.schedule)
    assert actual_plan(other, Transcript()) is other


@pytest.mark.parametrize("records", thinned([100, 2_000, 10**6], 3))
def test_column_sets_hold_all_that_a_count_may_lead_to(records):
    assert max(map(len, PLAN.column_sets)) == len(SIZES)
    (whole, _), (apart, _) = (ran(records, 7, apart=apart) for apart in (False, True))
    found, expected = (
        [one.measurement.values[0].tolist() for one in each.transcript.rounds] for each in (apart, whole)
    )
    assert found == expected
