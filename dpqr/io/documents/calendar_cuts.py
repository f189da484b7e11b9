"""Calendar cuts: public edges of date and time columns, in days or microseconds since 1970-01-01 (UTC)."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, Literal

from msgspec import UNSET

from dpqr.data.attribute import Bins
from dpqr.io.documents.bounds import declared_bounds, edge_bins, require_few
from dpqr.io.documents.cuts import whole_bins
from dpqr.io.documents.decoding import spoken
from dpqr.io.documents.domain_form import Field
from dpqr.io.documents.place import Place

Temporal = Literal["date", "datetime"]
EPOCH = date(1970, 1, 1)
DAY = 86_400_000_000
"""Microseconds of a day."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?")


def moment(value: Any, kind: Temporal, place: Place) -> Fraction:
    """An ISO date in days, or an ISO time in microseconds; a time without an offset is UTC."""
    example = "'2024-01-31'" if kind == "date" else "'2024-01-31T12:00:00'"
    if not isinstance(value, str) or not (_DATE if kind == "date" else _TIME).fullmatch(value):
        raise place.fault(f"expected a {kind} like {example}, got {spoken(value)}")
    try:
        if kind == "date":
            return Fraction((date.fromisoformat(value) - EPOCH).days)
        stamp = datetime.fromisoformat(value)
        stamp = stamp.astimezone(UTC) if stamp.tzinfo else stamp.replace(tzinfo=UTC)
        return Fraction((stamp - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
    except (ValueError, OverflowError):
        raise place.fault(f"{spoken(value)} is on no calendar; expected a {kind} like {example}") from None


def calendar_bins(field: Field, kind: Temporal, place: Place) -> Bins:
    """Bins of a date or datetime column: by a list of edges, or one a calendar period between two bounds."""
    cut, where = field.dpqr, place.key("dpqr")

    def read(value: Any, at: Place) -> Fraction:
        return moment(value, kind, at)

    for key, stated in (("bins", cut.bins), ("width", cut.width)):
        if stated is not UNSET:
            raise where.key(key).fault(f"a {kind} column is cut by edges or by every, not by {key}")
    if cut.edges is not UNSET:
        return edge_bins(field, read, kind, place)
    if cut.every is UNSET:
        raise where.fault(f"says no bins; a {kind} column needs edges, or every with minimum and maximum")
    if cut.closed == "right":
        raise where.key("closed").fault("a calendar period owns its first instant and not its last; leave it out")
    low, high = declared_bounds(field, read, place, "dpqr.edges")
    periods = _day_periods if kind == "date" else _time_periods
    return periods(cut.every, int(low), int(high), where.key("every"))


def _day_periods(every: str, low: int, high: int, place: Place) -> Bins:
    return whole_bins([low, *_period_starts(every, low, high, place), high + 1], kind="date")


def _time_periods(every: str, low: int, high: int, place: Place) -> Bins:
    """Periods begin at midnight UTC; the last one owns the maximum."""
    starts = [day * DAY for day in _period_starts(every, low // DAY, high // DAY, place)]
    inner = [start for start in starts if low < start < high]
    return Bins(edges=tuple(map(Fraction, (low, *inner, high))), kind="datetime")


def _period_starts(every: str, first: int, last: int, place: Place) -> list[int]:
    """Days after `first`, up to `last`, on which a calendar period begins."""
    starts = []
    start = _next_start(first, every)
    while start is not None and start <= last:
        starts.append(start)
        require_few(len(starts) + 1, place)
        start = _next_start(start, every)
    return starts


def _next_start(day: int, every: str) -> int | None:
    """The first day after `day` on which a period begins; None beyond the calendar's last year."""
    if every == "day":
        return day + 1
    if every == "week":
        return day + 7 - (day + 3) % 7  # 1970-01-01, day 0, was a Thursday; weeks begin on Monday
    months = {"month": 1, "quarter": 3, "year": 12}[every]
    current = EPOCH + timedelta(days=day)
    ordinal = (12 * current.year + current.month - 1) // months * months + months
    year, month = divmod(ordinal, 12)
    return (date(year, month + 1, 1) - EPOCH).days if year <= date.max.year else None
