"""Ways to spend a budget on marginals: what their forecasts say, and what is measured by them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from strategies.schedules.marginals.test_one_table import (
    BUDGET,
    UNSURE,
    marginals,
    problem,
    roles,
    unsure,
)

from dpqr.mechanisms.block_errors import FINENESS
from dpqr.strategies.choice import guarded
from dpqr.strategies.schedules.marginals.outlook import outlook
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.strategies.transcript import ErrorSum, Round
from dpqr.workload.workload import Measurement


def test_errors_fall_with_the_records_to_what_is_not_measured():
    known = outlook(unsure(), 2**22)
    found = [known.at(10.0**power).errors for power in range(9)]
    for way, least in (("table", 0.0), ("blocks", 0.0), ("search", 0.0), ("pairs", 0.05), ("columns", 0.275)):
        errors = [one[way] for one in found]
        assert errors == sorted(errors, reverse=True)
        assert least <= errors[-1] < least + 0.01 < 0.9 < errors[0]


def test_more_dependence_costs_those_that_measure_less_of_it():
    known = outlook(unsure(), 2**22)
    few, many = (known._errors(3_000.0, hidden) for hidden in (0.02, 1.0))
    assert few["columns"] < few["pairs"] < few["blocks"]
    assert many["blocks"] < many["pairs"] < many["columns"]


def test_a_plan_is_judged_by_its_error_among_the_records_that_there_may_be():
    """Pairs of many columns: Gaussian noise is less in sum, and a search finds those that matter."""
    few, many = (problem(marginals(2, (4,) * columns), (4,) * columns) for columns in (5, 20))
    for asked, better in ((few, "basic"), (many, "zcdp")):
        plans = {name: Marginals().plan(asked, BUDGET, roles(name)) for name in UNSURE}
        assert min(plans, key=lambda name: plans[name].expected) == better


def declared(sizes=(4,) * 6, records=3_000, accountant="basic"):
    """A plan by which the dependence is measured."""
    return Marginals().plan(problem(marginals(3, sizes), sizes, n=records), BUDGET, roles(accountant))


def opened(plan):
    """The state after the first one-way marginals, even ones, and what they cost."""
    state, admits = plan.schedule.start(plan), guarded(plan)
    for axis, size in enumerate(plan.problem.domain.shape):
        step = plan.schedule.next(plan, state)
        assert step.only[0].axes == (axis,)
        law = plan.roles.check.law(step.only, plan.problem.unit, step.measure)
        admits.charge(plan.roles.check.event(step.only, plan.problem.unit, step.measure))
        even = np.full(size, (plan.problem.n or 3_000) // size)
        measured = Measurement(blocks=step.only, values=(even,), law=law)
        state = plan.schedule.after(state, Round(choice=None, measurement=measured, charges=(axis,)))
    return state, admits


def after(plan, state, mean):
    """The state after a measured mean error of so many records; None: it was lost."""
    step = plan.schedule.next(plan, state)
    law = plan.roles.check.law((plan.problem.workload.blocks[0],), plan.problem.unit, step.measure)
    found = ErrorSum(value=round(FINENESS * len(step.only) * (mean or 0)), blocks=len(step.only), each=1, law=law)
    errors = None if mean is None else found
    return plan.schedule.after(state, Round(choice=None, measurement=None, charges=(9,), errors=errors))


def test_the_error_of_one_way_marginals_on_all_pairs_is_measured_where_it_decides():
    plan = declared()
    state, _ = opened(plan)
    step = plan.schedule.next(plan, state)
    assert (step.errors, step.refit, step.select) == (True, False, None)
    assert [block.axes for block in step.only] == [block.axes for block in marginals(2, (4,) * 6)]
    assert "decides what follows" in plan.notes[0]


@pytest.mark.parametrize(("mean", "axes"), [(0.0, 1), (2_000.0, 6)])
def test_what_it_shows_decides_and_all_that_is_left_is_spent(mean, axes):
    plan = declared()
    state, admits = opened(plan)
    shown = plan.schedule.next(plan, state)
    admits.charge(plan.roles.check.event(marginals(1, (4,) * 6)[:1], plan.problem.unit, shown.measure))
    state, widths = after(plan, state, mean), []
    while step := plan.schedule.next(plan, state):
        admits.charge(plan.roles.check.event(step.only, plan.problem.unit, step.measure))
        widths.append(len(step.only[0].axes))
        state = plan.schedule.after(state, Round(choice=None, measurement=None, charges=(1,)))
    assert set(widths) == {axes}
    assert 0.999 * admits.limit <= admits._spent <= admits.limit


def test_an_error_that_a_crash_has_lost_leaves_a_search():
    plan = declared()
    state = after(plan, opened(plan)[0], None)
    assert "known" in type(state).__slots__


def test_more_noise_in_the_opening_leaves_less_dependence():
    """A released error of one size is due to noise where there is much of it."""
    plan = declared()
    quiet = outlook(plan, 2**22)
    loud = replace(quiet, opening=2 * quiet.opening)
    law = plan.roles.check.law((plan.problem.workload.blocks[0],), plan.problem.unit, plan.price("opening"))
    found = ErrorSum(value=FINENESS * 15 * 900, blocks=15, each=1, law=law)
    assert loud.after(3_000.0, found).dependence < quiet.after(3_000.0, found).dependence < 0.3


def test_nothing_is_measured_of_the_dependence_where_noise_would_hide_it():
    shares = [outlook(declared(), 2**22).dependence_share(10.0**power) for power in range(7)]
    assert shares[:3] == [None] * 3
    known = [share for share in shares if share is not None]
    assert all(one >= other for one, other in pairwise(known))
    assert 0.0 < known[-1] < known[0] <= TUNING.largest_dependence


def test_pairs_of_too_many_cells_are_not_compared():
    sizes = (2_100, 2_100, 2)
    plan = Marginals(table=0).plan(problem(marginals(2, sizes), sizes), BUDGET, roles())
    assert outlook(plan, 0).dependence_share(10.0**6) is None


def test_under_rho_one_way_marginals_show_the_records_and_nothing_is_counted():
    budget = replace(BUDGET, epsilon=3 * BUDGET.epsilon)
    plan = Marginals().plan(problem(marginals(2, (8,) * 8), (8,) * 8), budget, roles("zcdp"))
    assert "decides what follows" in plan.notes[0]
    assert plan.phase("stage") is None
    step = plan.schedule.next(plan, opened(plan)[0])
    assert step.errors or step.select is not None, "at so many records as they show"
