"""Parts of documents: exact privacy figures (rationals, prices, events, noise laws), and the sizes of a run."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib import metadata
from typing import Annotated, Any, TypedDict, cast

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType

from dpqr import __version__
from dpqr.domain.attribute import Labels
from dpqr.domain.domain import Domain, LearnedPart
from dpqr.domain.domain_file import domain_text
from dpqr.kernel.budget import Price, PrivacyBudget, upward
from dpqr.kernel.events import Composition, LeftOutEvent, PrivacyEvent
from dpqr.kernel.noise.law import NoiseLaw
from dpqr.kernel.values import field_names
from dpqr.ledger.codec import canonical, decode_events
from dpqr.ledger.ledger import Reason
from dpqr.workload.workload import Workload

LIBRARIES = ("numpy", "scipy", "pyarrow")
"""Those whose versions may change a digit of an answer, or a byte of a file."""
_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


# The parts that documents are made of, each stated once: its fields are the keys, in the order in which they are
# written, and what `msgspec.convert` reads back; `of` says what they are made of.

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="a SHA-256, in hexadecimal digits")]
Rational = Annotated[str, Meta(pattern="^[0-9]+(/[1-9][0-9]*)?$", description="exact: 3 or 1/10")]
Count = Annotated[int, Meta(ge=0)]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the record; what an older version did not write is UNSET."""


_PLAIN = {str, int, float, bool, type(None)}


