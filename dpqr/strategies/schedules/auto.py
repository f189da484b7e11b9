"""Auto: names the schedule that suits what is asked; the default."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dpqr.kernel.budget import PrivacyBudget
from dpqr.strategies.known import SCHEDULES
from dpqr.strategies.plan import Plan, Planner, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.candidate_plans import direct_error
from dpqr.strategies.schedules.strategy import TUNING as STRATEGY
from dpqr.workload.matrix import Dense, Identity, Sparse
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.workload import Workload, by_home

# Set by `python tests/benchmarks/replay.py`; figures: tests/benchmarks/RESULTS.md.

MOST_JOINED = 2
"""Columns of an ordered workload's block: a strategy is measured on all their cells."""
MANY_BLOCKS = 256
"""From so many blocks on, single queries are asked and not blocks."""
KEPT_CELLS = 2**18
"""Over at most so many cells."""
WORTH_OF_PARTS = 0.9
"""Of the error of the best whole: from there on, parts are better."""


@dataclass(frozen=True, slots=True)
class ScheduleChoice:
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
    columns, and nothing else, are answered from a measured strategy over cells or buckets of them. Marginals of the
    asked columns answer other queries too: they take the place of rounds, of blocks or of single queries, and of
    strategies for pairs that share columns, which would pay for these several times (`keeps`). Rounds are left where
    marginals have no plan. Ordered columns that no query joins with others are released apart where that is better.

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
        if all(block.is_marginal for block in workload.blocks):
            return ScheduleChoice("marginals", "--schedule auto: marginals, for the workload asks for nothing else")
        if _of_levels(workload) and not _overlapping(workload):
            return ScheduleChoice(
                "strategy", "--schedule auto: strategy, for the workload asks for the levels of hierarchies"
            )
        if _ordered(workload):
            reason = "--schedule auto: ordered, for every query is over one or two ordered columns"
            return ScheduleChoice("ordered", reason, rivalled=_overlapping(workload))
        if len(workload.blocks) >= MANY_BLOCKS and _cells(workload) <= KEPT_CELLS:
            many = f"the workload has {len(workload.blocks):,} blocks of queries that are no marginals"
            return ScheduleChoice("queries", f"--schedule auto: queries, for {many}", rivalled=True)
        return ScheduleChoice("rounds", "", rivalled=True)

    def keeps(self, chosen: Plan, rival: Plan) -> bool:
        """Whether a plan is forecast to leave less error than that of its rival: `marginals`, or then `parts`.

        Rounds that select are not: a search among marginals selects too, and measures once more what it has found.
        """
        if rival.expected is None or (chosen.expected is None and chosen.rounds):
            return False
        known = chosen.expected
        error = direct_error(chosen, fitted=chosen.schedule.name == "rounds") if known is None else known
        return error * (WORTH_OF_PARTS if rival.schedule.name == "parts" else 1.0) <= rival.expected


def _of_levels(workload: Workload) -> bool:
    """Whether declared levels are asked for, and beside them cells, prefixes and ranges alone, of some records or of
    weighted ones; each block joins few enough cells for one strategy."""
    factors = [factor for block in workload.blocks for factor in block.factors]
    return (
        any(isinstance(factor.matrix, BucketMatrix) for factor in factors)
        and all(
            len(factor.axes) == 1 and (factor.matrix.rows == 1 or not isinstance(factor.matrix, Dense | Sparse))
            for factor in factors
        )
        and all(block.cells <= STRATEGY.group_cells for block in workload.blocks)
    )


def _ordered(workload: Workload) -> bool:
    """Whether every block has a factor of prefixes, ranges or a tree, each on one column, and joins few of them."""
    return all(
        len(block.axes) <= MOST_JOINED
        and all(len(factor.axes) == 1 for factor in block.factors)
        and any(not isinstance(factor.matrix, Dense | Identity | BucketMatrix) for factor in block.factors)
        for block in workload.blocks
    )


def _overlapping(workload: Workload) -> bool:
    """Whether some column is asked about in several groups, each with a strategy of its own."""
    groups = by_home(workload.blocks)
    return sum(map(len, groups)) > len(workload.axes)


def _cells(workload: Workload) -> int:
    """Of all columns that some query asks about."""
    factors = (factor for block in workload.blocks for factor in block.factors)
    sizes = {axis: size for factor in factors for axis, size in zip(factor.axes, factor.sizes, strict=True)}
    return math.prod(sizes.values())
