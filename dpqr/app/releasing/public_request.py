"""Public request: all that is public and decides a release, as plain JSON, and the request that it stands for.

    documents   queries and domain, as they were parsed (`dpqr.io.documents.sources`)
    options     every field of `PlanRequest` but the documents
    reading     how the table is read: delimiter, encoding and limits, after the budget's policy; of an engine's table
                what is public of its address, and the digest of the source that the budget's owner registered
    notes       what the plan says of the request itself

A file, the payer and the output are no part of it: they decide no draw and no price. Of predictions the points are
none either; how many they are is an option.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from dpqr.app.releasing.reading import Reading
from dpqr.app.requests import PlanRequest, PredictionPlanRequest, PredictionRequest, ReleaseRequest
from dpqr.errors import DocumentError
from dpqr.io.documents.domains.domain import public_domain
from dpqr.io.documents.entries.queries import QueriesDocument
from dpqr.io.documents.sources import parsed, public_documents
from dpqr.io.documents.text.json_text import MAX_FILE_BYTES, read_regular_file
from dpqr.io.outputs.releases.start_file import start_name
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableSource
from dpqr.strategies.inputs import PublicInputs

Planned = TypeVar("Planned", PlanRequest, PredictionPlanRequest)
DOCUMENTS = ("queries", "domain")
FIGURES = (
    *("epsilon", "delta", "alpha", "beta", "count_dropped", "error_bars", "certify"),
    *("penalty", "radius", "smoothness", "tune", "tau", "theta", "bandwidth", "target_error"),
)
"""Options whose value is decimal text, or one of WORDS."""
WORDS = ("free", "none")
LATER = ("period", "cumulative", "first", "session", "start", "surprises", "questions")
"""Options that requests of earlier versions do not state, and no request that does without them."""
LIMITS = tuple(each.name for each in fields(Limits))


def public_inputs(request: ReleaseRequest, held: Reading, document: QueriesDocument) -> PublicInputs:
    """What the record keeps of a request. held: how its table is read. document: what its documents say.

    Raises: UsageFault, DocumentError where a file of coefficients has vanished, or a value is none of JSON.
    """
    found = public_documents(document.sources)
    documents = {"dpqr": "request/1", "queries": found.queries, "domain": found.domain}
    start = request.plan.start
    files = {**found.files, **({} if start is None else {start_name(start): start})}
    return PublicInputs(request=documents | _options(request.plan, held, request.notes), files=files)


def with_spoken(notes: tuple[str, ...], document: QueriesDocument) -> tuple[str, ...]:
    """What a plan says of its request: also what its documents alone would not say again, as the request keeps them."""
    return tuple(dict.fromkeys((*notes, *document.spoken)))


def prediction_inputs(request: PredictionRequest, held: Reading) -> PublicInputs:
    """The same of predictions."""
    documents = {"dpqr": "prediction-request/1", "domain": public_domain(request.plan.domain or "")}
    return PublicInputs(request=documents | _options(request.plan, held, request.notes))


def _options(plan: PlanRequest | PredictionPlanRequest, held: Reading, notes: tuple[str, ...]) -> dict[str, Any]:
    limits = {name: getattr(held.limits, name) for name in LIMITS}
    stated = {"table": held.source.public, "source": held.source.digest}
    public = {name: value for name, value in stated.items() if value is not None}
    options = {name: _option(name, getattr(plan, name)) for name in _names(type(plan))}
    return {
        "options": {name: value for name, value in options.items() if name not in LATER or value is not None},
        "reading": {"delimiter": held.source.delimiter, "encoding": held.source.encoding, "limits": limits} | public,
        "notes": list(notes),
    }


def _names(plan: type[PlanRequest | PredictionPlanRequest]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(plan) if each.name not in DOCUMENTS)


def _option(name: str, value: object) -> Any:
    """An option as plain JSON: figures of the same value have the same text, and a delta of 0 is none."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, bytes):
        return start_name(value)
    if name not in FIGURES or not isinstance(value, str) or value in WORDS:
        return value
    exact = Decimal(value.strip())
    return None if name == "delta" and not exact else str(exact.normalize())


class _Reading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    delimiter: str | None
    encoding: str | None
    limits: Limits
    table: str | None = None
    source: str | None = None


class _Stated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    domain: dict[str, Any]
    options: dict[str, Any]
    reading: _Reading
    notes: tuple[str, ...]


class _Request(_Stated, frozen=True, forbid_unknown_fields=True):
    dpqr: Literal["request/1"]
    queries: dict[str, Any]


class _Prediction(_Stated, frozen=True, forbid_unknown_fields=True):
    dpqr: Literal["prediction-request/1"]


def stated_request(document: Any, table: TableSource, folder: Path) -> ReleaseRequest:
    """The release that a public request stands for.

    Args:
        document: its plain JSON, as a plan or a record holds it; anybody may have written it.
        table: the private table; how it is read is the request's to say.
        folder: where its files lie, of coefficients and the start file, under the names that the request gives them.

    Raises: DocumentError where this version of dpqr does not know such a request.
    """
    with _known():
        found = msgspec.convert(document, _Request)
        files = {"queries": _placed(parsed(found.queries), folder), "start": _start(found.options, folder)}
        plan = _plan(PlanRequest, found, **files)
    return ReleaseRequest(
        source=_source(found, table, plan.counts), plan=plan, limits=found.reading.limits, notes=found.notes
    )


def stated_prediction(document: Any, table: TableSource) -> PredictionRequest:
    """The prediction run that a public request stands for, without its points; as `stated_request`."""
    with _known():
        found = msgspec.convert(document, _Prediction)
        plan = _plan(PredictionPlanRequest, found)
    return PredictionRequest(
        table=_source(found, table, plan.counts), plan=plan, limits=found.reading.limits, notes=found.notes
    )


@contextmanager
def _known() -> Iterator[None]:
    try:
        yield
    except msgspec.ValidationError as error:
        raise DocumentError(f"is no request that this version of dpqr can read ({error})") from None


def _plan(form: type[Planned], found: _Stated, **documents: Any) -> Planned:
    unknown = set(found.options) - set(_names(form))
    if unknown:
        raise msgspec.ValidationError(f"Unknown option `{min(unknown)}`")
    return msgspec.convert(found.options | {"domain": parsed(found.domain)} | documents, form)


def _start(options: Mapping[str, Any], folder: Path) -> bytes | None:
    """The start file that a request names; None: it names none. DocumentError where it is not what it is named by."""
    name = options.get("start")
    if name is None:
        return None
    content = read_regular_file(folder / Path(str(name)).name, MAX_FILE_BYTES)
    if start_name(content) != name:
        raise DocumentError(f"{folder / str(name)}: is not the start file that it is named as; restore it")
    return content


def _source(found: _Stated, table: TableSource, counts: str | None) -> TableSource:
    read = found.reading
    table = replace(table, public=read.table, digest=read.source)
    return replace(table, delimiter=read.delimiter, encoding=read.encoding, count_column=counts)


def _placed(queries: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The queries, their files of coefficients named by where they lie."""
    entries = queries.get("queries")
    placed = [
        {**each, "coefficients": str(folder / each["coefficients"])}
        if isinstance(each, dict) and isinstance(each.get("coefficients"), str)
        else each
        for each in (entries if isinstance(entries, list) else ())
    ]
    return {"queries": placed}
