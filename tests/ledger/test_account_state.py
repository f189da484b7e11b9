"""Draws in a ledger: one after another, each on the transcript that holds all before it, none beyond what was paid."""

from fractions import Fraction

import pytest
from support.ledger_jobs import another, draws, kept, ledger_in, reserve, restore, rows, session_of, tamper, terms

from dpqr.kernel.errors import BudgetRefused, LedgerError
from dpqr.kernel.events import ExponentialEvent
from dpqr.ledger.codec import canonical
from dpqr.ledger.ledger import LedgerEntry, Reason
from dpqr.ledger.state import AccountState, OpenRun

ENGINES = True

HALF = ExponentialEvent(epsilon=Fraction(1, 2))
FIRST, SECOND, THIRD = ("1" * 64, "2" * 64, "3" * 64)


@pytest.fixture
def ledger(tmp_path):
    made = ledger_in(tmp_path)
    made.open(terms(epsilon="5"))
    return made


@pytest.fixture
def paid(ledger):
    return reserve(ledger, 1)


def drawn(ledger, paid, number, before, after):
    ledger.begin(paid, HALF, number=number, transcript=before)
    ledger.record(paid, number=number, transcript=after)


def test_a_run_is_found_again_as_far_as_it_came(ledger, paid):
    assert ledger.run("survey", paid.number, paid.receipt).transcript == ""
    drawn(ledger, paid, 0, FIRST, SECOND)
    ledger.begin(paid, HALF, number=1, transcript=SECOND)
    run = another(ledger).run("survey", paid.number, paid.receipt)
    assert (run.lost, run.recorded, run.transcript) == (HALF, 1, SECOND)
    assert (run.reservation, run.note) == (paid, "a test")
    ledger.verify()


def test_draws_cost_nothing_beyond_the_reservation(ledger, paid):
    drawn(ledger, paid, 0, FIRST, SECOND)
    account = ledger.account("survey")
    assert (account.spent, account.pending, ledger.events("survey")) == (1, 1, draws(1))


def test_no_draw_is_begun_that_is_not_paid(ledger, paid):
    drawn(ledger, paid, 0, FIRST, SECOND)
    drawn(ledger, paid, 1, SECOND, THIRD)
    with pytest.raises(LedgerError, match="does not pay for another draw"):
        ledger.begin(paid, ExponentialEvent(epsilon=Fraction(1, 10**9)), number=2, transcript=THIRD)


def test_a_draw_needs_the_transcript_that_the_ledger_knows(ledger, paid):
    drawn(ledger, paid, 0, FIRST, SECOND)
    with pytest.raises(LedgerError, match="not the newest one"):
        ledger.begin(paid, HALF, number=1, transcript=FIRST)
    ledger.begin(paid, HALF, number=1, transcript=SECOND)


def test_a_draw_is_begun_once_and_recorded_once(ledger, paid):
    ledger.begin(paid, HALF, number=0, transcript=FIRST)
    with pytest.raises(LedgerError, match="another job"):
        ledger.begin(paid, HALF, number=0, transcript=FIRST)
    ledger.record(paid, number=0, transcript=SECOND)
    with pytest.raises(LedgerError, match="another job"):
        ledger.record(paid, number=0, transcript=THIRD)


def test_nothing_is_recorded_that_was_not_begun(ledger, paid):
    with pytest.raises(LedgerError, match="another job"):
        ledger.record(paid, number=0, transcript=FIRST)


@pytest.mark.parametrize("digest", ["", "1" * 63, "G" * 64])
def test_a_running_hash_is_one(ledger, paid, digest):
    with pytest.raises(LedgerError):
        ledger.begin(paid, HALF, number=0, transcript=digest)


def test_a_run_settles_at_no_less_than_what_it_began(ledger, paid):
    ledger.begin(paid, HALF, number=0, transcript=FIRST)
    with pytest.raises(BudgetRefused, match="cost more than that settlement"):
        ledger.settle(paid, (), note="nothing was drawn")
    assert ledger.settle(paid, draws("1/2"), note="stopped early").spent == Fraction(1, 2)
    assert ledger.run("survey", paid.number, paid.receipt) is None


def test_a_settled_run_draws_no_more(ledger, paid):
    ledger.settle(paid, (), note="nothing was drawn")
    with pytest.raises(BudgetRefused, match="settled once"):
        ledger.begin(paid, HALF, number=0, transcript=FIRST)


def test_another_ledgers_run_is_refused(ledger, paid, tmp_path):
    (tmp_path / "other").mkdir()
    other = ledger_in(tmp_path / "other")
    other.open(terms(epsilon="5"))
    reserve(other, 1)
    for act in (
        lambda: other.run("survey", paid.number, paid.receipt),
        lambda: other.begin(paid, HALF, number=0, transcript=FIRST),
        lambda: ledger.run("survey", 99, paid.receipt),
        lambda: ledger.run("survey", -1, paid.receipt),
        lambda: ledger.run("census", paid.number, paid.receipt),
    ):
        with pytest.raises(LedgerError):
            act()


def test_an_older_copy_of_the_ledger_is_found_by_the_anchor(ledger, paid):
    """Else a draw could be made again and again from the copy, until it pleases."""
    ledger.begin(paid, HALF, number=0, transcript=FIRST)
    copy = kept(ledger.store)
    ledger.record(paid, number=0, transcript=SECOND)
    restore(ledger.store, copy)
    with pytest.raises(LedgerError, match="rolled back"):
        ledger.run("survey", paid.number, paid.receipt)


