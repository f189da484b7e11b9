"""Reading: which private table is read, and how, as the request states it and the budget's policy allows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from dpqr.domain.attribute import Rule
from dpqr.domain.domain import Domain, failing_attributes
from dpqr.domain.domain_file import domain_text, public_domain
from dpqr.domain.text.documents import MAX_FILE_BYTES, read_regular_file
from dpqr.domain.text.sources import parse_plain, public_documents
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import BudgetRefused, DocumentError, UsageFault
from dpqr.kernel.values import field_names, replace
from dpqr.ledger.codec import JSON
from dpqr.ledger.ledger import DEFAULT, BudgetTerms
from dpqr.releases.requests import LedgerRequest, PlanRequest, PredictionPlanRequest, PredictionRequest, ReleaseRequest
from dpqr.releases.start import start_name
from dpqr.strategies.problem import PublicInputs
from dpqr.tables.engines.address import is_query
from dpqr.tables.engines.known import engine_of, is_source, registered_address
from dpqr.tables.limits import Limits
from dpqr.tables.policy import OWNER_VOUCHES, Policy, resolve_policy, uncovered_bits
from dpqr.tables.source import TableSource
from dpqr.workload.queries_file import QueriesDocument

_DEFAULTS = Limits()
SQUARED = ("zcdp", "gdp")
"""The accountants of budgets in rho and in mu^2."""
OTHER_TABLE_REFUSED = (
    "the table is not the source that the budget's owner registered, and nothing was opened\n"
    "leave the table out, for the dataset names it; `dpqr budget show` prints the source"
)
"""Refusal of every other table, whatever it is."""
UNREGISTERED = (
    "the budget is bound to no engine's table, and nothing was opened\n"
    "its owner registers one: dpqr budget policy NAME --source ADDRESS"
)
NO_TABLE_NAMED = (
    "DATA names the private table: a CSV or Parquet file, a directory of them, or - for CSV on stdin\n"
    "it may be left out where the budget's owner has registered one: dpqr budget policy NAME --source ADDRESS"
)
TABLE_FROM_MEMORY = (
    "the table is one that the caller has passed in Python: what it holds is the caller's word, and no source that the "
    "budget's owner registered"
)


class TableReading(Struct, frozen=True, kw_only=True):
    """What holds for a run.

    source, limits: of the table. policy: the budget's, which the reservation is held against. bits: one sentence for
    each stated limit, which the exit code reveals; rules `fail` are named column by column elsewhere.
    """

    source: TableSource
    limits: Limits
    policy: Policy = DEFAULT
    bits: tuple[str, ...] = ()


def resolve_source(source: TableSource, payer: LedgerRequest | None) -> TableSource:
    """The table that the budget's owner has registered, or else the one that the request names.

    Raises:
        BudgetRefused: an engine's table that is not registered, or any other table where one is.

    Privacy:
        A function of the request and the ledger; nothing is opened, and no engine is connected. Who chooses an engine's
        place, table or query chooses when and on what a foreign program runs, so no requester does. A table that a
        caller passes in Python is no such choice: that program holds the rows already, and whatever it wants to learn
        of them it can compute. So it is taken where no source is registered, and named (`TABLE_FROM_MEMORY`).
    """
    if payer is None:
        return source
    source_of_owner = _terms(payer).policy.source
    if source_of_owner is None:
        # A request may name an engine's table, or follow a plan that was made for one.
        of_engine = source.engine is not None and bool(source.paths) if source.named else source.public is not None
        if of_engine:
            raise BudgetRefused(UNREGISTERED)
        return source
    if source.named and not (len(source.paths) == 1 and is_source(source.paths[0], source_of_owner)):
        raise BudgetRefused(OTHER_TABLE_REFUSED)
    if source.delimiter is not None or source.encoding is not None:
        raise UsageFault("--delimiter and --encoding are about CSV files, and the registered source is none")
    address = registered_address(source_of_owner)
    return replace(source, paths=(address.text,), engine=engine_of(address), named=True, digest=source_of_owner.digest)


def require_source(source: TableSource) -> None:
    """UsageFault for a run whose table neither the request names nor the budget's owner."""
    if not source.named:
        raise UsageFault(NO_TABLE_NAMED)


def resolve_reading(
    source: TableSource, limits: Limits, domain: Domain, payer: LedgerRequest | None, *, locked: bool = False
) -> TableReading:
    """How the table will be read.

    Args:
        locked: the run follows a plan that was written before a table was named, and repeats its notes.

    Raises:
        BudgetRefused: the request states otherwise than the budget's owner.

    Privacy:
        A function of the request and the ledger; the table is not looked at. Without a ledger nobody's choice is
        bounded: every stated limit is one bit that the guarantee does not cover, and is named.
    """
    if payer is None:
        free = _explicit_policy(replace(source, count_column=None), limits, domain)  # which may have any name
        return TableReading(source=source, limits=limits, bits=(*_bits(free), *_of_source(source)))
    stated = _explicit_policy(source, limits, domain)
    policy = _terms(payer).policy
    held = resolve_policy(policy, stated)
    return TableReading(
        source=replace(source, delimiter=held.delimiter, encoding=held.encoding, count_column=held.counts),
        limits=replace(
            limits,
            records=held.records or _DEFAULTS.records,
            bytes=held.bytes or _DEFAULTS.bytes,
            memory=held.memory or _DEFAULTS.memory,
        ),
        policy=policy,
        bits=(*_bits(held), *_of_source(source), *(() if locked or source.paths else (TABLE_FROM_MEMORY,))),
    )


