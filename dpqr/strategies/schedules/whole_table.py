"""Whole table: all columns that a workload looks at in one table, measured once; a block's answer is a sum of cells."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from dpqr.privacy.accountant import Portion
from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.plan import BlockForecast, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import opening_phase, proved
from dpqr.strategies.schedules.interface import Schedule
from dpqr.workload.block import Factor, QueryBlock


def whole_table(problem: Problem) -> QueryBlock:
    """All asked columns together; the workload's own block where it is one."""
    axes = problem.workload.axes
    full = (block for block in problem.workload.blocks if block.is_marginal and set(block.axes) == set(axes))
    own = next(full, None)
    factors = tuple(Factor.identity(axis, problem.domain.attributes[axis].size) for axis in axes)
    return own or QueryBlock(name="table of all columns", factors=factors)


def measured_once(
    table: QueryBlock, schedule: Schedule[Any], problem: Problem, budget: PrivacyBudget, roles: Roles
) -> Plan:
    """A plan of one measurement, that of the table at the whole budget."""
    (price,) = roles.accountant.cut(budget, [Portion(share=Fraction(1), count=1)])
    law = roles.check.law((table,), problem.unit, price)
    phases = opening_phase(roles, problem.unit, ((table,),), price)
    told = tuple(
        BlockForecast(name=block.name, rows=block.rows, deviation=law.deviation * math.sqrt(table.cells / block.cells))
        for block in problem.workload.blocks
    )
    columns = f"all {len(table.axes)} columns together" if len(table.axes) > 1 else "the one column"
    note = f"{columns} ({table.cells:,} cells) tell every block with less noise than a search for what matters would"
    return Plan(
        problem=problem,
        budget=budget,
        roles=roles,
        schedule=schedule,
        phases=phases,
        epsilon=proved(roles.accountant, phases, budget),
        forecast=told,
        notes=(note,),
    )


def loss(plan: Plan) -> float:
    """Raw noise of all answers together, in records: a block's cells times their deviation."""
    return sum(told.rows * told.deviation for told in plan.forecast)
