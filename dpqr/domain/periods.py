"""Period: one calendar day, ISO week, month, quarter or year; and the date column that says which one a row is in."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import get_args

from msgspec import Struct

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.unit import Every as Every

EVERY: tuple[Every, ...] = get_args(Every)
MONTHS: dict[Every, int] = {"month": 1, "quarter": 3, "year": 12}
_DAYS: dict[Every, int] = {"day": 1, "week": 7}
_EXAMPLES: dict[Every, str] = {
    "day": "2026-03-05",
    "week": "2026-W05",
    "month": "2026-03",
    "quarter": "2026-Q1",
    "year": "2026",
}
_FORMS: dict[Every, str] = {
    "day": r"(\d{4})-(\d\d)-(\d\d)",
    "week": r"(\d{4})-W(\d\d)",
    "month": r"(\d{4})-(\d\d)",
    "quarter": r"(\d{4})-Q([1-4])",
    "year": r"(\d{4})",
}
LAST_YEAR = 9998
"""So that every period has a next one in Python's calendar."""


class Period(Struct, frozen=True):
    """One period of the proleptic Gregorian calendar: the days from `start` up to, and without, `end`.

    Invariant: public. It is declared or counted on the calendar, never read from a table.

    >>> march = Period.parse("2026-03")
    >>> march.start.isoformat(), march.end.isoformat(), march.next.name
    ('2026-03-01', '2026-04-01', '2026-04')
    >>> march.index(Period.parse("2025-12")), march.later(-2).name
    (3, '2026-01')

    Raises:
        UsageFault: `start` is not the first day of a period of its kind, or lies after the year 9998.
    """

    every: Every
    start: date

    def __post_init__(self) -> None:
        if self.start.year > LAST_YEAR:
            raise UsageFault(f"--period: periods end with the year {LAST_YEAR}")
        if _first_day(self.every, self.start) != self.start:
            raise UsageFault(f"--period: {self.start} is not the first day of a {self.every}")

    @classmethod
    def parse(cls, text: str, every: Every | None = None, *, option: str = "--period") -> Period:
        """Parse "2026-03-05" (day), "2026-W05" (ISO week), "2026-03" (month), "2026-Q1" (quarter) or "2026" (year).

        Args:
            every: the only kind that is allowed; None: any.
            option: name of the option, for messages.

        Raises:
            UsageFault: no such text, no such day of the calendar, or a period of another kind.
        """
        kinds = EVERY if every is None else (every,)
        for kind in kinds:
            if found := re.fullmatch(_FORMS[kind], text, re.ASCII):
                try:
                    year, *rest = (int(part) for part in found.groups())
                    # ValueError where the calendar has no such period.
                    if kind == "week":
                        return cls(kind, date.fromisocalendar(year, rest[0], 1))
                    if kind == "day":
                        return cls(kind, date(year, *rest))
                    month = 1 if kind == "year" else rest[0] if kind == "month" else 3 * rest[0] - 2
                    return cls(kind, date(year, month, 1))
                except (ValueError, UsageFault):
                    break
        examples = ", ".join(f"{_EXAMPLES[kind]} ({kind})" for kind in kinds)
        raise UsageFault(f"{option} {text!r}: give a period of the calendar, such as {examples}")

    @classmethod
    def of(cls, every: Every, day: date) -> Period:
        """Return the period that holds `day`.

        >>> Period.of("quarter", date(2026, 5, 17)).name
        '2026-Q2'
        """
        return cls(every, _first_day(every, day))

    @property
    def name(self) -> str:
        """The text that `parse` reads."""
        year = f"{self.start.year:04}"
        if self.every == "day":
            return self.start.isoformat()
        if self.every == "week":
            of_year, week, _ = self.start.isocalendar()
            return f"{of_year:04}-W{week:02}"
        if self.every == "month":
            return f"{year}-{self.start.month:02}"
        return year if self.every == "year" else f"{year}-Q{(self.start.month + 2) // 3}"

    @property
    def end(self) -> date:
        """The first day after the period."""
        return _moved(self.every, self.start, 1)

    @property
    def next(self) -> Period:
        return self.later(1)

    def later(self, steps: int) -> Period:
        """Return the period `steps` after this one; before it where `steps` is negative."""
        try:
            return Period(self.every, _moved(self.every, self.start, steps))
        except (ValueError, OverflowError):
            raise UsageFault(f"--period: no {self.every} {steps} after {self.name} is on the calendar") from None

    def index(self, first: Period) -> int:
        """Return how many periods this one is after `first`: 0 for `first` itself, negative before it.

        Raises:
            UsageFault: the two are of different kinds.
        """
        if self.every != first.every:
            raise UsageFault(f"--period {self.name} is a {self.every}, and {first.name} is a {first.every}")
        if self.every in _DAYS:
            return (self.start - first.start).days // _DAYS[self.every]
        return (_month(self.start) - _month(first.start)) // MONTHS[self.every]


