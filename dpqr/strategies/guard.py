"""Guard: what stands between a run and its data, as its schedule and its accountant allow.

Choice: among the combinations that are valid for a schedule and a budget, the plan that is expected to err least.

What is compared is public (noise scales), so the choice costs nothing; it is made once, before any data, and one
accountant then charges the whole run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpqr.kernel.accountants.accountant import Accountant, FilterAccountant, PrivacyFilter
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan, UsageFault
from dpqr.strategies.checks import Check
from dpqr.strategies.distinguishers import Distinguisher
from dpqr.strategies.plan import Plan, Planner, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.split import Split, plan_split
from dpqr.strategies.updates.interface import UpdateRule

CHOICE = math.pi / 2
"""What a small choice costs in mu^2 / 2, beside its rho (`dpqr.kernel.budget`)."""


def unfit(accountant: Accountant, schedule: Planner) -> str | None:
    """Why this theorem may not charge a run of this schedule, or None."""
    if not schedule.adaptive or isinstance(accountant, FilterAccountant):
        return None
    return (
        f"--schedule {schedule.name} sets prices by what it releases, which --accountant {accountant.name} does not "
        "cover; choose --accountant basic, zcdp or gdp"
    )


def make_filter(plan: Plan) -> PrivacyFilter:
    """Admits the planned events, or for an adaptive schedule whatever the budget covers.

    Raises:
        BudgetRefused: the theorem is none for this schedule, or does not cover the plan.
    """
    accountant = plan.roles.accountant
    if not plan.schedule.adaptive:
        return accountant.guard(plan.budget, plan.events)
    if isinstance(accountant, FilterAccountant):
        return accountant.filter(plan.budget)
    raise BudgetRefused(unfit(accountant, plan.schedule) or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What may be used, role by role: one entry where the user chose, several where the choice is free."""

    accountants: Sequence[Accountant]
    distinguishers: Sequence[Distinguisher]
    checks: Sequence[Check]
    update: UpdateRule[Any]


def least_noise(problem: Problem, budget: PrivacyBudget, schedule: Planner, wishes: Wishes) -> Plan:
    """The plan of least forecast error, or of least noise where the schedule forecasts none; ties go to the earlier
    combination.

    Raises:
        UsageFault: what was chosen does not go together.
        InfeasiblePlan: no combination has a plan.

    >>> from fractions import Fraction
    >>> from dpqr.domain.attribute import Attribute, Codes
    >>> from dpqr.domain.domain import Domain
    >>> from dpqr.kernel.unit import PrivacyUnit
    >>> from dpqr.kernel.accountants.sums import Basic
    >>> from dpqr.strategies.checks import Laplace
    >>> from dpqr.strategies.distinguishers import PermuteAndFlip
    >>> from dpqr.strategies.schedules.rounds import Rounds
    >>> from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
    >>> from dpqr.workload.block import Factor, QueryBlock
    >>> from dpqr.workload.workload import Workload
    >>> domain = Domain((Attribute(name="sex", axis=Codes(2)),))
    >>> workload = Workload((QueryBlock(name="sex", factors=(Factor.identity(0, 2),)),))
    >>> problem = Problem(domain=domain, workload=workload, unit=PrivacyUnit())
    >>> wishes = Wishes(
    ...     accountants=[Basic()], distinguishers=[PermuteAndFlip()], checks=[Laplace()], update=MultiplicativeWeights()
    ... )
    >>> plan = least_noise(problem, PrivacyBudget(epsilon=Fraction(1)), Rounds(), wishes)
    >>> plan.roles.accountant.name, plan.epsilon
    ('basic', Fraction(1, 1))
    """
    return least_of(possible_plans(problem, budget, schedule, wishes, Split()))


def least_of(plans: Sequence[Plan]) -> Plan:
    """The plan that `least_noise` takes of some."""
    return min(plans, key=lambda plan: plan.expected if plan.expected is not None else _noise(plan))


def possible_plans(
    problem: Problem, budget: PrivacyBudget, schedule: Planner, wishes: Wishes, split: Split
) -> tuple[Plan, ...]:
    """The plan of every combination that the theorems cover, at least one. Raises: as `least_noise`."""
    plans, failures = [], []
    for roles in _valid(budget, schedule, wishes):
        try:
            plans.append(plan_split(schedule, split, problem, budget, roles))
        except InfeasiblePlan as failure:
            failures.append(failure)
    if not plans:
        raise failures[0]
    covered = tuple(plan for plan in plans if plan.epsilon <= budget.epsilon)
    if not covered:
        raise InfeasiblePlan("no accountant can prove a plan within this budget; raise --eps or --delta")
    return covered


def _noise(plan: Plan) -> float:
    """The plan's noise; under Gaussian DP as if the measurements paid for choices as sharp as under zCDP.

    Why: a choice costs CHOICE times as much beside the same noise, and a plan keeps the shares.
    """
    if plan.roles.accountant.name != "gdp":
        return plan.noise
    draws = [phase for phase in plan.phases if phase.noun != "search"]
    whole, choices = (
        math.fsum(float(phase.price.figure) * phase.count for phase in drawn)
        for drawn in (draws, [phase for phase in draws if phase.noun == "selection"])
    )
    return plan.noise * math.sqrt(1 + (CHOICE - 1) * choices / whole) if choices else plan.noise


def _valid(budget: PrivacyBudget, schedule: Planner, wishes: Wishes) -> list[Roles]:
    """The combinations that the theorems cover; a UsageFault with the reasons where there is none."""
    if budget.pure and not any(check.pure for check in wishes.checks):
        raise UsageFault(
            f"--check {wishes.checks[0].name}: this noise is never pure, so it needs a delta above 0; "
            "add --delta 1e-9, or choose --check laplace"
        )
    reasons: list[str] = []
    combinations = []
    for accountant in wishes.accountants:
        refusal = unfit(accountant, schedule) or accountant.refusal(budget)
        if refusal:
            reasons.append(refusal)
            continue
        distinguisher = _favoured(accountant, schedule, wishes.distinguishers)
        for check in wishes.checks:
            if not check.pure and not accountant.concentrated:
                reasons.append(
                    f"--check {check.name} is not pure, and --accountant {accountant.name} covers pure draws only; "
                    "choose --check laplace, or --accountant zcdp or gdp"
                )
                continue
            combinations.append(
                Roles(distinguisher=distinguisher, check=check, update=wishes.update, accountant=accountant)
            )
    if not combinations:
        raise UsageFault("; ".join(dict.fromkeys(reasons)))
    return combinations


def _favoured(accountant: Accountant, schedule: Planner, offered: Sequence[Distinguisher]) -> Distinguisher:
    """The schedule's own distinguisher; else the exponential mechanism where bounded range makes it cheaper
    (rho = eps^2 / 8 against eps^2 / 2, or half the epsilon in mu^2), and permute-and-flip, which is never worse at the
    same eps, elsewhere."""
    favourite = schedule.distinguisher or ("exponential" if accountant.concentrated else "permute-and-flip")
    return next((one for one in offered if one.name == favourite), offered[0])
