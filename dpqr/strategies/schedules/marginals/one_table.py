"""One table or a search: forecasts of both from the number of records, and the choice of the lesser error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.privacy.budget import Price
from dpqr.strategies.plan import Phase, Plan, Roles
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import NORMAL
from dpqr.strategies.schedules.marginals.budget_allocation import BudgetAllocation
from dpqr.strategies.schedules.marginals.candidate_blocks import joint, with_surrogates
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.recovery import squared_norms
from dpqr.workload.workload import Measurement

RECORDS = QueryBlock(name="number of records")


def whole_table(problem: Problem) -> QueryBlock:
    """All asked columns together; the workload's own block where it is one."""
    axes = problem.workload.axes
    full = (block for block in problem.workload.blocks if block.is_marginal and set(block.axes) == set(axes))
    own = next(full, None)
    factors = tuple(Factor.identity(axis, problem.domain.attributes[axis].size) for axis in axes)
    return own or QueryBlock(name="table of all columns", factors=factors)


def known_records(problem: Problem) -> int | None:
    """n, where it is declared or a public fact."""
    return problem.n if problem.n is not None else problem.domain.facts.records


def counts_records(plan: Plan) -> bool:
    """Whether a count of the records decides between one table and a search."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """Expected errors, means over the blocks of L1 over n. table: of one table of all columns; search: of a search.

    Noise that adds up to q records in the answers of a block leaves about q / (q + n): q / n where records are many,
    and no more than uniform counts leave where they are few. A search is taken to measure one-way marginals and all
    blocks of several columns, each kind with its part of the budget; what it passes over is what `worth` stands for.
    """

    records: float
    table: float
    search: float

    @classmethod
    def of(cls, problem: Problem, roles: Roles, budget: BudgetAllocation, records: float) -> Forecasts:
        """Where `budget` is all that is left, and so many records were counted or declared."""
        n, whole, searched = max(1.0, records), whole_table(problem), with_surrogates(problem, roles.check)
        blocks, joined, sizes = searched.workload.blocks, len(joint(searched)), problem.domain.shape
        deviation = budget.deviation_at(1.0)
        alone = budget.deviation_at(TUNING.swept_singles / len(problem.workload.axes))
        swept = budget.deviation_at((1.0 - TUNING.swept_singles) / max(joined, 1))
        singles = (alone * sum(sizes[axis] for axis in block.axes) for block in blocks)
        own = (swept * block.rows if len(block.axes) > 1 else 0.0 for block in blocks)
        return cls(
            records=n,
            table=_mean_left([summed_noise(whole, block, deviation) for block in problem.workload.blocks], n),
            search=_mean_left([max(pair) for pair in zip(singles, own, strict=True)], n),
        )

    @property
    def takes_table(self) -> bool:
        return self.table <= TUNING.worth * self.search

    @property
    def sentence(self) -> str:
        """For the release."""
        taken, less = (
            ("one table of all columns was measured", "at most")
            if self.takes_table
            else ("the blocks were searched", "over")
        )
        return (
            f"{taken}, for at {self.records:,.0f} records (the count less its deviation) the table's forecast error, "
            f"{self.table:.2g} (L1 over n), is {less} {TUNING.worth} of {self.search:.2g}, that of measuring all blocks"
        )


def count_forecasts(plan: Plan, counted: Measurement) -> Forecasts:
    """By a noisy count of the records, less one deviation: a table of too few records is off by more than a search."""
    least = float(counted.values[0][0]) - counted.law.deviation
    return Forecasts.of(plan.problem, plan.roles, remaining(plan), least)


def summed_noise(table: QueryBlock, block: QueryBlock, deviation: float) -> float:
    """Of all answers of a block, as sums over the table's cells, in units of the most that a record changes one."""
    squared = (table.cells / block.cells) * float(squared_norms(block).mean())
    return block.rows * deviation * math.sqrt(squared) / max(block.largest_coefficient, 1)


def _mean_left(noise: Sequence[float], records: float) -> float:
    """The mean over blocks of what noise of so many deviations leaves in them, over n."""
    sums = NORMAL * np.array(noise)
    return float((sums / (sums + records)).mean())
