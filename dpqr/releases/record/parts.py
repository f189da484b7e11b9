"""Parts of documents: exact privacy figures (rationals, prices, events, noise laws), and the sizes of a run."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np

from dpqr import __version__
from dpqr.domain.attribute import Attribute, Labels
from dpqr.domain.domain import Domain, PublicFacts
from dpqr.kernel.budget import Price, PrivacyBudget, upward
from dpqr.kernel.events import Composition, LeftOutEvent, PrivacyEvent
from dpqr.kernel.noise.law import NoiseLaw
from dpqr.ledger.codec import canonical, decode_events
from dpqr.ledger.ledger import Reason
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Workload

LIBRARIES = ("numpy", "scipy", "pyarrow")
"""Those whose versions may change a digit of an answer, or a byte of a file."""
_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


def rational(value: Fraction) -> dict[str, Any]:
    """exact: "1/10" or "3". float: the smallest one that is not below it."""
    return {"exact": str(value), "float": upward(value)}


def budget_part(budget: PrivacyBudget) -> dict[str, Any]:
    """Epsilon and delta, both exact."""
    return {"epsilon": rational(budget.epsilon), "delta": rational(budget.delta)}


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


def price_part(price: Price | None) -> dict[str, Any] | None:
    """What one draw may cost, in its accountant's currency; None where nothing is drawn."""
    if price is None:
        return None
    return {price.currency: rational(price.figure)}


def events_part(events: Composition) -> list[dict[str, Any]]:
    """Every event with how often it is charged: enough to price the run again by another theorem."""
    return [event_part(event) | {"count": count} for event, count in events]


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


def event_part(event: PrivacyEvent) -> dict[str, Any]:
    """kind: the event's class in words ("discrete-laplace"); then the parameters that it states, exact; of a draw from
    left-out records the draw itself."""
    if isinstance(event, LeftOutEvent):
        return {"kind": "left-out", "event": event_part(event.event)}
    stated = {name: value for name, value in _parameters(event).items() if value is not None}
    return {"kind": kind(event).removesuffix("-event")} | stated


def law_part(law: NoiseLaw) -> dict[str, Any]:
    """kind and exact parameters of a noise law, with the standard deviation of one draw, in units of the grid."""
    return {"kind": kind(law)} | _parameters(law) | {"deviation": law.deviation}


def kind(thing: object) -> str:
    """A class name in words: DenseDistribution -> dense-distribution."""
    return _WORD_START.sub("-", type(thing).__name__).lower()


def _parameters(thing: object) -> dict[str, Any]:
    """Public fields: rationals as exact text, plain values as they are, anything else left out."""
    if not is_dataclass(thing):
        return {}
    found = {field.name: getattr(thing, field.name) for field in fields(thing) if not field.name.startswith("_")}
    exact = {name: str(value) if isinstance(value, Fraction) else value for name, value in found.items()}
    return {name: value for name, value in exact.items() if isinstance(value, str | int | float | None)}


def option_parts(strategy: object) -> dict[str, Any]:
    """A strategy by name, with the options it was given."""
    return {"name": getattr(strategy, "name", kind(strategy))} | _parameters(strategy)


def domain_part(domain: Domain) -> dict[str, Any]:
    """|X| and the columns with their sizes; the titles stand in the domain file and in the answers.

    facts: null where none is declared.
    """
    return {
        "cells": domain.size,
        "columns": [_column(attribute) for attribute in domain.attributes],
        "facts": _facts(domain.facts) if domain.facts else None,
    }


def _facts(facts: PublicFacts) -> dict[str, Any]:
    """As the curator wrote them; records: the least and the most that the totals allow, null for no bound."""
    return {
        "impossible": list(dict.fromkeys(region.text for region in facts.impossible)),
        "totals": [{"where": total.region.text, "count": total.count} for total in facts.totals],
        "records": [facts.least, facts.most],
    }


def _column(attribute: Attribute) -> dict[str, Any]:
    return {
        "name": attribute.name,
        "kind": kind(attribute.axis),
        "cells": attribute.size,
        "own_cells": list(attribute.own_cells),
        **({"ordered": True} if isinstance(attribute.axis, Labels) and attribute.ordered else {}),
    }


def workload_part(workload: Workload, domain: Domain) -> dict[str, Any]:
    """|Q| and the blocks, in workload order."""
    return {"queries": workload.rows, "blocks": [_block(block, domain) for block in workload.blocks]}


def _block(block: QueryBlock, domain: Domain) -> dict[str, Any]:
    return {
        "name": block.name,
        "queries": block.rows,
        "columns": [domain.names[axis] for axis in block.axes],
        "weight": str(block.weight),
        "grid": str(block.scale),
    }


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

DRAW_KEYS = ("transcript", "dropped", "errors", "questions", "counted", "factor", "draws", "weights")
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


PREDICTION_PLAN_FORMAT = "prediction-plan/1"


PREDICTION_FORMAT = "prediction/1"


MODEL_FORMAT = "model/1"


def record_path(given: str) -> str:
    """Where the record of the predictions lies."""
    return f"{given}.record.json"
