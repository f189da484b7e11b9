"""Bins of number, date and time columns, from declared edges, or from bounds with a count, a width or a period.

All in exact fractions: of numbers, of days since 1970-01-01, or of microseconds since 1970-01-01 (UTC).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cache, partial
from typing import Any, Literal

from msgspec import UNSET

from dpqr.data.attribute import Bins
from dpqr.io.documents.domains.forms import Field
from dpqr.io.documents.text.decoding import Location, number, spoken
from dpqr.io.documents.text.faults import all_of

MAX_CELLS = 2**20
"""Cells of one column."""

Kind = Literal["number", "date", "datetime"]
Reader = Callable[[Any, Location], Fraction]
"""Reads one stated bound of the column's kind; a DocumentError where it is none."""


def edge_bins(field: Field, read: Reader, kind: Kind, location: Location) -> Bins:
    """Bins between the declared edges; bounds that are stated beside them must be the outermost two."""
    cut, where = field.dpqr, location.key("dpqr").key("edges")
    stated = [] if cut.edges is UNSET else cut.edges
    edges = _increasing(all_of(partial(read, edge, where.item(index)) for index, edge in enumerate(stated)), where)
    closed: Literal["left", "right"] = "right" if cut.closed == "right" else "left"
    bins = Bins(edges=edges, closed=closed, integral=field.type in ("integer", "date"), kind=kind)
    for index in range(bins.size if bins.integral else 0):
        low, high = bins.bounds(index)
        if low > high:
            raise where.item(index + 1).fault("the bin that ends here holds no whole value; move the edge")
    limits = field.constraints
    for side, bound, edge in (("minimum", limits.minimum, edges[0]), ("maximum", limits.maximum, edges[-1])):
        at = location.key("constraints").key(side)
        if bound is not UNSET and read(bound, at) != edge:
            raise at.fault(f"differs from the outermost edge, {bins.mark(edge)}; leave it out or make them equal")
    return bins


def _increasing(edges: Sequence[Fraction], location: Location) -> tuple[Fraction, ...]:
    if len(edges) < 2:
        raise location.fault(f"{len(edges)} edge(s) make no bin; give at least 2")
    require_few(len(edges) - 1, location)
    for index in range(1, len(edges)):
        if edges[index] == edges[index - 1]:
            raise location.item(index).fault("equals the edge before it, so a bin would be empty; remove one of them")
        if edges[index] < edges[index - 1]:
            raise location.item(index).fault("is below the edge before it, so bins would overlap; give rising edges")
    return tuple(edges)


def declared_bounds(field: Field, read: Reader, location: Location, instead: str) -> tuple[Fraction, Fraction]:
    """Minimum and maximum, both stated and in order. instead: what else the column could state."""
    where, limits = location.key("constraints"), field.constraints
    sides = ("minimum", limits.minimum), ("maximum", limits.maximum)
    for side, stated in sides:
        if stated is UNSET:
            raise where.fault(f"the {side} is missing; state both minimum and maximum, or {instead}")
    low, high = all_of(partial(read, stated, where.key(side)) for side, stated in sides)
    if low >= high:
        raise where.key("maximum").fault("must be above the minimum")
    return low, high


def require_few(count: int, location: Location) -> None:
    """Refuse more cells than one column may have."""
    if count > MAX_CELLS:
        raise location.fault(f"makes {count} cells, more than the {MAX_CELLS} of one column; use fewer, wider bins")


def number_bins(field: Field, location: Location) -> Bins:
    """Bins of an `integer` or `number` column, as its `dpqr` block says."""
    cut = field.dpqr
    if cut.edges is not UNSET:
        return edge_bins(field, number, "number", location)
    if field.type == "integer":
        low, high = declared_bounds(field, number, location, "an enum, or dpqr.edges")
        sides, where = (("minimum", low), ("maximum", high)), location.key("constraints")
        all_of(partial(_whole, bound, where.key(side)) for side, bound in sides)
        if cut.bins is UNSET:
            where = location.key("constraints") if cut.width is UNSET else location.key("dpqr").key("width")
            return _runs_of_width(field, int(low), int(high), where)
        return _runs_by_count(cut.bins, cut.closed == "right", int(low), int(high), location.key("dpqr").key("bins"))
    low, high = declared_bounds(field, number, location, "dpqr.edges")
    return Bins(
        edges=_even_cuts(field, low, high, location.key("dpqr")), closed="right" if cut.closed == "right" else "left"
    )


def _even_cuts(field: Field, low: Fraction, high: Fraction, location: Location) -> tuple[Fraction, ...]:
    """Edges from `low` in equal steps; the last bin is shorter where a width does not divide."""
    if field.dpqr.width is not UNSET:
        step = _width(field, location.key("width"))
    elif field.dpqr.bins is not UNSET:
        step = (high - low) / field.dpqr.bins
    else:
        raise location.fault("says no bins; a column of type 'number' needs one of bins, width or edges")
    count = math.ceil((high - low) / step)
    require_few(count, location.key("bins" if field.dpqr.width is UNSET else "width"))
    return (*(low + index * step for index in range(count)), high)


