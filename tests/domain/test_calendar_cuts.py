from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

from dpqr.domain.attribute import Bins
from dpqr.domain.columns import moment
from dpqr.domain.domain_file import read_domain
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError

PLACE = Location("d.json")


def bins_of(kind: str, low: Any = None, high: Any = None, **cut: Any) -> Bins:
    constraints = {} if low is None else {"minimum": low, "maximum": high}
    domain = read_domain({"fields": [{"name": "a", "type": kind, "constraints": constraints, "dpqr": cut}]})
    axis = domain.attributes[0].axis
    assert isinstance(axis, Bins)
    return axis


def period(day: date, every: str) -> tuple[int, ...]:
    """What two days of one period share, by the calendar's own fields."""
    keys = {
        "day": (day.toordinal(),),
        "week": tuple(day.isocalendar())[:2],
        "month": (day.year, day.month),
        "quarter": (day.year, (day.month - 1) // 3),
        "year": (day.year,),
    }
    return keys[every]


@pytest.mark.parametrize("every", ["day", "week", "month", "quarter", "year"])
@pytest.mark.parametrize(("low", "high"), [("2023-12-15", "2025-03-01"), ("1969-11-30", "1970-02-02")])
def test_periods_follow_the_calendar(every: str, low: str, high: str) -> None:
    bins = bins_of("date", low, high, every=every)
    days, first = [], date.fromisoformat(low)
    while first <= date.fromisoformat(high):
        days.append(first)
        first += timedelta(days=1)
    cell = {}
    bounds = [tuple(map(int, bins.bounds(index))) for index in range(bins.size)]
    for day in days:
        number = (day - date(1970, 1, 1)).days
        (index,) = [index for index, (low, high) in enumerate(bounds) if low <= number <= high]
        cell[day] = index
    assert set(cell.values()) == set(range(bins.size))
    for one, other in pairwise(days):
        assert (cell[one] == cell[other]) == (period(one, every) == period(other, every))


def test_periods_are_named_by_their_days() -> None:
    assert bins_of("date", "2024-01-15", "2024-03-31", every="month").titles() == (
        "[2024-01-15, 2024-02-01)",
        "[2024-02-01, 2024-03-01)",
        "[2024-03-01, 2024-03-31]",
    )
    assert bins_of("date", "2024-01-01", "2024-01-03", every="day").titles()[-1] == "2024-01-03"


def test_the_calendar_ends_with_its_last_year() -> None:
    assert bins_of("date", "9998-06-01", "9999-12-31", every="year").size == 2


def test_periods_of_times_begin_at_midnight() -> None:
    bins = bins_of("datetime", "2024-01-31T12:00:00", "2024-03-01T00:00:00Z", every="month")
    assert bins.titles() == (
        "[2024-01-31T12:00:00, 2024-02-01T00:00:00)",
        "[2024-02-01T00:00:00, 2024-03-01T00:00:00]",
    )


def test_edges_of_dates_and_times() -> None:
    assert bins_of("date", edges=["1970-01-01", "1970-01-03"]).edges == (0, 2)
    times = bins_of("datetime", edges=["1970-01-01", "1970-01-01T00:00:00.5", "1970-01-01T02:00+01:00"], closed="right")
    assert times.edges == (0, 500_000, 3_600_000_000)
    assert times.closed == "right"


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        ("2024-02-29T23:59:59.999999Z", datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=UTC)),
        ("1960-01-01 01:02", datetime(1960, 1, 1, 1, 2, tzinfo=UTC)),
    ],
)
def test_times_are_microseconds_of_utc(text: str, stamp: datetime) -> None:
    assert moment(text, "datetime", PLACE) == Fraction(int(stamp.timestamp()) * 10**6 + stamp.microsecond)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("2024-02-30", "date"),
        ("20240101", "date"),
        ("2024-01-01T00:00", "date"),
        (20240101, "date"),
        ("2024-W01-1", "date"),
        ("2024-01-01T25:00", "datetime"),
        ("0001-01-01T00:00+05:00", "datetime"),
        ("yesterday", "datetime"),
    ],
)
def test_what_is_on_no_calendar_is_refused(value: Any, kind: Any) -> None:
    with pytest.raises(DocumentError, match=r"^d\.json: \$: .*expected a date"):
        moment(value, kind, PLACE)
