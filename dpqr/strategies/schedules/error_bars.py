"""WithErrorBars: any schedule, and after it a share of the budget for the L1 errors of its answers: of the blocks that
it left unmeasured, for error bars, or of all blocks, for bounds that are proved as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from dpqr.kernel.accountants.accountant import Accountant, Portion
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan
from dpqr.kernel.events import LeftOutEvent, PrivacyEvent
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.block_errors import GroupErrors, noisy_errors
from dpqr.strategies.checks import Check
from dpqr.strategies.plan import Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.parts import Parts, PlannerWithReserve, reserve_share, with_phases
from dpqr.workload.block import QueryBlock
from dpqr.workload.strategy_matrices import is_interaction

DEFAULT_SHARES = {"rho": Fraction(1, 100), "epsilon": Fraction(1, 200)}
"""Of the budget, for error bars, where the user states none: either takes half a percent of noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithErrorBars(PlannerWithReserve):
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
            plan, price = reserve_share(self.schedule, problem, budget, roles, self.certify, "--certify")
            return with_phases(plan, (*plan.phases, _bounds(problem, price)))
        whole = self.schedule.plan(problem, budget, roles)
        if self.free:
            return whole
        bought = partial(self._bought, problem, budget, roles)
        if self.share is None:
            return _by_default(whole, bought)
        return bought(self.share) if leaves_unmeasured(whole) else _noted(whole, "every block is measured")

    def _bought(self, problem: Problem, budget: PrivacyBudget, roles: Roles, share: Fraction) -> Plan:
        plan, price = reserve_share(self.schedule, problem, budget, roles, share, "--error-bars")
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
    opened, blocks = [block for blocks in plan.opening for block in blocks], optional_blocks(plan)
    left = len(unmeasured(blocks, opened))
    by_block = not plan.schedule.adaptive and not any(phase.single for phase in plan.named("selection"))
    reached = plan.rounds if by_block and plan.roles.update.fits(plan.problem, blocks, blocks) else 0
    alone = any(block.axes for block in opened) and all(block.is_marginal for block in opened)
    return left > reached and (plan.rounds > 0 or alone)


def optional_blocks(plan: Plan) -> tuple[QueryBlock, ...]:
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


# WithDroppedCount: any schedule, and a noisy count of the records that were left out, which is free where these are
# charged in parallel with the others and takes a share of the budget elsewhere.

DROPPED = QueryBlock(name="records left out")
"""The number of records of a histogram without columns: of those that were left out of the table's.

Loaders count at most K of them for each person, as they keep at most K for the answers; so between neighbours both
histograms move by at most K records come or gone, or K in place of K others, and one sensitivity serves both.
"""

FREE_SHARE = Fraction(1, 10)
"""Of the budget, where the count adds nothing to what the run costs: so small that it does not keep a run that stops
early from getting most of its price back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WithDroppedCount(PlannerWithReserve):
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
        plan, price = reserve_share(self.schedule, problem, budget, roles, share, "--count-dropped")
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
