"""Releases of two periods, and one of all rows, jointly on all neighbouring tiny tables: the loss is what is charged.

Each period is read by the product's own filter, from a table of dates. What a later release adds depends on nothing but
public values, so the joint loss is the sum of the single ones; those are exact: logarithms of ratios of discrete
Laplace laws are rational.
"""

from __future__ import annotations

import itertools
from datetime import date, timedelta
from fractions import Fraction

import pyarrow as pa
from support.cases import in_one_test

from dpqr.domain.periods import Period, PeriodRows
from dpqr.kernel.budget import Cost
from dpqr.ledger.periods import ALL_PERIODS, PeriodBudgets
from dpqr.tables.encoders import TableBatch
from dpqr.tables.persons import PeriodFilter

JANUARY, FEBRUARY = Period.parse("2026-01"), Period.parse("2026-02")
DATES = (date(2026, 1, 31), date(2026, 2, 1), None)
"""A row of either period, next to the other one, and a row of none."""
PRICES = {JANUARY.name: Fraction(1, 2), FEBRUARY.name: Fraction(3, 4), ALL_PERIODS: Fraction(1, 8)}
MOST = 2


def tables():
    """Multisets of up to MOST rows."""
    for size in range(MOST + 1):
        yield from itertools.combinations_with_replacement(range(len(DATES)), size)


def counts(rows):
    """The true answer of every release."""
    batch = pa.record_batch({"day": pa.array([DATES[row] for row in rows], pa.date32())})
    found = {ALL_PERIODS: len(rows)}
    for period in (JANUARY, FEBRUARY):
        read = PeriodFilter.of(PeriodRows(column="day", period=period), ("day",)).records(TableBatch(batch))
        found[period.name] = read.count
    return found


def loss(one, other, most=MOST):
    """The largest joint loss: a count that differs by c loses c times its epsilon, at outputs beyond both.

    most: rows of one person that each release counts.
    """
    here, there = counts(one), counts(other)
    return sum(min(most, abs(here[name] - there[name])) * price for name, price in PRICES.items())


def grown(row):
    """Neighbours by one more row."""
    return ((rows, (*rows, row)) for rows in tables())


def charged(parallel):
    budgets = PeriodBudgets(column="day", every="month", share=Cost(Fraction(9)), parallel=parallel)
    return budgets.total({name: Cost(price) for name, price in PRICES.items()}).amount


def worst_row():
    return max(loss(one, other) for row in range(len(DATES)) for one, other in grown(row))


def test_a_row_pays_in_its_own_period_alone():
    assert worst_row() == charged(parallel=True) == Fraction(7, 8)


def test_a_person_pays_in_every_period_and_parallel_would_be_too_little():
    person = max(loss(rows, (*rows, 0, 1), most=1) for rows in tables())
    assert person == charged(parallel=False) == Fraction(11, 8)
    assert person > charged(parallel=True)


def test_a_row_that_moves_pays_in_both_periods_so_replaced_rows_are_refused():
    moved = max(loss((*rows, 0), (*rows, 1)) for rows in tables())
    assert moved == PRICES[JANUARY.name] + PRICES[FEBRUARY.name] > charged(parallel=True)


@in_one_test(
    ("name", "more"),
    [
        ("days that are in both", timedelta(days=1)),
        ("no end at all", timedelta(days=10**4)),
    ],
)
def test_periods_that_share_a_day_are_found(monkeypatch, name, more):
    """A filter made wrong on purpose: one row is read by two periods."""
    monkeypatch.setattr(PeriodRows, "days", property(lambda rows: (rows.period.start, rows.period.end + more)))
    assert worst_row() > charged(parallel=True), name


def test_a_row_without_a_date_that_every_period_reads_is_found(monkeypatch):
    def careless(self, batch):
        codes = self.days.encode(batch.rows.column(self.place)).codes
        return TableBatch(
            batch.rows.filter(pa.array((codes == 0) | batch.rows.column(self.place).is_null().to_numpy(False)))
        )

    monkeypatch.setattr(PeriodFilter, "records", careless)
    assert worst_row() > charged(parallel=True)
