"""The plan document: a run on paper, as plain JSON under one SHA-256."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dpqr import __version__
from dpqr.domain.periods import PeriodRows
from dpqr.kernel.unit import PrivacyUnit
from dpqr.ledger.codec import canonical
from dpqr.releases.fingerprints import plan_digest
from dpqr.releases.record.parts import (
    budget_part,
    domain_part,
    events_part,
    option_parts,
    price_part,
    rational,
    workload_part,
)
from dpqr.releases.sentences import guarantee
from dpqr.strategies.counter import CounterStep
from dpqr.strategies.plan import Plan, StopTest

PLAN_FORMAT = "plan/1"
SEAL = "sha256"


def plan_document(plan: Plan) -> dict[str, Any]:
    """The run on paper, as `--dry-run --json` and a locked plan have it, and as release.json repeats it. Plain JSON
    values.

    request: documents, options and limits that it was made from; null where they are not known. draws: the fingerprint
    of all that the draws depend on. sha256: of the canonical JSON of all the rest; ledger and record name the plan by
    it. A run that follows a locked plan repeats its document.
    """
    if plan.inputs and plan.inputs.locked:
        return dict(plan.inputs.locked.document)
    return seal_document(_plan_parts(plan))


def plan_hash(plan: Plan) -> str:
    """The SHA-256 by which ledger and record name a plan."""
    return str(plan_document(plan)[SEAL])


def seal_document(document: dict[str, Any]) -> dict[str, Any]:
    """A document under the SHA-256 of its canonical JSON, which `sha256` holds; a seal that it has is replaced."""
    parts = {name: part for name, part in document.items() if name != SEAL}
    return parts | {SEAL: hashlib.sha256(canonical(parts).encode()).hexdigest()}


def _plan_parts(plan: Plan) -> dict[str, Any]:
    return {
        "dpqr": PLAN_FORMAT,
        "version": __version__,
        "guarantee": guarantee(plan),
        "unit": _unit(plan.problem.unit),
        "n": plan.problem.n,
        "most": plan.problem.most,
        "persons": plan.problem.persons,
        **_period(plan.problem.period),
        "budget": budget_part(plan.budget),
        **counter_part(plan.problem.turn),
        **_strategies(plan),
        "domain": domain_part(plan.problem.domain),
        "workload": workload_part(plan.problem.workload, plan.problem.domain),
        **_schedule(plan),
        "events": events_part(plan.events),
        "proved_epsilon": rational(plan.epsilon),
        "forecast": [
            {"name": block.name, "queries": block.rows, "noise_deviation": block.deviation, "error": block.error}
            for block in plan.forecast
        ],
        "bytes": plan.bytes,
        "seed": plan.problem.seed,
        "notes": list(plan.notes),
        "request": plan.inputs.request if plan.inputs else None,
        "draws": plan_digest(plan),
    }


def _unit(unit: PrivacyUnit) -> dict[str, Any]:
    """max_rows: of each person; null where every row is its own unit. counts: the count column of a histogram."""
    return {
        "neighbours": unit.neighbours.value,
        "column": unit.column,
        "max_rows": unit.rows if unit.column is not None else None,
        "counts": unit.counted,
        "words": unit.words,
    }


def counter_part(turn: CounterStep | None) -> dict[str, Any]:
    """The counter whose node is released, and which of its releases this is; left out where it is none."""
    if turn is None:
        return {}
    counter = turn.counter
    return {
        "counter": {
            "periods": counter.tree.periods,
            "base": counter.tree.base,
            "first": turn.first.name,
            "number": turn.number,
            "life": budget_part(counter.life),
        }
    }


def _period(rows: PeriodRows | None) -> dict[str, Any]:
    """Whose rows are read, of a counter from `since` on; left out where all are, as in plans of earlier versions."""
    if rows is None:
        return {}
    since = {} if rows.since is None else {"since": rows.since.name}
    return {"period": {"name": rows.period.name, **since, "every": rows.period.every, "column": rows.column}}


def _strategies(plan: Plan) -> dict[str, Any]:
    roles = plan.roles
    return {
        "schedule": option_parts(plan.schedule),
        "distinguisher": option_parts(roles.distinguisher),
        "check": option_parts(roles.check),
        "update": option_parts(roles.update),
        "accountant": roles.accountant.name,
        "asked": sorted(plan.asked),
    }


def _schedule(plan: Plan) -> dict[str, Any]:
    """What will be drawn, how often, at what price, and when the loop stops."""
    problem, stop = plan.problem, plan.stop
    return {
        "opening": [[block.name for block in blocks] for blocks in plan.opening],
        "rounds": plan.rounds,
        "price": {
            "dropped": price_part(plan.price("left out")),
            "opening": price_part(plan.price("opening")),
            "selection": price_part(plan.price("selection")),
            "measurement": price_part(plan.price("measurement")),
            "stages": [price_part(phase.price) for phase in plan.named("stage")],
            "errors": price_part(plan.price("errors")),
            "bounds": price_part(plan.price("bounds")),
        },
        "error_bars": plan.error_bars,
        "alpha": None if problem.alpha is None else rational(problem.alpha),
        "promise": None if stop is None else stop.promise,
        "beta": None if stop is None and not plan.named("bounds") else rational(problem.beta),
        "level": None if problem.level is None else rational(problem.level.value),
        "variant": problem.level.variant if problem.level else None,
        "threshold": None if stop is None or stop.threshold is None else rational(stop.threshold),
        **_stages(stop),
    }


def _stages(stop: StopTest | None) -> dict[str, Any]:
    """Of a loop in stages, its alphas, and the smallest that is certain; nothing for one fixed plan. There alpha is
    what the user asked for, and level that of the last stage."""
    if stop is None or not stop.stages:
        return {}
    certain = None if stop.certain is None else rational(stop.certain)
    return {"stages": [rational(alpha) for alpha in stop.stages], "certain": certain}


# The form of a plan's document, which release.json repeats, and the parts that both are made of.

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="a SHA-256, in hexadecimal digits")]
Rational = Annotated[str, Meta(pattern="^[0-9]+(/[0-9]+)?$", description="exact: 3 or 1/10")]
Count = Annotated[int, Meta(ge=0)]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the record; what an older version did not write is UNSET."""


