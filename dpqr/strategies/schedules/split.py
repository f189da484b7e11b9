"""Split: how the budget of a run is divided between the draws of its schedule and those before and after them.

Before them a count of the left-out records, and the tables of persons; after them L1 errors of answers: of the blocks
that the schedule left unmeasured, for error bars, or of all blocks, for bounds that are proved as well. The accountant
cuts all portions in one call (`Roles.cut`), so a price is the same whatever else is bought.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

from msgspec import Struct

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan
from dpqr.kernel.events import LeftOutEvent, PrivacyEvent
from dpqr.kernel.plugins import is_builtin
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.mechanisms.block_errors import GroupErrors, noisy_errors
from dpqr.strategies.checks import Check
from dpqr.strategies.plan import Phase, Plan, Planner, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.parts import Parts
from dpqr.workload.block import QueryBlock
from dpqr.workload.strategy_matrices import is_interaction
from dpqr.workload.workload import ColumnSets

DEFAULT_SHARES = {"rho": Fraction(1, 100), "epsilon": Fraction(1, 200)}
"""Of the budget, for error bars, where the user states none: either takes half a percent of noise."""

DROPPED = QueryBlock(name="records left out")
"""The number of records of a histogram without columns: of those that were left out of the table's.

Loaders count at most K of them for each person, as they keep at most K for the answers; so between neighbours both
histograms move by at most K records come or gone, or K in place of K others, and one sensitivity serves both.
"""

FREE_SHARE = Fraction(1, 10)
"""Of the budget, where the count adds nothing to what the run costs: so small that it does not keep a run that stops
early from getting most of its price back."""


class Split(Struct, frozen=True, kw_only=True):
    """Shares of the budget, as the accountant counts it (epsilon, rho or mu^2); the schedule has what they leave.

    The plan names the schedule itself: what is bought in addition does not steer it.

    Attributes:
        left_out: for a count of the left-out records. 0: no count. None: FREE_SHARE where the count is free, and no
            count elsewhere.
        errors: of what the count leaves, for the errors of unmeasured blocks; where the schedule measures every block,
            nothing is bought. 0: nothing is bought. None: DEFAULT_SHARES; that is left out of plans with a stop test,
            whose certificate speaks of every answer, and where the accountant cannot give a draw a share of its own.
        bounds: of what the count leaves, for the errors of all blocks, which serve for error bars too. 0: no bounds are
            bought.
        persons: of what the count leaves, for the tables of persons, where the workload asks for any.

    Privacy:
        *The count, for units that lie in one part alone* (`PrivacyUnit.apart`): it is charged as a `LeftOutEvent`, in
        parallel with all other draws, which cost what they cost without it (`in_parallel`). *For all others:* its price
        is a portion of the budget, for a unit may move the count and the answers at once: one that is replaced leaves a
        kept record and brings a left-out one, of a person some rows are kept and others left out. By what each of the
        two moves, at most K, the draws are one adaptive sequence, whose prices add up like any others'.

        *The tables of persons* are measured in one draw, whose price is a portion of the budget: a person moves them
        and the answers at once. They are no linear queries of the counted records, so nothing else is computed from
        them.

    >>> Split().stated, Split(errors=None).stated, Split(bounds=Fraction(1, 10)).stated
    (False, False, True)
    """

    left_out: Fraction | None = Fraction(0)
    errors: Fraction | None = Fraction(0)
    bounds: Fraction = Fraction(0)
    persons: Fraction = Fraction(0)

    @property
    def stated(self) -> bool:
        """Whether a share is more than what is bought by default."""
        return any((self.left_out, self.errors, self.bounds, self.persons))


UNDIVIDED = Split()
"""The schedule has the whole budget."""


def plan_split(schedule: Planner, split: Split, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
    """The plan of `schedule`, with what the split buys before and after its draws.

    Raises:
        InfeasiblePlan: a share that was asked for buys no draw, or the accountant has no price for the count.
    """
    if split.left_out == 0 or (split.left_out is None and not problem.unit.apart):
        return _plan_with_persons(schedule, split, problem, budget, roles)
    unit = problem.unit
    if not unit.apart:
        reserved = _reserve(roles, split.left_out or FREE_SHARE, "--count-dropped")
        plan = _plan_with_persons(schedule, split, problem, budget, reserved)
        return _with_phases(plan, roles, before=[_counting(roles, unit, _reserved_price(plan, reserved))])

    # The count is free: the schedule's own plan, and a share of what one draw alone may cost.
    plan = _plan_with_errors(schedule, split, problem, budget, roles)
    (whole,) = roles.accountant.cut(budget, [Portion(share=Fraction(1), count=1)])
    counting = _counting(roles, unit, whole.times(split.left_out or FREE_SHARE))
    counted = replace(plan, phases=(counting, *plan.phases))
    try:
        epsilon = roles.accountant.epsilon(counted.events, budget.delta)
    except BudgetRefused:
        epsilon = None
    if epsilon is not None:
        return replace(counted, epsilon=epsilon)

    # A third party's theorem may not know left-out records.
    name = roles.accountant.name
    if split.left_out is not None:
        raise InfeasiblePlan(
            f"the {name} accountant has no price for draws from left-out records; leave --count-dropped out"
        )
    note = f"left-out records are not counted: the {name} accountant has no price for draws from them"
    return replace(plan, notes=(*plan.notes, note))


def _plan_with_persons(schedule: Planner, split: Split, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
    """The plan of `schedule`, with the errors after it and the tables of persons before it. Raises: InfeasiblePlan."""
    tables = problem.workload.persons
    if not tables:
        return _plan_with_errors(schedule, split, problem, budget, roles)
    if not is_builtin(roles.check):
        raise InfeasiblePlan(f"--check {roles.check.name} may not know tables of persons; leave them or it out")
    reserved = _reserve(roles, split.persons, "a table of persons")
    plan = _plan_with_errors(schedule, split, problem, budget, reserved)
    price = _reserved_price(plan, reserved)
    events = ((roles.check.event(tables, problem.unit, price), 1),)
    counting = Phase(noun="persons", count=1, price=price, events=events, blocks=(tables,))
    return _with_phases(plan, roles, before=[counting])


def _plan_with_errors(schedule: Planner, split: Split, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
    """The plan of `schedule`, with the errors after it. Raises: InfeasiblePlan."""

    def bought(share: Fraction, option: str) -> Plan:
        """In rho one draw. Of bounds in epsilon two at half the price: of sums, and of the largest of groups, for a
        vector's noise there grows with the number of blocks."""
        reserved = _reserve(roles, share, option)
        plan = schedule.plan(problem, budget, reserved)
        price = _reserved_price(plan, reserved)
        count = 2 if split.bounds and price.epsilon is not None else 1
        each = price.times(Fraction(1, count))
        events = ((_errors_event(problem, each), count),)
        after = Phase(noun="bounds" if split.bounds else "errors", count=count, price=each, events=events)
        return _with_phases(plan, roles, after=[after])

    if split.bounds:
        return bought(split.bounds, "--certify")
    whole = schedule.plan(problem, budget, roles)
    if split.errors == 0:
        return whole
    if split.errors is not None:
        return (
            bought(split.errors, "--error-bars")
            if leaves_unmeasured(whole)
            else _without_errors(whole, "every block is measured")
        )
    if whole.stop is not None or not leaves_unmeasured(whole):
        return whole
    try:
        return bought(DEFAULT_SHARES["rho" if roles.accountant.concentrated else "epsilon"], "--error-bars")
    except InfeasiblePlan as failure:
        return _without_errors(whole, str(failure))


