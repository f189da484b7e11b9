"""WithDroppedCount: any schedule, and beside it a noisy count of the records that were left out, at a share of the
budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dpqr.errors import InfeasiblePlan
from dpqr.privacy.accountant import Accountant, Portion, PrivacyFilter
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.events import Composition
from dpqr.privacy.price import Price
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.interface import Schedule
from dpqr.strategies.step import Step
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import QueryBlock

DROPPED = QueryBlock(name="records left out")
"""The number of records of a histogram without columns: of those that were left out of the table's.

Loaders count at most K of them for each person, as they keep at most K for the answers; so between neighbours both
histograms move by at most K records come or gone, or K in place of K others, and one sensitivity serves both.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithDroppedCount:
    """Plans `schedule` with the rest of the budget. share: of the budget, as the accountant counts it (epsilon or
    rho), strictly between 0 and 1.

    The plan that comes out names `schedule` itself: the count is drawn before the loop and does not steer it.
    """

    schedule: Schedule
    share: Fraction

    @property
    def name(self) -> str:
        return self.schedule.name

    @property
    def distinguisher(self) -> str | None:
        return self.schedule.distinguisher

    @property
    def adaptive(self) -> bool:
        return self.schedule.adaptive

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """InfeasiblePlan under an accountant for equal draws only, where the count cannot have a share of its own."""
        accountant = roles.accountant
        if accountant.homogeneous:
            raise InfeasiblePlan(
                f"the {accountant.name} accountant covers equal draws only, and --count-dropped buys one of its own "
                "share; choose another one"
            )
        odds = self.share / (1 - self.share)
        plan = self.schedule.plan(problem, budget, replace(roles, accountant=_Rest(accountant, odds)))
        price = _times(plan, odds)
        events: Composition = ((roles.check.event((DROPPED,), problem.unit, price), 1), *plan.events)
        return replace(
            plan,
            roles=roles,
            dropped=price,
            events=events,
            epsilon=accountant.epsilon(events, budget.delta) or budget.epsilon,
        )

    def next(self, plan: Plan, transcript: Transcript) -> Step | None:
        return self.schedule.next(plan, transcript)


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
    draws = ((plan.opening_price, len(plan.opening)), (plan.select, plan.rounds), (plan.measure, plan.rounds))
    paid = [(price, count) for price, count in draws if price is not None] + [(price, 1) for price in plan.stages]
    epsilon = sum((price.epsilon * count for price, count in paid if price.epsilon is not None), Fraction(0))
    rho = sum((price.rho * count for price, count in paid if price.rho is not None), Fraction(0))
    return Price(rho=rho * odds) if rho else Price(epsilon=epsilon * odds)