def written(value: Any) -> Any:
    """Plain JSON values of parts, wherever they stand: tuples as lists, without what is UNSET."""
    if isinstance(value, Part):
        named = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        return {key: written(part) for key, name in named if (part := getattr(value, name)) is not UNSET}
    if isinstance(value, dict):
        return {key: written(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [*value] if set(map(type, value)) <= _PLAIN else [*map(written, value)]
    return value


class FigurePart(Part, frozen=True, kw_only=True):
    """An exact figure, and the smallest float that is not below it."""

    exact: Rational
    rounded: float = msgspec.field(name="float")

    @classmethod
    def of(cls, value: Fraction) -> FigurePart:
        """exact: "1/10" or "3". float: the smallest one that is not below it."""
        return cls(exact=str(value), rounded=upward(value))

    @classmethod
    def known(cls, value: Fraction | None) -> FigurePart | None:
        """The same; None where there is none."""
        return None if value is None else cls.of(value)


class BudgetPart(Part, frozen=True, kw_only=True):
    """What the guarantee states."""

    epsilon: FigurePart
    delta: FigurePart

    @classmethod
    def of(cls, budget: PrivacyBudget) -> BudgetPart:
        """Epsilon and delta, both exact."""
        return cls(epsilon=FigurePart.of(budget.epsilon), delta=FigurePart.of(budget.delta))


def whole_price(plan: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The budget that the document of a plan states, with what its learned domain has cost; None: it states none."""
    found: Mapping[str, Any] | None = plan.get("whole") or plan.get("budget")
    return found


def reason_part(reason: Reason) -> dict[str, str | None]:
    """Why a run was made, who asked, and who approved; null where it was not stated."""
    stated = {"purpose": reason.purpose, "by": reason.by, "approved_by": reason.approved_by}
    return {name: text or None for name, text in stated.items()}


def versions_part() -> dict[str, str]:
    """What made a record: dpqr, Python, the libraries that compute and write, the kind of machine, and a fingerprint of
    its arithmetic."""
    libraries = {name: metadata.version(name) for name in LIBRARIES}
    machine = {"platform": f"{platform.system()} {platform.machine()}", "arithmetic": arithmetic()}
    return {"dpqr": __version__, "python": platform.python_version(), **libraries, **machine}


def price_part(price: Price | None) -> dict[str, FigurePart] | None:
    """What one draw may cost, in its accountant's currency; None where nothing is drawn."""
    return None if price is None else {price.currency: FigurePart.of(price.figure)}


# Open parts: beside the keys that are named here stand the parameters of an event, of a noise law or of a strategy,
# which each class of them states by its fields, a third party's too.


class _Kind(TypedDict):
    kind: str


class Event(_Kind, total=False):
    """A draw by the parameters that accounting needs. event: of a draw from the records that were left out."""

    count: Count
    event: Event
    sensitivity: Count
    squared_sensitivity: Count
    coordinates: Count
    scale: Rational
    variance: Rational
    epsilon: Rational
    rho: Rational
    squared_mu: Rational


class _KindAndDeviation(_Kind):
    deviation: float


class Law(_KindAndDeviation, total=False):
    """A noise law in units of the grid. deviation: standard deviation of one draw."""

    scale: Rational
    variance: Rational


class Named(TypedDict):
    """A strategy; its options stand beside the name."""

    name: str


def events_part(events: Composition) -> list[Event]:
    """Every event with how often it is charged: enough to price the run again by another theorem."""
    return [{**event_part(event), "count": count} for event, count in events]


def parsed_events(parts: Any) -> Composition:
    """The events of an `events_part` that this or an older version has written.

    Raises: ValueError, KeyError, TypeError, AttributeError or BudgetRefused for anything else.
    """
    events = decode_events([_as_text(part) | {"count": part["count"]} for part in parts])
    if events_part(events) != parts:
        raise ValueError("not written as events are")
    return events


def _as_text(part: dict[str, Any]) -> dict[str, Any]:
    """An event whose parameters are all exact text, as a ledger has them."""
    nested = {"event": _as_text(part["event"])} if "event" in part else {}
    return {name: str(value) for name, value in part.items()} | nested


def event_part(event: PrivacyEvent) -> Event:
    """kind: the event's class in words ("discrete-laplace"); then the parameters that it states, exact; of a draw from
    left-out records the draw itself."""
    if isinstance(event, LeftOutEvent):
        return {"kind": "left-out", "event": event_part(event.event)}
    stated = {name: value for name, value in _parameters(event).items() if value is not None}
    return cast(Event, {"kind": kind(event).removesuffix("-event")} | stated)


def law_part(law: NoiseLaw) -> Law:
    """kind and exact parameters of a noise law, with the standard deviation of one draw, in units of the grid."""
    return cast(Law, {"kind": kind(law)} | _parameters(law) | {"deviation": law.deviation})


def kind(thing: object) -> str:
    """A class name in words: DenseDistribution -> dense-distribution."""
    return _WORD_START.sub("-", type(thing).__name__).lower()


def _parameters(thing: object) -> dict[str, object]:
    """Public fields: rationals as exact text, plain values as they are, anything else left out."""
    found = {name: getattr(thing, name) for name in field_names(thing) if not name.startswith("_")}
    exact = {name: str(value) if isinstance(value, Fraction) else value for name, value in found.items()}
    return {name: value for name, value in exact.items() if isinstance(value, str | int | float | None)}


def option_parts(strategy: object) -> Named:
    """A strategy by name, with the options it was given."""
    return cast(Named, {"name": getattr(strategy, "name", kind(strategy))} | _parameters(strategy))


class Column(Part, frozen=True, kw_only=True):
    """An attribute and its cells. own_cells: those for null and the like."""

    name: str
    kind: str
    cells: Count
    own_cells: tuple[str, ...]
    ordered: bool | UnsetType = UNSET


class LearnedRowsPart(Part, frozen=True, kw_only=True):
    """Noisy counts of persons, by which the bound on a person's rows was chosen (`LearnedRows`)."""

    numbers: tuple[int, ...]
    persons: tuple[int, ...]
    scale: FigurePart


class LearnedEntryPart(Part, frozen=True, kw_only=True):
    """The entry of a ledger that paid for what one run has learned, as `ledger` of a record names that of the run."""

    dataset: str
    entry: Count
    seal: str
    budget: BudgetPart


class LearnedDomainPart(Part, frozen=True, kw_only=True):
    """The price of the columns' labels and bounds, where these were learned, and of the choice of the rows of each
    person. unit: for whom. ledger: which entries paid. The price of the run comes to it."""

    columns: tuple[str, ...]
    budget: BudgetPart
    unit: str
    max_rows: LearnedRowsPart | UnsetType = UNSET
    ledger: tuple[LearnedEntryPart, ...] | UnsetType = UNSET

    @classmethod
    def of(cls, learned: LearnedPart) -> LearnedDomainPart:
        """What was learned, and its price."""
        rows = (
            UNSET
            if (one := learned.rows) is None
            else LearnedRowsPart(numbers=one.numbers, persons=one.persons, scale=FigurePart.of(one.scale))
        )
        entries = tuple(
            LearnedEntryPart(dataset=one.dataset, entry=one.number, seal=one.seal, budget=BudgetPart.of(one.budget))
            for one in learned.entries
        )
        return cls(
            columns=learned.columns,
            budget=BudgetPart.of(learned.budget),
            unit=learned.unit,
            max_rows=rows,
            ledger=entries or UNSET,
        )


class DomainPart(Part, frozen=True, kw_only=True):
    """cells: their number, of any size. learned: what was learned of it before; left out where all is public."""

    cells: int
    columns: tuple[Column, ...]
    facts: Mapping[str, Any] | UnsetType | None = UNSET
    learned: LearnedDomainPart | UnsetType = UNSET

    @classmethod
    def of(cls, domain: Domain) -> DomainPart:
        """|X| and the columns with their sizes; the titles stand in the domain file and in the answers.

        facts: as the curator wrote them, null where none is declared; records: the least and the most that the totals
        allow, null for no bound.
        """
        facts = domain.facts
        return cls(
            cells=domain.size,
            columns=tuple(
                Column(
                    name=attribute.name,
                    kind=kind(attribute.axis),
                    cells=attribute.size,
                    own_cells=tuple(attribute.own_cells),
                    ordered=True if isinstance(attribute.axis, Labels) and attribute.ordered else UNSET,
                )
                for attribute in domain.attributes
            ),
            facts={
                "impossible": list(dict.fromkeys(region.text for region in facts.impossible)),
                "totals": [{"where": total.region.text, "count": total.count} for total in facts.totals],
                "records": [facts.least, facts.most],
            }
            if facts
            else None,
            learned=UNSET if domain.learned is None else LearnedDomainPart.of(domain.learned),
        )


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

    @classmethod
    def of(cls, workload: Workload, domain: Domain) -> WorkloadPart:
        """|Q| and the blocks, in workload order."""
        names = domain.names
        blocks = (
            Block(
                name=block.name,
                queries=block.rows,
                columns=tuple(names[axis] for axis in block.axes),
                weight=str(block.weight),
                grid=str(block.scale),
            )
            for block in workload.blocks
        )
        return cls(queries=workload.rows, blocks=tuple(blocks))


# Arithmetic: what decides the last digits of figures in floating point, as one short fingerprint.

THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "NPY_DISABLE_CPU_FEATURES",
)
"""Variables by which sums are added up in another order."""


@cache
def arithmetic() -> str:
    """The fingerprint: of the processor's features that numpy uses, of the linear algebra, its threads and settings,
    and of what some sums, products and functions give here.

    Where it and the versions are equal, the same draws give the same figures bit for bit.
    """
    config: Mapping[str, object] = np.show_config(mode="dicts")
    stated = {name: config.get(name) for name in ("SIMD Extensions", "Build Dependencies")}
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    settings = {name: os.environ.get(name) for name in THREADS}
    parts = canonical({"numpy": stated, "processors": processors, **settings}).encode()
    return hashlib.sha256(parts + _probe()).hexdigest()[:16]


def _probe() -> bytes:
    """Figures whose last digits depend on the kernels that compute them."""
    values = np.linspace(0.1, 9.7, 1009)
    table = np.sin(np.outer(values[:97], values[-131:]))
    figures = [np.exp(values), np.log(values), np.sqrt(values), table @ table.T, table.T @ values[:97]]
    sums = np.array([values.sum(), values @ values, table.sum(), float(np.linalg.norm(table))])
    return b"".join(np.asarray(each, dtype=np.float64).tobytes() for each in (*figures, sums))


# The digest of what was drawn, by which the entry that settles a run names the one record that belongs to it.
#
# Two runs of one plan have the same plan, price and reason, so only their draws tell them apart. The digest is made
# of parts of the record alone, so anybody who has the record makes it again.

DRAW_KEYS = ("transcript", "dropped", "errors", "questions", "counted", "factor", "draws", "weights", "person_tables")
"""Keys of a record that hold draws: of a release; of predictions and functions."""


def draws_digest(record: Mapping[str, Any]) -> str:
    """The SHA-256 of the canonical JSON of what a record, or its parts of DRAWN, says was drawn.

    Of predictions of one batch, which state no draws, of the SHA-256 of their file.

    Privacy:
        A function of released values only: everything in a record is released.
    """
    parts = {name: record[name] for name in DRAW_KEYS if name in record}
    if not parts.keys() & {"transcript", "draws", "weights"}:
        parts["files"] = sorted(record.get("hashes", {}).values())
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def learned_digest(domain: Mapping[str, Any]) -> str:
    """The SHA-256 of the canonical JSON of a domain file, but for what it says of its price. The settlement of a run
    that learned a domain names its file by it, so that the file is known without that part, too."""
    rest = {name: part for name, part in domain.items() if name != "learned"}
    return hashlib.sha256(canonical(json.loads(domain_text(rest))).encode()).hexdigest()


PREDICTION_PLAN_FORMAT = "prediction-plan/1"


LEARNING_PLAN_FORMAT = "learning-plan/1"


PREDICTION_FORMAT = "prediction/1"


MODEL_FORMAT = "model/1"


def periods_read(plan: Mapping[str, Any]) -> str:
    """Of which periods the rows are that answers and figures are of; empty: of the whole table."""
    period = plan.get("period") or {}
    return " to ".join(dict.fromkeys(filter(None, (period.get("since"), period.get("name")))))


def record_path(given: str) -> str:
    """Where the record of the predictions lies."""
    return f"{given}.record.json"


def predictions_path(given: str) -> str:
    """The predictions whose record this file is; itself where it is none, or nothing lies beside it."""
    beside = given.removesuffix(record_path(""))
    return beside if os.path.isfile(beside) else given
