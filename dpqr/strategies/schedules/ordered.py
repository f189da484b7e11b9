"""Ordered: the strategy where records are many, buckets of neighbouring cells where they are few."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import islice

from dpqr.privacy.accountant import Portion
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.price import Price
from dpqr.strategies.plan import Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.course import RECORDS, course, limit_of
from dpqr.strategies.schedules.rounds import proved
from dpqr.strategies.schedules.strategy import Strategy, forecast
from dpqr.strategies.step import Step
from dpqr.strategies.transcript import Transcript
from dpqr.workload.groups import axis_groups

COUNT_SHARE = Fraction(1, 100)
"""Of the budget, for the noisy number of records."""

GLANCE_SHARE = Fraction(1, 100)
"""Of the budget, for a first look at boxes, where records are many."""

SCOUT_SHARE = Fraction(1, 4)
"""Of the rest, for the counts of boxes that choose the buckets."""

FEWEST, LARGEST = 8, 2**18
"""Cells, at least and at most: of fewer there is nothing to merge, of more the boxes are not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """A paid count of the records decides. Few: noisy counts of ever smaller boxes of cells choose buckets, for which a
    strategy is measured with what is left. Many: a first look at boxes tells whether to do the same, or to measure one
    strategy for all cells with the rest.

    For workloads that ask about one group of attributes, each query by single columns; others are planned as by
    `Strategy`. Where n is public it decides in the plan and no count is bought. The steps themselves: `course`.

    **Privacy.** Neighbours: those of the problem's unit. Up to four draws, each a noisy answer to integer blocks
    (LaplaceAnswers, GaussianAnswers): the number of records; a first look, a small tree of counts of boxes; such a
    tree again; a strategy over the buckets or over all cells. What is drawn, how deep, and whether the price of a draw
    that is left out goes to the last one, is a function of public facts and of what the draws before released; so is
    the choice of buckets, which is post-processing and free (Dwork and Roth 2014, Proposition 2.1): every box that is
    counted gets noise, the smallest ones too. The last draw's sensitivity is that of the integer matrix over the
    buckets: a record lies in one bucket, so the columns over cells are those over buckets, repeated (Merged). Given any
    outcome of the earlier draws each draw keeps its price, and all prices together are within the budget: adaptive
    composition (Dwork, Rothblum and Vadhan 2010), for prices that depend on releases that of a filter (Rogers, Roth,
    Ullman and Vadhan 2016). So the plan states the sum that a filter allows, and no price of single draws.
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
        events = ((reduce(Price.plus, prices).event, 1),)
        glance, look, last = prices[-3:]
        staged = replace(
            direct,
            schedule=self,
            opening=((RECORDS,),) if counted else (),
            opening_price=prices[0] if counted else None,
            stages=(glance, look, last),
            events=events,
            epsilon=proved(roles.accountant, events, budget),
            forecast=forecast(problem, roles, look.plus(last), direct.opening[0]),
        )
        return replace(staged, notes=(*direct.notes, _announced(limit_of(staged), problem.n)))

    def next(self, plan: Plan, transcript: Transcript) -> Step | None:
        """The count; then the strategy, or the boxes and the buckets that these suggest."""
        leg = next(islice(course(plan, transcript), len(transcript.rounds), None), None)
        return None if leg is None else leg.step

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """What was chosen, and why: from public and released figures."""
        legs = islice(course(plan, transcript), len(transcript.rounds)) if plan.stages else ()
        return tuple(sentence for leg in legs for sentence in leg.why)


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
    first = [COUNT_SHARE, GLANCE_SHARE] if counted else [GLANCE_SHARE]
    rest = 1 - sum(first)
    return [Portion(share=share, count=1) for share in (*first, rest * SCOUT_SHARE, rest * (1 - SCOUT_SHARE))]


def _announced(limit: float, declared: int | None) -> str:
    """What the plan knows of the choice."""
    boxes = (
        f"{float(SCOUT_SHARE):.0%} of the budget buys counts of boxes of cells, neighbours that these do not tell "
        "apart are merged, and the rest measures a strategy for the buckets"
    )
    many = (
        f"a first look at boxes, for {float(GLANCE_SHARE):.0%} of the budget, decides whether to do the same or to "
        "measure the strategy, with the error that is forecast"
    )
    if declared is not None:
        few = declared < limit
        return f"the declared records are {'' if few else 'not '}below {limit:,.0f}: {boxes if few else many}"
    return (
        f"a noisy count of all records ({float(COUNT_SHARE):.0%} of the budget) decides: below {limit:,.0f}, {boxes}; "
        f"from there on, {many}"
    )