def _runs_of_width(field: Field, low: int, high: int, location: Location) -> Bins:
    """Bins of `width` whole values each (1 where none is stated), counted from `low`; the last one has the rest."""
    width = Fraction(1) if field.dpqr.width is UNSET else _width(field, location)
    step = _whole(width, location)
    require_few(-(-(high - low + 1) // step), location)
    return whole_bins([*range(low, high + 1, step), high + 1])


def _runs_by_count(count: int, right: bool, low: int, high: int, location: Location) -> Bins:
    """`count` bins of whole values, as even as can be; the closed side has the longer ones."""
    values = high - low + 1
    require_few(count, location)
    if count > values:
        raise location.fault(f"{count} bins are more than the {values} whole values from minimum to maximum")
    up = count - 1 if right else 0
    return whole_bins([low + (index * values + up) // count for index in range(count + 1)])


def _width(field: Field, location: Location) -> Fraction:
    width = number(field.dpqr.width, location)
    if width <= 0:
        raise location.fault("must be above 0")
    return width


def _whole(value: Fraction, location: Location) -> int:
    if value.denominator != 1:
        raise location.fault("must be a whole number, for the column is of type 'integer'")
    return int(value)


def whole_bins(starts: Sequence[int], kind: Literal["number", "date"] = "number") -> Bins:
    """Bins of the whole values starts[i] .. starts[i+1]-1. Their edges lie halfway, so no value ever meets one."""
    edges = tuple(Fraction(2 * start - 1, 2) for start in starts)
    marks = (*starts[:-1], starts[-1] - 1)
    plain = Bins(edges=edges, integral=True, kind=kind)
    titles = map(str, marks) if kind == "number" else (plain.mark(Fraction(mark)) for mark in marks)
    return Bins(edges=edges, integral=True, kind=kind, edge_titles=tuple(titles))


@cache
def code_bins(size: int) -> Bins:
    """Integer codes 0 .. size-1 as bins of one value, so that codes can be compared, summed and ranged like numbers."""
    return whole_bins(range(size + 1))


Temporal = Literal["date", "datetime"]
EPOCH = date(1970, 1, 1)
DAY = 86_400_000_000
"""Microseconds of a day."""
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?")


def is_date(text: str) -> bool:
    """Whether the text has the form of an ISO date."""
    return _DATE.fullmatch(text) is not None


def is_time(text: str) -> bool:
    """Whether the text has the form of an ISO date or time."""
    return _TIME.fullmatch(text) is not None


def moment(value: Any, kind: Temporal, location: Location) -> Fraction:
    """An ISO date in days, or an ISO time in microseconds; a time without an offset is UTC."""
    example = "'2024-01-31'" if kind == "date" else "'2024-01-31T12:00:00'"
    if not isinstance(value, str) or not (_DATE if kind == "date" else _TIME).fullmatch(value):
        raise location.fault(f"expected a {kind} like {example}, got {spoken(value)}")
    try:
        if kind == "date":
            return Fraction((date.fromisoformat(value) - EPOCH).days)
        stamp = datetime.fromisoformat(value)
        stamp = stamp.astimezone(UTC) if stamp.tzinfo else stamp.replace(tzinfo=UTC)
        return Fraction((stamp - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
    except (ValueError, OverflowError):
        raise location.fault(f"{spoken(value)} is on no calendar; expected a {kind} like {example}") from None


def calendar_bins(field: Field, kind: Temporal, location: Location) -> Bins:
    """Bins of a date or datetime column: by a list of edges, or one a calendar period between two bounds."""
    cut, where = field.dpqr, location.key("dpqr")

    def read(value: Any, at: Location) -> Fraction:
        return moment(value, kind, at)

    for key, stated in (("bins", cut.bins), ("width", cut.width)):
        if stated is not UNSET:
            raise where.key(key).fault(f"a {kind} column is cut by edges or by every, not by {key}")
    if cut.edges is not UNSET:
        return edge_bins(field, read, kind, location)
    if cut.every is UNSET:
        raise where.fault(f"says no bins; a {kind} column needs edges, or every with minimum and maximum")
    if cut.closed == "right":
        raise where.key("closed").fault("a calendar period owns its first instant and not its last; leave it out")
    low, high = declared_bounds(field, read, location, "dpqr.edges")
    periods = _day_periods if kind == "date" else _time_periods
    return periods(cut.every, int(low), int(high), where.key("every"))


def _day_periods(every: str, low: int, high: int, location: Location) -> Bins:
    return whole_bins([low, *_period_starts(every, low, high, location), high + 1], kind="date")


def _time_periods(every: str, low: int, high: int, location: Location) -> Bins:
    """Periods begin at midnight UTC; the last one owns the maximum."""
    starts = [day * DAY for day in _period_starts(every, low // DAY, high // DAY, location)]
    inner = [start for start in starts if low < start < high]
    return Bins(edges=tuple(map(Fraction, (low, *inner, high))), kind="datetime")


def _period_starts(every: str, first: int, last: int, location: Location) -> list[int]:
    """Days after `first`, up to `last`, on which a calendar period begins."""
    starts = []
    start = _next_start(first, every)
    while start is not None and start <= last:
        starts.append(start)
        require_few(len(starts) + 1, location)
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