def _without_errors(plan: Plan, reason: str) -> Plan:
    return replace(plan, notes=(*plan.notes, f"no errors of unmeasured blocks are bought: {reason}"))


def _reserve(roles: Roles, share: Fraction, option: str) -> Roles:
    """Roles whose `cut` leaves a share of the budget to another draw, as the accountant counts it (epsilon or rho).

    Args:
        share: strictly between 0 and 1.
        option: that asks for it, for the message.

    Raises:
        InfeasiblePlan: under an accountant for equal draws only, where nothing can have a share of its own.
    """
    if roles.accountant.homogeneous:
        raise InfeasiblePlan(
            f"the {roles.accountant.name} accountant covers equal draws only, and {option} buys one of its own share; "
            "choose another one"
        )
    return roles.reserving(share / (1 - share))


def _reserved_price(plan: Plan, reserved: Roles) -> Price:
    """The price of what was reserved last, in proportion to all that the plan's draws cost, since prices go with
    shares. The sum of a search is that of its draws, and is not counted again."""
    draws = (phase.price.times(Fraction(phase.count)) for phase in plan.phases if phase.noun != "search")
    return reduce(Price.plus, draws).times(reserved.reserved[0])


def _with_phases(plan: Plan, roles: Roles, *, before: Sequence[Phase] = (), after: Sequence[Phase] = ()) -> Plan:
    """The plan with more draws, and what the accountant proves for all of them.

    Raises:
        InfeasiblePlan: a third party's schedule did not leave them their share.
    """
    whole = replace(plan, roles=roles, phases=(*before, *plan.phases, *after))
    epsilon = roles.accountant.epsilon(whole.events, plan.budget.delta) or plan.budget.epsilon
    if epsilon > plan.budget.epsilon and not is_builtin(plan.schedule):
        raise InfeasiblePlan(
            f"--schedule {plan.schedule.name} takes the whole budget for its own draws; its plan must take prices from "
            "`roles.cut`"
        )
    return replace(whole, epsilon=epsilon)


def _counting(roles: Roles, unit: PrivacyUnit, price: Price) -> Phase:
    events = ((dropped_event(roles.check, unit, price), 1),)
    return Phase(noun="left out", count=1, price=price, events=events, blocks=((DROPPED,),))


def dropped_event(check: Check, unit: PrivacyUnit, price: Price) -> PrivacyEvent:
    """What the count of left-out records is charged as."""
    event = check.event((DROPPED,), unit, price)
    return LeftOutEvent(event=event) if unit.apart and not isinstance(event, LeftOutEvent) else event


def _errors_event(problem: Problem, price: Price) -> PrivacyEvent:
    """What a draw is planned as: of all blocks, one by one; what is drawn from fewer of them costs the same.

    Raises:
        InfeasiblePlan: the price buys no noise that can be drawn, or a sum could reach 2^62.
    """
    groups = tuple((block,) for block in problem.workload.blocks)
    return noisy_errors(GroupErrors(groups=groups, expected=None, unit=problem.unit), price).event


# The blocks that a plan may leave unmeasured.


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
    tables = ColumnSets.of(block.axes for block in measured if block.is_marginal or is_interaction(block))

    def answered(block: QueryBlock) -> bool:
        rows = block.rows > 1 and all(f"{block.name}[{row}]" in names for row in range(block.rows))
        return block.name in names or rows or tables.hold(block.axes)

    return tuple(block for block in blocks if not answered(block))
