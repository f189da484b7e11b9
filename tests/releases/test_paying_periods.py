"""Releases of one period: who pays, what a correction says, and what a kill at each step leaves."""

import json
from fractions import Fraction

import pytest
from support.cases import in_one_test, slow_one
from support.command_desk import DOMAIN, TABLE
from support.ledger_jobs import draws, ledger_in, terms
from support.paid_releases import QUERIES, continue_all, document, killed_at, payer, run, unsound

from dpqr.domain.periods import Period, PeriodRows
from dpqr.kernel.budget import Cost, PrivacyBudget
from dpqr.kernel.currency import PAIR, RHO
from dpqr.kernel.errors import BudgetRefused, DocumentError, UsageFault
from dpqr.kernel.unit import PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.budgets import BudgetRequest, PeriodRequest
from dpqr.ledger.budgets import terms as asked_terms
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.ledger.ledger import RELEASED
from dpqr.ledger.periods import PeriodBudgets
from dpqr.ledger.state import Charge
from dpqr.releases import release as release_module
from dpqr.releases.counters import paid_notes
from dpqr.releases.journal import TranscriptFile
from dpqr.releases.locked_plan import following, plan_file, save_plan
from dpqr.releases.release import checked_plan
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.tables.source import TableSource

MONTHLY = {**DOMAIN, "period": {"column": "day", "every": "month"}}
JANUARY = PeriodRows(column="day", period=Period.parse("2024-01"))
ROW = "a row pays in its own alone"


@pytest.fixture
def desk(tmp_path):
    """The desk of paid releases with a budget of 1 a month, and 5 for life."""
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "q.json").write_text(json.dumps({**QUERIES, "domain": MONTHLY}))
    budgets = PeriodBudgets(column="day", every="month", share=Cost(Fraction(1)), first=Period.parse("2024-01"))
    ledger_in(tmp_path).open(replace(terms(epsilon="5"), periods=budgets))
    return tmp_path


@in_one_test(
    ("more", "words"),
    [
        ({"neighbours": "replace"}, "may leave one period and enter another"),
        ({"share": "6"}, "--per-period 6: is above the budget for life"),
        ({"first": "2024"}, r"--first '2024': give a period of the calendar, such as 2026-03 \(month\)"),
    ],
)
def test_budgets_that_no_periods_can_keep_are_refused(more, words):
    with pytest.raises(UsageFault, match=words):
        opened(**more)


def opened(share="0.1", first=None, **more):
    asked = PeriodRequest(every="month", column="day", epsilon=share, first=first)
    return asked_terms(BudgetRequest(dataset="survey", epsilon="5", periods=asked, **more))


def test_a_share_is_counted_in_the_currency_of_the_budget():
    tenth, nano = Fraction(1, 10), Fraction(1, 10**9)
    assert opened().periods == PeriodBudgets(column="day", every="month", share=Cost(tenth))
    assert not opened(unit="who").periods.parallel
    assert opened(delta="1e-9").periods.share == RHO.limit(PrivacyBudget(tenth, nano))
    pairs = opened(delta="1e-9", accountant="basic")
    assert (pairs.currency, pairs.periods.share) == (PAIR, Cost(tenth, nano))


def notes(directory, out):
    """What the record says of periods."""
    words = "period", "rows of", "corrects"
    return [note for note in document(directory, out)["trust"] if any(word in note for word in words)]


def test_a_release_of_a_period_names_its_way_and_a_second_one_what_it_corrects(desk):
    first = run(desk, out="first", period="2024-01", epsilon="0.5")
    assert first.plan.problem.period == JANUARY
    assert notes(desk, "first") == [
        "rows of 2024-01 only (by the date in column 'day'); each row is in one period",
        f"paid from the budget of 2024-01; parallel over periods: {ROW}",
    ]
    assert document(desk, "first")["plan"]["period"] == {"name": "2024-01", "every": "month", "column": "day"}
    run(desk, out="second", period="2024-01", epsilon="0.25")
    paid = ledger_in(desk).entries()[2]
    assert notes(desk, "second")[2] == (
        f"corrects: entry 2 of the ledger (seal {paid.hash[:16]}), a release of 2024-01; this is a new release of it, "
        "and paid anew"
    )
    run(desk, out="other", period="2024-02", epsilon="1")
    assert not any("corrects" in note for note in notes(desk, "other"))
    with pytest.raises(BudgetRefused, match=r"from the budget of 2024-01: spent 0\.75 of 1"):
        run(desk, out="third", period="2024-01", epsilon="0.5")
    account = ledger_in(desk).account("survey")
    assert (account.spent, account.periods["2024-01"]) == (1, Fraction(3, 4))
    with pytest.raises(BudgetRefused, match="of every period"):
        run(desk, out="whole", epsilon="0.1")
    assert unsound(desk) is None


