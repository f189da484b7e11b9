"""Planner: which plan a run follows, decided before any data is opened.

A candidate is the plan of one schedule, one accountant and one kind of noise. All that is compared is public, so the
choice costs nothing, and one accountant charges the whole run. In this order:

1. The schedule: the one that is named, or by the workload alone that of `Auto.choose`.
2. Accountant and noise: every combination that a theorem covers (`guard.combinations`) is planned, and the plan of
   least forecast error is taken; of schedules that forecast none, the plan of least noise (`choose_plan`).
3. A count of the records may decide between pure and Gaussian noise (`choose_plan`, then `by_count`).
4. A rival of the schedule that `auto` named takes its place where it is forecast to leave less error (`Auto.keeps`):
   `marginals`, then `parts`. `plan_release` asks for the rivals' plans, for it knows what the user stated.

Within a schedule: what marginals measure, `marginals.decision`; the shares of two parts, `parts`; shares of counts and
of error bars, `split`; buckets or a strategy, `ordered`. The forecast of a plan's error: `marginals.forecast`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from msgspec import Struct

from dpqr.kernel.accountants.by_count import FEW, MANY, ByCount
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.values import replace
from dpqr.strategies.guard import Wishes, combinations
from dpqr.strategies.known import SCHEDULES
from dpqr.strategies.plan import TINY, Plan, Planner, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.by_count import CountedFirst
from dpqr.strategies.schedules.marginals.forecast import POSSIBLE_RECORDS, forecast_error
from dpqr.strategies.schedules.marginals.schedule import Marginals
from dpqr.strategies.schedules.split import UNDIVIDED, Split, plan_split
from dpqr.strategies.schedules.strategy import TUNING as STRATEGY
from dpqr.workload.matrix import Dense, Identity, Sparse
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.workload import Workload, by_home

# The schedule. Set by `python tests/benchmarks/replay.py`; figures: tests/benchmarks/RESULTS.md.

MOST_JOINED = 2
"""Columns of an ordered workload's block: a strategy is measured on all their cells."""
MANY_BLOCKS = 256
"""From so many blocks on, single queries are asked and not blocks."""
KEPT_CELLS = 2**18
"""Over at most so many cells."""
WORTH_OF_PARTS = 0.9
"""Of the error of the best whole: from there on, parts are better."""


