"""Checks against a ledger and a locked plan that lie elsewhere."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import GoalMissed
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, LabelSelectionEvent
from dpqr.kernel.values import replace
from dpqr.ledger.record import require_learned
from dpqr.published.checks import _end, learned_entries, ledger, locked_plan
from dpqr.published.evidence import NotChecked, ReleaseEvidence


@pytest.fixture
def evidence(paid_release, tmp_path):
    return ReleaseEvidence(paid_release, tmp_path)


def stating(evidence, **changed):
    """The same evidence with a record that states otherwise."""
    record = msgspec.structs.replace(evidence.record, **changed)
    kept = {name: getattr(evidence, name) for name in ("request", "document", "events", "questions", "walked")}
    return SimpleNamespace(record=record, **kept)


def test_a_release_that_no_ledger_paid_is_held_against_a_ledger_that_is_given(evidence):
    """What else a ledger may contradict: `test_removed_checks`."""
    with pytest.raises(GoalMissed, match="none paid for this release"):
        ledger(stating(evidence, ledger="none"))


PAID = {
    "laplace": DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(1)),
    "labels": LabelSelectionEvent(epsilon=Fraction(1), delta=Fraction(1, 9), labels=1),
    "gaussian": DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(1)),
}
OTHER_ENTRY, TOO_DEAR = "entry .* is not the one whose seal the domain states", "entry 0 of dataset 's' paid more than"


@in_one_test(
    ("kind", "draw", "changed", "fault"),
    [
        ("reserve", "laplace", {}, None),
        ("reserve", "labels", {"delta": Fraction(1, 9)}, None),
        ("reserve", "laplace", {"seal": "0"}, None),
        ("reserve", "laplace", {"dataset": "other"}, OTHER_ENTRY),
        ("reserve", "laplace", {"entry": 1}, OTHER_ENTRY),
        ("settle", "laplace", {}, OTHER_ENTRY),
        ("reserve", "laplace", {"epsilon": Fraction(1, 2)}, TOO_DEAR),
        ("reserve", "labels", {"delta": Fraction(1, 10)}, TOO_DEAR),
        ("reserve", "gaussian", {"epsilon": Fraction(99)}, TOO_DEAR),
    ],
)
def test_the_entry_that_paid_for_a_learned_domain(kind, draw, changed, fault):
    entry = SimpleNamespace(kind=kind, dataset="s", number=0, hash="1", events=((PAID[draw], 1),))
    stated = {"dataset": "s", "entry": 0, "seal": "1", "epsilon": Fraction(1)} | changed
    figures = {name: {"exact": str(stated.get(name, 0))} for name in ("epsilon", "delta")}
    learned, walked = {"ledger": [stated | {"budget": figures}]}, SimpleNamespace(entries=[entry])
    if fault is None:
        end = "paid for what was learned" + (", is of another ledger" if "seal" in changed else "")
        assert require_learned(walked, learned_entries({"learned": learned})).endswith(end)
    else:
        with pytest.raises(GoalMissed, match=fault):
            require_learned(walked, learned_entries({"learned": learned}))


def test_a_domain_that_names_no_entry_has_none_to_look_for():
    assert require_learned(SimpleNamespace(entries=[]), learned_entries({})) == ""


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
