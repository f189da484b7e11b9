"""The start file: what an earlier release hands to one that starts from it. It lies beside the later release's record,
which names it by its hash.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np

from dpqr.domain.domain import Domain
from dpqr.domain.text.sources import plain
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.models.fit.evidence import EarlierTables, LinearMeasurement
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import Problem
from dpqr.strategies.updates.interface import StartedRule
from dpqr.workload.queries_file import QueriesDocument

DIGITS = 9
"""Of a cell: its noise is far more than what is cut off."""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    columns: tuple[str, ...]
    deviation: float
    cells: list[float]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dpqr: Literal["start/1"]
    release: str
    records: float
    domain: Any
    tables: tuple[_Table, ...]


def start_name(content: bytes) -> str:
    """The file's name: the SHA-256 of its content."""
    return f"{hashlib.sha256(content).hexdigest()}.json"


def start_bytes(tables: EarlierTables, names: Sequence[str], domain: Any) -> bytes:
    """The file's content; the same tables give the same bytes.

    Args:
        names: of the attributes by their axes. domain: of the earlier release, as its public request states it.
    """
    held = [
        {
            "columns": [names[axis] for axis in each.axes],
            "deviation": _cut(each.deviation),
            "cells": list(map(_cut, each.values.reshape(-1).tolist())),
        }
        for each in tables.tables
    ]
    document = {"dpqr": "start/1", "release": tables.sha256, "records": _cut(tables.records)}
    document |= {"domain": domain, "tables": held}
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_start(content: bytes, domain: Any, current: Domain) -> EarlierTables:
    """The tables of a start file, those of columns that are asked for. Anybody may have written it.

    Args:
        domain: of the release that starts, as its public request states it. current: its attributes.

    Raises:
        DocumentError: it is none, or of another domain, or has no such table.
    """
    try:
        found = msgspec.json.decode(content, type=_File)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise DocumentError(f"--start: holds no tables that this version of dpqr can read ({error})") from None
    if found.domain != domain:
        # The first column that only one domain has, or that the two have otherwise.
        here, there = _columns(domain), _columns(found.domain)
        other = next((name for name in {**here, **there} if here.get(name) != there.get(name)), None)
        difference = "not in a column" if other is None else f"column {other!r} differs"
        raise DocumentError(
            f"--start: the earlier release has another domain ({difference}); give a release of the same domain file"
        )
    places = {name: axis for axis, name in enumerate(current.names)}
    held = [each for each in found.tables if places.keys() >= set(each.columns)]
    tables = tuple(_evidence(each, tuple(places[name] for name in each.columns), current.shape) for each in held)
    if not tables or not 0.0 < found.records < math.inf:
        raise DocumentError("--start: the earlier release has no table of the columns that are asked for; leave it out")
    return EarlierTables(sha256=found.release, records=found.records, tables=tables)


def _evidence(table: _Table, axes: tuple[int, ...], shape: tuple[int, ...]) -> LinearMeasurement:
    """A table as a fit takes it: axes by their sizes. DocumentError unless it has one number for each cell."""
    sizes = [shape[axis] for axis in axes]
    whole = bool(axes) and len(set(axes)) == len(axes) and len(table.cells) == math.prod(sizes)
    if not whole or not all(map(math.isfinite, table.cells)) or not 0.0 < table.deviation < math.inf:
        raise DocumentError("--start: holds a table that does not fit its domain; take it from the release again")
    order = sorted(range(len(axes)), key=lambda place: (sizes[place], axes[place]))
    values = np.array(table.cells).reshape(sizes).transpose(order)
    ordered = tuple(axes[place] for place in order)
    return LinearMeasurement(key=ordered, axes=ordered, values=values, deviation=table.deviation)


def _columns(domain: Any) -> Mapping[str, Any]:
    """By name, of either form of a domain."""
    if not isinstance(domain, dict):
        return {}
    fields = domain.get("fields")
    if not isinstance(fields, list):
        return domain
    return {str(each.get("name")): each for each in fields if isinstance(each, dict)}


def _cut(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


# An earlier release that a release starts from: its tables, and what the plan says of them.


def started_from(request: PlanRequest, document: QueriesDocument) -> EarlierTables | None:
    """The earlier tables of the columns that are asked for; None: the release starts from nothing.

    Raises:
        DocumentError: they are of another domain, or of none of these columns.
    """
    if request.start is None:
        return None
    return read_start(request.start, plain(document.sources.domain), document.domain)


def require_started(plan: Plan) -> None:
    """UsageFault where the plan fits no model that earlier tables could enter."""
    if plan.problem.start is None:
        return
    update = plan.roles.update
    if plan.schedule.name != SCHEDULE or not isinstance(update, StartedRule) or not update.takes_start(plan.problem):
        raise UsageFault(
            f"--start: --schedule {plan.schedule.name} fits no model that earlier tables could enter; leave --start "
            f"out, or add --schedule {SCHEDULE}"
        )


def start_notes(problem: Problem) -> tuple[str, ...]:
    """What plan and record say of the earlier release."""
    if problem.start is None:
        return ()
    return (
        f"starts from the tables of release {problem.start.sha256[:12]}, a public document, as weak evidence: this "
        "costs nothing, and how far they count follows from what this release measures",
    )


SCHEDULE = "marginals"
"""The schedule that searches by what the model does not answer yet."""