class ScheduleChoice(Struct, frozen=True):
    """name: of a schedule; reason: a sentence for the plan's notes.

    rivalled: whether marginals take its place unless it has less forecast error.

    >>> ScheduleChoice("rounds", "no other schedule suits the workload").rivalled
    False
    """

    name: str
    reason: str
    rivalled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """A function of workload and budget alone, so the choice is public and costs nothing.

    Marginals, and nothing else, have a schedule of their own. Levels of hierarchies, and marginals that share no column
    with them, are answered from one strategy, so that the levels add up. Prefixes, ranges and trees on one or two
    columns, and beside them at most single columns, are answered from a measured strategy over cells or buckets of
    them. Marginals of the asked columns answer other queries too: they take the place of rounds, of blocks or of single
    queries, and of strategies for pairs that share columns, which would pay for these several times (`keeps`). Rounds
    are left where marginals have no plan. Ordered columns that no query joins with others are released apart where that
    is better.

    >>> from dpqr.workload.block import Factor, QueryBlock
    >>> Auto().choose(Workload((QueryBlock(name="sex", factors=(Factor.identity(0, 2),)),))).reason
    '--schedule auto: marginals, for the workload asks for nothing else'
    """

    name: ClassVar[str] = "auto"
    distinguisher: ClassVar[str | None] = None
    adaptive: ClassVar[bool] = True  # some of the schedules that it names are

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """The plan of the schedule that `choose` names; the plan names that one, too."""
        planner: Planner = SCHEDULES.load(self.choose(problem.workload).name)()
        return planner.plan(problem, budget, roles)

    def choose(self, workload: Workload) -> ScheduleChoice:
        """The first schedule that suits, in the order of the class."""
        blocks = workload.blocks
        if workload.axes and all(block.is_marginal for block in blocks):
            return ScheduleChoice("marginals", "--schedule auto: marginals, for the workload asks for nothing else")
        # Whether declared levels are asked for, and beside them cells, prefixes and ranges alone, of some records or of
        # weighted ones; each block joins few enough cells for one strategy.
        factors = [factor for block in blocks for factor in block.factors]
        of_levels = (
            any(isinstance(factor.matrix, BucketMatrix) for factor in factors)
            and all(
                len(factor.axes) == 1 and (factor.matrix.rows == 1 or not isinstance(factor.matrix, Dense | Sparse))
                for factor in factors
            )
            and all(block.cells <= STRATEGY.group_cells for block in blocks)
        )
        if of_levels and not _overlapping(workload):
            return ScheduleChoice(
                "strategy", "--schedule auto: strategy, for the workload asks for the levels of hierarchies"
            )
        # Whether all blocks are of one column, or have a factor of prefixes, ranges or a tree and join few columns.
        ordered = [
            any(not isinstance(factor.matrix, Dense | Identity | BucketMatrix) for factor in block.factors)
            for block in blocks
        ]
        few = all(
            len(block.axes) <= (MOST_JOINED if own else 1) and all(len(factor.axes) == 1 for factor in block.factors)
            for block, own in zip(blocks, ordered, strict=True)
        )
        if few and all(ordered):
            reason = "--schedule auto: ordered, for every query is over one or two ordered columns"
            return ScheduleChoice("ordered", reason, rivalled=_overlapping(workload))
        if few and any(ordered):
            reason = "--schedule auto: ordered, for all other queries are over one column each"
            return ScheduleChoice("ordered", reason, rivalled=True)
        sizes = {axis: size for factor in factors for axis, size in zip(factor.axes, factor.sizes, strict=True)}
        if len(blocks) >= MANY_BLOCKS and math.prod(sizes.values()) <= KEPT_CELLS:
            many = f"the workload has {len(blocks):,} blocks of queries that are no marginals"
            return ScheduleChoice("queries", f"--schedule auto: queries, for {many}", rivalled=True)
        return ScheduleChoice("rounds", "", rivalled=True)

    def keeps(self, chosen: Plan, rival: Plan) -> bool:
        """Whether a plan is forecast to leave less error than that of its rival: `marginals`, or then `parts`.

        Rounds that select are not: a search among marginals selects too, and measures once more what it has found.
        """
        if rival.expected is None or (chosen.expected is None and chosen.rounds):
            return False
        worth = WORTH_OF_PARTS if rival.schedule.name == "parts" else 1.0
        return forecast_error(chosen) * worth <= rival.expected


def _overlapping(workload: Workload) -> bool:
    """Whether some column is asked about in several groups, each with a strategy of its own."""
    groups = by_home(workload.blocks)
    return sum(map(len, groups)) > len(workload.axes)


# Accountant and noise.

CHOICE = math.pi / 2
"""What a small choice costs in mu^2 / 2, beside its rho (`dpqr.kernel.budget`)."""


