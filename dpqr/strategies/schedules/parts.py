"""Set aside: the plan of a schedule from a part of the budget, and the price of what the rest buys beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar

from dpqr.kernel.accountants.accountant import Accountant, Portion, PrivacyFilter
from dpqr.kernel.arrays import Axes
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import Composition
from dpqr.strategies.plan import Phase, Plan, Planner, Roles, Schedule
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.marginals.ways import direct_error
from dpqr.strategies.schedules.ordered import Ordered
from dpqr.strategies.transcript import Round, Step, Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.related_blocks import CELLS, separable_columns
from dpqr.workload.workload import Workload


def reserve_share(
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
    plan = schedule.plan(problem, budget, replace(roles, accountant=_ReducedAccountant(accountant, odds)))
    return replace(plan, roles=roles), _times(plan, odds)


def with_phases(plan: Plan, phases: Sequence[Phase]) -> Plan:
    """The plan with these phases, and what the accountant proves for them."""
    whole = replace(plan, phases=tuple(phases))
    epsilon = plan.roles.accountant.epsilon(whole.events, plan.budget.delta)
    return replace(whole, epsilon=epsilon or plan.budget.epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerWithReserve:
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
class _ReducedAccountant:
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


# Parts: ordered columns that stand apart are released by `ordered`, all others by `marginals`, side by side.

MODEL = "product"
"""The update rule that reads each part's measurements by itself."""

GRAIN = 100
"""Shares of the budget are multiples of one part in so many: the error is flat around the best split."""

STEP = 2.0
"""Shares are tried at odds that differ by it."""

ScheduledProblems = tuple[tuple[Schedule[Any], Problem], tuple[Schedule[Any], Problem]]
"""Each part's schedule, and what it is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsState:
    """part: the part that is measured; state: that of its own schedule. waiting: the parts after it."""

    part: Plan
    state: Any
    waiting: tuple[Plan, ...]

    @classmethod
    def of(cls, part: Plan, *waiting: Plan) -> PartsState:
        return cls(part=part, state=part.schedule.start(part), waiting=waiting)._open()

    def after(self, finished: Round) -> PartsState:
        return replace(self, state=self.part.schedule.after(self.state, finished))._open()

    def _open(self) -> PartsState:
        """The first part from here on that has a step, or the last one."""
        done = self.waiting and self.part.schedule.next(self.part, self.state) is None
        return PartsState.of(*self.waiting) if done else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Two schedules, one after the other: `marginals` for the columns that queries join, then `ordered` for ordered
    columns that none joins with another (`separable_columns`).

    Each has a share of the budget, by the forecasts of both within it (`_least`).

    Privacy:
        Neighbours: those of the problem's unit. Every draw is one of `Marginals` or `Ordered`, with the mechanism,
        sensitivity and proof that it has there. Its price is set by the plan and by what was released before; a part
        plans within its share, and the accountant's filter admits the draws of both as one adaptive sequence. Which
        columns stand apart, and the shares, follow from workload, domain, budget and a declared n.

    >>> Parts().adaptive
    True
    """

    name: ClassVar[str] = "parts"
    distinguisher: ClassVar[str | None] = None
    adaptive: ClassVar[bool] = True

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """The draws of both parts. expected: the mean over all blocks of their forecasts.

        Raises:
            InfeasiblePlan: no column stands apart, a part has no plan, or the update rule is another one.
        """
        if roles.update.name != MODEL:
            raise InfeasiblePlan(f"--schedule parts joins its parts by --update {MODEL} alone; leave --update out")
        asked = _split_problem(problem)
        split = _least(asked, budget, roles)
        known = {block.name: block for part in split.parts for block in part.forecast}
        phases = [replace(phase, part=part.schedule.name) for part in split.parts for phase in part.phases]
        plan = Plan(
            problem=problem,
            budget=budget,
            roles=roles,
            schedule=self,
            forecast=tuple(known[block.name] for block in problem.workload.blocks),
            notes=(_note(asked[1][1], _share(split.odds)), *(note for part in split.parts for note in part.notes)),
            expected=split.expected,
        )
        return with_phases(plan, phases)

    def column_sets(self, plan: Plan) -> tuple[Axes, ...]:
        return (*Marginals().column_sets(_parts(plan)[0]), *plan.asked_columns)

    def searched(self, plan: Plan) -> tuple[QueryBlock, ...]:
        """The blocks that choices may pass over: `ordered` answers all of its own."""
        return _split_problem(plan.problem)[0][1].workload.blocks

    def start(self, plan: Plan) -> PartsState:
        return PartsState.of(*_parts(plan))

    def next(self, plan: Plan, state: PartsState) -> Step | None:
        return state.part.schedule.next(state.part, state.state)

    def after(self, state: PartsState, finished: Round) -> PartsState:
        return state.after(finished)

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """Those of both parts."""
        state, drawn = self.start(plan), {Marginals.name: Transcript(), Ordered.name: Transcript()}
        for finished in transcript.rounds:
            drawn[state.part.schedule.name].add(finished)
            state = state.after(finished)
        joined, apart = _parts(plan)
        return (*Marginals().reasons(joined, drawn["marginals"]), *Ordered().reasons(apart, drawn["ordered"]))


