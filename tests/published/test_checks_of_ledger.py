"""Checks against a ledger and a locked plan that lie elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from dpqr.kernel.errors import DocumentError, GoalMissed
from dpqr.published.checks import _end, ledger, locked_plan
from dpqr.published.evidence import NotChecked, ReleaseEvidence
from dpqr.releases.files import document_text
from dpqr.releases.record.plan_document import seal_document


@pytest.fixture
def evidence(paid_release, tmp_path):
    return ReleaseEvidence(paid_release, tmp_path)


def stating(evidence, **changed):
    """The same evidence with a record that states otherwise."""
    record = msgspec.structs.replace(evidence.record, **changed)
    kept = {name: getattr(evidence, name) for name in ("request", "document", "events", "questions", "walked")}
    return SimpleNamespace(record=record, **kept)


def test_a_sound_ledger(evidence):
    assert "entry 2 paid; entry" in ledger(evidence)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"purpose": "another"}, "was paid for another reason"),
        ({"approved_by": "R. Jones"}, "was paid for another reason"),
        ({"ledger": "none"}, "none paid for this release"),
    ],
)
def test_what_the_ledger_does_not_hold(evidence, changed, said):
    with pytest.raises(GoalMissed, match=said):
        ledger(stating(evidence, **changed))


@pytest.mark.parametrize("paid", [{"entry": 1}, {"entry": 99}, {"seal": "0" * 64}, {"dataset": "other"}])
def test_an_entry_of_another_ledger(evidence, paid):
    with pytest.raises(GoalMissed, match="it is another ledger"):
        ledger(stating(evidence, ledger=msgspec.structs.replace(evidence.record.ledger, **paid)))


def test_another_plan_was_paid(evidence):
    plan = msgspec.structs.replace(evidence.record.plan, sha256="0" * 64)
    with pytest.raises(GoalMissed, match="paid for another plan"):
        ledger(stating(evidence, plan=plan))


def test_an_entry_that_paid_for_other_draws_or_settled_them(evidence):
    events, plan = evidence.document["events"], evidence.document["plan"]
    evidence.document["plan"] = {**plan, "events": plan["events"][:-1]}
    with pytest.raises(GoalMissed, match="paid for another plan"):
        ledger(evidence)
    evidence.document["plan"] = plan
    paid = SimpleNamespace(events=evidence.events(events[:1]), settles=evidence.record.ledger.entry, number=9)
    with pytest.raises(GoalMissed, match="entry 9 settled other events"):
        _end(evidence, SimpleNamespace(entries=[paid]))


def test_a_run_that_lost_draws_was_settled_as_planned(evidence):
    """A continued run pays for every planned draw, and its record names those that were made."""
    assert ledger(evidence).endswith("settled what was charged")
    events = evidence.document["events"]
    lost = {"events": events[:-1], "plan": {**evidence.document["plan"], "events": events}}
    paid = SimpleNamespace(events=tuple(evidence.events(events)), settles=evidence.record.ledger.entry, number=9)
    made = SimpleNamespace(document=lost, record=evidence.record, events=evidence.events)
    assert _end(made, SimpleNamespace(entries=[paid])) == "entry 9 settled all that was planned"


def test_a_record_that_says_that_another_sum_was_charged(evidence):
    """It says nothing where all was; here all of it was."""
    paid = msgspec.structs.replace(evidence.record.ledger, charged="epsilon 1")
    assert ledger(stating(evidence, ledger=paid)).endswith("settled what was charged")
    paid = msgspec.structs.replace(paid, charged="epsilon 0.9975")
    with pytest.raises(GoalMissed, match=r"entry \d+ keeps epsilon 1, and the record says epsilon 0.9975"):
        ledger(stating(evidence, ledger=paid))


def test_a_run_that_is_not_settled_yet(evidence, tmp_path):
    lines = Path(evidence.request.ledger).read_text().splitlines(keepends=True)
    (tmp_path / "begun.jsonl").write_text("".join(lines[:3]))
    evidence.request = replace(evidence.request, ledger=str(tmp_path / "begun.jsonl"))
    assert ledger(evidence).endswith("it is not settled yet")


def test_without_a_ledger_and_a_plan_nothing_is_found(evidence):
    evidence.request = replace(evidence.request, ledger=None, plan=None)
    for check, said in ((ledger, "give the ledger, or its export"), (locked_plan, "give the plan that was reviewed")):
        with pytest.raises(NotChecked, match=said):
            check(evidence)


def test_another_plan_than_the_one_that_was_followed(evidence, tmp_path):
    document = seal_document(evidence.document["plan"] | {"forecast": []})
    (tmp_path / "other.json").write_text(document_text(document))
    evidence.request = replace(evidence.request, plan=str(tmp_path / "other.json"))
    with pytest.raises(GoalMissed, match="is another plan than the one that the release followed"):
        locked_plan(evidence)
    (tmp_path / "other.json").write_text(document_text(document | {"seed": 9}))
    with pytest.raises(DocumentError, match="was edited or is damaged"):
        locked_plan(evidence)
