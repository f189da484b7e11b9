"""Ordered: the strategy where records are many, buckets of neighbouring cells where they are few."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from dpqr.privacy.accountant import Portion
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.events import of_any_blocks
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.rounds import proved
from dpqr.strategies.schedules.scouting import Scouting
from dpqr.strategies.schedules.strategy import Strategy, forecast
from dpqr.strategies.step import Step
from dpqr.strategies.transcript import Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.groups import axis_groups
from dpqr.workload.measurement import Measurement

COUNT_SHARE = Fraction(1, 50)
"""Of the budget, for the noisy number of records."""

SCOUT_SHARE = Fraction(1, 4)
"""Of the rest, for the counts of boxes that choose the buckets."""

CROWDED = {1: 5, 2: 1}
"""Records a cell, over the noise of one count (n eps / cells), from which the strategy is measured whatever the table
looks like; by the number of columns, 2 standing for more. (DPBench, one column: below, buckets make 0.4 to 1.0 of its
error; above, 0.3 to 1.4.)"""

FEWEST, LARGEST = 8, 2**18
"""Cells, at least and at most: of fewer there is nothing to merge, of more the boxes are not kept."""

RECORDS = QueryBlock(name="number of records")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """A paid count of the records decides: many, and one strategy is measured with the rest; few, and noisy counts of
    ever smaller boxes of cells choose buckets, for which a strategy is measured with what is left.

    For workloads that ask about one group of attributes, each query by single columns; others are planned as by
    `Strategy`. Where n is public it decides in the plan and no count is bought.

    **Privacy.** Neighbours: those of the problem's unit. Up to three draws, each a noisy answer to integer blocks
    (LaplaceAnswers, GaussianAnswers) at a price fixed in the plan: the number of records; a tree of counts of boxes;
    a strategy over the buckets. The buckets are a function of the second draw's released values and of public facts
    alone, so choosing them is post-processing and costs nothing beyond that draw (Dwork and Roth 2014, Proposition
    2.1): every box that is counted gets noise, the smallest ones too. The third draw's blocks depend on what the first
    two released, never on the table, and its sensitivity is that of the integer matrix over the buckets: a record lies
    in one bucket, so the columns over cells are those over buckets, repeated (Merged). Given any outcome of the
    earlier draws each draw keeps its price, and prices add up to the budget: adaptive composition (Dwork, Rothblum
    and Vadhan 2010; for prices that depend on releases, here the price of the last draw, Rogers, Roth, Ullman and
    Vadhan 2016), so a filter accountant charges the run.
    """

    @property
    def name(self) -> str:
        return "ordered"

    @property
    def distinguisher(self) -> str | None:
        return None

    @property
    def adaptive(self) -> bool:
        return True

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """Errors: InfeasiblePlan where `Strategy` has no plan either."""
        direct = Strategy().plan(problem, budget, roles)
        refusal = unsuited(problem)
        if refusal:
            return replace(direct, notes=(*direct.notes, f"no buckets: {refusal}"))
        counted = problem.n is None
        prices = roles.accountant.cut(budget, _portions(counted))
        events = tuple((of_any_blocks(roles.check.event((RECORDS,), problem.unit, price)), 1) for price in prices)
        look, last = prices[-2:]
        staged = replace(
            direct,
            schedule=self,
            opening=((RECORDS,),) if counted else (),
            opening_price=prices[0] if counted else None,
            stages=(look, last),
            events=events,
            epsilon=proved(roles.accountant, events, budget),
            forecast=forecast(problem, roles, look.plus(last), direct.opening[0]),
        )
        limit = _limit(staged)
        if problem.n is not None and problem.n >= limit:
            enough = f"no buckets: {problem.n:,} records are not below {limit:,.0f}"
            return replace(direct, notes=(*direct.notes, enough))
        return replace(staged, notes=(*direct.notes, _announced(limit, counted)))

    def next(self, plan: Plan, transcript: Transcript) -> Step | None:
        """The count; then the strategy, or the boxes and the buckets that these suggest.

        Where a crash has lost the count or the boxes, the strategy is measured with what is left.
        """
        done, bought = len(transcript.rounds), len(plan.opening)
        if done < bought and plan.opening_price is not None:
            return Step(candidates=(RECORDS,), select=None, measure=plan.opening_price, mend=False)
        look, last = plan.stages
        scouting, records = _scouting(plan), _records(plan, transcript)
        if records is None or records >= _limit(plan):
            step = Step(candidates=_direct(plan), select=None, measure=look.plus(last))
            return None if done > bought else step
        if done == bought:
            return Step(candidates=(scouting.scout(records, look),), select=None, measure=look, mend=False)
        if done > bought + 1:
            return None
        scouted = _scouted(plan, transcript)
        if scouted is None:
            return Step(candidates=_direct(plan), select=None, measure=last)
        buckets = scouting.strategy(scouting.partition(scouted, last))
        return Step(candidates=(buckets,), select=None, measure=last)

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """What was chosen, and why: from public and released figures."""
        if not plan.stages:
            return ()
        records, scouted, limit = _records(plan, transcript), _scouted(plan, transcript), _limit(plan)
        if records is None:
            return ("the count of records was lost, so the strategy was measured whatever the table looks like",)
        counted = f"{records:,.0f} records ({'a noisy count' if plan.opening else 'declared'})"
        if records >= limit:
            return (f"{counted} are not below {limit:,.0f}: the strategy was measured, and its answers are unbiased",)
        if scouted is None:
            return ("the counts of boxes were lost, so the strategy was measured with what was left",)
        partition = _scouting(plan).partition(scouted, plan.stages[1])
        expected = (partition.error / plan.problem.workload.rows) ** 0.5
        return (
            f"{counted} are below {limit:,.0f}: cells were merged into {len(partition.boxes):,} buckets by noisy "
            f"counts of boxes; expected error {expected:.4g} a query, noise and unevenness together (the strategy's "
            f"noise: {plan.noise:.4g})",
            "answers from buckets are biased by what an even spread hides",
        )


def unsuited(problem: Problem) -> str | None:
    """Why the cells of this workload are not merged; None where they can be."""
    groups = axis_groups(problem.workload.blocks)
    if len(groups) != 1:
        return "the queries ask about several groups of columns, which are measured together"
    cells = math.prod(problem.domain.shape[axis] for axis in groups[0])
    if cells < FEWEST:
        return "there are too few cells to merge any"
    return f"{cells:,} cells are more than {LARGEST:,}" if cells > LARGEST else None


def _portions(counted: bool) -> list[Portion]:
    count = [COUNT_SHARE] if counted else []
    rest = 1 - sum(count)
    return [Portion(share=share, count=1) for share in (*count, rest * SCOUT_SHARE, rest * (1 - SCOUT_SHARE))]


def _announced(limit: float, counted: bool) -> str:
    """What the plan knows of the choice."""
    boxes = (
        f"{float(SCOUT_SHARE):.0%} of the budget buys counts of boxes of cells, neighbours that these do not tell "
        "apart are merged, and the rest measures a strategy for the buckets"
    )
    if not counted:
        return f"the declared records are below {limit:,.0f}: {boxes}"
    return (
        f"a noisy count of all records ({float(COUNT_SHARE):.0%} of the budget) decides: from {limit:,.0f} on the "
        f"strategy is measured, with the error that is forecast; below, {boxes}"
    )


def _limit(plan: Plan) -> float:
    """Records from which the strategy is measured."""
    look, last = plan.stages
    whole = look.plus(last) if plan.opening_price is None else plan.opening_price.plus(look).plus(last)
    scouting = _scouting(plan)
    return CROWDED[min(len(scouting.shape), 2)] * math.prod(scouting.shape) / scouting.sureness(1.0, whole)


def _scouting(plan: Plan) -> Scouting:
    (axes,) = axis_groups(plan.problem.workload.blocks)
    return Scouting(problem=plan.problem, roles=plan.roles, axes=axes)


def _records(plan: Plan, transcript: Transcript) -> float | None:
    """The public number of records, or the noisy one; None where it was lost."""
    if plan.problem.n is not None:
        return float(plan.problem.n)
    told = transcript.rounds[0].measurement if transcript.rounds else None
    return None if told is None else float(told.values[0][0])


def _scouted(plan: Plan, transcript: Transcript) -> Measurement | None:
    place = len(plan.opening)
    return transcript.rounds[place].measurement if len(transcript.rounds) > place else None


def _direct(plan: Plan) -> tuple[QueryBlock, ...]:
    """The strategy over single cells."""
    return Strategy().plan(plan.problem, plan.budget, plan.roles).opening[0]
