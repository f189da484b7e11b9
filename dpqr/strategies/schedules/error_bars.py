"""WithErrorBars: any schedule, and after it a share of the budget for the L1 errors of its answers: of the blocks that
it left unmeasured, for error bars, or of all blocks, for bounds that are proved as well."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.block_errors import GroupErrors, noisy_errors
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import PrivacyEvent
from dpqr.strategies.plan import Phase, Plan, Planner, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.set_aside import set_aside, with_phases

DEFAULT_SHARE = Fraction(1, 100)
"""Of the budget, for error bars, where the user states none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithErrorBars:
    """The plan of `schedule` from the rest of the budget, and one phase after it.

    share: of the budget, as the accountant counts it (epsilon or rho), for the errors of unmeasured blocks; where the
    schedule measures every block, nothing is bought. None: nothing is bought.
    stated: whether the user named the share. Where not, it is left out of plans with a stop test, whose certificate
    speaks of every answer, and where the accountant cannot give a draw a share of its own.
    certify: share for the errors of all blocks, which serve for error bars too; None: no bounds are bought.
    The plan that comes out names `schedule` itself: the draws come after the loop and do not steer it.

    >>> from dpqr.strategies.schedules.rounds import Rounds
    >>> WithErrorBars(schedule=Rounds(), share=DEFAULT_SHARE).name
    'rounds'
    """

    schedule: Planner
    share: Fraction | None = None
    stated: bool = False
    certify: Fraction | None = None

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
        """The plan of `schedule`, with the errors after it.

        Raises:
            InfeasiblePlan: a share that was asked for buys no draw.
        """
        if self.certify is not None:
            plan, price = set_aside(self.schedule, problem, budget, roles, self.certify, "--certify")
            return with_phases(plan, (*plan.phases, _bounds(problem, price)))
        whole = self.schedule.plan(problem, budget, roles)
        if self.share is None:
            return whole
        if not leaves_unmeasured(whole):
            return _noted(whole, "every block is measured") if self.stated else whole
        if self.stated:
            return self._bought(problem, budget, roles, self.share)
        if whole.stop is not None:
            return whole
        try:
            return self._bought(problem, budget, roles, self.share)
        except InfeasiblePlan as failure:
            return _noted(whole, str(failure))

    def _bought(self, problem: Problem, budget: PrivacyBudget, roles: Roles, share: Fraction) -> Plan:
        plan, price = set_aside(self.schedule, problem, budget, roles, share, "--error-bars")
        phase = Phase(noun="errors", count=1, price=price, events=((_event(problem, price), 1),))
        return with_phases(plan, (*plan.phases, phase))


def leaves_unmeasured(plan: Plan) -> bool:
    """Whether some block of the workload may end without a measurement: it is left to choices, and to no opening."""
    opened = {block.name for blocks in plan.opening for block in blocks}
    return plan.rounds > 0 and any(block.name not in opened for block in plan.problem.workload.blocks)


def _bounds(problem: Problem, price: Price) -> Phase:
    """In rho one draw of every block's error. In epsilon two at half the price: of sums, and of the largest of groups,
    for a vector's noise there grows with the number of blocks."""
    count = 1 if price.rho is not None else 2
    each = price.times(Fraction(1, count))
    return Phase(noun="bounds", count=count, price=each, events=((_event(problem, each), count),))


def _event(problem: Problem, price: Price) -> PrivacyEvent:
    """What a draw is planned as: of all blocks, one by one; what is drawn from fewer of them costs the same.

    Raises:
        InfeasiblePlan: the price buys no noise that can be drawn, or a sum could reach 2^62.
    """
    groups = tuple((block,) for block in problem.workload.blocks)
    nothing = tuple((np.broadcast_to(np.int64(0), (block.rows,)),) for block in problem.workload.blocks)
    return noisy_errors(GroupErrors(groups=groups, expected=nothing, unit=problem.unit), price).event


def _noted(plan: Plan, reason: str) -> Plan:
    return replace(plan, notes=(*plan.notes, f"no errors of unmeasured blocks are bought: {reason}"))
