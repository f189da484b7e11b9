"""The phases of a run among marginals, each a state that knows its next step and what follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpqr.privacy.budget import Price
from dpqr.strategies.candidates import LARGEST_PENALTY, BlockCandidates
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.marginals.gap import NOISE
from dpqr.strategies.schedules.marginals.one_table import first_marginals, remaining
from dpqr.strategies.schedules.marginals.outlook import Outlook, likely_records, outlook
from dpqr.strategies.schedules.marginals.remeasurement import explored, opened_records
from dpqr.strategies.schedules.marginals.search import Batch, Search, SearchState
from dpqr.strategies.schedules.marginals.tuning import TUNING
from dpqr.strategies.schedules.marginals.ways import Way, measured_by
from dpqr.strategies.some_candidates import SomeCandidates
from dpqr.strategies.transcript import Round, Step
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

Shares = tuple[tuple[QueryBlock, float], ...]
"""Blocks that are still to be measured, each with its share of the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """The records are counted, before it is decided what to measure. table: cells of the one table, at most."""

    plan: Plan
    table: int

    def step(self) -> Step:
        counted = self.plan.phase("opening")
        assert counted is not None, "the plan has a count"
        return Step(candidates=counted.blocks[0], select=None, measure=counted.price)

    def after(self, finished: Round) -> MarginalsState:
        """A count that was lost in a crash leaves the search, which needs none."""
        records = likely_records(self.plan, finished.measurement)
        if records is None:
            return Opening(plan=self.plan)
        known = outlook(self.plan, self.table)
        best = known.at(records).best
        if best == "dependence":
            return Opening(plan=self.plan, outlook=known, records=records)
        return Opening(plan=self.plan) if best == "search" else Once.of(self.plan, best, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """Blocks are measured, each once. waiting: those that still are to be, with their prices."""

    waiting: tuple[tuple[QueryBlock, Price], ...]

    @classmethod
    def of(cls, plan: Plan, way: Way, left: float) -> Once:
        """What the way measures. left: share of what was left after the count of the records."""
        budget = remaining(plan)
        shares = measured_by(way, plan.problem, plan.roles, budget)
        return cls(waiting=tuple((block, budget.price(left * share)) for block, share in shares))

    def step(self) -> Step | None:
        """The hypothesis is fitted after the last one."""
        if not self.waiting:
            return None
        (block, price), *others = self.waiting
        return Step(candidates=(block,), select=None, measure=price, refit=not others)

    def after(self, finished: Round) -> MarginalsState:
        return replace(self, waiting=self.waiting[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """One-way marginals are measured for the first time.

    released: by each of them so far; None: it was lost in a crash. outlook: forecasts that decide what follows; None: a
    search. records: at which these are made; None: at as many as the one-way marginals show.
    """

    plan: Plan
    outlook: Outlook | None = None
    records: float | None = None
    released: tuple[Measurement | None, ...] = ()

    def step(self) -> Step:
        place, opening = len(self.released), first_marginals(self.plan)
        last = place == opening.count - 1
        return Step(candidates=opening.blocks[place], select=None, measure=opening.price, refit=last)

    def after(self, finished: Round) -> MarginalsState:
        grown = replace(self, released=(*self.released, finished.measurement))
        if len(grown.released) < first_marginals(self.plan).count:
            return grown
        if self.outlook is None or None in grown.released:
            return _explored(self.plan, grown.released)
        records = self.records or opened_records(self.plan, grown.released)
        best = self.outlook.at(records).best
        if best == "dependence":
            return Dependence(plan=self.plan, outlook=self.outlook, records=records, released=grown.released)
        if best == "columns":
            return Once.of(self.plan, best, 1.0 - float(TUNING.opening))
        return _explored(self.plan, grown.released)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """The error that one-way marginals leave in pairs of columns is measured, before it is decided what follows."""

    plan: Plan
    outlook: Outlook
    records: float
    released: tuple[Measurement | None, ...]

    @property
    def share(self) -> float:
        return self.outlook.dependence_share(self.records) or 0.0

    def step(self) -> Step:
        price = remaining(self.plan).price(self.share)
        return Step(candidates=self.outlook.pairs, select=None, measure=price, refit=False, errors=True)

    def after(self, finished: Round) -> MarginalsState:
        """A search, or a way with all that is left; a draw that was lost leaves the search."""
        found = finished.errors
        way = "search" if found is None else self.outlook.after(self.records, found).best
        if way == "search" or way == "dependence":
            return _explored(self.plan, self.released, self.share)
        return Once.of(self.plan, way, 1.0 - float(TUNING.opening) - self.share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remeasurement:
    """Some of the one-way marginals are measured again, before the search. spent: share for the dependence."""

    known: Search
    waiting: Shares
    spent: float = 0.0

    def step(self) -> Step:
        return _measured(self.known, self.waiting)

    def after(self, finished: Round) -> MarginalsState:
        return replace(self, waiting=self.waiting[1:]) if len(self.waiting) > 1 else _searching(self.known, self.spent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Searching:
    """The choices of one batch, all of them made against one hypothesis. drawn: those that were made."""

    known: Search
    state: SearchState
    batch: Batch
    candidates: BlockCandidates
    drawn: tuple[Round, ...] = ()

    @classmethod
    def of(cls, known: Search, state: SearchState, batch: Batch) -> Searching:
        """Each block's score is lowered by the error that measuring it would leave."""
        blocks = known.offered(state.level)
        errors = np.minimum(NOISE * known.errors.each(blocks, batch.deviation), LARGEST_PENALTY)
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
        return _advanced(self.known, self.known.after(self.state, self.batch, drawn))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finishing:
    """The last measurements, which spend what is left."""

    known: Search
    waiting: Shares

    def step(self) -> Step | None:
        return _measured(self.known, self.waiting) if self.waiting else None

    def after(self, finished: Round) -> MarginalsState:
        return replace(self, waiting=self.waiting[1:])


MarginalsState = Counting | Once | Opening | Dependence | Remeasurement | Searching | Finishing


def _explored(plan: Plan, released: tuple[Measurement | None, ...], spent: float = 0.0) -> MarginalsState:
    """After the first one-way marginals. spent: share of the budget that the dependence took."""
    known, again = explored(plan, released)
    return Remeasurement(known=known, waiting=again, spent=spent) if again else _searching(known, spent)


def _searching(known: Search, spent: float) -> MarginalsState:
    return _advanced(known, SearchState(left=1.0 - sum(known.spent) - spent))


def _advanced(known: Search, state: SearchState) -> MarginalsState:
    """The next batch; the last measurements where there is none."""
    reached, batch = known.advanced(state)
    if batch is None:
        return Finishing(known=known, waiting=tuple(known.final(reached)))
    return Searching.of(known, reached, batch)


def _measured(known: Search, waiting: Shares) -> Step:
    """The first of those that wait; the hypothesis is fitted after the last one."""
    (block, share), *others = waiting
    return Step(candidates=(block,), select=None, measure=known.budget.price(share), refit=not others)
