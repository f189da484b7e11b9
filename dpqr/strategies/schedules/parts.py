"""Parts: ordered columns that stand apart are released by `ordered`, all others by `marginals`, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from msgspec import Struct

from dpqr.kernel.arrays import Axes
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.values import replace
from dpqr.strategies.plan import Plan, Roles, Schedule
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import proved_epsilon
from dpqr.strategies.schedules.marginals.forecast import forecast_error
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.ordered import Ordered
from dpqr.strategies.transcript import Round, Step, Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.related_blocks import CELLS, separable_columns
from dpqr.workload.workload import Workload

MODEL = "product"
"""The update rule that reads each part's measurements by itself."""

GRAIN = 100
"""Shares of the budget are multiples of one part in so many: the error is flat around the best split."""

STEP = 2.0
"""Shares are tried at odds that differ by it."""

ScheduledProblems = tuple[tuple[Schedule[Any], Problem], tuple[Schedule[Any], Problem]]
"""Each part's schedule, and what it is asked."""


class PartsState(Struct, frozen=True, kw_only=True):
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
        problems = _split_problem(problem)
        found = _least(problems, budget, roles)
        known = {block.name: block for part in found.parts for block in part.forecast}
        phases = tuple(replace(phase, part=part.schedule.name) for part in found.parts for phase in part.phases)
        share, apart = _share(found.odds), problems[1][1]
        names = ", ".join(apart.domain.attributes[axis].name for axis in apart.workload.axes)
        note = (
            f"in parts: {float(share):.0%} of the budget for the columns that queries join, by marginals; "
            f"{float(1 - share):.0%} for {names}, which no query joins with others, by ordered"
        )
        return Plan(
            problem=problem,
            budget=budget,
            roles=roles,
            schedule=self,
            phases=phases,
            epsilon=proved_epsilon(roles.accountant, phases, budget),
            forecast=tuple(known[block.name] for block in problem.workload.blocks),
            notes=(note, *(note for part in found.parts for note in part.notes)),
            expected=found.expected,
        )

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


class _Candidate(Struct, frozen=True, kw_only=True):
    """A candidate plan: both parts, planned within their shares. odds: the first part's share over the second's."""

    odds: float
    parts: tuple[Plan, ...]

    @classmethod
    def of(cls, problems: ScheduledProblems, budget: PrivacyBudget, roles: Roles, odds: float) -> _Candidate:
        """Both parts at the odds.

        Raises:
            InfeasiblePlan: where a share buys no noise that can be drawn.
        """
        share = _share(odds)
        plans = (
            replace(one.plan(own, budget, roles.reserving(others)), roles=roles)
            for (one, own), others in zip(problems, ((1 - share) / share, share / (1 - share)), strict=True)
        )
        return cls(odds=odds, parts=tuple(plans))

    @property
    def expected(self) -> float:
        """The mean over all blocks of their forecasts: of `ordered` that of the strategy, buckets being no worse."""
        blocks = [len(part.problem.workload.blocks) for part in self.parts]
        return sum(forecast_error(part) * many for part, many in zip(self.parts, blocks, strict=True)) / sum(blocks)


def _least(problems: ScheduledProblems, budget: PrivacyBudget, roles: Roles) -> _Candidate:
    """From the split of least error if an error of e at the whole budget were e / share^p at a share: shares in
    proportion to e^(1 / (1 + p)) (Lagrange; p = 1 in epsilon, 1/2 in rho or mu^2). Noise that is nearly all 0 falls
    far faster, so other odds are tried from there, by STEP at a time, as long as they have less."""
    errors = [forecast_error(one.plan(own, budget, roles)) * len(own.workload.blocks) for one, own in problems]
    power = 0.5 if roles.accountant.concentrated else 1.0
    found = _Candidate.of(problems, budget, roles, (errors[0] / errors[1]) ** (1.0 / (1.0 + power)))
    for step in (STEP, 1.0 / STEP):
        better = True
        while better:
            try:
                after = _Candidate.of(problems, budget, roles, found.odds * step)
            except InfeasiblePlan:
                break
            better = after.expected < found.expected
            found = after if better else found
    return found


def _share(odds: float) -> Fraction:
    """Of the first part."""
    return Fraction(min(max(round(GRAIN * odds / (1.0 + odds)), 1), GRAIN - 1), GRAIN)
