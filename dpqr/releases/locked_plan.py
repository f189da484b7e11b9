"""Locked plans: a plan that was written to a file to be reviewed, and the run that follows it or is refused.

The file is the document of a release's plan (`plan_document`), with what was forecast beside it, of a plan of
predictions (`prediction_plan_document`), or of what is learned alone (`learning_document`), under one SHA-256. A run
that follows it is planned again from the documents and options that it holds, with this version of dpqr and under the
budget's policy of today. Whatever is public and would differ refuses the run before a table is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from math import isclose
from pathlib import Path
from typing import Any

from dpqr.domain.text.decoding import describe_value
from dpqr.domain.text.faults import member
from dpqr.domain.text.sources import states_domain
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.kernel.values import field_names, replace
from dpqr.releases.files.atomic import SingleFile, document_text, read_record, reserve_file, write_text
from dpqr.releases.files.release_files import file_hash
from dpqr.releases.journal import TUNED_ELSEWHERE
from dpqr.releases.reading import LEARNED_DOMAIN, parse_release_request
from dpqr.releases.record.parts import LEARNING_PLAN_FORMAT, PREDICTION_PLAN_FORMAT
from dpqr.releases.record.plan_document import PLAN_FORMAT, SEAL, plan_document, seal_document
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.strategies.plan import Plan
from dpqr.strategies.problem import LockedPlan, PublicInputs
from dpqr.tables.limits import Limits
from dpqr.tables.source import TableSource

UNCOMPARED_KEYS = ("notes", SEAL)
"""Parts that are not compared: sentences, which name the files of the day, and the seal, which covers them."""
READING_OPTIONS = ("delimiter", "encoding", "count_column")
POLICY = ("cells", "columns")
"""Limits that a locked plan states where a ledger pays; the others are the policy's."""
WRITTEN_BY = {
    PLAN_FORMAT: "`dpqr plan --out FILE`",
    PREDICTION_PLAN_FORMAT: "`dpqr predict --lock FILE`",
    LEARNING_PLAN_FORMAT: "`dpqr domain --learn COLUMN --lock FILE`",
}
SESSION = "`dpqr interactive open NAME --lock FILE`"
USE = {PLAN_FORMAT: "released", PREDICTION_PLAN_FORMAT: "predicted by", LEARNING_PLAN_FORMAT: "learned by"}
FORECAST = "expected"
"""What `dpqr plan` adds to a release's plan; the hash covers it, and it is simulated, not compared."""
NOTHING = "nothing"
_ABSENT = object()


def plan_file(given: str, option: str = "--out") -> SingleFile:
    """A place for a new plan. option: that named it. Raises: AlreadyThere, UsageFault."""
    return reserve_file(given, option=option)


def save_plan(plan: Plan, target: SingleFile, parts: Mapping[str, Any] | None = None) -> str:
    """Write a plan to be reviewed; its SHA-256.

    Args:
        parts: what else stands in the document, such as a forecast; covered by the hash, and compared with nothing.

    Files of coefficients that the queries name are written beside it, under the names that the document gives them.
    """
    return save_document(seal_document(plan_document(plan) | dict(parts or {})), plan.inputs, target)


def save_document(document: dict[str, object], inputs: PublicInputs | None, target: SingleFile) -> str:
    """Write a plan's document, and the files of coefficients that its queries name beside it. Its SHA-256."""
    for name, content in (inputs.files if inputs else {}).items():
        if name != LEARNED_DOMAIN:  # the request in the document holds it
            _write_once(target, name, content)
    target.write(lambda place: write_text(place, document_text(document)))
    return str(document[SEAL])


def _write_once(target: SingleFile, name: str, content: bytes) -> None:
    """Write a file of coefficients, unless it is there. Its name is the hash of its content."""
    given = str(target.path.with_name(name))
    if not os.path.isfile(given) or os.path.islink(given) or file_hash(Path(given)) != Path(name).stem:

        def fill(place: Path) -> None:
            place.write_bytes(content)

        reserve_file(given, option=target.option).write(fill)