@pytest.mark.file
def test_every_reservation_has_a_key_of_its_own_until_it_is_settled(ledger, paid):
    other = reserve(ledger, 1)
    keys = ledger.key(paid), ledger.key(other)
    assert len(set(keys)) == 2
    assert {len(key) for key in keys} == {32}
    ledger.settle(paid, (), note="nothing was drawn")
    with pytest.raises(LedgerError, match="key of reservation"):
        ledger.key(paid)
    stored = kept(ledger.store)
    assert keys[0] not in stored
    assert keys[1] in stored


def test_no_entry_holds_a_key(ledger, paid):
    key = ledger.key(paid)
    assert all(key.hex() not in entry for _, entry, _ in rows(ledger.store))


def test_a_forged_draw_is_found(ledger, paid):
    drawn(ledger, paid, 0, FIRST, SECOND)
    number, text, _ = rows(ledger.store)[-1]
    tamper(ledger.store, ("UPDATE entries SET entry = ? WHERE number = ?", (text.replace("2" * 64, "4" * 64), number)))
    with pytest.raises(LedgerError, match="does not match its seal"):
        ledger.entries()


def test_a_use_after_a_failed_one_starts_from_what_is_stored(ledger, paid, monkeypatch):
    """The book that this process keeps must not run ahead of the file."""

    def fail(*_):
        raise LedgerError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(session_of(ledger.store), "commit", fail)
        with pytest.raises(LedgerError):
            ledger.begin(paid, HALF, number=0, transcript=FIRST)
    ledger.begin(paid, HALF, number=0, transcript=FIRST)
    assert len(ledger.entries()) == len(rows(ledger.store)) == 4


def test_a_book_that_is_kept_follows_what_other_jobs_add(ledger, paid):
    other = another(ledger)
    reserve(other, 2)
    reserve(ledger, 2)
    with pytest.raises(BudgetRefused):
        reserve(other, "1/2")
    assert other.account("survey").spent == ledger.account("survey").spent == 5


def test_a_ledger_that_was_replaced_is_replayed_from_its_beginning(ledger, paid, tmp_path):
    alone = ledger_in(tmp_path, anchored=False)
    reserve(alone, 1)
    (tmp_path / "other").mkdir()
    other = ledger_in(tmp_path / "other", anchored=False)
    other.open(terms(dataset="census", epsilon="1"))
    restore(ledger.store, kept(other.store))
    assert canonical([account.terms.dataset for account in alone.accounts()]) == '["census"]'
    assert reserve(alone, 1, dataset="census").number == 2


@pytest.mark.parametrize("number", [-1, 1, 2])
def test_a_draw_is_begun_and_recorded_under_its_own_number_alone(ledger, paid, number):
    """Else a job that believes itself elsewhere in its plan would spend another draw's place."""
    with pytest.raises(LedgerError, match="another place"):
        ledger.begin(paid, HALF, number=number, transcript=FIRST)
    ledger.begin(paid, HALF, number=0, transcript=FIRST)
    with pytest.raises(LedgerError, match="another place"):
        ledger.record(paid, number=number, transcript=SECOND)
    ledger.record(paid, number=0, transcript=SECOND)
    assert ledger.run("survey", paid.number, paid.receipt).recorded == 1


def test_the_number_of_the_next_draw_moves_on_with_what_is_recorded(ledger, paid):
    found = OpenRun.of(ledger.entries()[paid.number], paid.currency)
    for recorded in range(3):
        for number in range(-1, 5):
            if number == recorded:
                found.require_next(number)
            else:
                with pytest.raises(LedgerError, match="another place"):
                    found.require_next(number)
        found.recorded += 1


def test_two_draws_are_not_begun_by_one_entry(ledger, paid):
    found = OpenRun.of(ledger.entries()[paid.number], paid.currency)
    for events in (draws("1/4", 2), (*draws("1/4"), *draws("1/8")), draws("1/4", 0), ()):
        with pytest.raises(LedgerError, match="no single event"):
            found.begin(LedgerEntry(number=3, kind="draw", time="", events=events, run=paid.number, transcript=FIRST))
    assert found.events == ()


@pytest.mark.parametrize(
    ("plan", "asked", "found"),
    [
        (FIRST, {"by": "Ann"}, "M. Lee"),
        (FIRST, {"by": "m.  LEE"}, "R. Jones"),
        (FIRST, {"by": "Ann", "approved_by": "r. jones"}, "R. Jones"),
        (FIRST, {"by": "Ann", "approved_by": "B. Smith"}, None),
        (FIRST, {"by": " "}, None),
        (FIRST, {"approved_by": "M. Lee"}, None),
        (SECOND, {"by": "M. Lee"}, None),
        (SECOND, {"by": "Ann"}, "M. Lee"),
        (THIRD, {"by": "Ann"}, None),
    ],
)
def test_an_approval_is_of_one_plan_by_somebody_else_than_who_asks(plan, asked, found):
    held = AccountState(terms=terms(), approvals=[(FIRST, "M. Lee"), (FIRST, "R. Jones"), (SECOND, "M. Lee")])
    if found is None:
        with pytest.raises(BudgetRefused):
            held.approval(plan, Reason(**asked))
    else:
        assert held.approval(plan, Reason(**asked)) == (plan, found)
