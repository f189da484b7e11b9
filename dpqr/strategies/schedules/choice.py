"""Choice: among the combinations that are valid for a schedule and a budget, the plan that buys the least noise.

What is compared is public (noise scales), so the choice costs nothing; it is made once, before any data, and one
accountant then charges the whole run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dpqr.errors import InfeasiblePlan, UsageFault
from dpqr.privacy.accountant import Accountant
from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.checks.interface import Check
from dpqr.strategies.distinguishers.interface import Distinguisher
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.interface import Schedule
from dpqr.strategies.updates.interface import UpdateRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What may be used, role by role: one entry where the user chose, several where the choice is free."""

    accountants: Sequence[Accountant]
    distinguishers: Sequence[Distinguisher]
    checks: Sequence[Check]
    update: UpdateRule[Any]


def least_noise(problem: Problem, budget: PrivacyBudget, schedule: Schedule, wishes: Wishes) -> Plan:
    """The plan of least noise; ties go to the earlier combination. Errors say why nothing was valid."""
    combinations, reasons = _valid(budget, schedule, wishes)
    if not combinations:
        raise UsageFault("no valid combination of accountant, distinguisher and check: " + "; ".join(reasons))
    plans = [schedule.plan(problem, budget, roles) for roles in combinations]
    covered = [plan for plan in plans if plan.epsilon <= budget.epsilon]
    if not covered:
        raise InfeasiblePlan("no accountant can prove a plan within this budget; raise --eps or --delta")
    return min(covered, key=lambda plan: plan.noise)


def _valid(budget: PrivacyBudget, schedule: Schedule, wishes: Wishes) -> tuple[list[Roles], list[str]]:
    reasons: list[str] = []
    combinations = []
    for accountant in wishes.accountants:
        refusal = accountant.refusal(budget)
        if refusal:
            reasons.append(refusal)
            continue
        for check in wishes.checks:
            if not check.pure and not accountant.concentrated:
                reasons.append(f"the {check.name} check is not pure, which {accountant.name} composition needs")
                continue
            distinguisher = _favoured(accountant, schedule, wishes.distinguishers)
            combinations.append(
                Roles(distinguisher=distinguisher, check=check, update=wishes.update, accountant=accountant)
            )
    return combinations, list(_distinct(reasons))


def _favoured(accountant: Accountant, schedule: Schedule, offered: Sequence[Distinguisher]) -> Distinguisher:
    """The schedule's own distinguisher; else the exponential mechanism where bounded range makes it cheaper
    (rho = eps^2 / 8 against eps^2 / 2), and permute-and-flip, which is never worse at the same eps, elsewhere."""
    favourite = schedule.distinguisher or ("exponential" if accountant.concentrated else "permute-and-flip")
    return next((one for one in offered if one.name == favourite), offered[0])


def _distinct(reasons: Sequence[str]) -> Iterator[str]:
    return iter(dict.fromkeys(reasons))
