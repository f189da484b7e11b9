"""WithErrorBars: any schedule, and after it a share of the budget for the L1 errors of its answers: of the blocks that
it left unmeasured, for error bars, or of all blocks, for bounds that are proved as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.block_errors import GroupErrors, noisy_errors
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import PrivacyEvent
from dpqr.strategies.plan import Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.parts import Parts
from dpqr.strategies.schedules.set_aside import Around, set_aside, with_phases
from dpqr.workload.block import QueryBlock
from dpqr.workload.contrasts import is_interaction

DEFAULT_SHARES = {"rho": Fraction(1, 100), "epsilon": Fraction(1, 200)}
"""Of the budget, for error bars, where the user states none: either takes half a percent of noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithErrorBars(Around):
    """The plan of `schedule` from the rest of the budget, and one phase after it.

    share: of the budget, as the accountant counts it (epsilon or rho), for the errors of unmeasured blocks; where the
    schedule measures every block, nothing is bought. None: DEFAULT_SHARES; that is left out of plans with a stop test,
    whose certificate speaks of every answer, and where the accountant cannot give a draw a share of its own.
    certify: share for the errors of all blocks, which serve for error bars too; None: no bounds are bought.
    free: nothing is bought for error bars.
    The plan that comes out names `schedule` itself: the draws come after the loop and do not steer it.

    >>> from dpqr.strategies.schedules.rounds import Rounds
    >>> WithErrorBars(schedule=Rounds(), share=Fraction(1, 50)).name
    'rounds'
    """

    share: Fraction | None = None
    certify: Fraction | None = None
    free: bool = False

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """The plan of `schedule`, with the errors after it.

        Raises:
            InfeasiblePlan: a share that was asked for buys no draw.
        """
        if self.certify is not None:
            plan, price = set_aside(self.schedule, problem, budget, roles, self.certify, "--certify")
            return with_phases(plan, (*plan.phases, _bounds(problem, price)))
        whole = self.schedule.plan(problem, budget, roles)
        if self.free:
            return whole
        bought = partial(self._bought, problem, budget, roles)
        if self.share is None:
            return _by_default(whole, bought)
        return bought(self.share) if leaves_unmeasured(whole) else _noted(whole, "every block is measured")

    def _bought(self, problem: Problem, budget: PrivacyBudget, roles: Roles, share: Fraction) -> Plan:
        plan, price = set_aside(self.schedule, problem, budget, roles, share, "--error-bars")
        phase = Phase(noun="errors", count=1, price=price, events=((_event(problem, price), 1),))
        return with_phases(plan, (*plan.phases, phase))


def _by_default(whole: Plan, bought: Callable[[Fraction], Plan]) -> Plan:
    if whole.stop is not None or not leaves_unmeasured(whole):
        return whole
    try:
        return bought(DEFAULT_SHARES["rho" if whole.roles.accountant.concentrated else "epsilon"])
    except InfeasiblePlan as failure:
        return _noted(whole, str(failure))


def leaves_unmeasured(plan: Plan) -> bool:
    """Whether some block of the workload may end without a measurement: no opening answers it, and choices may pass it
    over. As many rounds as there are such blocks reach all of them, in a schedule that measures none twice, where the
    hypothesis has room for all: a block without room is passed over, and others are measured again in its place. Where
    there are no rounds, marginals alone may leave blocks unmeasured; strategies answer what they were chosen for."""
    opened, blocks = [block for blocks in plan.opening for block in blocks], searched(plan)
    left = len(unmeasured(blocks, opened))
    by_block = not plan.schedule.adaptive and not any(phase.single for phase in plan.named("selection"))
    reached = plan.rounds if by_block and plan.roles.update.fits(plan.problem, blocks, blocks) else 0
    alone = any(block.axes for block in opened) and all(block.is_marginal for block in opened)
    return left > reached and (plan.rounds > 0 or alone)


def searched(plan: Plan) -> tuple[QueryBlock, ...]:
    """The blocks that choices may pass over."""
    return plan.schedule.searched(plan) if isinstance(plan.schedule, Parts) else plan.problem.workload.blocks


def unmeasured(blocks: Sequence[QueryBlock], measured: Sequence[QueryBlock]) -> tuple[QueryBlock, ...]:
    """The blocks that no measurement answers: neither they themselves were measured, nor all of their rows, nor a
    marginal over all of their attributes, or its last part (`interaction`)."""
    names = {block.name for block in measured}
    tables = {frozenset(block.axes) for block in measured if block.is_marginal or is_interaction(block)}
    return tuple(block for block in blocks if not (_named(block, names) or _inside(block, tables)))


def _named(block: QueryBlock, names: set[str]) -> bool:
    return block.name in names or (block.rows > 1 and all(f"{block.name}[{row}]" in names for row in range(block.rows)))


def _inside(block: QueryBlock, tables: set[frozenset[int]]) -> bool:
    axes = frozenset(block.axes)
    return any(axes <= table for table in tables)


def _bounds(problem: Problem, price: Price) -> Phase:
    """In rho one draw of every block's error. In epsilon two at half the price: of sums, and of the largest of groups,
    for a vector's noise there grows with the number of blocks."""
    count = 2 if price.epsilon is not None else 1
    each = price.times(Fraction(1, count))
    return Phase(noun="bounds", count=count, price=each, events=((_event(problem, each), count),))


def _event(problem: Problem, price: Price) -> PrivacyEvent:
    """What a draw is planned as: of all blocks, one by one; what is drawn from fewer of them costs the same.

    Raises:
        InfeasiblePlan: the price buys no noise that can be drawn, or a sum could reach 2^62.
    """
    groups = tuple((block,) for block in problem.workload.blocks)
    return noisy_errors(GroupErrors(groups=groups, expected=None, unit=problem.unit), price).event


def _noted(plan: Plan, reason: str) -> Plan:
    return replace(plan, notes=(*plan.notes, f"no errors of unmeasured blocks are bought: {reason}"))