def _split_problem(problem: Problem) -> ScheduledProblems:
    """The parts in the order of their draws, each over the whole domain. InfeasiblePlan: no column stands apart."""
    apart = set(separable_columns(problem.workload, problem.domain))
    if not apart or problem.start is not None:
        raise InfeasiblePlan(
            f"--schedule parts needs prefixes or ranges of a column of {CELLS.start:,} to {CELLS.stop - 1:,} cells, "
            "which no query joins with others, and queries on other columns; it takes neither --start nor public facts "
            "of the domain file; use --schedule auto"
        )
    blocks = problem.workload.blocks
    others = tuple(block for block in blocks if block.axes and apart.issuperset(block.axes))
    joined = tuple(block for block in blocks if block not in others)
    return (
        (Marginals(), replace(problem, workload=Workload(joined))),
        (Ordered(), replace(problem, workload=Workload(others))),
    )


def _parts(plan: Plan) -> tuple[Plan, Plan]:
    """The part of joined columns, and that of columns apart: each as if it were planned alone, with its own phases."""
    joined, apart = (
        replace(plan, problem=own, schedule=one, phases=tuple(each for each in plan.phases if each.part == one.name))
        for one, own in _split_problem(plan.problem)
    )
    return joined, apart


def _error(part: Plan) -> float:
    """Forecast mean L1 error over n of its blocks: of `ordered` that of the strategy, buckets being no worse."""
    return direct_error(part, fitted=False) if part.expected is None else part.expected


@dataclass(frozen=True, slots=True, kw_only=True)
class _Split:
    """Both parts, planned within their shares. odds: the first part's share over the second's."""

    odds: float
    parts: tuple[Plan, ...]

    @classmethod
    def of(cls, asked: ScheduledProblems, budget: PrivacyBudget, roles: Roles, odds: float) -> _Split:
        """Both parts at the odds.

        Raises:
            InfeasiblePlan: where a share buys no noise that can be drawn.
        """
        shares = (1 - _share(odds), _share(odds))
        plans = (
            reserve_share(one, own, budget, roles, left, "--schedule parts")[0]
            for (one, own), left in zip(asked, shares, strict=True)
        )
        return cls(odds=odds, parts=tuple(plans))

    @property
    def expected(self) -> float:
        """The mean over all blocks of their forecasts."""
        blocks = [len(part.problem.workload.blocks) for part in self.parts]
        return sum(_error(part) * many for part, many in zip(self.parts, blocks, strict=True)) / sum(blocks)


def _least(asked: ScheduledProblems, budget: PrivacyBudget, roles: Roles) -> _Split:
    """From the split of least error if an error of e at the whole budget were e / share^p at a share: shares in
    proportion to e^(1 / (1 + p)) (Lagrange; p = 1 in epsilon, 1/2 in rho or mu^2). Noise that is nearly all 0 falls
    far faster, so other odds are tried from there, by STEP at a time, as long as they have less."""
    errors = [_error(one.plan(own, budget, roles)) * len(own.workload.blocks) for one, own in asked]
    power = 0.5 if roles.accountant.concentrated else 1.0
    found = _Split.of(asked, budget, roles, (errors[0] / errors[1]) ** (1.0 / (1.0 + power)))
    for step in (STEP, 1.0 / STEP):
        found = _along(found, step, asked, budget, roles)
    return found


def _along(found: _Split, step: float, asked: ScheduledProblems, budget: PrivacyBudget, roles: Roles) -> _Split:
    """The last of the splits in this direction each of which has less error than the one before it."""
    while True:
        try:
            after = _Split.of(asked, budget, roles, found.odds * step)
        except InfeasiblePlan:
            return found
        if after.expected >= found.expected:
            return found
        found = after


def _share(odds: float) -> Fraction:
    """Of the first part."""
    return Fraction(min(max(round(GRAIN * odds / (1.0 + odds)), 1), GRAIN - 1), GRAIN)


def _note(apart: Problem, share: Fraction) -> str:
    """share: of the columns that queries join."""
    names = ", ".join(apart.domain.attributes[axis].name for axis in apart.workload.axes)
    return (
        f"in parts: {float(share):.0%} of the budget for the columns that queries join, by marginals; "
        f"{float(1 - share):.0%} for {names}, which no query joins with others, by ordered"
    )