class FigurePart(Part, frozen=True, kw_only=True):
    """An exact figure, and the smallest float that is not below it."""

    exact: Rational
    rounded: float = msgspec.field(name="float")


class Event(Part, frozen=True, kw_only=True):
    """A draw by the parameters that accounting needs. event: of a draw from the records that were left out."""

    kind: str
    count: Count | UnsetType = UNSET
    event: Event | UnsetType = UNSET
    sensitivity: Count | UnsetType = UNSET
    squared_sensitivity: Count | UnsetType = UNSET
    coordinates: Count | UnsetType = UNSET
    scale: Rational | UnsetType = UNSET
    variance: Rational | UnsetType = UNSET
    epsilon: Rational | UnsetType = UNSET
    rho: Rational | UnsetType = UNSET
    squared_mu: Rational | UnsetType = UNSET


class Law(Part, frozen=True, kw_only=True):
    """A noise law in units of the grid. deviation: standard deviation of one draw."""

    kind: str
    deviation: float
    scale: Rational | UnsetType = UNSET
    variance: Rational | UnsetType = UNSET


class BudgetPart(Part, frozen=True, kw_only=True):
    """What the guarantee states."""

    epsilon: FigurePart
    delta: FigurePart


class Column(Part, frozen=True, kw_only=True):
    """An attribute and its cells. own_cells: those for null and the like."""

    name: str
    kind: str
    cells: Count
    own_cells: tuple[str, ...]


class DomainPart(Part, frozen=True, kw_only=True):
    """cells: their number, of any size."""

    cells: int
    columns: tuple[Column, ...]
    facts: dict[str, Any] | UnsetType | None = UNSET


class Block(Part, frozen=True, kw_only=True):
    """A block of the workload."""

    name: str
    queries: Count
    columns: tuple[str, ...]
    weight: Rational
    grid: Rational


class WorkloadPart(Part, frozen=True, kw_only=True):
    """The blocks, in the order of the answers."""

    queries: Count
    blocks: tuple[Block, ...]


class Named(Part, frozen=True, kw_only=True):
    """A strategy; its options stand beside the name."""

    name: str


class PlanPart(Part, frozen=True, kw_only=True):
    """The run on paper. events: the worst that may be drawn; the guarantee is their price. request: documents, options
    and limits that it was made from. draws: fingerprint of all that the draws depend on. sha256: of all the rest."""

    dpqr: str
    version: str
    guarantee: str
    unit: dict[str, Any]
    n: Count | None
    budget: BudgetPart
    schedule: Named
    distinguisher: Named
    check: Named
    update: Named
    accountant: str
    domain: DomainPart
    workload: WorkloadPart
    opening: tuple[tuple[str, ...], ...]
    rounds: Count
    price: dict[str, Any]
    events: tuple[Event, ...]
    proved_epsilon: FigurePart
    forecast: tuple[dict[str, Any], ...]
    bytes: Count
    seed: Count
    notes: tuple[str, ...]
    most: Count | UnsetType | None = UNSET
    persons: Count | UnsetType | None = UNSET
    asked: tuple[str, ...] | UnsetType = UNSET
    alpha: FigurePart | UnsetType | None = UNSET
    beta: FigurePart | UnsetType | None = UNSET
    level: FigurePart | UnsetType | None = UNSET
    threshold: FigurePart | UnsetType | None = UNSET
    stages: tuple[FigurePart, ...] | UnsetType = UNSET
    certain: FigurePart | UnsetType | None = UNSET
    variant: str | UnsetType | None = UNSET
    promise: str | UnsetType | None = UNSET
    error_bars: bool | UnsetType = UNSET
    request: dict[str, Any] | UnsetType | None = UNSET
    draws: Digest | UnsetType = UNSET
    sha256: Digest | UnsetType = UNSET
