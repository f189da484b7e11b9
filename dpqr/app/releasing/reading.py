"""Reading: which private table is read, and how, as the request states it and the budget's policy allows it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpqr.app.paying.budget import configured_ledger
from dpqr.app.requests import LedgerRequest, PlanRequest, PredictionPlanRequest
from dpqr.data.attribute import Rule
from dpqr.data.domain import Domain, failing_attributes
from dpqr.errors import BudgetRefused, UsageFault
from dpqr.io.engines.address import is_query
from dpqr.io.engines.known import engine_of, is_source, registered_address
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableSource
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.ledger import DEFAULT
from dpqr.privacy.policy import VOUCHED, Policy, resolved, uncovered_bits

_DEFAULTS = Limits()
SQUARED = ("zcdp", "gdp")
"""The accountants of budgets in rho and in mu^2."""
OTHER = (
    "the table is not the source that the budget's owner registered, and nothing was opened\n"
    "leave the table out, for the dataset names it; `dpqr budget show` prints the source"
)
"""Refusal of every other table, whatever it is."""
UNREGISTERED = (
    "the budget is bound to no engine's table, and nothing was opened\n"
    "its owner registers one: dpqr budget policy NAME --source ADDRESS"
)
UNNAMED = (
    "DATA names the private table: a CSV or Parquet file, a directory of them, or - for CSV on stdin\n"
    "it may be left out where the budget's owner has registered one: dpqr budget policy NAME --source ADDRESS"
)
PASSED = (
    "the table is one that the caller has passed in Python: what it holds is the caller's word, and no source that the "
    "budget's owner registered"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What holds for a run.

    source, limits: of the table. policy: the budget's, which the reservation is held against. bits: one sentence for
    each stated limit, which the exit code reveals; rules `fail` are named column by column elsewhere.
    """

    source: TableSource
    limits: Limits
    policy: Policy = DEFAULT
    bits: tuple[str, ...] = ()


def bound(source: TableSource, payer: LedgerRequest | None) -> TableSource:
    """The table that the budget's owner has registered, or else the one that the request names.

    Raises:
        BudgetRefused: an engine's table that is not registered, or any other table where one is.

    Privacy:
        A function of the request and the ledger; nothing is opened, and no engine is connected. Who chooses an engine's
        place, table or query chooses when and on what a foreign program runs, so no requester does. A table that a
        caller passes in Python is no such choice: that program holds the rows already, and whatever it wants to learn
        of them it can compute. So it is taken where no source is registered, and named (`PASSED`).
    """
    if payer is None:
        return source
    source_of_owner = _policy(payer).source
    if source_of_owner is None:
        if _of_engine(source):
            raise BudgetRefused(UNREGISTERED)
        return source
    if source.named and not (len(source.paths) == 1 and is_source(source.paths[0], source_of_owner)):
        raise BudgetRefused(OTHER)
    if source.delimiter is not None or source.encoding is not None:
        raise UsageFault("--delimiter and --encoding are about CSV files, and the registered source is none")
    address = registered_address(source_of_owner)
    return replace(source, paths=(address.text,), engine=engine_of(address), named=True, digest=source_of_owner.digest)


def _of_engine(source: TableSource) -> bool:
    """Whether a request names an engine's table, or follows a plan that was made for one."""
    return source.public is not None if not source.named else source.engine is not None and bool(source.paths)


def require_named(source: TableSource) -> None:
    """UsageFault for a run whose table neither the request names nor the budget's owner."""
    if not source.named:
        raise UsageFault(UNNAMED)


def reading(
    source: TableSource, limits: Limits, domain: Domain, payer: LedgerRequest | None, *, locked: bool = False
) -> Reading:
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
        free = _stated(replace(source, count_column=None), limits, domain)  # which may have any name
        return Reading(source=source, limits=limits, bits=(*_bits(free), *_of_source(source)))
    stated = _stated(source, limits, domain)
    policy = _policy(payer)
    held = resolved(policy, stated)
    return Reading(
        source=replace(source, delimiter=held.delimiter, encoding=held.encoding, count_column=held.counts),
        limits=replace(
            limits,
            records=held.records or _DEFAULTS.records,
            bytes=held.bytes or _DEFAULTS.bytes,
            memory=held.memory or _DEFAULTS.memory,
        ),
        policy=policy,
        bits=(*_bits(held), *_of_source(source), *(() if locked else _passed(source))),
    )


def _of_source(source: TableSource) -> tuple[str, ...]:
    """What is said of a registered source, and of the queries that plans before dpqr 0.11 could hold.

    A function of what the plan's request holds, so that a check of a record finds the same.
    """
    if source.digest is not None:
        words = " ".join((source.public or "").split())
        return (f"the table is the source that the budget's owner registered; {VOUCHED}: {words}",)
    if not is_query(source.public):
        return ()
    return (
        "warning: the table is the result of a query: the guarantee protects rows of that result, and who is in the "
        "tables behind it only if each of their rows makes at most one row of it",
    )


def _passed(source: TableSource) -> tuple[str, ...]:
    return () if source.paths else (PASSED,)


def count_column(source: TableSource, payer: LedgerRequest | None) -> str | None:
    """The count column that the request states, or else the policy's; whether it may be stated, `reading` says."""
    if payer is None or source.count_column is not None:
        return source.count_column
    return _policy(payer).counts


def charging(request: PlanRequest | PredictionPlanRequest, payer: LedgerRequest | None) -> str | None:
    """The accountant that the request names; else the one of a budget that adds up epsilon alone, rho or mu^2, for a
    plan of another may cost more there than one of its own for the same epsilon and delta, or cannot be charged."""
    if payer is None or request.accountant or PrivacyBudget.parse(request.epsilon, request.delta).pure:
        return request.accountant
    terms = configured_ledger(payer.ledger, payer.anchor).account(payer.dataset).terms
    return terms.accountant if terms.budget.pure or terms.accountant in SQUARED else None


def _policy(payer: LedgerRequest) -> Policy:
    return configured_ledger(payer.ledger, payer.anchor).account(payer.dataset).terms.policy


def _stated(source: TableSource, limits: Limits, domain: Domain) -> Policy:
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
