"""Releases of one period: whose rows they read, and what their plans say of it."""

from __future__ import annotations

from datetime import UTC, datetime

from dpqr.app.requests import PlanRequest
from dpqr.data.domain import Domain
from dpqr.data.period import Period, PeriodRows
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.errors import DocumentError, UsageFault
from dpqr.io.tables.source import TableSource


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
    if Neighbours(request.neighbours) is Neighbours.REPLACE and request.cumulative is None:
        raise UsageFault(
            "--period: a replaced row may leave one period and enter another, and how many rows a period has is "
            "private; use --neighbours add-remove"
        )
    if request.n is not None:
        raise UsageFault("--period: how many rows a period has is private, so --n cannot state it; leave --n out")
    if domain.facts.totals or domain.facts.least or domain.facts.most is not None:
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