class PeriodColumn(Struct, frozen=True, kw_only=True):
    """The date column of a table that says which period a row is in, as a domain file declares it.

    A row is in the period that holds its date, as written: no time zone is guessed. It need not be an attribute.

    >>> PeriodColumn(column="admitted", every="month").every
    'month'
    """

    column: str
    every: Every


class PeriodRows(Struct, frozen=True, kw_only=True):
    """The rows of one period alone, or of several in a row: those whose date in `column` lies there. All others are as
    if they were not there.

    since: the first period; None: `period` is the only one.
    first: where each person's rows are bounded over the life of a counter, its first period: rows from there on are
    read to be counted against the bound, and those before `since` for nothing else. None: each release by itself.
    read: digest of what decides there whether a row is well-formed, as a ledger must know it; empty elsewhere.

    Privacy:
        Whether a row is among them is decided by its own date alone, so each row is in one period at most: a row whose
        date is null or unreadable is in none. How many rows a period has, and whether any, is private.

    >>> PeriodRows(column="admitted", period=Period.parse("2026-03")).words
    "rows of 2026-03 only (by the date in column 'admitted')"
    """

    column: str
    period: Period
    since: Period | None = None
    first: Period | None = None
    read: str = ""

    @property
    def days(self) -> tuple[date, ...]:
        """The first day that is read, and the first one after: of all periods together, or of each where `first` is
        known."""
        if self.first is None:
            return (self.since or self.period).start, self.period.end
        later = (self.first.later(step).start for step in range(self.period.index(self.first) + 1))
        return (*later, self.period.end)

    @property
    def name(self) -> str:
        """The text that `parse_periods` reads: "2026-03", or "2026-01/2026-03"."""
        return self._from("/")

    @property
    def words(self) -> str:
        return f"rows of {self._from(' to ')} only (by the date in column {self.column!r})"

    @property
    def each(self) -> str:
        """Whose budgets pay, in words."""
        return self.period.name if self.name == self.period.name else f"each period from {self._from(' to ')}"

    def _from(self, between: str) -> str:
        several = self.since not in (None, self.period)
        return f"{self.since.name}{between}{self.period.name}" if self.since and several else self.period.name


def parse_periods(name: str, every: Every) -> tuple[Period, ...]:
    """Return the periods that a name stands for, as `PeriodRows.name` writes it.

    >>> [period.name for period in parse_periods("2026-01/2026-03", "month")]
    ['2026-01', '2026-02', '2026-03']

    Raises:
        UsageFault: it names no periods of that kind, or the last one is before the first.
    """
    first, several, last = name.partition("/")
    start = Period.parse(first, every)
    steps = Period.parse(last, every).index(start) if several else 0
    if steps < 0 or (several and not steps):
        raise UsageFault(f"--period {name!r}: the periods of a release run from an earlier one to a later one")
    return tuple(start.later(step) for step in range(steps + 1))