def test_a_release_corrects_the_newest_finished_one_of_its_own_dataset_and_period_and_no_later_one(desk):
    ledger = ledger_in(desk)
    ledger.open(terms("other", epsilon="5"))

    def paid(dataset, month, note, *, settled=True):
        rows = PeriodRows(column="day", period=Period.parse(month))
        made = ledger.reserve(
            Charge(dataset=dataset, events=draws("1/8"), unit=PrivacyUnit(), period=rows), note="a test"
        )
        if settled:
            ledger.settle(made, draws("1/8"), note=note)
        return ledger.entries()[made.number]

    def corrected(before=None):
        found = [note for note in paid_notes(payer(desk), JANUARY, before) if "corrects" in note]
        return [note.split("seal ")[1][:16] for note in found]

    assert corrected() == []
    paid("other", "2024-01", RELEASED)
    paid("survey", "2024-02", RELEASED)
    paid("survey", "2024-01", "ended: nothing was released")
    paid("survey", "2024-01", RELEASED, settled=False)
    assert corrected() == []
    first, second = (paid("survey", "2024-01", RELEASED) for _ in range(2))
    paid("survey", "2024-01", "", settled=False)
    assert corrected() == [second.hash[:16]]
    assert corrected(second.hash) == [first.hash[:16]]
    assert corrected(first.hash) == []


def test_a_release_of_all_rows_says_that_every_period_pays(desk):
    run(desk, epsilon="0.5")
    assert notes(desk, "out") == ["it reads the rows of all periods, so the budget of every month pays for it"]
    assert ledger_in(desk).account("survey").largest_of("2024-05") == Fraction(1, 2)


STAGES = [
    *((ChainedLedger, "begin", count, after) for count in (1, 5) for after in (False, True)),
    *((ChainedLedger, "record", count, after) for count in (1, 7) for after in (False, True)),
    (ChainedLedger, "reserve", 1, False),
    (ChainedLedger, "reserve", 1, True),
    (TranscriptFile, "append", 2, True),
    (release_module, "load_table", 1, False),
    (release_module, "write_release", 1, False),
    (release_module, "write_release", 1, True),
    (ChainedLedger, "settle", 1, False),
    (ChainedLedger, "settle", 1, True),
]


@pytest.mark.slow
@pytest.mark.parametrize("stage", [row if place == 1 else slow_one(row) for place, row in enumerate(STAGES)], ids=str)
def test_a_killed_release_of_a_period_goes_on_and_its_period_pays_once(desk, stage):
    """A release of the same period that comes between changes neither what the killed one is nor what it pays."""
    asked = {"period": "2024-01", "epsilon": "0.5"}
    assert killed_at(desk, stage, **asked) == 9
    assert unsound(desk) is None
    reserved = ledger_in(desk).account("survey").reservations
    assert ledger_in(desk).account("survey").periods.get("2024-01", Cost()) == Fraction(reserved, 2)
    run(desk, out="between", period="2024-01", epsilon="0.25")
    continue_all(desk, **asked)
    account = ledger_in(desk).account("survey")
    assert account.periods == {"2024-01": Cost(Fraction(reserved, 2) + Fraction(1, 4))}
    assert account.reservations == reserved + 1


@pytest.mark.slow
def test_twenty_four_monthly_releases_spend_as_planned(desk):
    months = [Period.parse("2024-01").later(steps) for steps in range(22)]
    for month in months:
        run(desk, out=month.name, period=month.name, epsilon="0.75")
    for month in months[:2]:
        run(desk, out=f"{month.name}-again", period=month.name, epsilon="0.25")
    account = ledger_in(desk).account("survey")
    assert (account.spent, account.reservations, account.unsettled) == (1, 24, 0)
    assert [account.periods[month.name] for month in months] == [*[1] * 2, *[Fraction(3, 4)] * 20]
    assert sum(entry.note == RELEASED for entry in ledger_in(desk).verify().entries) == 24
    assert unsound(desk) is None


def test_a_reviewed_plan_must_say_what_it_corrects(desk):
    first = run(desk, out="first", period="2024-01", epsilon="0.25")
    save_plan(first.plan, plan_file(str(desk / "plan.json")))
    asked = ReleaseRequest(source=TableSource(paths=(str(desk / "table.csv"),)), plan=PlanRequest(), payer=payer(desk))
    with pytest.raises(DocumentError, match="does not say this, which holds now: corrects: entry 2 of the ledger"):
        checked_plan(following(asked, str(desk / "plan.json")))
