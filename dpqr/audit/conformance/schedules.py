"""Schedules: what their protocol promises, looked at on tiny universes. Each fault is one line."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from dpqr.audit.conformance.cases import Universe, frozen_faults, universes
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan
from dpqr.kernel.plugins import lacking
from dpqr.kernel.values import replace
from dpqr.strategies.candidates import Candidate
from dpqr.strategies.checks import Laplace
from dpqr.strategies.distinguishers import PermuteAndFlip
from dpqr.strategies.guard import make_filter
from dpqr.strategies.plan import Plan, Roles, Schedule
from dpqr.strategies.transcript import Round, Step
from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
from dpqr.workload.workload import Measurement, Workload

BUDGETS = (PrivacyBudget(Fraction(1)), PrivacyBudget(Fraction(10_000)))
"""The second one is for schedules that promise something: on 60 records they need it."""

MOST_STEPS = 5_000
"""No plan for a tiny universe takes so many."""


def schedule_faults(schedule: object) -> Iterator[str]:
    """One line a fault. The protocol comes first: without it nothing else is asked."""
    lack = lacking(Schedule, schedule)
    if lack is not None:
        yield f"protocol: the schedule {lack}"
        return
    yield from frozen_faults(schedule)
    planned, seen = 0, set[str]()
    for universe, budget in _cases():
        try:
            faults = [fault for fault in _behaviour(schedule, universe, budget) if fault not in seen]
        except InfeasiblePlan:
            continue
        planned += 1
        yield from (f"{fault} ({universe.words})" for fault in faults[:1])
        seen.update(faults)
    if not planned:
        yield "plan: the schedule has no plan for any tiny universe"


def _cases() -> Iterator[tuple[Universe, PrivacyBudget]]:
    """Every tiny universe, with all its queries and with those on single columns alone."""
    for universe in universes():
        simple = tuple(
            one
            for one in universe.problem.workload.blocks
            if len(one.axes) == 1
            and all(len(factor.axes) == 1 and factor.matrix.smallest >= 0 for factor in one.factors)
        )
        for blocks, budget in product((universe.problem.workload.blocks, simple), BUDGETS):
            yield replace(universe, problem=replace(universe.problem, workload=Workload(blocks))), budget


def _behaviour(schedule: Any, universe: Universe, budget: PrivacyBudget) -> Iterator[str]:
    """Its plan, then a run in which nothing is lost, and runs that lose a draw now and then."""
    roles = Roles(distinguisher=PermuteAndFlip(), check=Laplace(), update=MultiplicativeWeights(), accountant=Basic())
    plan = schedule.plan(universe.problem, budget, roles)
    again = schedule.plan(universe.problem, budget, roles)
    if (plan.events, plan.epsilon) != (again.events, again.epsilon):
        yield "plan: the same inputs give two plans"
    if plan.epsilon > budget.epsilon:
        yield "plan: what it charges is more than the budget"
    for lost in (0, 2, 5):
        yield from _run(plan, universe, lost)


def _run(plan: Plan, universe: Universe, lost: int) -> Iterator[str]:
    """lost: every so many-th round has lost a draw; 0: none."""
    schedule, guard = plan.schedule, make_filter(plan)
    state, unit = schedule.start(plan), plan.problem.unit
    for number in range(1, MOST_STEPS):
        step = schedule.next(plan, state)
        if step is None:
            return
        blocks = step.only
        try:
            if step.select is not None:
                guard.charge(plan.roles.distinguisher.event(step.select))
            guard.charge(plan.roles.check.event(blocks, unit, step.measure))
        except BudgetRefused:
            yield "next: a run asks for more than its plan charges"
            return
        finished = _finished(universe, step, blocks, lost=bool(lost) and number % lost == 0)
        following = schedule.after(state, finished)
        if _words(schedule.next(plan, state)) != _words(step):
            yield "after: a state changes once it was read; make it a value and return another one"
            return
        if _words(schedule.next(plan, schedule.after(state, finished))) != _words(schedule.next(plan, following)):
            yield "next: the same plan and the same rounds lead to two steps"
            return
        state = following
    yield "next: a run does not end"


def _finished(universe: Universe, step: Step, blocks: Candidate, *, lost: bool) -> Round:
    """The round in which the first candidate is chosen."""
    index = None if step.select is None else 0
    if lost:
        return Round(choice=index, measurement=None, charges=())
    each = [universe.measured(block) for block in blocks]
    values = tuple(one.values[0] for one in each)
    measured = Measurement(blocks=blocks, values=values, law=each[0].law)
    expected = tuple(value.astype(float) for value in values) if step.compare else ()
    return Round(choice=index, measurement=measured, charges=(), expected=expected)


def _words(step: Step | None) -> tuple[object, ...] | None:
    """What two steps are compared by."""
    if step is None:
        return None
    names = (len(step.candidates), *(block.name for block in step.only))
    return (*names, step.select, step.measure, step.refit, step.compare, step.threshold, step.records)
