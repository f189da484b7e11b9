"""Marginals: fixed marginals, each measured once, where that is forecast to leave the least error; else one-way
marginals, a search for the blocks that they do not answer, and a last, exact measurement of these.

One table: all columns that a workload looks at, measured once; a block's answer is a sum of cells.
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
from dpqr.strategies.schedules.marginals.budget_allocation import BudgetAllocation
from dpqr.strategies.schedules.marginals.candidate_blocks import joint, with_surrogates
from dpqr.strategies.schedules.marginals.foreseen import Foreseen
from dpqr.strategies.schedules.marginals.one_table import (
    RECORDS,
    counts_records,
    remaining,
    whole_table,
)
from dpqr.strategies.schedules.marginals.remeasurement import opened
from dpqr.strategies.schedules.marginals.states import Counting, MarginalsState, Once, Opening
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.strategies.schedules.marginals.ways import (
    NOTES,
    NOUNS,
    Outlook,
    Way,
    count_forecasts,
    error_among,
    measured_by,
    noise_by_block,
    possible_records,
)
from dpqr.strategies.transcript import Round, Step, Transcript


def measured_once(
    way: Way, schedule: Schedule[Any], problem: Problem, budget: PrivacyBudget, roles: Roles, whole: BudgetAllocation
) -> Plan:
    """A plan of what the way measures, at the whole budget. Raises: InfeasiblePlan."""
    shares = measured_by(way, problem, roles, whole)
    portions = [Portion(share=Fraction(share).limit_denominator(10**9), count=1) for _, share in shares]
    prices = roles.accountant.cut(budget, portions)
    phases = tuple(
        phase
        for (block, _), price in zip(shares, prices, strict=True)
        for phase in opening_phase(roles, problem.unit, ((block,),), price)
    )
    note = f"{NOTES[way]} ({whole_table(problem).cells:,} cells)" if way == "table" else NOTES[way]
    if way != "table" and not joint(with_surrogates(problem, roles.check)):
        note = SINGLES
    return Plan(
        problem=problem,
        budget=budget,
        roles=roles,
        schedule=schedule,
        phases=phases,
        epsilon=proved(roles.accountant, phases, budget),
        forecast=_forecast(way, problem, roles, whole),
        notes=(note,),
    )


def _forecast(way: Way, problem: Problem, roles: Roles, whole: BudgetAllocation) -> tuple[BlockForecast, ...]:
    """Noise of every block's answers where it is measured by the way: before the fit, which only lowers it."""
    each = zip(problem.workload.blocks, noise_by_block(way, problem, roles, whole).total.tolist(), strict=True)
    return tuple(
        BlockForecast(
            name=block.name,
            rows=block.rows,
            deviation=total / block.rows * max(block.largest_coefficient, 1) * float(block.scale),
        )
        for block, total in each
    )


COUNT = (
    "a noisy count of the records ({share:.0%} of the budget) decides what is measured: {ways}; the answers' total is "
    "held to it"
)
SINGLES = "every block looks at one column at most, so all are measured once and nothing is searched"
SEARCH = (
    "one-way marginals come first; then choices look for blocks that are further off than noise would leave them, or "
    "all of them are measured without a search, where the error of one-way marginals in pairs of columns, measured "
    "with noise, makes that better; rounds and prices follow what was released, within the budget, and the last "
    "measurements spend it"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginals:
    """For workloads of marginals, and of blocks that marginals answer: see `with_surrogates`.

    table: cells of the one table of all columns, at most; 0: there is always a search.
    Where the records are known, the way of least forecast error is planned. Else it is, if it is the same for all
    POSSIBLE_RECORDS, and a noisy count decides if it is not.

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
        """What the number of records calls for, or a count of them that decides it. Raises: InfeasiblePlan."""
        searching = self._searching(problem, budget, roles)
        if not self.table:
            return searching
        whole = remaining(searching)
        outlook = Outlook.of(problem, roles, whole, self.table)
        found = [outlook.at(number) for number in possible_records(problem)]
        ways = tuple(dict.fromkeys(one.best for one in found))
        plan = searching
        if ways != ("search",):
            plan = (
                measured_once(ways[0], self, problem, budget, roles, whole)
                if len(ways) == 1
                else self._counting(ways, problem, budget, roles, whole)
            )
        errors = tuple(one.least for one in found)
        return replace(plan, expected=error_among(errors), expected_at=errors)

    def _counting(
        self, ways: tuple[Way, ...], problem: Problem, budget: PrivacyBudget, roles: Roles, whole: BudgetAllocation
    ) -> Plan:
        """ways: that the count decides between, from few records to many."""
        plan = self._searching(problem, budget, roles, counted=True)
        note = COUNT.format(share=float(TUNING.count), ways=" or ".join(NOUNS[way] for way in ways))
        many = ways[-1]
        known = plan.forecast if many == "search" else _forecast(many, problem, roles, whole)
        return replace(plan, forecast=known, notes=(note, *(plan.notes if "search" in ways else ())))

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
            notes=(SEARCH,),
        )

    def column_sets(self, plan: Plan) -> tuple[Axes, ...]:
        """With all columns, where a count may decide for one table of them."""
        table = whole_table(plan.problem)
        whole = (table.axes,) if counts_records(plan) and table.cells <= self.table else ()
        return (*plan.asked_columns, *whole)

    def start(self, plan: Plan) -> MarginalsState:
        if counts_records(plan):
            return Counting(plan=plan, table=self.table)
        if plan.rounds:
            return Opening(plan=plan, foresees=bool(self.table))
        opening = plan.named("opening")
        return Once(waiting=tuple((blocks[0], phase.price) for phase in opening for blocks in phase.blocks))

    def next(self, plan: Plan, state: MarginalsState) -> Step | None:
        return state.step()

    def after(self, state: MarginalsState, finished: Round) -> MarginalsState:
        return state.after(finished)

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """What was measured, and why, where a count or the error of one-way marginals decided."""
        rounds, counts = transcript.rounds, counts_records(plan)
        counted = rounds[0].measurement if rounds and counts else None
        why = () if counted is None else (count_forecasts(plan, counted, self.table).sentence,)
        found = next(((place, one.errors) for place, one in enumerate(rounds) if one.errors), None)
        if found is None:
            return why
        place, errors = found
        foreseen = Foreseen.of(opened(plan, [one.measurement for one in rounds[int(counts) : place]]))
        return (*why, foreseen.sentence(errors))