def _of_source(source: TableSource) -> tuple[str, ...]:
    """What is said of a registered source, and of the queries that plans before dpqr 0.11 could hold.

    A function of what the plan's request holds, so that a check of a record finds the same.
    """
    if source.digest is not None:
        words = " ".join((source.public or "").split())
        return (f"the table is the source that the budget's owner registered; {OWNER_VOUCHES}: {words}",)
    if not is_query(source.public):
        return ()
    return (
        "warning: the table is the result of a query: the guarantee protects rows of that result, and who is in the "
        "tables behind it only if each of their rows makes at most one row of it",
    )


def count_column(source: TableSource, payer: LedgerRequest | None) -> str | None:
    """The count column that the request states, or else the policy's; `resolve_reading` says whether it may."""
    if payer is None or source.count_column is not None:
        return source.count_column
    return _terms(payer).policy.counts


def policy_of(payer: LedgerRequest) -> Policy:
    """How the budget's owner lets tables be read."""
    return _terms(payer).policy


def charging_accountant(request: PlanRequest | PredictionPlanRequest, payer: LedgerRequest | None) -> str | None:
    """The accountant that the request names; else the one of a budget that adds up epsilon alone, rho or mu^2, for a
    plan of another may cost more there than one of its own for the same epsilon and delta, or cannot be charged."""
    if payer is None or request.accountant or PrivacyBudget.parse(request.epsilon, request.delta).pure:
        return request.accountant
    terms = _terms(payer)
    return terms.accountant if terms.budget.pure or terms.accountant in SQUARED else None


def _terms(payer: LedgerRequest) -> BudgetTerms:
    """What the budget's owner has fixed. The ledger is imported where there is one."""
    from dpqr.ledger.budgets import configured_ledger

    return configured_ledger(payer.ledger, payer.anchor).account(payer.dataset).terms


def _explicit_policy(source: TableSource, limits: Limits, domain: Domain) -> Policy:
    """A limit that is its default counts as not stated: it means the same."""
    return Policy(
        records=None if limits.records == _DEFAULTS.records else limits.records,
        bytes=None if limits.bytes == _DEFAULTS.bytes else limits.bytes,
        memory=None if limits.memory == _DEFAULTS.memory else limits.memory,
        delimiter=source.delimiter,
        encoding=source.encoding,
        counts=source.count_column,
        fail=domain.malformed is Rule.FAIL or bool(failing_attributes(domain)),
    )


def _bits(held: Policy) -> tuple[str, ...]:
    """Of the limits; rules `fail` are named column by column elsewhere."""
    return tuple(f"warning: {bit}" for bit in uncovered_bits(replace(held, fail=False)))


# Public request: all that is public and decides a release, as plain JSON, and the request that it stands for.
#
#     documents   queries and domain, as they were parsed (`dpqr.domain.text.sources`)
#     options     every field of `PlanRequest` but the documents
#     reading     how the table is read: delimiter, encoding and limits, after the budget's policy; of an engine's table
#                 what is public of its address, and the digest of the source that the budget's owner registered
#     notes       what the plan says of the request itself
#
# A file, the payer and the output are no part of it: they decide no draw and no price. Of predictions the points are
# none either; how many they are is an option.

Planned = TypeVar("Planned", PlanRequest, PredictionPlanRequest)
DOCUMENTS = ("queries", "domain")
LEARNED_DOMAIN = "domain.json"
"""The file of a release that holds its domain, where that was learned."""
FIGURES = (
    *("epsilon", "delta", "alpha", "beta", "count_dropped", "error_bars", "certify"),
    *("penalty", "radius", "smoothness", "tune", "tau", "theta", "bandwidth", "target_error"),
)
"""Options whose value is decimal text, or one of WORDS."""
WORDS = ("free", "none")
ADDED_OPTIONS = (
    *("per", "period", "cumulative", "first", "session", "start", "surprises", "questions"),
    "max_rows_per_cell",
)
"""Options that requests of earlier versions do not state, and no request that does without them."""
LIMITS = Limits.__struct_fields__


def public_inputs(request: ReleaseRequest, held: TableReading, document: QueriesDocument) -> PublicInputs:
    """What the record keeps of a request. held: how its table is read. document: what its documents say.

    Raises: UsageFault, DocumentError where a file of coefficients has vanished, or a value is none of JSON.
    """
    found = public_documents(document.sources)
    documents = {"dpqr": "request/1", "queries": found.queries, "domain": found.domain}
    start = request.plan.start
    files = {**found.files, **({} if start is None else {start_name(start): start})}
    if document.domain.learned is not None and document.sources.domain is not None:
        # Later runs may ask over what was learned.
        files[LEARNED_DOMAIN] = f"{domain_text(document.sources.domain)}\n".encode()
    return PublicInputs(request=documents | _options(request.plan, held, request.notes), files=files)


