"""Counters: what all releases cost one unit, by brute force over the periods of its rows."""

from fractions import Fraction
from itertools import combinations_with_replacement

import pytest
from support.cases import in_one_test

from dpqr.domain.periods import Period, PeriodTree
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.currency import currency
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.strategies.counter import Counter, CounterStep

ROW, PERSON = PrivacyUnit(), PrivacyUnit(columns=("person",), rows=3)
LIFE = PrivacyBudget.parse("1")


def counter(base, unit=ROW, periods=9):
    return Counter(tree=PeriodTree(periods=periods, base=base), life=LIFE, accountant="basic", unit=unit)


def held(tree, rows):
    """How many rows each node holds, by the periods of the rows."""
    return [sum(period in tree.span(node) for period in rows) for node in range(1, tree.periods + 1)]


@in_one_test("base", [2, 3, 10])
@pytest.mark.parametrize("power", [1, 2])
def test_no_unit_costs_more_than_the_stated_prices(base, power):
    """All ways to spread up to K rows over the periods: price (k / K)^power a node, added up."""
    found = counter(base, PERSON)
    ways = combinations_with_replacement(range(1, 10), PERSON.rows)
    costs = [sum(Fraction(k, PERSON.rows) ** power for k in held(found.tree, rows)) for rows in ways]
    assert max(costs) == found.prices == found.tree.levels


@in_one_test("base", [2, 3, 10])
def test_a_replaced_row_may_move_to_another_period(base):
    found = counter(base, PrivacyUnit(neighbours=Neighbours.REPLACE))
    moved = [
        sum(max(pair) for pair in zip(held(found.tree, [gone]), held(found.tree, [come]), strict=True))
        for gone in range(1, 10)
        for come in range(1, 10)
    ]
    assert found.tree.levels <= max(moved) <= found.prices


def test_shares_of_epsilon_are_exact():
    assert counter(2).node == PrivacyBudget(Fraction(1, 4))
    assert counter(10).node == LIFE


@in_one_test("accountant", ["zcdp", "gdp"])
def test_shares_of_rho_and_mu_fit_the_life(accountant):
    life = PrivacyBudget.parse("1", "1e-9")
    found = Counter.of(24, life, accountant, ROW)
    added = currency(accountant, pure=False)
    price, whole = added.limit(found.node).amount, added.limit(life).amount
    assert found.tree.levels == 2
    assert Fraction(99, 100) * whole <= found.prices * price <= whole


def turn(period):
    return CounterStep(counter=counter(3), first=Period.parse("2026-01"), period=Period.parse(period))


@in_one_test(
    ("action", "says"),
    [
        (lambda: Counter.of(24, PrivacyBudget.parse("1", "1e-9"), "pld", ROW), "choose basic, zcdp, gdp"),
        (lambda: Counter.of(64, PrivacyBudget.parse("1e-9", "1e-9"), "zcdp", ROW).node, "too little"),
        (lambda: turn("2025-12"), "runs from 2026-01 to 2026-09"),
        (lambda: turn("2026-10"), "runs from 2026-01 to 2026-09"),
    ],
)
def test_what_no_counter_can_be_is_refused(action, says):
    with pytest.raises(UsageFault, match=says):
        action()


@in_one_test(
    ("period", "level", "since"),
    [
        ("2026-01", 0, "2026-01"),
        ("2026-02", 0, "2026-02"),
        ("2026-03", 1, "2026-01"),
        ("2026-06", 1, "2026-04"),
        ("2026-09", 2, "2026-01"),
    ],
)
def test_which_rows_a_release_reads(period, level, since):
    assert (turn(period).level, turn(period).since.name) == (level, since)
    assert turn("2026-01").before is None
    assert turn("2026-09").before.name == "2026-08"
