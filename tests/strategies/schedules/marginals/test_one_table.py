"""The count of the records decides what is measured, and what follows stays within the budget."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.accountants.known import ACCOUNTANTS
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.distinguishers import Exponential
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.decision import CandidateForecaster
from dpqr.strategies.schedules.marginals.forecast import RECORDS, full_table, remaining
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.transcript import Round
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense
from dpqr.workload.workload import Measurement, Workload

SIZES, FOURS, TWOS = (6, 5, 4, 3), (4,) * 6, (2, 2, 2, 2, 2, 4)
BUDGET, SMALL = (PrivacyBudget(epsilon, Fraction(1, 10**9)) for epsilon in (Fraction(1), Fraction(1, 10)))


def marginals(ways, sizes=SIZES):
    return tuple(
        QueryBlock(name=str(axes), factors=tuple(Factor.identity(axis, sizes[axis]) for axis in axes))
        for axes in combinations(range(len(sizes)), ways)
    )


TRIPLES = marginals(3)
UNSURE = {"basic": (FOURS, BUDGET), "zcdp": (TWOS, SMALL)}
"""Columns and a budget for which the number of records decides."""


def problem(blocks=TRIPLES, sizes=SIZES, **more):
    domain = Domain(tuple(Attribute(name=f"c{axis}", axis=Codes(size)) for axis, size in enumerate(sizes)))
    return Problem(domain=domain, workload=Workload(blocks), unit=PrivacyUnit(), **more)


def roles(accountant="basic"):
    check = Laplace() if accountant == "basic" else Gaussian()
    return Roles(
        distinguisher=Exponential(), check=check, update=MultiplicativeWeights(), accountant=ACCOUNTANTS[accountant]
    )


def unsure(accountant="basic"):
    sizes, budget = UNSURE[accountant]
    return Marginals().plan(problem(marginals(3, sizes), sizes), budget, roles(accountant))


def outlook(plan):
    return CandidateForecaster.of(plan.problem, plan.roles, remaining(plan), plan.schedule.table)


def counted(plan, records):
    """The state after a count of so many records; None: it was lost."""
    step = plan.schedule.next(plan, plan.schedule.start(plan))
    assert (step.candidates, step.select) == ((RECORDS,), None)
    law = plan.roles.check.law((RECORDS,), plan.problem.unit, step.measure)
    measured = Measurement(blocks=(RECORDS,), values=(np.array([records]),), law=law) if records is not None else None
    finished = Round(choice=None, measurement=measured, charges=(0,))
    return plan.schedule.after(plan.schedule.start(plan), finished)


@in_one_test("accountant", UNSURE)
def test_many_records_are_measured_in_one_table_with_all_that_is_left(accountant):
    plan = unsure(accountant)
    state, admits = counted(plan, 10**6), make_filter(plan)
    step = plan.schedule.next(plan, state)
    assert [block.name for block in step.candidates] == [full_table(plan.problem).name]
    for blocks, price in ((plan.opening[0], plan.price("opening")), (step.candidates, step.measure)):
        admits.charge(plan.roles.check.event(blocks, plan.problem.unit, price))
    assert 0.999 * admits.limit <= admits._spent <= admits.limit
    finished = Round(choice=None, measurement=None, charges=(1,))
    assert plan.schedule.next(plan, plan.schedule.after(state, finished)) is None


@in_one_test("records", [-30, 0])
def test_few_records_lead_to_one_way_marginals_alone_with_all_that_is_left(records):
    plan = unsure()
    state, admits = counted(plan, records), make_filter(plan)
    admits.charge(plan.roles.check.event(plan.opening[0], plan.problem.unit, plan.price("opening")))
    measured = []
    while step := plan.schedule.next(plan, state):
        admits.charge(plan.roles.check.event(step.only, plan.problem.unit, step.measure))
        measured.append((step.only[0].axes, step.select, step.refit))
        state = plan.schedule.after(state, Round(choice=None, measurement=None, charges=(1,)))
    assert measured == [((axis,), None, axis == 5) for axis in range(6)]
    assert 0.999 * admits.limit <= admits._spent <= admits.limit


@in_one_test("accountant", UNSURE)
def test_a_lost_count_leads_to_a_search(accountant):
    plan = unsure(accountant)
    step = plan.schedule.next(plan, counted(plan, None))
    assert (step.candidates[0].axes, step.select, step.measure) == ((0,), None, plan.price("stage"))


def test_few_records_under_rho_are_searched():
    plan = unsure("zcdp")
    assert plan.schedule.next(plan, counted(plan, 0)).measure == plan.price("stage")


def test_the_count_is_lowered_by_its_own_noise_before_it_decides():
    plan = unsure()
    law, known = plan.roles.check.law((RECORDS,), plan.problem.unit, plan.price("opening")), outlook(plan)
    turn = next(n for n in range(10**4) if known.at(n).best == "table")
    for records, axes in ((turn + 2 * law.deviation, 6), (turn, 2)):
        assert len(plan.schedule.next(plan, counted(plan, round(records))).candidates[0].axes) == axes


def test_a_count_among_marginals_of_pairs_may_lead_to_all_of_them():
    plan = Marginals().plan(problem(marginals(2, (8,) * 8), (8,) * 8), BUDGET, roles())
    many, between = (counted(plan, records) for records in (10**6, 10**4))
    assert [len(block.axes) for block, _ in many.waiting] == [2] * 28
    assert plan.schedule.next(plan, between).measure == plan.price("stage"), "a search"


@in_one_test(("records", "rounds"), [(10**6, 0), (10, 0)])
def test_a_declared_number_decides_on_paper(records, rounds):
    plan = Marginals().plan(problem(marginals(3, FOURS), FOURS, n=records), BUDGET, roles())
    assert plan.rounds == rounds
    assert [len(blocks[0].axes) for blocks in plan.opening] == ([6] if records == 10**6 else [1] * 6)
    assert plan.epsilon == 1


def test_nothing_is_counted_where_a_search_could_not_have_less_noise():
    plan = Marginals().plan(problem(marginals(2, (2, 2, 2)), (2, 2, 2)), BUDGET, roles())
    assert [blocks[0].axes for blocks in plan.opening] == [(0, 1, 2)]
    assert plan.phase("search") is None


def test_a_predicate_on_all_columns_is_no_table_of_them():
    corner = QueryBlock(
        name="corner",
        factors=tuple(
            Factor(axes=(axis,), sizes=(size,), matrix=Dense(np.eye(1, size, dtype=np.int64)))
            for axis, size in enumerate(SIZES)
        ),
    )
    assert full_table(replace(problem(), workload=Workload((corner, *marginals(1))))).rows == 360
