"""One table of all columns, the count of the records, and what is left after it."""

from __future__ import annotations

import math

from dpqr.privacy.budget import Price
from dpqr.strategies.plan import Phase, Plan
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.marginals.budget_allocation import BudgetAllocation
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.recovery import squared_norms

RECORDS = QueryBlock(name="number of records")


def whole_table(problem: Problem) -> QueryBlock:
    """All asked columns together; the workload's own block where it is one."""
    axes = problem.workload.axes
    full = (block for block in problem.workload.blocks if block.is_marginal and set(block.axes) == set(axes))
    own = next(full, None)
    factors = tuple(Factor.identity(axis, problem.domain.attributes[axis].size) for axis in axes)
    return own or QueryBlock(name="table of all columns", factors=factors)


def known_records(problem: Problem) -> float | None:
    """n, where it is declared or a public fact; or as it was counted with noise."""
    known = problem.n if problem.n is not None else problem.domain.facts.records
    return problem.counted if known is None else known


def counts_records(plan: Plan) -> bool:
    """Whether a count of the records decides what is measured (`Forecasts`)."""
    return bool(plan.named("stage"))


def first_marginals(plan: Plan) -> Phase:
    """The phase of the first one-way marginals."""
    phase = plan.phase("stage") or plan.phase("opening")
    assert phase is not None, "a search opens with one-way marginals"
    return phase


def left(plan: Plan) -> Price:
    """The budget of a search, less the price of the count of the records: exact."""
    whole = plan.price("search")
    assert whole is not None, "a plan with rounds states what its search may cost"
    return whole.times(1 - TUNING.count) if counts_records(plan) else whole


def remaining(plan: Plan) -> BudgetAllocation:
    """What is left after the count of the records, to be shared out."""
    single = first_marginals(plan).blocks[0][0]
    return BudgetAllocation.of(plan.roles, plan.problem.unit, single, left(plan))


def summed_noise(table: QueryBlock, block: QueryBlock, deviation: float) -> float:
    """Of all answers of a block, as sums over the table's cells, in units of the most that a record changes one."""
    squared = (table.cells / block.cells) * float(squared_norms(block).mean())
    return block.rows * deviation * math.sqrt(squared) / max(block.largest_coefficient, 1)
