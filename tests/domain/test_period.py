"""Periods of the calendar: their names, days, and distances."""

from datetime import date, timedelta

import pytest

from dpqr.domain.periods import EVERY, Period
from dpqr.kernel.errors import UsageFault


@pytest.mark.parametrize(
    ("text", "every", "start", "end", "following"),
    [
        ("2024-02-29", "day", "2024-02-29", "2024-03-01", "2024-03-01"),
        ("2026-W53", "week", "2026-12-28", "2027-01-04", "2027-W01"),
        ("2025-W01", "week", "2024-12-30", "2025-01-06", "2025-W02"),
        ("2026-12", "month", "2026-12-01", "2027-01-01", "2027-01"),
        ("2026-Q4", "quarter", "2026-10-01", "2027-01-01", "2027-Q1"),
        ("2026", "year", "2026-01-01", "2027-01-01", "2027"),
        ("0001", "year", "0001-01-01", "0002-01-01", "0002"),
    ],
)
def test_a_name_is_a_stretch_of_days(text, every, start, end, following) -> None:
    period = Period.parse(text)
    assert (period.every, period.start, period.end) == (every, date.fromisoformat(start), date.fromisoformat(end))
    assert (period.name, period.next.name, Period.parse(text, every)) == (text, following, period)


WRONG = ("", "2026-13", "2026-00", "2026-W54", "2025-W53", "2026-Q5", "2026-q1", "26-03", "2026-3", "0000")
MORE_WRONG = (
    "2026-02-30",
    " 2026",
    "2026-03 ",
    "2026-03\n",
    "9999",
    "9999-12-31",
    "٢٠٢٦",
    "2026-W00",
    "2026/03",
    "-2026",
)


@pytest.mark.parametrize("text", WRONG + MORE_WRONG)
def test_other_texts_are_refused(text) -> None:
    with pytest.raises(UsageFault, match="give a period of the calendar"):
        Period.parse(text)


def test_a_period_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageFault, match=r"--first '2026': give a period of the calendar, such as 2026-03 \(month\)"):
        Period.parse("2026", "month", option="--first")
    with pytest.raises(UsageFault, match="2026 is a year, and 2026-03 is a month"):
        Period.parse("2026").index(Period.parse("2026-03"))
    with pytest.raises(UsageFault, match="not the first day of a week"):
        Period("week", date(2026, 1, 1))


@pytest.mark.parametrize("every", EVERY)
def test_every_day_is_in_one_period_and_periods_are_counted(every) -> None:
    first = Period.of(every, date(2023, 12, 30))
    period, number = first, 0
    for days in range(800):
        day = date(2023, 12, 30) + timedelta(days=days)
        if day == period.end:
            period, number = period.next, number + 1
        assert Period.of(every, day) == period
        assert period.start <= day < period.end
        assert (period.index(first), first.index(period)) == (number, -number)
        assert (first.later(number), period.later(-number)) == (period, first)


@pytest.mark.parametrize(("text", "steps"), [("0001", -1), ("9998", 1), ("0001-01-01", -1), ("2026", 10**9)])
def test_the_calendar_ends(text, steps) -> None:
    with pytest.raises(UsageFault):
        Period.parse(text).later(steps)
