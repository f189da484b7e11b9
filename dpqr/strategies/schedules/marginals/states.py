"""The phases of a run among marginals, each a state that knows its next step and what follows it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpqr.privacy.budget import Price
from dpqr.strategies.candidates import LARGEST_PENALTY, BlockCandidates
from dpqr.strategies.plan import Plan
from dpqr.strategies.schedules.marginals.foreseen import Course, Foreseen
from dpqr.strategies.schedules.marginals.gap import NOISE
from dpqr.strategies.schedules.marginals.one_table import first_marginals, remaining
from dpqr.strategies.schedules.marginals.remeasurement import opened, remeasured
from dpqr.strategies.schedules.marginals.search import Batch, Search, SearchState
from dpqr.strategies.schedules.marginals.ways import count_forecasts, measured_by
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
        plan, known = self.plan, finished.measurement
        way = count_forecasts(plan, known, self.table).best if known is not None else "search"
        if way == "search":
            return Opening(plan=plan, foresees=True)
        budget = remaining(plan)
        shares = measured_by(way, plan.problem, plan.roles, budget)
        return Once(waiting=tuple((block, budget.price(share)) for block, share in shares))


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """One-way marginals are measured for the first time.

    released: by each of them so far; None: it was lost in a crash. foresees: whether another course may be better than
    a search.
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
        known = opened(self.plan, grown.released)
        if not self.foresees or not known.levels or None in grown.released:
            return _search(known, 0.0)
        foreseen = Foreseen.of(known)
        courses, share = foreseen.courses, foreseen.share
        if len(courses) > 1 and share:
            return Dependence(foreseen=foreseen, share=share)
        return _going_on(foreseen, "search" if len(courses) > 1 else min(courses), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """The error that one-way marginals leave in pairs of columns is measured, before it is decided what follows.

    share: of the budget, for that.
    """

    foreseen: Foreseen
    share: float

    def step(self) -> Step:
        price = self.foreseen.known.budget.price(self.share)
        return Step(candidates=self.foreseen.pairs, select=None, measure=price, refit=False, errors=True)

    def after(self, finished: Round) -> MarginalsState:
        """A draw that was lost leaves the search."""
        found = finished.errors
        if found is None:
            return _search(self.foreseen.known, self.share)
        course, _ = self.foreseen.after(self.foreseen.dependence(found), self.share)
        return _going_on(self.foreseen, course, self.share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remeasurement:
    """Some of the one-way marginals are measured again, before the search. left: share of the budget after it."""

    known: Search
    waiting: Shares
    left: float

    def step(self) -> Step:
        return _measured(self.known, self.waiting)

    def after(self, finished: Round) -> MarginalsState:
        return replace(self, waiting=self.waiting[1:]) if len(self.waiting) > 1 else _searching(self.known, self.left)


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


def _going_on(foreseen: Foreseen, course: Course, spent: float) -> MarginalsState:
    """spent: share of the budget, beside that of the one-way marginals."""
    if course == "search":
        return _search(foreseen.known, spent)
    return Finishing(known=foreseen.known, waiting=tuple(foreseen.known.final(foreseen.ended(course, spent))))


def _search(opened: Search, spent: float) -> MarginalsState:
    """spent: share of the budget, beside that of the one-way marginals."""
    known, again = remeasured(opened)
    left = 1.0 - sum(known.spent) - spent
    return Remeasurement(known=known, waiting=again, left=left) if again else _searching(known, left)


def _searching(known: Search, left: float) -> MarginalsState:
    return _advanced(known, SearchState(left=left))


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
