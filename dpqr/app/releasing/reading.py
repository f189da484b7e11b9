"""Reading: how the private table is read, as the request states it and the budget's policy allows it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpqr.app.paying.budget import configured_ledger
from dpqr.app.requests import LedgerRequest, PlanRequest, PredictionPlanRequest
from dpqr.data.attribute import Rule
from dpqr.data.domain import Domain, failing_attributes
from dpqr.errors import BudgetRefused
from dpqr.io.engines.address import is_query
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableSource
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.ledger import DEFAULT
from dpqr.privacy.policy import Policy, resolved, uncovered_bits

_DEFAULTS = Limits()
SQUARED = ("zcdp", "gdp")
"""The accountants of budgets in rho and in mu^2."""


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


def reading(source: TableSource, limits: Limits, domain: Domain, payer: LedgerRequest | None) -> Reading:
    """How the table will be read.

    Raises:
        BudgetRefused: the request states otherwise than the budget's owner.

    Privacy:
        A function of the request and the ledger; the table is not looked at. Without a ledger nobody's choice is
        bounded: every stated limit is one bit that the guarantee does not cover, and is named.
    """
    if payer is None:
        free = _stated(replace(source, count_column=None), limits, domain)  # which may have any name
        return Reading(source=source, limits=limits, bits=(*_bits(free), *_of_query(source)))
    stated = _stated(source, limits, domain)
    policy = _policy(payer)
    _refuse_query(source, policy)
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
        bits=(*_bits(held), *_of_query(source)),
    )


def _refuse_query(source: TableSource, policy: Policy) -> None:
    """BudgetRefused for a query that nobody but the requester has seen.

    Privacy:
        A query may repeat one person's rows as often as it likes, or end with an error where a row is there. No budget
        covers that, so the owner must have approved the text, which is part of the plan.
    """
    if is_query(source.public) and not policy.approval:
        raise BudgetRefused(
            "?query=: a query says what a row of the table is, and so whom the budget protects; its owner must decide "
            "that\nname a table or a view with ?table=, or have the owner approve plans: dpqr budget policy NAME "
            "--require-approval"
        )


def _of_query(source: TableSource) -> tuple[str, ...]:
    if not is_query(source.public):
        return ()
    return (
        "warning: the table is the result of a query: the guarantee protects rows of that result, and who is in the "
        "tables behind it only if each of their rows makes at most one row of it",
    )


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
