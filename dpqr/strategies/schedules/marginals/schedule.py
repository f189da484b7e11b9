"""Marginals: one table of all columns where it is small; else one-way marginals, a search for the blocks that they do
not answer, and a last, exact measurement of these.

Whole table: all columns that a workload looks at in one table, measured once; a block's answer is a sum of cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from dpqr.data.arrays import Axes
from dpqr.privacy.accountant import Portion
from dpqr.privacy.budget import PrivacyBudget
from dpqr.strategies.plan import BlockForecast, Phase, Plan, Roles, Schedule
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import forecast, one_way, opening_phase, proved, search_phases
from dpqr.strategies.schedules.marginals.candidate_blocks import joint, with_surrogates
from dpqr.strategies.schedules.marginals.one_table import (
    RECORDS,
    Forecasts,
    count_forecasts,
    counts_records,
    known_records,
    remaining,
    summed_noise,
    whole_table,
)
from dpqr.strategies.schedules.marginals.states import Counting, MarginalsState, Opening
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.strategies.transcript import Round, Step, Transcript
from dpqr.workload.block import QueryBlock


def measured_once(
    table: QueryBlock, schedule: Schedule[Any], problem: Problem, budget: PrivacyBudget, roles: Roles
) -> Plan:
    """A plan of one measurement, that of the table at the whole budget."""
    (price,) = roles.accountant.cut(budget, [Portion(share=Fraction(1), count=1)])
    law = roles.check.law((table,), problem.unit, price)
    phases = opening_phase(roles, problem.unit, ((table,),), price)
    forecasts = tuple(_summed(table, block, law.deviation) for block in problem.workload.blocks)
    columns = f"all {len(table.axes)} columns together" if len(table.axes) > 1 else "the one column"
    note = f"{columns} ({table.cells:,} cells) tell every block with less noise than a search for what matters would"
    return Plan(
        problem=problem,
        budget=budget,
        roles=roles,
        schedule=schedule,
        phases=phases,
        epsilon=proved(roles.accountant, phases, budget),
        forecast=forecasts,
        notes=(note,),
    )


def _summed(table: QueryBlock, block: QueryBlock, deviation: float) -> BlockForecast:
    """Noise of sums over the table's cells, which have `deviation` each: before the fit, which only lowers it."""
    one = summed_noise(table, block, deviation) / block.rows * max(block.largest_coefficient, 1)
    return BlockForecast(name=block.name, rows=block.rows, deviation=one * float(block.scale))


def noise(plan: Plan) -> float:
    """Raw noise of all answers together, each over the most that one record can change it."""
    paired = zip(plan.forecast, plan.problem.workload.blocks, strict=True)
    return sum(
        known.rows * known.deviation / float(max(block.largest_coefficient, 1) * block.scale) for known, block in paired
    )


