"""Periods of the calendar: their names, days, and distances."""

from datetime import date, timedelta

import pytest
from support.cases import in_one_test

from dpqr.domain.periods import EVERY, MOST_PERIODS, Period, PeriodTree
from dpqr.kernel.errors import UsageFault


@in_one_test(
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


WRONG = (
    "", "2026-13", "2026-00", "2026-W54", "2025-W53", "2026-Q5", "2026-q1", "26-03", "2026-3", "0000", "2026-02-30",
    " 2026", "2026-03 ", "2026-03\n", "9999", "9999-12-31", "٢٠٢٦", "2026-W00", "2026/03", "-2026",
)  # fmt: skip


def test_other_texts_are_refused() -> None:
    for text in WRONG:
        with pytest.raises(UsageFault, match="give a period of the calendar"):
            Period.parse(text)


def test_a_period_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageFault, match=r"--first '2026': give a period of the calendar, such as 2026-03 \(month\)"):
        Period.parse("2026", "month", option="--first")
    with pytest.raises(UsageFault, match="2026 is a year, and 2026-03 is a month"):
        Period.parse("2026").index(Period.parse("2026-03"))
    with pytest.raises(UsageFault, match="not the first day of a week"):
        Period("week", date(2026, 1, 1))


@in_one_test("every", EVERY)
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


@in_one_test(("text", "steps"), [("0001", -1), ("9998", 1), ("0001-01-01", -1), ("2026", 10**9)])
def test_the_calendar_ends(text, steps) -> None:
    with pytest.raises(UsageFault):
        Period.parse(text).later(steps)


# Nodes of a counter: what they hold, and which of them add up.

TREES = [PeriodTree(periods=periods, base=base) for periods in (1, 2, 7, 24, 64) for base in (2, 3, 5, 65)]


@in_one_test("tree", TREES)
def test_paths_hold_every_period_once_and_a_period_lies_in_one_node_a_level(tree):
    """Levels are told apart by their widths; the bound is attained. Without its last node a path is an earlier one."""
    for period in range(1, tree.periods + 1):
        assert [one for node in tree.path(period) for one in tree.span(node)] == list(range(1, period + 1))
        before = period - len(tree.span(period))
        assert tree.path(period)[:-1] == (tree.path(before) if before else ())
    spans = [tree.span(node) for node in range(1, tree.periods + 1)]
    held = [[len(span) for span in spans if period in span] for period in range(1, tree.periods + 1)]
    assert all(len(set(widths)) == len(widths) for widths in held)
    assert max(map(len, held)) == tree.levels


def test_the_binary_tree_has_the_levels_of_the_literature():
    for periods in range(1, 70):
        tree = PeriodTree(periods=periods)
        assert tree.levels == periods.bit_length()
        assert max(len(tree.path(period)) for period in range(1, periods + 1)) <= tree.levels


@in_one_test("power", [1, 2])
@pytest.mark.parametrize("periods", [1, 4, 24, 64])
def test_the_best_tree_is_no_worse_than_the_binary_one_and_the_plain_sum(periods, power):
    def square(tree):
        return tree.levels**power * sum(len(tree.path(period)) for period in range(1, periods + 1))

    others = (PeriodTree(periods=periods), PeriodTree(periods=periods, base=periods + 1))
    assert square(PeriodTree.best(periods, power)) <= min(map(square, others))


def test_refusals():
    for given in ({"periods": 0}, {"periods": MOST_PERIODS + 1}, {"periods": 3, "base": 1}):
        with pytest.raises(UsageFault):
            PeriodTree(**given)
    for period in (0, 4):
        with pytest.raises(UsageFault):
            PeriodTree(periods=3).path(period)