def choose_plan(
    problem: Problem, budget: PrivacyBudget, schedule: Planner, wishes: Wishes, split: Split = UNDIVIDED
) -> Plan:
    """The plan of least forecast error, or of least noise where the schedule forecasts none; the error of tables of
    persons counts by their share. Ties go to the earlier combination.

    Where every role is free, a count decides between pure and Gaussian noise in place of the plans of marginals, if it
    is forecast to be worth its price. It is not bought where the number of records is known, nor where draws beside
    those of the schedule have shares of the budget, stated or for tables of persons.

    Raises:
        UsageFault: what was chosen does not go together.
        InfeasiblePlan: no combination has a plan.

    >>> from dpqr.domain.attribute import Attribute, Codes
    >>> from dpqr.domain.domain import Domain
    >>> from dpqr.kernel.unit import PrivacyUnit
    >>> from dpqr.kernel.accountants.sums import Basic
    >>> from dpqr.strategies.checks import Laplace
    >>> from dpqr.strategies.distinguishers import PermuteAndFlip
    >>> from dpqr.strategies.schedules.rounds import Rounds
    >>> from dpqr.strategies.updates.multiplicative_weights import MultiplicativeWeights
    >>> from dpqr.workload.block import Factor, QueryBlock
    >>> domain = Domain((Attribute(name="sex", axis=Codes(2)),))
    >>> workload = Workload((QueryBlock(name="sex", factors=(Factor.identity(0, 2),)),))
    >>> problem = Problem(domain=domain, workload=workload, unit=PrivacyUnit())
    >>> wishes = Wishes(
    ...     accountants=[Basic()], distinguishers=[PermuteAndFlip()], checks=[Laplace()], update=MultiplicativeWeights()
    ... )
    >>> plan = choose_plan(problem, PrivacyBudget(epsilon=Fraction(1)), Rounds(), wishes)
    >>> plan.roles.accountant.name, plan.epsilon
    ('basic', Fraction(1, 1))
    """
    plans = _candidates(problem, budget, schedule, wishes, split)
    best = min(plans, key=lambda plan: _compared_with_persons(plan, split.persons))

    # Whether a count may decide: each of its two theorems has a plan, at every number of records that there may be.
    free = all(len(offered) > 1 for offered in (wishes.accountants, wishes.distinguishers, wishes.checks))
    if not free or problem.turn is not None or split.stated or not isinstance(schedule, Marginals):
        return best
    by_theorem = {(plan.roles.accountant.name, plan.roles.check.pure): plan for plan in plans}
    pure, gaussian = by_theorem.get((FEW.name, True)), by_theorem.get((MANY.name, False))
    if pure is None or gaussian is None or len(pure.expected_at) != len(POSSIBLE_RECORDS):
        return best

    # Whether it is worth its price. The errors are bought from what the count leaves, so they belong to the schedule
    # that follows it.
    counted = CountedFirst(
        schedule=schedule,
        errors=replace(split, left_out=Fraction(0)),
        pure=pure.roles,
        gaussian=gaussian.roles,
        _errors=(pure.expected_at, gaussian.expected_at),
    )
    if counted.expected > float(1 - ByCount.SHARE) * _compared(best):
        return best
    try:
        return plan_split(counted, replace(split, errors=Fraction(0)), problem, budget, counted.roles)
    except InfeasiblePlan:
        return best


def _candidates(problem: Problem, budget: PrivacyBudget, schedule: Planner, wishes: Wishes, split: Split) -> list[Plan]:
    """The plan of every combination that the theorems cover, at least one. Raises: as `choose_plan`."""
    plans, failures = [], []
    for roles in combinations(budget, schedule, wishes):
        try:
            plans.append(plan_split(schedule, split, problem, budget, roles))
        except InfeasiblePlan as failure:
            failures.append(failure)
    if not plans:
        raise failures[0]
    covered = [plan for plan in plans if plan.epsilon <= budget.epsilon]
    if not covered:
        raise InfeasiblePlan("no accountant can prove a plan within this budget; raise --eps or --delta")
    return covered


def _compared_with_persons(plan: Plan, share: Fraction) -> float:
    """The geometric mean of what the rows' answers are compared by and of the error of the tables of persons, each
    weighted by its share of the budget. A ratio of two plans has no unit, so records and persons need no exchange rate.

    share: of the tables of persons; 0: there are none.
    """
    tables = plan.person_forecast
    if not tables:
        return _compared(plan)
    logarithms = [math.log(max(table.error or 0.0, TINY)) for table in tables]
    of_rows, weight = math.log(max(_compared(plan), TINY)), float(share)
    return math.exp((1 - weight) * of_rows + weight * math.fsum(logarithms) / len(logarithms))


def _compared(plan: Plan) -> float:
    """What plans of one schedule are compared by: their forecast error; their noise where the schedule forecasts none.

    Under Gaussian DP noise counts as if the measurements paid for choices as sharp as under zCDP: a choice costs CHOICE
    times as much beside the same noise, and a plan keeps the shares.
    """
    if plan.expected is not None:
        return plan.expected
    if plan.roles.accountant.name != "gdp":
        return plan.noise
    draws = [phase for phase in plan.phases if phase.noun != "search"]
    whole, choices = (
        math.fsum(float(phase.price.figure) * phase.count for phase in drawn)
        for drawn in (draws, [phase for phase in draws if phase.noun == "selection"])
    )
    return plan.noise * math.sqrt(1 + (CHOICE - 1) * choices / whole) if choices else plan.noise