def read_plan(path: str, form: str = PLAN_FORMAT) -> LockedPlan:
    """A plan that was written to a file. form: of its document.

    Raises: UsageFault where it cannot be read; DocumentError where it is no such plan, or not as it was written.
    """
    place, again = Path(path), WRITTEN_BY[form]
    try:
        document = read_record(place.parent, place.name)
        whole = isinstance(document, dict) and document.get("dpqr") == form and document.get("request")
    except OSError as error:
        raise UsageFault(f"--plan {path}: cannot be read ({error.strerror}); {again} writes it") from None
    except ValueError:
        whole = False
    if not whole:
        raise DocumentError(f"{path}: is no plan that can be {USE[form]}; write one with {again}")
    if document.get(SEAL) != seal_document(document)[SEAL]:
        raise DocumentError(
            f"{path}: was edited or is damaged: its sha256 is not that of its content; restore it, or plan anew"
        )
    return LockedPlan(name=path, document=document)


def plan_format(path: str) -> str:
    """Of which form the document of a plan is, as far as its first key tells; empty where it cannot be read."""
    with suppress(OSError, ValueError, AttributeError):
        return str(read_record(Path(path).parent, Path(path).name).get("dpqr"))
    return ""


def following(request: ReleaseRequest, path: str, *, opened: bool = True) -> ReleaseRequest:
    """A request with all that the locked plan in `path` states; what it states itself stays, and is compared.

    opened: the request names the table that will be read; an approval names none, and takes the plan's word. How the
    table is read is the policy's to say where a ledger pays. Raises: UsageFault, DocumentError.
    """
    locked = read_plan(path)
    base = parse_release_request(locked.document["request"], request.source, Path(path).parent)
    given = unusual_fields(request.plan, PlanRequest())
    if "queries" in given and "domain" not in given and states_domain(given["queries"]):
        given["domain"] = None
    source = source_of_plan(request.source, base.source, paid=request.payer is not None, opened=opened)
    limits = limits_of_plan(request.limits, base.limits, paid=request.payer is not None)
    plan = replace(base.plan, **given)
    return replace(request, plan=plan, source=source, limits=limits, notes=base.notes, locked=locked)


def source_of_plan(given: TableSource, base: TableSource, *, paid: bool, opened: bool) -> TableSource:
    """How the table is read: as the request states it, else as the plan does, where no ledger's policy says it."""
    usual = TableSource.unnamed()
    read = {} if paid else unusual_fields(base, usual, READING_OPTIONS)
    read |= {} if opened else {"public": base.public}
    return replace(given, **read | unusual_fields(given, usual, READING_OPTIONS))


def limits_of_plan(given: Limits, base: Limits, *, paid: bool) -> Limits:
    """The limits that the request states, else those of the plan, where no ledger's policy says them."""
    limits = unusual_fields(base, Limits(), POLICY if paid else None)
    return replace(Limits(), **limits | unusual_fields(given, Limits()))


