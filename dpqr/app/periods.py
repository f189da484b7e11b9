"""Releases of one period: which rows they read, who pays, and which earlier release they correct."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from dpqr.app.budget import configured_ledger
from dpqr.app.requests import LedgerRequest, PlanRequest
from dpqr.data.domain import Domain
from dpqr.data.period import Period, PeriodRows
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import DocumentError, UsageFault
from dpqr.io.ledger.record import Record
from dpqr.io.tables.source import TableSource
from dpqr.privacy.ledger import RELEASED, Entry, Terms


def period_rows(request: PlanRequest, domain: Domain) -> PeriodRows | None:
    """Whose rows a release reads; None: all rows.

    Raises:
        UsageFault: no period of the domain's kind, or one in the future; a number of records beside it, or replaced
            rows.
        DocumentError: the domain declares no date column, or known totals, which are of all rows.

    Privacy:
        A function of the request and the calendar: no date of the table is asked whether a period has come or has rows.
    """
    if request.period is None:
        return None
    if domain.period is None:
        raise DocumentError(
            f"--period {request.period}: the domain file does not say which period a row is in\n"
            'name a column of dates at its top level, for example "period": {"column": "admitted", "every": "month"}'
        )
    if Neighbours(request.neighbours) is Neighbours.REPLACE:
        raise UsageFault(
            "--period: a replaced row may leave one period and enter another, and how many rows a period has is "
            "private; use --neighbours add-remove"
        )
    if request.n is not None:
        raise UsageFault("--period: how many rows a period has is private, so --n cannot state it; leave --n out")
    if domain.facts.totals:
        raise DocumentError(
            '--period: the domain\'s known totals count all rows, not those of a period; leave "totals" out of the '
            "domain file"
        )
    period = Period.parse(request.period, domain.period.every)
    if period.start > datetime.now(UTC).date():
        raise UsageFault(f"--period {period.name}: begins on {period.start}, which is to come; release an earlier one")
    return PeriodRows(column=domain.period.column, period=period)


def require_files(source: TableSource, period: PeriodRows | None) -> None:
    """UsageFault for a table that an engine counts: it cannot be asked for one period."""
    if period is not None and source.engine is not None:
        raise UsageFault(
            f"--period: {source.engine.name} counts its table by itself and cannot be asked for one period yet; give "
            "files or a table in memory"
        )


def period_note(period: PeriodRows, unit: PrivacyUnit) -> str:
    """What a plan says of it, whoever pays."""
    if unit.column is None:
        return f"{period.words}; each row is in one period"
    return f"{period.words}; a person may have rows in many periods"


def paid_notes(payer: LedgerRequest | None, period: PeriodRows | None, before: str | None = None) -> Iterator[str]:
    """What the budget's owner has fixed: which periods pay; and which earlier release this one corrects.

    Args:
        before: the seal of a reservation; what was released after it is passed by. None: everything counts.
    """
    if payer is None:
        return
    record = configured_ledger(payer.ledger, payer.anchor).walk()
    terms = record.state.account(payer.dataset).terms
    if terms.periods is not None or period is not None:
        yield _paid_by(terms, period)
    corrected = period and _corrected(record, payer.dataset, period, before)
    if corrected:
        yield (
            f"corrects: entry {corrected.number} of the ledger (seal {corrected.hash[:16]}), a release of "
            f"{corrected.period}; this is a new release of it, and paid anew"
        )


def _paid_by(terms: Terms, period: PeriodRows | None) -> str:
    if terms.periods is None:
        return "paid from the whole budget, which is not divided into periods: releases of different periods add up"
    each = f"every {terms.periods.every}"
    if period is None:
        return f"it reads the rows of all periods, so the budget of {each} pays for it"
    if terms.periods.parallel:
        return f"paid from the budget of {period.each}; parallel over periods: a row pays in its own alone"
    return f"paid from the budget of {period.each}; a person's periods add up within the budget for life"


def _corrected(record: Record, dataset: str, period: PeriodRows, before: str | None) -> Entry | None:
    """The reservation of the newest finished release of a period."""
    finished = {entry.settles for entry in record.entries if entry.kind == "settle" and entry.note == RELEASED}
    found = None
    for entry in record.entries:
        if entry.hash == before:
            break
        if (entry.dataset, entry.period) == (dataset, period.name) and entry.number in finished:
            found = entry
    return found
