"""The plan document: a planned run, as plain JSON under one SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from dpqr import __version__
from dpqr.domain.periods import PeriodRows
from dpqr.kernel.unit import Every, PrivacyUnit
from dpqr.ledger.codec import JSON, canonical
from dpqr.releases.fingerprints import plan_digest
from dpqr.releases.record.parts import (
    BudgetPart,
    Count,
    Digest,
    DomainPart,
    Event,
    FigurePart,
    Named,
    Part,
    WorkloadPart,
    events_part,
    option_parts,
    price_part,
    written,
)
from dpqr.releases.sentences import guarantee, whole_budget
from dpqr.strategies.counter import CounterStep
from dpqr.strategies.plan import Plan
from dpqr.workload.block import QueryBlock

PLAN_FORMAT = "plan/1"
SEAL = "sha256"


def plan_document(plan: Plan) -> JSON:
    """The planned run, as `--dry-run --json` and a locked plan have it, and as release.json repeats it. Plain JSON
    values.

    request: documents, options and limits that it was made from; null where they are not known. draws: the fingerprint
    of all that the draws depend on. sha256: of the canonical JSON of all the rest; ledger and record name the plan by
    it. A run that follows a locked plan repeats its document.
    """
    if plan.inputs and plan.inputs.locked:
        return dict(plan.inputs.locked.document)
    return seal_document(written(PlanPart.of(plan)))


def plan_hash(plan: Plan) -> str:
    """The SHA-256 by which ledger and record name a plan."""
    return str(plan_document(plan)[SEAL])


def seal_document(document: JSON) -> JSON:
    """A document under the SHA-256 of its canonical JSON, which `sha256` holds; a seal that it has is replaced."""
    parts = {name: part for name, part in document.items() if name != SEAL}
    return parts | {SEAL: hashlib.sha256(canonical(parts).encode()).hexdigest()}


class UnitPart(Part, frozen=True, kw_only=True):
    """Whom the release protects. column: whose rows are one person's. columns: in its place, several that say together
    whose a row is; per: the last of them is a date, and counts by this period. max_rows: of each of them, null where
    every row is its own unit. max_rows_per_cell: of these in one cell of a table, where that is bounded. counts: the
    count column of a histogram."""

    neighbours: str
    column: str | UnsetType | None = UNSET
    columns: tuple[str, ...] | UnsetType = UNSET
    per: Every | UnsetType = UNSET
    max_rows: Count | UnsetType | None = UNSET
    max_rows_per_cell: Count | UnsetType = UNSET
    counts: str | UnsetType | None = UNSET
    words: str

    @classmethod
    def of(cls, unit: PrivacyUnit) -> UnitPart:
        """A privacy unit."""
        return cls(
            neighbours=unit.neighbours.value,
            column=UNSET if len(unit.columns) > 1 else next(iter(unit.columns), None),
            columns=unit.columns if len(unit.columns) > 1 else UNSET,
            per=unit.per or UNSET,
            max_rows=unit.rows if unit.columns else None,
            max_rows_per_cell=UNSET if unit.cell_rows is None else unit.cell_rows,
            counts=unit.counted,
            words=unit.words,
        )


class ForecastPart(Part, frozen=True, kw_only=True):
    """Of a block of queries. noise_deviation: if it is measured. error: expected of its answers, null: not known."""

    name: str
    queries: Count
    noise_deviation: float
    error: float | UnsetType | None = UNSET


class PersonTotalPart(Part, frozen=True, kw_only=True):
    """The sum of a column over a person's rows in a cell: clipped to [least, most], both in steps of `step`; or in one
    of so many bins."""

    column: str
    least: int | UnsetType = UNSET
    most: int | UnsetType = UNSET
    step: str | UnsetType = UNSET
    bins: Count | UnsetType = UNSET

    @classmethod
    def of(cls, block: QueryBlock, names: Sequence[str]) -> PersonTotalPart | UnsetType:
        if block.within is None:
            return UNSET
        column = names[block.axes[-1]]
        if not block.sums_totals:
            return cls(column=column, bins=len(block.within) - 1)
        step = str(block.scale * block.times)
        return cls(column=column, least=block.within[0], most=block.within[1], step=step)


class PersonTablePart(Part, frozen=True, kw_only=True):
    """A table of persons: each counts once in a cell, and in at most max_cells of them. noise_deviation: in persons, or
    in units of the total. total: what is summed in place of a count, or by which they are counted. where: the predicate
    that a person's rows must fulfil. times: of the counts, in the draw's integers."""

    name: str
    queries: Count
    columns: tuple[str, ...]
    max_cells: Count
    noise_deviation: float
    total: PersonTotalPart | UnsetType = UNSET
    where: str | UnsetType = UNSET
    times: Count | UnsetType = UNSET

    @classmethod
    def of(cls, plan: Plan) -> tuple[PersonTablePart, ...] | UnsetType:
        """Those of a plan; not set where it asks for none."""
        names, tables = plan.problem.domain.names, zip(plan.persons, plan.person_forecast, strict=True)
        found = tuple(
            cls(
                name=block.name,
                queries=block.rows,
                columns=tuple(names[axis] for axis in (block.axes if block.within is None else block.axes[:-1])),
                max_cells=block.most_cells or 1,
                noise_deviation=known.deviation,
                total=PersonTotalPart.of(block, names),
                where=block.where[0].text if block.where else UNSET,
                times=UNSET if block.times == 1 else block.times,
            )
            for block, known in tables
        )
        return found or UNSET


class PeriodPart(Part, frozen=True, kw_only=True):
    """Whose rows are read, of a counter from `since` on. every: month, say. column: which says when a row is of."""

    name: str
    since: str | UnsetType = UNSET
    every: str
    column: str

    @classmethod
    def of(cls, rows: PeriodRows) -> PeriodPart:
        """The rows of a period, or of the periods that end with it."""
        since = UNSET if rows.since is None else rows.since.name
        return cls(name=rows.period.name, since=since, every=rows.period.every, column=rows.column)


class CounterPart(Part, frozen=True, kw_only=True):
    """The counter whose node is released, and which of its releases this is. life: the budget of all of them."""

    periods: Count
    base: Count
    first: str
    number: Count
    life: BudgetPart

    @classmethod
    def of(cls, turn: CounterStep) -> CounterPart:
        """A step of a counter."""
        tree = turn.counter.tree
        life = BudgetPart.of(turn.counter.life)
        return cls(periods=tree.periods, base=tree.base, first=turn.first.name, number=turn.number, life=life)


class PlanPart(Part, frozen=True, kw_only=True):
    """The planned run. events: the worst that may be drawn; the guarantee is their price. request: documents, options
    and limits that it was made from. draws: fingerprint of all that the draws depend on. sha256: of all the rest."""

    dpqr: str
    version: str
    guarantee: str
    unit: UnitPart
    n: Count | None
    most: Count | UnsetType | None = UNSET
    persons: Count | UnsetType | None = UNSET
    period: PeriodPart | UnsetType = UNSET
    budget: BudgetPart
    whole: BudgetPart | UnsetType = UNSET
    counter: CounterPart | UnsetType = UNSET
    schedule: Named
    distinguisher: Named
    check: Named
    update: Named
    accountant: str
    asked: tuple[str, ...] | UnsetType = UNSET
    domain: DomainPart
    workload: WorkloadPart
    person_tables: tuple[PersonTablePart, ...] | UnsetType = UNSET
    opening: tuple[tuple[str, ...], ...]
    rounds: Count
    price: Mapping[str, Any]
    error_bars: bool | UnsetType = UNSET
    alpha: FigurePart | UnsetType | None = UNSET
    promise: str | UnsetType | None = UNSET
    beta: FigurePart | UnsetType | None = UNSET
    level: FigurePart | UnsetType | None = UNSET
    variant: str | UnsetType | None = UNSET
    threshold: FigurePart | UnsetType | None = UNSET
    stages: tuple[FigurePart, ...] | UnsetType = UNSET
    certain: FigurePart | UnsetType | None = UNSET
    events: tuple[Event, ...]
    proved_epsilon: FigurePart
    forecast: tuple[ForecastPart, ...]
    bytes: Count
    seed: Count
    notes: tuple[str, ...]
    request: Mapping[str, Any] | UnsetType | None = UNSET
    draws: Digest | UnsetType = UNSET
    sha256: Digest | UnsetType = UNSET

    @classmethod
    def of(cls, plan: Plan) -> PlanPart:
        """A plan, not sealed yet.

        period: left out where all rows are read, as in plans of earlier versions. stages, certain: of a loop in stages,
        its alphas, and the smallest that is certain; left out for one fixed plan. There alpha is what the user asked
        for, and level that of the last stage. whole: the budget and what its learned domain has cost, together; left
        out for a domain that is public knowledge, or was learned for other units.
        """
        problem, roles, stop, rows = plan.problem, plan.roles, plan.stop, plan.problem.period
        staged = stop if stop and stop.stages else None
        beta = None if stop is None and not plan.named("bounds") else problem.beta
        return cls(
            dpqr=PLAN_FORMAT,
            version=__version__,
            guarantee=guarantee(plan),
            unit=UnitPart.of(problem.unit),
            n=problem.n,
            most=problem.most,
            persons=problem.persons,
            period=UNSET if rows is None else PeriodPart.of(rows),
            budget=BudgetPart.of(plan.budget),
            whole=UNSET if (whole := whole_budget(plan)) is None else BudgetPart.of(whole),
            counter=UNSET if problem.turn is None else CounterPart.of(problem.turn),
            schedule=option_parts(plan.schedule),
            distinguisher=option_parts(roles.distinguisher),
            check=option_parts(roles.check),
            update=option_parts(roles.update),
            accountant=roles.accountant.name,
            asked=tuple(sorted(plan.named_roles)),
            domain=DomainPart.of(problem.domain),
            workload=WorkloadPart.of(problem.workload, problem.domain),
            person_tables=PersonTablePart.of(plan),
            opening=tuple(tuple(block.name for block in blocks) for blocks in plan.opening),
            rounds=plan.rounds,
            price={
                "dropped": price_part(plan.price("left out")),
                "opening": price_part(plan.price("opening")),
                "selection": price_part(plan.price("selection")),
                "measurement": price_part(plan.price("measurement")),
                "stages": [price_part(phase.price) for phase in plan.named("stage")],
                "errors": price_part(plan.price("errors")),
                "bounds": price_part(plan.price("bounds")),
                **({"persons": price_part(plan.price("persons"))} if plan.persons else {}),
            },
            error_bars=plan.error_bars,
            alpha=FigurePart.known(problem.alpha),
            promise=None if stop is None else stop.promise,
            beta=FigurePart.known(beta),
            level=FigurePart.known(problem.level.value if problem.level else None),
            variant=problem.level.variant if problem.level else None,
            threshold=FigurePart.known(stop.threshold if stop else None),
            stages=tuple(map(FigurePart.of, staged.stages)) if staged else UNSET,
            certain=FigurePart.known(staged.certain) if staged else UNSET,
            events=tuple(events_part(plan.events)),
            proved_epsilon=FigurePart.of(plan.epsilon),
            forecast=tuple(
                ForecastPart(name=block.name, queries=block.rows, noise_deviation=block.deviation, error=block.error)
                for block in plan.forecast
            ),
            bytes=plan.bytes,
            seed=problem.seed,
            notes=tuple(plan.notes),
            request=plan.inputs.request if plan.inputs else None,
            draws=plan_digest(plan),
        )
