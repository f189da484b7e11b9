"""By count: a noisy count of the records, and after it the plan of another schedule under the accountant that leaves
the least error among so many."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from msgspec import Struct

from dpqr.kernel.accountants.by_count import ByCount
from dpqr.kernel.arrays import Axes
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.values import replace
from dpqr.strategies.checks import CheckByCurrency
from dpqr.strategies.distinguishers import DistinguisherByCurrency
from dpqr.strategies.plan import TINY, Explaining, Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import opening_phase
from dpqr.strategies.schedules.marginals.forecast import POSSIBLE_RECORDS, RECORDS, TUNING, error_words, mean_error
from dpqr.strategies.schedules.marginals.schedule import Marginals, searched_columns
from dpqr.strategies.schedules.split import Split, plan_split
from dpqr.strategies.transcript import Round, Step, Transcript
from dpqr.workload.workload import Measurement

NOTE = (
    "a noisy count of the records ({share:.0%} of epsilon) decides what charges the rest, and what is measured: "
    "{pure} with {pure_noise} noise, or {gaussian} with {gaussian_noise} noise, either within what the count leaves of "
    "epsilon; what is said here of noise and of later draws is that of {gaussian}"
)


class CountedState(Struct, frozen=True, kw_only=True):
    """Nothing was drawn, or the plan that the count called for is followed. state: of that plan's schedule."""

    plan: Plan
    following: Plan | None = None
    state: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedFirst:
    """Marginals whose accountant follows a noisy count of the records, where nobody knows their number.

    `planner.choose_plan` decides whether it is worth the price of the count.
    schedule, errors: plan the rest, once the count is known. pure, gaussian: roles under the two theorems of `ByCount`,
    for few records and for many. _errors: what their plans are forecast to leave among POSSIBLE_RECORDS, pure first.
    _made: the last plan of the rest, by its count.

    Privacy:
        The count is a draw of its own, and all that follows is a function of it, of the plan and of later releases.
        The guard of the run is the filter of `ByCount`, whose proof covers both theorems. `plan.events` are the
        count's and both sums, so what a ledger reserves is enough whichever theorem follows.

    >>> CountedFirst.adaptive
    True
    """

    schedule: Marginals
    errors: Split
    pure: Roles
    gaussian: Roles
    _errors: tuple[tuple[float, ...], tuple[float, ...]]
    _made: dict[float | None, Plan] = field(default_factory=dict, compare=False, repr=False)

    name: ClassVar[str] = "marginals"
    distinguisher: ClassVar[str | None] = None
    adaptive: ClassVar[bool] = True

    @property
    def roles(self) -> Roles:
        """Of the whole run."""
        return replace(
            self.pure, distinguisher=DistinguisherByCurrency(), check=CheckByCurrency(), accountant=ByCount()
        )

    @property
    def expected(self) -> float:
        """Forecast error among the possible records."""
        return mean_error(self.expected_at)

    @property
    def expected_at(self) -> tuple[float, ...]:
        """The same at each of POSSIBLE_RECORDS: of the better plan there."""
        return tuple(min(both) for both in zip(*self._errors, strict=True))

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """The count, and the plan for many records.

        Args:
            roles: those of `roles`.

        Raises:
            InfeasiblePlan: a part of the budget buys no noise that can be drawn.
        """
        accountant = ByCount()
        self._rest(replace(problem, counted=POSSIBLE_RECORDS[0]), budget, self.pure)
        paper = self._rest(replace(problem, counted=POSSIBLE_RECORDS[-1]), budget, self.gaussian)
        # Of the plan that may follow the count the phases alone: the sums stand for their events.
        phases = (
            *opening_phase(roles, problem.unit, ((RECORDS,),), accountant.first(budget)),
            *(
                replace(phase, noun="stage" if phase.noun == "opening" else phase.noun, events=())
                for phase in paper.phases
                if phase.noun != "search"
            ),
            Phase(
                noun="search",
                count=1,
                price=Price(epsilon=accountant.rest(budget).epsilon),
                events=accountant.sums(budget),
            ),
        )
        note = NOTE.format(
            share=float(accountant.SHARE),
            pure=self.pure.accountant.name,
            gaussian=self.gaussian.accountant.name,
            pure_noise=self.pure.check.name,
            gaussian_noise=self.gaussian.check.name,
        )
        events = tuple(event for phase in phases for event in phase.events)
        return replace(
            paper,
            problem=problem,
            budget=budget,
            roles=roles,
            schedule=self,
            phases=phases,
            epsilon=accountant.epsilon(events, budget.delta) or budget.epsilon,
            notes=(note,),
            expected=self.expected,
            expected_at=self.expected_at,
        )

    def column_sets(self, plan: Plan) -> tuple[Axes, ...]:
        return searched_columns(plan, TUNING.table)

    def start(self, plan: Plan) -> CountedState:
        return CountedState(plan=plan)

    def next(self, plan: Plan, state: CountedState) -> Step | None:
        following = state.following
        if following is not None:
            return following.schedule.next(following, state.state)
        counted = plan.phase("opening")
        assert counted is not None, "the plan has a count"
        return Step(candidates=counted.blocks[0], select=None, measure=counted.price)

    def after(self, state: CountedState, finished: Round) -> CountedState:
        if state.following is not None:
            return replace(state, state=state.following.schedule.after(state.state, finished))
        following = self._following(state.plan, finished.measurement)
        return replace(state, following=following, state=following.schedule.start(following))

    def followed(self, plan: Plan, transcript: Transcript) -> Plan:
        """The plan that the count called for; before it the plan itself."""
        rounds = transcript.rounds
        return self._following(plan, rounds[0].measurement) if rounds else plan

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """Which accountant charged what followed the count, and why; and what its own schedule says."""
        if not transcript.rounds:
            return ()
        following, rest = self.followed(plan, transcript), Transcript()
        for finished in transcript.rounds[1:]:
            rest.add(finished)
        counted = following.problem.counted
        among = "with no count" if counted is None else f"at {counted:,.0f} records (the count less its deviation)"
        roles = following.roles
        why = (
            f"{roles.accountant.name} charged what followed the count, with {roles.check.name} noise: {among} that has "
            f"the least forecast error (L1 over n), {error_words(following.expected or 0.0)}"
        )
        inner = following.schedule
        return (why, *(inner.reasons(following, rest) if isinstance(inner, Explaining) else ()))

    def _following(self, plan: Plan, counted: Measurement | None) -> Plan:
        """The plan of the rest, for a noisy count less one deviation: noise on too few records is off by more. A count
        that was lost in a crash leaves the accountant that is better on the whole."""
        known = None if counted is None else max(1.0, float(counted.values[0][0]) - counted.law.deviation)
        pure, gaussian = (np.log(np.maximum(errors, TINY)) for errors in self._errors)
        gain = gaussian - pure
        found = gain.mean() if known is None else np.interp(math.log(known), np.log(POSSIBLE_RECORDS), gain)
        if known not in self._made:
            roles = self.pure if found > 0.0 else self.gaussian
            self._made.clear()
            self._made[known] = self._rest(replace(plan.problem, counted=known), plan.budget, roles)
        return self._made[known]

    def _rest(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """Of what the count leaves."""
        return plan_split(self.schedule, self.errors, problem, ByCount().rest(budget), roles)


def actual_plan(plan: Plan, transcript: Transcript) -> Plan:
    """The plan that a run has followed: that which its count called for, or the plan itself."""
    return plan.schedule.followed(plan, transcript) if isinstance(plan.schedule, CountedFirst) else plan
