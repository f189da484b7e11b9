"""Approvals: under such a policy each pays for one release of one plan, asked for by somebody else."""

import threading
from contextlib import suppress

import pytest
from support.ledger_jobs import UNIT, draws, ledger_in, rows, store_of, terms

from dpqr.kernel.errors import BudgetRefused, DpqrError, LedgerError, UsageFault
from dpqr.kernel.values import replace
from dpqr.ledger.codec import decode_entry, encode_entry
from dpqr.ledger.ledger import LedgerEntry, Reason
from dpqr.ledger.state import Charge, LedgerState, decode_state, legacy_spelling
from dpqr.tables.policy import Policy, PolicyChange

ENGINES = True

PLAN, OTHER = "a" * 64, "b" * 64
ANN, LEE = Reason(by="Ann"), Reason(by="M. Lee", purpose="read it")
ASKED = Policy(approval=True)


@pytest.fixture
def ledger(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(replace(terms(), policy=ASKED))
    return ledger


def pay(ledger, plan=PLAN, reason=ANN, policy=ASKED):
    return ledger.reserve(
        Charge(dataset="survey", events=draws(1), unit=UNIT, plan=plan, policy=policy, reason=reason), note="a test"
    )


def test_an_approval_pays_for_one_release(ledger):
    ledger.approve("survey", PLAN, LEE)
    paid = pay(ledger)
    assert (paid.plan, paid.reason) == (PLAN, Reason(by="Ann", approved_by="M. Lee"))
    with pytest.raises(BudgetRefused, match=r"no unused approval; .*\n.*dpqr budget approve survey plan.json"):
        pay(ledger)
    assert ledger.account("survey").spent == 1
    ledger.approve("survey", PLAN, LEE)
    pay(ledger)
    assert [entry.kind for entry in ledger.verify().entries][2:] == ["approve", "reserve", "approve", "reserve"]


@pytest.mark.parametrize(
    ("approver", "plan", "reason", "words"),
    [
        ("M. Lee", OTHER, ANN, "has no unused approval"),
        ("Ann", PLAN, ANN, "somebody else than 'Ann'"),
        (" ANN ", PLAN, ANN, "somebody else than 'Ann'"),
        ("M. Lee", PLAN, Reason(), "add --by NAME"),
        ("M. Lee", PLAN, Reason(by="  "), "add --by NAME"),
        ("M. Lee", PLAN, Reason(by="Ann", approved_by="R. Jones"), "no unused approval by 'R. Jones'"),
        ("M. Lee", "", ANN, "approved plans only"),
    ],
)
def test_any_other_one_does_not(ledger, approver, plan, reason, words):
    ledger.approve("survey", PLAN, Reason(by=approver))
    with pytest.raises(BudgetRefused, match=words):
        pay(ledger, plan, reason)
    assert ledger.account("survey").reservations == 0
    with pytest.raises(BudgetRefused):
        ledger.require_fit(
            Charge(dataset="survey", events=draws(1), unit=UNIT, policy=ASKED, plan=plan or OTHER, reason=reason)
        )


def test_who_approved_may_be_named(ledger):
    for name in ("R. Jones", "M. Lee"):
        ledger.approve("survey", PLAN, Reason(by=name))
    assert pay(ledger, reason=Reason(by="Ann", approved_by="m. lee")).reason.approved_by == "M. Lee"
    assert pay(ledger).reason.approved_by == "R. Jones"


def test_a_request_that_is_refused_uses_none_up(ledger):
    ledger.approve("survey", PLAN, LEE)
    with pytest.raises(BudgetRefused, match="the largest request"):
        ledger.reserve(
            Charge(dataset="survey", events=draws(9), unit=UNIT, plan=PLAN, policy=ASKED, reason=ANN), note="a test"
        )
    assert pay(ledger).plan == PLAN


@pytest.mark.parametrize("nobody", ["", " ", ". -", "\u3164", "\u2800"])
def test_an_approval_names_a_plan_and_who_approves(ledger, nobody):
    with pytest.raises(UsageFault, match="--by: say who approves"):
        ledger.approve("survey", PLAN, Reason(by=nobody))
    with pytest.raises(LedgerError):
        ledger.approve("survey", "plan.json", LEE)
    with pytest.raises(UsageFault, match="no budget"):
        ledger.approve("nobody", PLAN, LEE)
    ledger.approve("survey", PLAN, LEE)
    with pytest.raises(BudgetRefused, match="add --by NAME"):
        pay(ledger, reason=Reason(by=nobody))
    paid = pay(ledger)
    with pytest.raises(LedgerError, match="by no digest"):
        ledger.settle(paid, draws(1), note="released", drawn="draws")
    ledger.settle(paid, draws(1), note="released", drawn=OTHER)
    assert ledger.verify().entries[-1].drawn == OTHER


def test_without_the_policy_names_are_only_kept(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    assert "approv" not in ledger.verify().state.text
    assert not any("approv" in text for _, text, _ in rows(store_of(tmp_path))), "as before there were any"
    paid = pay(ledger, reason=Reason(approved_by="M. Lee"), policy=Policy())
    assert paid.reason.approved_by == "M. Lee"
    ledger.restrict("survey", PolicyChange(approval=True))
    with pytest.raises(BudgetRefused):
        pay(ledger)
    ledger.restrict("survey", PolicyChange(records=10))
    assert ledger.account("survey").terms.policy == Policy(records=10, approval=True), "there is no way back"


def test_jobs_at_once_share_one_approval(ledger, tmp_path):
    ledger.approve("survey", PLAN, LEE)
    paid = []

    def job():
        with suppress(BudgetRefused):
            paid.append(pay(ledger_in(tmp_path)))

    jobs = [threading.Thread(target=job) for _ in range(6)]
    for each in jobs:
        each.start()
    for each in jobs:
        each.join()
    assert len(paid) == 1
    assert ledger.verify().state.accounts["survey"].approvals == []


def test_entries_and_states_come_back_as_they_were(ledger):
    approval = LedgerEntry(number=2, kind="approve", time="T", dataset="survey", plan=PLAN, reason=LEE)
    assert decode_entry(encode_entry(approval), "seal") == replace(approval, hash="seal")
    ledger.approve("survey", PLAN, LEE)
    ledger.approve("survey", OTHER, LEE)
    pay(ledger)
    state = ledger.verify().state
    stored = decode_state(state.text)
    assert stored.accounts["survey"].approvals == [(OTHER, "M. Lee")]
    assert stored.text == state.text


def test_an_approval_cannot_be_forged(ledger, tmp_path):
    """An entry that was changed breaks the chain; one that is chained anew is refused by the rules."""
    ledger.approve("survey", PLAN, LEE)
    pay(ledger)
    state, entries = LedgerState(), ledger.entries()
    for entry in entries:
        changed = replace(entry, plan=OTHER) if entry.kind == "approve" else entry
        if entry.kind == "reserve":
            with pytest.raises(DpqrError):
                state.add(changed)
            break
        state.add(changed)
    assert any('"approve"' in text for _, text, _ in rows(store_of(tmp_path)))


@pytest.mark.parametrize(
    "name", ["M.Lee", "m. lee", "M\u2010Lee", "\uff2d. \uff2cee", "M. Le\u034fe", "M. Lee\ufe0f", "(M. Lee)", "M. LEE"]
)
def test_a_name_spelled_otherwise_is_the_same_person(ledger, name):
    """In every place that compares names: who asks, who approved, and who is named as the one who did."""
    ledger.approve("survey", PLAN, Reason(by=name))
    for refused in (
        pay,
        lambda *given, **more: ledger.require_fit(
            Charge(dataset="survey", events=draws(1), unit=UNIT, policy=ASKED, **more)
        ),
    ):
        with pytest.raises(BudgetRefused, match="capitals, blanks and dots make no other name"):
            refused(ledger, plan=PLAN, reason=Reason(by="M. Lee"))
    assert pay(ledger, reason=Reason(by="Ann", approved_by="M. Lee")).reason.approved_by == name


@pytest.mark.parametrize("name", ["M. Le\u0435", "M. Lea", "Lee", "M. Lee 2", "M. Lée"])
def test_another_name_is_another_person(ledger, name):
    """A Cyrillic letter makes another name: names are declared, and letters are not judged by their looks."""
    ledger.approve("survey", PLAN, Reason(by=name))
    assert pay(ledger, reason=Reason(by="M. Lee")).reason.approved_by == name


def test_a_ledger_of_dpqr_0_10_is_read_as_it_was(ledger, monkeypatch):
    """It compared names by capitals and single blanks alone, and admitted what is refused today."""
    monkeypatch.setattr("dpqr.ledger.state.AccountState.approval.__defaults__", (legacy_spelling,))
    monkeypatch.setattr("dpqr.ledger.chained_ledger.person", legacy_spelling)
    ledger.approve("survey", PLAN, Reason(by="M.Lee"))
    pay(ledger, reason=Reason(by="M. Lee"))
    monkeypatch.undo()
    assert [entry.kind for entry in ledger.verify().entries][2:] == ["approve", "reserve"]
    ledger.approve("survey", PLAN, Reason(by="M.Lee"))
    with pytest.raises(BudgetRefused):
        pay(ledger, reason=Reason(by="M. Lee"))