def unusual_fields(given: Any, usual: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The fields of a value that are not as usual."""
    known = field_names(usual) if names is None else names
    return {name: getattr(given, name) for name in known if getattr(given, name) != getattr(usual, name)}


def require_unchanged(locked: LockedPlan, now: Mapping[str, Any]) -> None:
    """DocumentError unless a locked plan is what would be planned now: `now` is its document."""
    for name in locked.document:
        if name not in now and (name != FORECAST or now["dpqr"] != PLAN_FORMAT):
            raise _unknown_key_fault(locked, _how_to_lock_again(now), member("$", name))
    parts = ["version", "request", *now]
    for name in parts:
        if name in UNCOMPARED_KEYS:
            continue
        found = next(differences(locked.document.get(name), now[name], f"$.{name}"), None)
        if found and found[2] == NOTHING and name != "request":
            raise _unknown_key_fault(locked, _how_to_lock_again(now), found[0])
        if found:
            path, old, new = found
            tuned = f"; {TUNED_ELSEWHERE}" if path == "$.draws" else ""
            raise DocumentError(
                f"{locked.name}: {path} is {old} in the plan, and would be {new} now; nothing was opened{tuned}\n"
                f"restore what was planned, or write a new plan with {_how_to_lock_again(now)} and have it reviewed"
            )


def _how_to_lock_again(now: Mapping[str, Any]) -> str:
    """The command that writes such a plan anew."""
    return SESSION if now["dpqr"] == PLAN_FORMAT and "surprises" in now["schedule"] else WRITTEN_BY[now["dpqr"]]


def require_same_notes(locked: LockedPlan, now: Mapping[str, Any]) -> None:
    """DocumentError unless a locked plan has the notes of the plan that would be made now: a person reads them."""
    kept, made = list(locked.document["notes"]), list(now["notes"])
    if kept == made:
        return
    lacking = next((note for note in made if note not in kept), None)
    said = "order" if lacking is None else f"it does not say this, which holds now: {lacking}"
    said = "it says what the plan made again does not" if set(kept) - set(made) and lacking is None else said
    raise DocumentError(
        f"{locked.name}: $.notes are not those of the plan made again: {said}\n"
        f"write a new plan with {_how_to_lock_again(now)} for the same dataset, and have it reviewed"
    )


FORECAST_KEYS: Mapping[str, Any] = {
    **dict.fromkeys(("epsilon", "schedule", "records", "basis", "tables", "runs", "notes")),
    **{name: dict.fromkeys(("mean", "deviation")) for name in ("error", "l1_over_n")},
    "blocks": {"name": None, "answers": None, "error": dict.fromkeys(("mean", "deviation")), "l1_over_n": None},
    "figures": {**dict.fromkeys(("name", "kind", "values")), "error": dict.fromkeys(("mean", "deviation"))},
    "persons": {**dict.fromkeys(("name", "answers")), "error": dict.fromkeys(("mean", "deviation"))},
    "left_out": dict.fromkeys(("share", "deviation", "error", "l1_over_n")),
    "within": {"distance": None, "queries": dict.fromkeys(("name", "answers", "share", "counts"))},
}
"""The keys of a forecast, nested as they are; those of each of a list's members."""


def require_forecast(locked: LockedPlan) -> None:
    """DocumentError for a key in the forecast of a locked plan that no forecast has."""
    for path in unknown_keys(locked.document.get(FORECAST), FORECAST_KEYS, f"$.{FORECAST}"):
        raise _unknown_key_fault(locked, WRITTEN_BY[PLAN_FORMAT], path)


def unknown_keys(value: Any, known: Mapping[str, Any] | None, path: str) -> Iterator[str]:
    """The paths of keys that are not known, in JSON of any form."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from unknown_keys(each, known, member(path, index))
    elif isinstance(value, dict):
        for key, each in value.items():
            at = member(path, key)
            yield from unknown_keys(each, known[key], at) if known and key in known else (at,)


def require_noted(locked: LockedPlan, notes: Sequence[str]) -> None:
    """DocumentError unless a locked plan says what the ledger says of its periods, and of what it corrects."""
    for note in notes:
        if note not in locked.document["notes"]:
            raise DocumentError(
                f"{locked.name}: does not say this, which holds now: {note}\n"
                "write a new plan with `dpqr plan --dataset NAME --out FILE` and have it reviewed"
            )


def differences(old: Any, new: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """Where two JSON values differ: the path, and both values in words."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from differences(old.get(key, _ABSENT), new.get(key, _ABSENT), member(path, key))
    elif isinstance(old, list | tuple) and isinstance(new, list | tuple):
        for index, (one, other) in enumerate(zip_longest(old, new, fillvalue=_ABSENT)):
            yield from differences(one, other, member(path, index))
    elif isinstance(old, float) and isinstance(new, float) and isclose(old, new, rel_tol=1e-6):
        return  # forecasts in floating point; what is charged is exact text
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):
        yield path, _words(old), _words(new)


def _words(value: Any) -> str:
    return NOTHING if value is _ABSENT else describe_value(value)


def _unknown_key_fault(locked: LockedPlan, again: str, path: str) -> DocumentError:
    """Of a key that a plan has not, or not there. What stands under it may be anything, and is not repeated."""
    return DocumentError(
        f"{locked.name}: {path} is no part of the plan that would be made now; nothing was opened\n"
        f"take it out, or write a new plan with {again} and have it reviewed"
    )
