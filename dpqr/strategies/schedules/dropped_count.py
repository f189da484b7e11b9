"""WithDroppedCount: any schedule, and a noisy count of the records that were left out, which is free where these are
charged in parallel with the others and takes a share of the budget elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpqr.data.unit import PrivacyUnit
from dpqr.errors import BudgetRefused, InfeasiblePlan
from dpqr.privacy.accountant import Accountant, Portion
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import LeftOutEvent, PrivacyEvent
from dpqr.strategies.checks import Check
from dpqr.strategies.plan import Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.set_aside import Around, set_aside, with_phases
from dpqr.workload.block import QueryBlock

DROPPED = QueryBlock(name="records left out")
"""The number of records of a histogram without columns: of those that were left out of the table's.

Loaders count at most K of them for each person, as they keep at most K for the answers; so between neighbours both
histograms move by at most K records come or gone, or K in place of K others, and one sensitivity serves both.
"""

FREE_SHARE = Fraction(1, 10)
"""Of the budget, where the count adds nothing to what the run costs: so small that it does not keep a run that stops
early from getting most of its price back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithDroppedCount(Around):
    """The plan of `schedule`, and a count of the records that were left out.

    share: of the budget, as the accountant counts it (epsilon or rho), strictly between 0 and 1; None: FREE_SHARE where
    the count is free, and no count elsewhere.
    The plan that comes out names `schedule` itself: the count is drawn before the loop and does not steer it.

    Privacy:
        *Units that lie in one part alone* (`PrivacyUnit.apart`): the count is charged as a `LeftOutEvent`, in parallel
        with all other draws, which cost what they cost without it (`in_parallel`). *All others:* its price is set aside
        from the budget, for a unit may move the count and the answers at once: one that is replaced leaves a kept
        record and brings a left-out one, of a person some rows are kept and others left out. By what each of the two
        moves, at most K, the draws are one adaptive sequence, whose prices add up like any others'.

    >>> from dpqr.strategies.schedules.rounds import Rounds
    >>> WithDroppedCount(schedule=Rounds()).name
    'rounds'
    """

    share: Fraction | None = None

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """The plan of `schedule`, with the count before it.

        Raises:
            InfeasiblePlan: the accountant has no price for the count that was asked for.
        """
        if problem.unit.apart:
            return self._free(problem, budget, roles)
        if self.share is None:
            return self.schedule.plan(problem, budget, roles)
        return self._set_aside(problem, budget, roles, self.share)

    def _free(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """The schedule's own plan, and a count that leaves its prices as they are."""
        plan = self.schedule.plan(problem, budget, roles)
        price = _part(roles.accountant, budget, self.share or FREE_SHARE)
        counting = replace(plan, phases=(_counted(roles, problem.unit, price), *plan.phases))
        try:
            epsilon = roles.accountant.epsilon(counting.events, budget.delta)
        except BudgetRefused:
            epsilon = None
        if epsilon is None:
            return self._without(plan)
        return replace(counting, epsilon=epsilon)

    def _without(self, plan: Plan) -> Plan:
        """A third party's theorem may not know left-out records."""
        name = plan.roles.accountant.name
        if self.share is not None:
            raise InfeasiblePlan(
                f"the {name} accountant has no price for draws from left-out records; leave --count-dropped out"
            )
        note = f"left-out records are not counted: the {name} accountant has no price for draws from them"
        return replace(plan, notes=(*plan.notes, note))

    def _set_aside(self, problem: Problem, budget: PrivacyBudget, roles: Roles, share: Fraction) -> Plan:
        """InfeasiblePlan under an accountant for equal draws only, where the count cannot have a share of its own."""
        plan, price = set_aside(self.schedule, problem, budget, roles, share, "--count-dropped")
        return with_phases(plan, (_counted(roles, problem.unit, price), *plan.phases))


def _counted(roles: Roles, unit: PrivacyUnit, price: Price) -> Phase:
    events = ((dropped_event(roles.check, unit, price), 1),)
    return Phase(noun="left out", count=1, price=price, events=events, blocks=((DROPPED,),))


def dropped_event(check: Check, unit: PrivacyUnit, price: Price) -> PrivacyEvent:
    """What the count is charged as."""
    event = check.event((DROPPED,), unit, price)
    return LeftOutEvent(event=event) if unit.apart and not isinstance(event, LeftOutEvent) else event


def _part(accountant: Accountant, budget: PrivacyBudget, share: Fraction) -> Price:
    """`share` of what one draw alone may cost."""
    (whole,) = accountant.cut(budget, [Portion(share=Fraction(1), count=1)])
    return whole.times(share)
