"""Marginals: fixed marginals, each measured once, where that is forecast to leave the least error; else one-way
marginals, a search for the blocks that they do not answer, and a last, exact measurement of these.

One table: all columns that a workload looks at, measured once; a block's answer is a sum of cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct

from dpqr.kernel.accountants.accountant import Portion
from dpqr.kernel.arrays import Axes
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.values import replace
from dpqr.strategies.candidates import LARGEST_PENALTY, BlockCandidates, SomeCandidates
from dpqr.strategies.plan import BlockForecast, Phase, Plan, Roles, Schedule
from dpqr.strategies.problem import Problem
from dpqr.strategies.schedules.drafts import forecasts, one_way, opening_phase, proved_epsilon, search_phases
from dpqr.strategies.schedules.marginals.candidate_blocks import joint, with_surrogates
from dpqr.strategies.schedules.marginals.decision import (
    WORDS,
    CandidateForecaster,
    CandidatePlan,
    ContinuationForecaster,
    Shares,
    count_reason,
    forecasts_by_count,
    measurements_of,
    noise_by_block,
)
from dpqr.strategies.schedules.marginals.forecast import (
    NOISE,
    RECORDS,
    TUNING,
    BudgetAllocation,
    counts_records,
    error_words,
    first_marginals,
    full_table,
    mean_error,
    possible_records,
    remaining,
)
from dpqr.strategies.schedules.marginals.search import (
    MarginalSearch,
    SearchState,
    SelectionBatch,
    plan_remeasurement,
    start_search,
)
from dpqr.strategies.transcript import ErrorSum, Round, Step, Transcript
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

COUNT = (
    "a noisy count of the records ({share:.0%} of the budget) decides what is measured: {candidates}; the answers' "
    "total is held to it"
)
SINGLES = "every block looks at one column at most, so all are measured once and nothing is searched"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginals:
    """For workloads of marginals, and of blocks that marginals answer: see `with_surrogates`.

    table: cells of the one table of all columns, at most; 0: there is always a search.
    Where the records are known, the candidate plan of least forecast error is followed. Else it is, if it is the same
    for all POSSIBLE_RECORDS, and a noisy count decides if it is not.

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
        if not problem.workload.axes:
            raise InfeasiblePlan("marginals are of columns, and only the total is asked for; take --schedule rounds")
        searching = self._searching(problem, budget, roles)
        if not self.table:
            return searching
        whole = remaining(searching)
        forecaster = CandidateForecaster.of(problem, roles, whole, self.table)
        found = [forecaster.at(number) for number in possible_records(problem)]
        candidates = tuple(dict.fromkeys(one.best for one in found))
        if candidates == ("search",):
            plan = searching
        elif len(candidates) == 1:
            plan = plan_non_adaptive(candidates[0], self, problem, budget, roles, whole)
        else:
            # The number of records decides between them, from few to many, so they are counted.
            plan = self._searching(problem, budget, roles, counted=True)
            nouns = " or ".join(WORDS[candidate].noun for candidate in candidates)
            note = COUNT.format(share=float(TUNING.count), candidates=nouns)
            many = candidates[-1]
            plan = replace(
                plan,
                forecast=plan.forecast if many == "search" else _forecast(many, problem, roles, whole),
                notes=(note, *(plan.notes if "search" in candidates else ())),
            )
        errors = tuple(one.least for one in found)
        return replace(plan, expected=mean_error(errors), expected_at=errors)

    def _searching(self, problem: Problem, budget: PrivacyBudget, roles: Roles, *, counted: bool = False) -> Plan:
        """On paper two rounds a column, or as many as choices may look at blocks for; in the run as many as what they
        show is worth, at prices that follow it.

        So the plan states the sum that the filter allows: no other theorem, and no ledger, may count on single draws.
        """
        singles = one_way(problem)
        candidates = len(joint(with_surrogates(problem, roles.check)))
        rounds = max(1, min(2 * len(singles), candidates, TUNING.work // max(candidates, 1)))
        first = TUNING.count if counted else Fraction(0)
        opening = (1 - first) * TUNING.opening
        rest = (1 - first - opening) / rounds
        prices = roles.cut(
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
            epsilon=proved_epsilon(roles.accountant, phases, budget),
            forecast=forecasts(problem, roles, measure),
            notes=(WORDS["search"].note,),
        )

    def column_sets(self, plan: Plan) -> tuple[Axes, ...]:
        decides = plan.rounds > 0 or counts_records(plan)
        return searched_columns(plan, self.table) if decides else plan.asked_columns

    def start(self, plan: Plan) -> MarginalsState:
        if counts_records(plan):
            return CountState(plan=plan, table=self.table)
        if plan.rounds:
            return OneWayState(plan=plan, foresees=bool(self.table))
        opening = plan.named("opening")
        return NonAdaptiveState(waiting=tuple((blocks[0], phase.price) for phase in opening for blocks in phase.blocks))

    def next(self, plan: Plan, state: MarginalsState) -> Step | None:
        return state.step()

    def after(self, state: MarginalsState, finished: Round) -> MarginalsState:
        return state.after(finished)

    def reasons(self, plan: Plan, transcript: Transcript) -> tuple[str, ...]:
        """What was measured, and why, where a count or the error of one-way marginals decided."""
        rounds, counts = transcript.rounds, counts_records(plan)
        counted = rounds[0].measurement if rounds and counts else None
        why = () if counted is None else (count_reason(forecasts_by_count(plan, counted, self.table)),)
        shown = [(place, one.errors) for place, one in enumerate(rounds) if one.errors]
        if not shown:
            return why
        opened = int(counts) + len(first_marginals(plan).blocks)
        known = start_search(plan, [one.measurement for one in rounds[int(counts) : opened]])
        return (
            *why,
            *(
                ContinuationForecaster.of(known).sentence(found)
                if place == opened
                else _check_reason(known, found, rounds[:place], rounds[place + 1 :])
                for place, found in shown
            ),
        )


def _check_reason(known: MarginalSearch, found: ErrorSum, before: Sequence[Round], later: Sequence[Round]) -> str:
    """For the release: what the check of a search showed, and what followed."""
    explored = tuple(one.measurement.blocks[0] for one in before if one.measurement is not None)
    unexplored = {frozenset(block.axes) for block in known.unexplored(SearchState(left=0.0, explored=explored))}
    measured = {frozenset(one.measurement.blocks[0].axes) for one in later if one.measurement is not None}
    followed = "so all blocks were measured" if unexplored & measured else "it ended"
    if any(one.choice is not None for one in later):
        followed = "it went on"
    error = max(found.mean, 0.0) / known.records
    return (
        f"the {found.blocks:,} blocks that the search had not measured had an error of about {error_words(error)} (L1 "
        f"over n), by a noisy sum: {followed}"
    )


def searched_columns(plan: Plan, most_cells: int) -> tuple[Axes, ...]:
    """The columns of all that a count of the records, or a search, may come to measure: blocks, each column, pairs
    within wider blocks (`candidate_levels`), and all columns where one table of them has at most `most_cells` cells."""
    workload, table = plan.problem.workload, full_table(plan.problem)
    pairs = (pair for block in workload.blocks if len(block.axes) > 2 for pair in combinations(sorted(block.axes), 2))
    whole = (table.axes,) if table.cells <= most_cells else ()
    found = (*plan.asked_columns, RECORDS.axes, *((axis,) for axis in workload.axes), *pairs, *whole)
    return tuple(dict.fromkeys(tuple(sorted(axes)) for axes in found))


def plan_non_adaptive(
    candidate: CandidatePlan,
    schedule: Schedule[Any],
    problem: Problem,
    budget: PrivacyBudget,
    roles: Roles,
    whole: BudgetAllocation,
) -> Plan:
    """A plan of what a candidate plan measures, at the whole budget. Raises: InfeasiblePlan."""
    shares = measurements_of(candidate, problem, roles, whole)
    portions = [Portion(share=Fraction(share).limit_denominator(10**9), count=1) for _, share in shares]
    prices = roles.cut(budget, portions)
    phases = tuple(
        phase
        for (block, _), price in zip(shares, prices, strict=True)
        for phase in opening_phase(roles, problem.unit, ((block,),), price)
    )
    note = WORDS[candidate].note
    if candidate == "table":
        note = f"{note} ({full_table(problem).cells:,} cells)"
    elif not joint(with_surrogates(problem, roles.check)):
        note = SINGLES
    return Plan(
        problem=problem,
        budget=budget,
        roles=roles,
        schedule=schedule,
        phases=phases,
        epsilon=proved_epsilon(roles.accountant, phases, budget),
        forecast=_forecast(candidate, problem, roles, whole),
        notes=(note,),
    )


def _forecast(
    candidate: CandidatePlan, problem: Problem, roles: Roles, whole: BudgetAllocation
) -> tuple[BlockForecast, ...]:
    """Noise of every block's answers under the candidate plan: before the fit, which only lowers it."""
    each = zip(problem.workload.blocks, noise_by_block(candidate, problem, roles, whole).total.tolist(), strict=True)
    return tuple(
        BlockForecast(
            name=block.name,
            rows=block.rows,
            deviation=total / block.rows * max(block.largest_coefficient, 1) * float(block.scale),
        )
        for block, total in each
    )


# The phases of a run among marginals, each a state that knows its next step and what follows it.


class CountState(Struct, frozen=True, kw_only=True):
    """The records are counted, before it is decided what to measure. table: cells of the one table, at most."""

    plan: Plan
    table: int

    def step(self) -> Step:
        counted = self.plan.phase("opening")
        assert counted is not None, "the plan has a count"
        return Step(candidates=counted.blocks[0], select=None, measure=counted.price)

    def after(self, finished: Round) -> MarginalsState:
        """A count that was lost in a crash leaves the search, which needs none."""
        plan, known = self.plan, finished.measurement
        candidate = forecasts_by_count(plan, known, self.table).best if known is not None else "search"
        if candidate == "search":
            return OneWayState(plan=plan, foresees=True)
        budget = remaining(plan)
        shares = measurements_of(candidate, plan.problem, plan.roles, budget)
        return NonAdaptiveState(waiting=tuple((block, budget.price(share)) for block, share in shares))


class NonAdaptiveState(Struct, frozen=True, kw_only=True):
    """Blocks are measured, each once. waiting: those that still are to be, with their prices."""

    waiting: tuple[tuple[QueryBlock, Price], ...]

    def step(self) -> Step | None:
        """The hypothesis is fitted after the last one."""
        if not self.waiting:
            return None
        (block, price), *others = self.waiting
        return Step(candidates=(block,), select=None, measure=price, refit=not others)

    def after(self, finished: Round) -> MarginalsState:
        return replace(self, waiting=self.waiting[1:])


class OneWayState(Struct, frozen=True, kw_only=True):
    """One-way marginals are measured for the first time.

    released: by each of them so far; None: it was lost in a crash. foresees: whether another candidate may be better
    than a search.
    """

    plan: Plan
    foresees: bool
    released: tuple[Measurement | None, ...] = ()

    def step(self) -> Step:
        place, opening = len(self.released), first_marginals(self.plan)
        last = place == opening.count - 1
        return Step(candidates=opening.blocks[place], select=None, measure=opening.price, refit=last)

    def after(self, finished: Round) -> MarginalsState:
        grown = replace(self, released=(*self.released, finished.measurement))
        if len(grown.released) < first_marginals(self.plan).count:
            return grown
        known = start_search(self.plan, grown.released)
        if not self.foresees or not known.levels or None in grown.released:
            return _search(known, 0.0)
        forecaster = ContinuationForecaster.of(known)
        certain = forecaster.certain
        if certain is None:
            return DependenceState(forecaster=forecaster, share=forecaster.share)
        return _continue_with(forecaster, certain, 0.0)


class DependenceState(Struct, frozen=True, kw_only=True):
    """The error that one-way marginals leave in pairs of columns is measured, before it is decided what follows.

    share: of the budget, for that.
    """

    forecaster: ContinuationForecaster
    share: float

    def step(self) -> Step:
        price = self.forecaster.known.budget.price(self.share)
        return Step(candidates=self.forecaster.pairs, select=None, measure=price, refit=False, errors=True)

    def after(self, finished: Round) -> MarginalsState:
        """A draw that was lost leaves the search."""
        found = finished.errors
        if found is None:
            return _search(self.forecaster.known, self.share)
        dependence = self.forecaster.dependence(found)
        candidate = self.forecaster.after(dependence, self.share).best
        if candidate == "search":
            return _search(replace(self.forecaster.known, dependence=dependence), self.share)
        return _continue_with(self.forecaster, candidate, self.share)


class RemeasurementState(Struct, frozen=True, kw_only=True):
    """Some of the one-way marginals are measured again, before the search. left: share of the budget after it."""

    known: MarginalSearch
    waiting: Shares
    left: float

    def step(self) -> Step:
        return _measure_next(self.known, self.waiting)

    def after(self, finished: Round) -> MarginalsState:
        return replace(self, waiting=self.waiting[1:]) if len(self.waiting) > 1 else _searching(self.known, self.left)


class SearchingState(Struct, frozen=True, kw_only=True):
    """The choices of one batch, all of them made against one hypothesis. drawn: those that were made."""

    known: MarginalSearch
    state: SearchState
    batch: SelectionBatch
    candidates: BlockCandidates
    drawn: tuple[Round, ...] = ()

    @classmethod
    def of(cls, known: MarginalSearch, state: SearchState, batch: SelectionBatch) -> SearchingState:
        """Each block's score is lowered by the error that measuring it would leave."""
        blocks = known.offered(state.level)
        errors = np.minimum(NOISE * known.expected_errors(blocks, batch.deviation), LARGEST_PENALTY)
        penalties = tuple(np.rint(errors).astype(np.int64).tolist())
        candidates = BlockCandidates(blocks=blocks, unit=known.unit, penalties=penalties, keep=True)
        return cls(known=known, state=state, batch=batch, candidates=candidates)

    def step(self) -> Step:
        """A choice among blocks that were not measured."""
        known, batch = self.known, self.batch
        measured = {block.name for block in self.state.explored}
        measured |= {one.measurement.blocks[0].name for one in self.drawn if one.measurement is not None}
        return Step(
            candidates=SomeCandidates.without(self.candidates, measured),
            select=known.budget.price(batch.selection),
            measure=known.budget.price(batch.measurement),
            refit=len(self.drawn) == batch.size - 1,
            compare=True,
        )

    def after(self, finished: Round) -> MarginalsState:
        drawn = (*self.drawn, finished)
        if len(drawn) < self.batch.size:
            return replace(self, drawn=drawn)
        return _next_batch(self.known, self.known.after(self.state, self.batch, drawn))


class CheckState(Struct, frozen=True, kw_only=True):
    """The error of the fit on the unexplored blocks is measured, before it is decided whether all are to be.

    share: of the budget, for that. ended: whether the search has ended.
    """

    known: MarginalSearch
    state: SearchState
    share: float
    ended: bool

    def step(self) -> Step:
        price, blocks = self.known.budget.price(self.share), self.known.unexplored(self.state)
        return Step(candidates=blocks, select=None, measure=price, refit=False, errors=True)

    def after(self, finished: Round) -> MarginalsState:
        """A draw that was lost changes nothing."""
        state = replace(self.state, left=self.state.left - self.share, checked=True)
        if finished.errors is not None:
            error = max(finished.errors.mean, 0.0) / self.known.records
            state = self.known.checked(state, error, self.ended)
        return _next_batch(self.known, state)


class FinalState(Struct, frozen=True, kw_only=True):
    """The last measurements, which spend what is left."""

    known: MarginalSearch
    waiting: Shares

    def step(self) -> Step | None:
        return _measure_next(self.known, self.waiting) if self.waiting else None

    def after(self, finished: Round) -> MarginalsState:
        return replace(self, waiting=self.waiting[1:])


MarginalsState = (
    CountState
    | NonAdaptiveState
    | OneWayState
    | DependenceState
    | RemeasurementState
    | SearchingState
    | CheckState
    | FinalState
)


def _continue_with(forecaster: ContinuationForecaster, candidate: CandidatePlan, spent: float) -> MarginalsState:
    """spent: share of the budget, beside that of the one-way marginals."""
    if candidate == "search":
        return _search(forecaster.known, spent)
    return FinalState(known=forecaster.known, waiting=tuple(forecaster.known.final(forecaster.ended(candidate, spent))))


def _search(opened: MarginalSearch, spent: float) -> MarginalsState:
    """spent: share of the budget, beside that of the one-way marginals."""
    known, again = plan_remeasurement(opened)
    left = 1.0 - sum(known.spent) - spent
    return RemeasurementState(known=known, waiting=again, left=left) if again else _searching(known, left)


def _searching(known: MarginalSearch, left: float) -> MarginalsState:
    return _next_batch(known, SearchState(left=left))


def _next_batch(known: MarginalSearch, state: SearchState) -> MarginalsState:
    """The next batch; a check of what was not explored; the last measurements where there is neither."""
    reached, batch = known.advanced(state)
    share = known.check_share(reached, batch is None)
    if share:
        return CheckState(known=known, state=reached, share=share, ended=batch is None)
    if batch is None:
        return FinalState(known=known, waiting=tuple(known.final(reached)))
    return SearchingState.of(known, reached, batch)


def _measure_next(known: MarginalSearch, waiting: Shares) -> Step:
    """The first of those that wait; the hypothesis is fitted after the last one."""
    (block, share), *others = waiting
    return Step(candidates=(block,), select=None, measure=known.budget.price(share), refit=not others)
