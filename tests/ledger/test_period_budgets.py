"""Budgets of periods in the chain: each pays for its own releases, and no unit pays more than the budget for life."""

from fractions import Fraction

import pytest
from support.cases import slowly
from support.ledger_jobs import another, draws, ledger_in, terms

from dpqr.domain.periods import Period, PeriodRows
from dpqr.kernel.budget import Cost
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import RELEASED
from dpqr.ledger.periods import PeriodBudgets
from dpqr.ledger.state import Charge

ENGINES = True
ROWS, PERSONS = PrivacyUnit(), PrivacyUnit(columns=("who",))
JANUARY = Period.parse("2026-01")
TENTH = Fraction(1, 10)


def of_periods(unit=ROWS, share="1/10", epsilon="1", first=JANUARY, **more):
    periods = PeriodBudgets(
        column="day", every="month", share=Cost(Fraction(share)), first=first, parallel=not unit.columns
    )
    return replace(terms(epsilon=epsilon, unit=unit, **more), periods=periods)


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setattr("dpqr.ledger.chained_ledger.STRIDE", 7)
    made = ledger_in(tmp_path)
    made.open(of_periods())
    return made


def pay(ledger, epsilon, month=None, unit=ROWS, column="day"):
    """One run; month: its number from January on, or a period; None: all rows."""
    period = JANUARY.later(month) if isinstance(month, int) else month
    rows = None if period is None else PeriodRows(column=column, period=period)
    return ledger.reserve(Charge(dataset="survey", events=draws(epsilon), unit=unit, period=rows), note="a test")


def spent(ledger):
    return ledger.account("survey").spent


@pytest.mark.parametrize("months", [4, *slowly(24)])
def test_many_months_cost_a_row_what_one_of_them_costs(ledger, months):
    for month in range(months):
        paid = pay(ledger, TENTH, month)
        ledger.settle(paid, draws("1/20"), note=RELEASED)
        pay(ledger, "1/20", month)
        with pytest.raises(BudgetRefused, match=f"from the budget of {JANUARY.later(month).name}: spent 0.1 of 0.1"):
            pay(ledger, "1/1000", month)
    account = another(ledger).account("survey")
    assert (account.spent, account.pending, account.left) == (TENTH, Fraction(1, 20), Fraction(9, 10))
    assert (account.reservations, account.unsettled) == (2 * months, months)
    assert account.periods == {JANUARY.later(month).name: Cost(TENTH) for month in range(months)}
    assert account.largest_of(JANUARY.later(months).name) == TENTH
    assert not account.largest_of(JANUARY.name)
    assert ledger.verify().histories("survey") == (draws("1/20", 2),) * months


def test_a_person_pays_for_all_of_them_and_so_does_a_row_of_a_dataset_without_periods(tmp_path):
    for number, (opened, unit) in enumerate([(of_periods(PERSONS), PERSONS), (terms(epsilon="1"), ROWS)]):
        (tmp_path / str(number)).mkdir()
        ledger = ledger_in(tmp_path / str(number))
        ledger.open(opened)
        for month in range(10):
            pay(ledger, TENTH, month, unit)
        assert spent(ledger) == 1
        with pytest.raises(BudgetRefused, match="spent 1 of 1"):
            pay(ledger, TENTH, 10, unit)
        assert ledger.verify().histories("survey") == (draws(TENTH, 10),)
        assert bool(ledger.account("survey").periods) == (opened.periods is not None)
        assert [entry.period for entry in ledger.entries()[2:4]] == ["2026-01", "2026-02"]


def test_a_release_of_all_rows_is_paid_by_every_period(ledger):
    pay(ledger, "1/20", 3)
    pay(ledger, "1/20")
    assert spent(ledger) == TENTH
    for month in (None, 3):
        with pytest.raises(BudgetRefused, match=r"spent 0\.1 of 0\.1"):
            pay(ledger, "1/100", month)
    pay(ledger, "1/20", 4)
    assert spent(ledger) == TENTH
    with pytest.raises(BudgetRefused, match=r"of every period, for a release without --period reads the rows of all"):
        pay(ledger, "1/100")


def test_the_history_of_every_period_holds_the_releases_of_all_rows(ledger):
    for month, epsilon in [(None, "1/40"), (0, "1/20"), (1, "3/80")]:
        pay(ledger, epsilon, month)
    whole, *months = draws("1/40"), draws("1/20"), draws("3/80")
    found = ledger.verify().histories("survey")
    assert {frozenset(each) for each in found} >= {frozenset(whole + month) for month in months}
    assert all(frozenset(whole) <= frozenset(each) for each in found)
    assert frozenset(ledger.events("survey")) == frozenset(whole + months[0] + months[1])


REFUSED = {
    "before the first": (Period.parse("2025-12"), "day", "the first period with a budget is 2026-01"),
    "another column": (JANUARY, "left", "by column 'left', but its budget is for each month by column 'day'"),
    "another kind": (Period.parse("2026"), "day", "asked for a year by column 'day'"),
}


@pytest.mark.parametrize(("period", "column", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_period_of_the_budget_is_refused_and_nothing_is_written(ledger, period, column, words):
    before = ledger.entries()
    with pytest.raises(BudgetRefused, match=words):
        pay(ledger, "1/100", period, column=column)
    assert ledger.entries() == before