def _first_day(every: Every, day: date) -> date:
    if every in _DAYS:
        return day if every == "day" else day - timedelta(days=day.weekday())
    months = MONTHS[every]
    return date(day.year, (day.month - 1) // months * months + 1, 1)


def _moved(every: Every, start: date, steps: int) -> date:
    """ValueError or OverflowError off the calendar."""
    if every in _DAYS:
        return start + timedelta(days=steps * _DAYS[every])
    year, month = divmod(_month(start) + steps * MONTHS[every], 12)
    return date(year, month + 1, 1)


def _month(day: date) -> int:
    """Months since the year 0."""
    return 12 * day.year + day.month - 1


# PeriodTree: runs of neighbouring periods, few of which add up to any count from the first period on.

MOST_PERIODS = 1024
WIDEST = 33
"""The largest base of a tree of several levels: two levels over MOST_PERIODS."""


class PeriodTree(Struct, frozen=True, kw_only=True):
    """The nodes of a counter over `periods` periods, numbered from 1. Node t is complete when period t ends.

    Node t holds the base^j periods up to t, where base^j is the largest power of `base` that divides t; j is its level.
    periods: fixed at the first release. base: 2 for the binary tree; above `periods`: every period is a node.

    Theorem. (1) Two nodes of one level share no period, so a period lies in at most `levels` nodes. (2) The nodes of
    `path(t)` are disjoint and hold the periods 1 to t; there are as many as the sum of the digits of t in that base.
    Proof. (1) Nodes of level j end at different multiples of base^j and hold base^j periods each. (2) Taking base^j off
    t takes 1 off its last digit that is not 0; `path` does so until nothing is left.

    >>> tree = PeriodTree(periods=12, base=2)
    >>> tree.levels, tree.span(12), tree.path(11)
    (4, range(9, 13), (8, 10, 11))

    Raises:
        UsageFault: no period, more than MOST_PERIODS, or a base below 2.

    References:
        Chan, Shi and Song 2011, Algorithm 2 (base 2); Dwork, Naor, Pitassi and Rothblum 2010, section 4.
    """

    periods: int
    base: int = 2

    def __post_init__(self) -> None:
        if not 1 <= self.periods <= MOST_PERIODS:
            raise UsageFault(f"--cumulative {self.periods}: a counter runs over 1 to {MOST_PERIODS:,} periods")
        if self.base < 2:
            raise UsageFault(f"a counter's tree has a base of at least 2, not {self.base}")

    @classmethod
    def best(cls, periods: int, power: int) -> PeriodTree:
        """Return the tree of least mean squared error over the life of the counter.

        Noise of equal variance in all nodes grows with levels^power: 2 where epsilons add up, 1 where rho or mu^2 do.

        >>> PeriodTree.best(24, 2).levels, PeriodTree.best(24, 1).base
        (1, 5)
        """
        bases = (*range(2, min(periods, WIDEST) + 1), max(periods, 1) + 1)
        found = (cls(periods=periods, base=base) for base in bases)
        return min(found, key=lambda tree: tree.levels**power * tree.summed)

    @property
    def levels(self) -> int:
        """The most nodes that one period lies in: the digits of `periods` in that base."""
        return len(_digits(self.periods, self.base))

    @property
    def summed(self) -> int:
        """The nodes of all paths together."""
        return sum(sum(_digits(period, self.base)) for period in range(1, self.periods + 1))

    def level(self, node: int) -> int:
        """Return j, from 0."""
        found = 0
        while self._known(node) % self.base ** (found + 1) == 0:
            found += 1
        return found

    def span(self, node: int) -> range:
        """Return the periods of a node."""
        return range(node - self.base ** self.level(node) + 1, node + 1)

    def path(self, period: int) -> tuple[int, ...]:
        """Return the nodes that add up to the periods from 1 to `period`, earliest first."""
        left, found = self._known(period), []
        while left:
            found.append(left)
            left -= len(self.span(left))
        return tuple(reversed(found))

    def _known(self, period: int) -> int:
        if not 1 <= period <= self.periods:
            raise UsageFault(f"period {period} is none of the {self.periods} of the counter (--cumulative)")
        return period


def _digits(number: int, base: int) -> list[int]:
    found = []
    while number:
        number, digit = divmod(number, base)
        found.append(digit)
    return found
