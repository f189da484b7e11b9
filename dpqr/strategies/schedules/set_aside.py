"""Set aside: the plan of a schedule from a part of the budget, and the price of what the rest buys beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

from dpqr.errors import InfeasiblePlan
from dpqr.privacy.accountant import Accountant, Portion, PrivacyFilter
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import Composition
from dpqr.strategies.plan import Phase, Plan, Planner, Roles
from dpqr.strategies.problem import Problem


def set_aside(
    schedule: Planner, problem: Problem, budget: PrivacyBudget, roles: Roles, share: Fraction, option: str
) -> tuple[Plan, Price]:
    """The schedule's plan, and what a `share` of the budget buys beside it.

    Args:
        share: of the budget, as the accountant counts it (epsilon or rho), strictly between 0 and 1.
        option: that asks for it, for the message.

    Raises:
        InfeasiblePlan: under an accountant for equal draws only, where nothing can have a share of its own.
    """
    accountant = roles.accountant
    if accountant.homogeneous:
        raise InfeasiblePlan(
            f"the {accountant.name} accountant covers equal draws only, and {option} buys one of its own share; "
            "choose another one"
        )
    odds = share / (1 - share)
    plan = schedule.plan(problem, budget, replace(roles, accountant=_Rest(accountant, odds)))
    return replace(plan, roles=roles), _times(plan, odds)


def with_phases(plan: Plan, phases: Sequence[Phase]) -> Plan:
    """The plan with these phases, and what the accountant proves for them."""
    whole = replace(plan, phases=tuple(phases))
    epsilon = plan.roles.accountant.epsilon(whole.events, plan.budget.delta)
    return replace(whole, epsilon=epsilon or plan.budget.epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """A planner that adds draws to the plan of `schedule`, and bears its name."""

    schedule: Planner

    @property
    def name(self) -> str:
        return self.schedule.name

    @property
    def distinguisher(self) -> str | None:
        return self.schedule.distinguisher

    @property
    def adaptive(self) -> bool:
        return self.schedule.adaptive


@dataclass(frozen=True, slots=True)
class _Rest:
    """An accountant that sets aside `odds` times what it is asked to cut, and gives prices from the rest."""

    accountant: Accountant
    odds: Fraction

    @property
    def name(self) -> str:
        return self.accountant.name

    @property
    def homogeneous(self) -> bool:
        return self.accountant.homogeneous

    @property
    def concentrated(self) -> bool:
        return self.accountant.concentrated

    def refusal(self, budget: PrivacyBudget) -> str | None:
        return self.accountant.refusal(budget)

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        asked = sum((portion.share * portion.count for portion in portions), Fraction(0))
        aside = [Portion(share=self.odds * asked, count=1)] if asked else []
        return self.accountant.cut(budget, [*portions, *aside])[: len(portions)]

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        return self.accountant.epsilon(events, delta)

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        return self.accountant.guard(budget, planned)


def _times(plan: Plan, odds: Fraction) -> Price:
    """The price that was set aside: `odds` times all that the plan's draws cost, since prices go with shares."""
    draws = (phase.price.times(Fraction(phase.count)) for phase in plan.phases if phase.noun != "search")
    return reduce(Price.plus, draws).times(odds)
