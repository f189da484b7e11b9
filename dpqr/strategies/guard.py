"""Guard: what stands between a run and its data, as its schedule and its accountant allow."""

from __future__ import annotations

from dpqr.kernel.accountants.accountant import Accountant, FilterAccountant, PrivacyFilter
from dpqr.kernel.errors import BudgetRefused
from dpqr.strategies.plan import Plan, Planner


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
