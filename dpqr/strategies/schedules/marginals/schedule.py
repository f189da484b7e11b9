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
from dpqr.strategies.schedules.marginals.one_table import (
    RECORDS,
    counts_records,
    first_marginals,
    remaining,
    whole_table,
)
from dpqr.strategies.schedules.marginals.outlook import (
    NOUNS,
    Choice,
    error_among,
    likely_records,
    outlook,
    possible_records,
)
from dpqr.strategies.schedules.marginals.remeasurement import opened_records
from dpqr.strategies.schedules.marginals.states import Counting, MarginalsState, Once, Opening
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.strategies.schedules.marginals.ways import NOTES, Way, measured_by, noise_of
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
    cells = f" ({whole_table(problem).cells:,} cells)" if way == "table" else ""
    return Plan(
        problem=problem,
        budget=budget,
        roles=roles,
        schedule=schedule,
        phases=phases,
        epsilon=proved(roles.accountant, phases, budget),
        forecast=_forecast(way, problem, roles, whole),
        notes=(f"{NOTES[way]}{cells}",),
    )


def _forecast(way: Way, problem: Problem, roles: Roles, whole: BudgetAllocation) -> tuple[BlockForecast, ...]:
    """Noise of every block's answers where it is measured by the way: before the fit, which only lowers it."""
    noise = noise_of(way, problem, roles, whole)
    assert noise is not None, "the way measures something"
    return tuple(
        BlockForecast(
            name=block.name,
            rows=block.rows,
            deviation=float(total) / block.rows * max(block.largest_coefficient, 1) * float(block.scale),
        )
        for block, total in zip(problem.workload.blocks, noise.total, strict=True)
    )


COUNT = (
    "a noisy count of the records ({share:.0%} of the budget) decides what is measured: {ways}; the answers' total is "
    "held to it"
)
OPENED: frozenset[Choice] = frozenset({"columns", "search", "dependence"})
"""Choices that begin with one-way marginals, which show the records; in rho, further ones add up with them."""

DEPENDENCE = (
    "the error that the first one-way marginals leave in pairs of columns is measured, and decides what follows: "
    "one-way marginals alone, all blocks or pairs once, one table of all columns, or a search"
)
SEARCH = (
    "one-way marginals come first; then choices look for blocks that are further off than noise would leave them; "
    "rounds and prices follow what was released, within the budget, and the last measurements spend it"
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
        known = outlook(searching, self.table)
        found = [known.at(number) for number in possible_records(problem)]
        choices = tuple(dict.fromkeys(one.best for one in found))
        return replace(
            self._planned(choices, searching, whole), expected=error_among([one.errors[one.best] for one in found])
        )

    def _planned(self, choices: tuple[Choice, ...], searching: Plan, whole: BudgetAllocation) -> Plan:
        """choices: of least forecast error, from few records to many."""
        problem, budget, roles = searching.problem, searching.budget, searching.roles
        best, *others = choices
        if "dependence" in choices and OPENED.issuperset(choices) and (whole.concentrated or not others):
            return replace(searching, notes=(DEPENDENCE, *searching.notes))
        if others:
            return self._counting(choices, searching, whole)
        if best == "search" or best == "dependence":
            return searching
        return measured_once(best, self, problem, budget, roles, whole)

    def _counting(self, choices: tuple[Choice, ...], searching: Plan, whole: BudgetAllocation) -> Plan:
        """choices: that the count decides between."""
        problem, budget, roles, many = searching.problem, searching.budget, searching.roles, choices[-1]
        plan = self._searching(problem, budget, roles, counted=True)
        note = COUNT.format(share=float(TUNING.count), ways=" or ".join(NOUNS[one] for one in choices))
        known = plan.forecast if many == "search" or many == "dependence" else _forecast(many, problem, roles, whole)
        searched = "search" in choices or "dependence" in choices
        return replace(plan, forecast=known, notes=(note, *(plan.notes if searched else ())))

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
            return self._opening(plan)
        opening = plan.named("opening")
        return Once(waiting=tuple((blocks[0], phase.price) for phase in opening for blocks in phase.blocks))

    def _opening(self, plan: Plan) -> Opening:
        """The first one-way marginals where no count comes before them."""
        records = likely_records(plan, None)
        return Opening(plan=plan, outlook=outlook(plan, self.table) if self.table else None, records=records)

    def next(self, plan: Plan, state: MarginalsState) -> Step | None:
        return state.step()

    def after(self, state: MarginalsState, finished: Round) -> MarginalsState:
        return state.after(finished)

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """What was measured, and why, where a count or the measured dependence decided."""
        counted = transcript.rounds[0].measurement if transcript.rounds and counts_records(plan) else None
        found = next((one.errors for one in transcript.rounds if one.errors), None)
        records = likely_records(plan, counted)
        if records is None and found is not None:
            opened = [one.measurement for one in transcript.rounds[: first_marginals(plan).count]]
            records = opened_records(plan, opened)
        if records is None or (counted is None and found is None):
            return ()
        known = outlook(plan, self.table)
        return ((known.at(records) if found is None else known.after(records, found)).sentence,)
