"""Guard: what stands between a run and its data, as its schedule and its accountant allow; which accountants, noise and
selections go together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from dpqr.kernel.accountants.accountant import Accountant, FilterAccountant, PrivacyFilter
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.strategies.checks import Check
from dpqr.strategies.distinguishers import Distinguisher
from dpqr.strategies.plan import Plan, Planner, Roles
from dpqr.strategies.updates.interface import UpdateRule


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


class Wishes(Struct, frozen=True, kw_only=True):
    """What may be used, role by role: one entry where the user chose, several where the choice is free.

    >>> from dpqr.kernel.accountants.sums import Basic
    >>> from dpqr.strategies.checks import Laplace
    >>> from dpqr.strategies.distinguishers import Exponential, PermuteAndFlip
    >>> from dpqr.strategies.schedules.rounds import Rounds
    >>> from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
    >>> free = [Exponential(), PermuteAndFlip()]
    >>> wishes = Wishes(
    ...     accountants=[Basic()], distinguishers=free, checks=[Laplace()], update=MultiplicativeWeights()
    ... )
    >>> [roles.distinguisher.name for roles in combinations(PrivacyBudget.parse("1"), Rounds(), wishes)]
    ['permute-and-flip']
    """

    accountants: Sequence[Accountant]
    distinguishers: Sequence[Distinguisher]
    checks: Sequence[Check]
    update: UpdateRule[Any]


def combinations(budget: PrivacyBudget, schedule: Planner, wishes: Wishes) -> list[Roles]:
    """The combinations that the theorems cover, at least one. UsageFault: there is none; with the reasons."""
    if budget.pure and not any(check.pure for check in wishes.checks):
        raise UsageFault(
            f"--check {wishes.checks[0].name}: this noise is never pure, so it needs a delta above 0; "
            "add --delta 1e-9, or choose --check laplace"
        )
    reasons: list[str] = []
    found = []
    for accountant in wishes.accountants:
        refusal = unfit(accountant, schedule) or accountant.refusal(budget)
        if refusal:
            reasons.append(refusal)
            continue
        # The schedule's own distinguisher; else the exponential mechanism where bounded range makes it cheaper
        # (rho = eps^2 / 8 against eps^2 / 2, or half the epsilon in mu^2), and permute-and-flip, which is never worse
        # at the same eps, elsewhere.
        favourite = schedule.distinguisher or ("exponential" if accountant.concentrated else "permute-and-flip")
        offered = wishes.distinguishers
        distinguisher = next((one for one in offered if one.name == favourite), offered[0])
        for check in wishes.checks:
            if not check.pure and not accountant.concentrated:
                reasons.append(
                    f"--check {check.name} is not pure, and --accountant {accountant.name} covers pure draws only; "
                    "choose --check laplace, or --accountant zcdp or gdp"
                )
                continue
            found.append(Roles(distinguisher=distinguisher, check=check, update=wishes.update, accountant=accountant))
    if not found:
        raise UsageFault("; ".join(dict.fromkeys(reasons)))
    return found