def with_document_notes(notes: tuple[str, ...], document: QueriesDocument) -> tuple[str, ...]:
    """What a plan says of its request: also what its documents alone would not say again, as the request keeps them."""
    return tuple(dict.fromkeys((*notes, *document.spoken)))


def prediction_inputs(request: PredictionRequest, held: TableReading) -> PublicInputs:
    """The same of predictions."""
    documents = {"dpqr": "prediction-request/1", "domain": public_domain(request.plan.domain or "")}
    return PublicInputs(request=documents | _options(request.plan, held, request.notes))


def _options(plan: PlanRequest | PredictionPlanRequest, held: TableReading, notes: tuple[str, ...]) -> JSON:
    options = {name: _option(name, getattr(plan, name)) for name in _names(type(plan))}
    return {
        "options": {name: value for name, value in options.items() if name not in ADDED_OPTIONS or value is not None},
        "reading": reading_part(held),
        "notes": list(notes),
    }


def reading_part(held: TableReading) -> JSON:
    """How the table is read, as a public request holds it."""
    limits = {name: getattr(held.limits, name) for name in LIMITS}
    stated = {"table": held.source.public, "source": held.source.digest}
    public = {name: value for name, value in stated.items() if value is not None}
    return {"delimiter": held.source.delimiter, "encoding": held.source.encoding, "limits": limits} | public


def _names(plan: type[PlanRequest | PredictionPlanRequest]) -> tuple[str, ...]:
    return tuple(name for name in field_names(plan) if name not in DOCUMENTS)


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


class ReadingForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The inverse of `reading_part`."""

    delimiter: str | None
    encoding: str | None
    limits: Limits
    table: str | None = None
    source: str | None = None

    def of(self, table: TableSource, counts: str | None = None) -> TableSource:
        """The table, read so."""
        table = replace(table, public=self.table, digest=self.source)
        return replace(table, delimiter=self.delimiter, encoding=self.encoding, count_column=counts)


class _PublicRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    domain: JSON
    options: JSON
    reading: ReadingForm
    notes: tuple[str, ...]


class _Request(_PublicRequest, frozen=True, forbid_unknown_fields=True):
    dpqr: Literal["request/1"]
    queries: JSON


class _Prediction(_PublicRequest, frozen=True, forbid_unknown_fields=True):
    dpqr: Literal["prediction-request/1"]


def parse_release_request(document: Any, table: TableSource, folder: Path) -> ReleaseRequest:
    """The release that a public request stands for.

    Args:
        document: its plain JSON, as a plan or a record holds it; anybody may have written it.
        table: the private table; how it is read is the request's to say.
        folder: where its files lie, of coefficients and the start file, under the names that the request gives them.

    Raises: DocumentError where this version of dpqr does not know such a request.
    """
    with refuse_unknown():
        found = msgspec.convert(document, _Request)
        # The queries, their files of coefficients named by where they lie.
        queries = parse_plain(found.queries)
        entries = queries.get("queries")
        placed = [
            {**each, "coefficients": str(folder / each["coefficients"])}
            if isinstance(each, dict) and isinstance(each.get("coefficients"), str)
            else each
            for each in (entries if isinstance(entries, list) else ())
        ]
        files = {"queries": {"queries": placed}, "start": _start(found.options, folder)}
        plan = _plan(PlanRequest, found, **files)
    return ReleaseRequest(
        source=found.reading.of(table, plan.counts), plan=plan, limits=found.reading.limits, notes=found.notes
    )


def parse_prediction_request(document: Any, table: TableSource) -> PredictionRequest:
    """The prediction run that a public request stands for, without its points; as `parse_release_request`."""
    with refuse_unknown():
        found = msgspec.convert(document, _Prediction)
        plan = _plan(PredictionPlanRequest, found)
    return PredictionRequest(
        table=found.reading.of(table, plan.counts), plan=plan, limits=found.reading.limits, notes=found.notes
    )


@contextmanager
def refuse_unknown() -> Iterator[None]:
    """DocumentError in the place of a ValidationError."""
    try:
        yield
    except msgspec.ValidationError as error:
        raise DocumentError(f"is no request that this version of dpqr can read ({error})") from None


def _plan(form: type[Planned], found: _PublicRequest, **documents: Any) -> Planned:
    unknown = set(found.options) - set(_names(form))
    if unknown:
        raise msgspec.ValidationError(f"Unknown option `{min(unknown)}`")
    return msgspec.convert(found.options | {"domain": parse_plain(found.domain)} | documents, form)


def _start(options: Mapping[str, Any], folder: Path) -> bytes | None:
    """The start file that a request names; None: it names none. DocumentError where it is not what it is named by."""
    name = options.get("start")
    if name is None:
        return None
    content = read_regular_file(folder / Path(str(name)).name, MAX_FILE_BYTES)
    if start_name(content) != name:
        raise DocumentError(f"{folder / str(name)}: is not the start file that it is named as; restore it")
    return content
