"""Counters of persons in the chain: a release in its turn costs its level once."""

from dataclasses import replace
from fractions import Fraction

import pytest
from support.ledger_jobs import another, draws, ledger_in, terms

from dpqr.domain.periods import Period, PeriodRows, PeriodTree
from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import BudgetRefused, LedgerError
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.ledger.chained_ledger import ChainedLedger, move
from dpqr.ledger.ledger import RELEASED
from dpqr.ledger.periods import PeriodBudgets
from dpqr.ledger.sqlite import SqliteStore
from dpqr.ledger.state import Charge

ENGINES = True
PERSONS = PrivacyUnit(column="who", rows=3)
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


def test_what_was_not_drawn_comes_back(ledger):
    paid = reserve(ledger, 1)
    assert (spent(ledger), ledger.account("survey").pending) == (Fraction(1, 4), Fraction(1, 4))
    ledger.settle(paid, (), note="nothing was read")
    assert not spent(ledger)
    pay(ledger, 1)
    assert spent(ledger) == Fraction(1, 4)


def test_an_open_run_keeps_its_layer_for_itself(ledger):
    paid = reserve(ledger, 1)
    pay(ledger, 2)
    assert spent(ledger) == Fraction(1, 2)
    ledger.settle(paid, draws(NODE), note=RELEASED)
    pay(ledger, 3)
    assert spent(ledger) == Fraction(1, 2)


def test_another_bound_and_other_releases_add_up(ledger):
    pay(ledger, 1)
    reserve(ledger, 2, unit=PrivacyUnit(column="who", rows=4))
    assert spent(ledger) == Fraction(1, 2)
    ledger.reserve(Charge(dataset="survey", events=draws("1/2"), unit=PERSONS), note="a test")
    with pytest.raises(BudgetRefused, match="spent 1 of 1"):
        reserve(ledger, 1)
    pay(ledger, 3)


def test_the_dearest_release_of_a_layer_counts(ledger):
    for number, epsilon in [(1, "1/4"), (2, "1/2"), (3, "1/8")]:
        pay(ledger, number, epsilon)
    assert spent(ledger) == Fraction(1, 2)


def test_persons_who_are_replaced_pay_for_the_two_dearest_releases_of_a_layer(tmp_path):
    swapped = PrivacyUnit(column="who", rows=3, neighbours=Neighbours.REPLACE)
    ledger = ledger_in(tmp_path)
    ledger.open(terms(epsilon="1", unit=swapped))
    costs = []
    for number, epsilon in [(1, "1/4"), (2, "1/2"), (3, "1/8"), (5, "3/8"), (6, "1/2")]:
        ledger.settle(reserve(ledger, number, epsilon, unit=swapped), draws(epsilon), note=RELEASED)
        costs.append(spent(ledger).amount)
    assert costs == [Fraction(part, 8) for part in (2, 6, 6, 7, 8)]
    with pytest.raises(BudgetRefused, match="spent 1 of 1"):
        reserve(ledger, 7, "5/8", unit=swapped)
    ledger.verify()


def test_a_reservation_in_a_layer_that_does_not_take_it_is_no_entry_of_a_ledger(ledger):
    """Written past `reserve`: in the layer of a release of the same period, of a later one, and of one that is open."""
    pay(ledger, 1)
    pay(ledger, 2)
    made = [entry for entry in ledger.entries() if entry.layer][-1]
    for number, accepted in [(1, False), (2, False), (3, True)]:
        forged = replace(made, number=made.number + 2, period=JANUARY.later(number - 1).name)
        state = ledger.walk().state
        if accepted:
            state.add(forged)
            with pytest.raises(LedgerError, match="in a layer that does not take it"):
                state.add(replace(forged, number=forged.number + 1, period=JANUARY.later(3).name))
        else:
            with pytest.raises(LedgerError, match="in a layer that does not take it"):
                state.add(forged)


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


def test_a_budget_of_pairs_adds_all_releases_up(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms(epsilon="1", delta="1e-9", unit=PERSONS))
    for number in (1, 2):
        pay(ledger, number)
    assert spent(ledger).amount == Fraction(1, 2)
    assert not any(entry.layer for entry in ledger.entries())


def test_layers_go_along_when_the_ledger_moves(ledger, tmp_path):
    for number in (1, 2):
        pay(ledger, number)
    there = ChainedLedger(store=SqliteStore(tmp_path / "there.sqlite"), anchor=ledger.anchor)
    move(ledger, there)
    pay(there, 3)
    assert spent(there) == Fraction(1, 4)
