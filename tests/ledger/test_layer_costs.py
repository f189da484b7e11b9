"""Counters of persons in the chain: a release in its turn costs its level once (all short histories: `test_layers`)."""

from fractions import Fraction

import pytest
from support.ledger_jobs import another, draws, ledger_in, terms

from dpqr.domain.periods import Period, PeriodRows, PeriodTree
from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import RELEASED
from dpqr.ledger.periods import PeriodBudgets
from dpqr.ledger.state import Charge

ENGINES = True
PERSONS = PrivacyUnit(columns=("who",), rows=3)
JANUARY = Period.parse("2026-01")
TREE = PeriodTree(periods=12, base=4)
NODE = "1/4"


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setattr("dpqr.ledger.chained_ledger.STRIDE", 7)
    made = ledger_in(tmp_path)
    made.open(terms(epsilon="1", unit=PERSONS))
    return made


def reserve(ledger, number, epsilon=NODE, unit=PERSONS):
    since = JANUARY.later(TREE.span(number).start - 1)
    rows = PeriodRows(column="day", period=JANUARY.later(number - 1), since=since, first=JANUARY)
    return ledger.reserve(Charge(dataset="survey", events=draws(epsilon), unit=unit, period=rows), note="a test")


def pay(ledger, number, epsilon=NODE):
    ledger.settle(reserve(ledger, number, epsilon), draws(epsilon), note=RELEASED)


def spent(ledger):
    return ledger.account("survey").spent


def test_a_year_costs_a_price_a_level(ledger):
    costs = []
    for number in range(1, 13):
        pay(ledger, number)
        costs.append(spent(ledger).amount / Fraction(NODE))
    assert costs == [1, 1, 1, *[2] * 9]
    assert spent(another(ledger)) == Fraction(1, 2)
    assert {entry.layer.number for entry in ledger.entries() if entry.layer} == {0, 1}
    ledger.verify()


def test_a_release_made_again_is_paid_in_full(ledger):
    for number in (1, 2, 2, 1):
        pay(ledger, number)
    assert spent(ledger) == Fraction(3, 4)
    pay(ledger, 3)
    assert spent(ledger) == Fraction(3, 4)


def test_another_bound_and_other_releases_add_up(ledger):
    pay(ledger, 1)
    reserve(ledger, 2, unit=PrivacyUnit(columns=("who",), rows=4))
    assert spent(ledger) == Fraction(1, 2)
    ledger.reserve(Charge(dataset="survey", events=draws("1/2"), unit=PERSONS), note="a test")
    with pytest.raises(BudgetRefused, match="spent 1 of 1"):
        reserve(ledger, 1)
    pay(ledger, 3)


def test_the_share_of_a_period_counts_the_releases_of_layers_that_read_it(tmp_path):
    """Four months at 1/4, then one of all four at 1/4: each month has paid 1/2 of 5/8; a person pays 1/4 and 1/4."""
    periods = PeriodBudgets(column="day", every="month", share=Cost(Fraction(5, 8)), parallel=False)
    ledger = ledger_in(tmp_path)
    ledger.open(replace(terms(epsilon="2", unit=PERSONS), periods=periods))
    for number in range(1, 5):
        pay(ledger, number)
    account = ledger.account("survey")
    months = {JANUARY.later(step).name: Fraction(2 if step < 3 else 1, 4) for step in range(4)}
    assert {name: cost.amount for name, cost in account.periods.items()} == months
    assert account.spent.amount == Fraction(1, 2)
    with pytest.raises(BudgetRefused, match="from the budget of 2026-02"):
        reserve(ledger, 2)
    with pytest.raises(BudgetRefused, match=r"from the budget of 2026-01: spent 0\.5 of 0\.625"):
        reserve(ledger, 4)
    reserve(ledger, 2, "1/8")