COUNT = (
    "a noisy count of the records ({share:.0%} of the budget) decides whether all columns are measured in one table or "
    "searched, and the answers' total is held to it"
)
SEARCH = (
    "one-way marginals come first; then choices look for blocks that are further off than noise would leave them; "
    "rounds and prices follow what was released, within the budget, and the last measurements spend it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginals:
    """For workloads of marginals, and of blocks that marginals answer: see `with_surrogates`.

    table: cells of the one table of all columns, at most; 0: there is always a search.

    Privacy:
        Neighbours: those of the problem's unit. Every draw is a selection among blocks or a noisy answer to one, each
        with its own proof and price. Which draws are made, at what prices and how many, is a function of the plan and
        of what was released before, never of the table; the prices are shares of the budget in the accountant's
        currency, and its filter stops what would go beyond it: adaptive composition with prices chosen on the way
        (Rogers, Roth, Ullman and Vadhan 2016 for epsilon; Feldman and Zrnic 2021, Whitehouse, Ramdas, Rogers and Wu
        2023 for rho). The plan states the sum alone, so no other theorem counts on single draws.

    >>> Marginals().adaptive
    True
    """

    table: int = TUNING.table

    name: ClassVar[str] = "marginals"
    distinguisher: ClassVar[str | None] = None
    adaptive: ClassVar[bool] = True

    def plan(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> Plan:
        """One table, a search, or a count of the records that decides which of both it is."""
        table, searching = whole_table(problem), self._searching(problem, budget, roles)
        if table.cells > self.table:
            return searching
        whole = measured_once(table, self, problem, budget, roles)
        if noise(whole) <= self._least(problem, budget, roles):
            return whole
        records = known_records(problem)
        if records is not None:
            return whole if Forecasts.of(problem, roles, remaining(searching), records).takes_table else searching
        if noise(whole) > noise(searching):
            return searching
        return replace(self._searching(problem, budget, roles, counted=True), forecast=whole.forecast)

    def _least(self, problem: Problem, budget: PrivacyBudget, roles: Roles) -> float:
        """Noise that a search would leave in all answers if no columns depended on each other: that of one-way
        marginals."""
        singles = one_way(problem)
        (price,) = roles.accountant.cut(budget, [Portion(share=Fraction(1), count=len(singles))])
        each = {blocks[0].axes[0]: forecast(problem, roles, blocks[0], price) for blocks in singles}
        blocks = problem.workload.blocks
        return sum(min(each[axis].rows, block.rows) * each[axis].deviation for block in blocks for axis in block.axes)

    def _searching(self, problem: Problem, budget: PrivacyBudget, roles: Roles, *, counted: bool = False) -> Plan:
        """On paper two rounds a column; in the run as many as what they show is worth, at prices that follow it.

        So the plan states the sum that the filter allows: no other theorem, and no ledger, may count on single draws.
        """
        singles = one_way(problem)
        rounds = max(1, min(2 * len(singles), len(joint(with_surrogates(problem, roles.check)))))
        first = TUNING.count if counted else Fraction(0)
        opening = (1 - first) * TUNING.opening
        rest = (1 - first - opening) / rounds
        prices = roles.accountant.cut(
            budget,
            [
                *([Portion(share=first, count=1)] if counted else []),
                Portion(share=opening / len(singles), count=len(singles)),
                Portion(share=rest * TUNING.selection, count=rounds, event=roles.distinguisher.event),
                Portion(share=rest * (1 - TUNING.selection), count=rounds),
            ],
        )
        count = [Phase(noun="opening", count=1, price=prices[0], blocks=((RECORDS,),))] if counted else []
        price, select, measure = prices[-3:]
        draws = (
            *count,
            Phase(noun="stage" if counted else "opening", count=len(singles), price=price, blocks=singles),
            Phase(noun="selection", count=rounds, price=select),
            Phase(noun="measurement", count=rounds, price=measure),
        )
        phases = search_phases(draws, price.times(len(singles) / opening))
        return Plan(
            problem=problem,
            budget=budget,
            roles=roles,
            schedule=self,
            phases=phases,
            epsilon=proved(roles.accountant, phases, budget),
            forecast=tuple(forecast(problem, roles, block, measure) for block in problem.workload.blocks),
            notes=(*([COUNT.format(share=float(first))] if counted else []), SEARCH),
        )

    def column_sets(self, plan: Plan) -> tuple[Axes, ...]:
        """With all columns, where a count may decide for one table of them."""
        return (*plan.asked_columns, whole_table(plan.problem).axes) if counts_records(plan) else plan.asked_columns

    def start(self, plan: Plan) -> MarginalsState:
        return Counting(plan=plan) if counts_records(plan) else Opening(plan=plan)

    def next(self, plan: Plan, state: MarginalsState) -> Step | None:
        return state.step()

    def after(self, state: MarginalsState, finished: Round) -> MarginalsState:
        return state.after(finished)

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """Why it was one table or a search, where a count decided."""
        counted = transcript.rounds[0].measurement if transcript.rounds and counts_records(plan) else None
        return () if counted is None else (count_forecasts(plan, counted).sentence,)
