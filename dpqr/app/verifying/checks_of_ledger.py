"""Checks of a release against what lies elsewhere: the ledger that paid for it, and the plan that was locked before."""

from __future__ import annotations

from pathlib import Path

from dpqr.app.paying.budget import configured_ledger
from dpqr.app.releasing.locked_plan import read_plan
from dpqr.app.verifying.evidence import Evidence, NotChecked, require_written
from dpqr.app.verifying.repeat import stated_reason
from dpqr.errors import GoalMissed
from dpqr.io.ledger.addresses import is_address
from dpqr.io.ledger.export_file import is_export, read_export
from dpqr.io.ledger.location import NO_ANCHOR
from dpqr.io.ledger.record import Record
from dpqr.io.outputs.records.plan_document import SEAL
from dpqr.io.outputs.records.record_form import Paid
from dpqr.privacy.budget import upward_text
from dpqr.privacy.ledger import Entry


def ledger(evidence: Evidence) -> str:
    """The whole ledger is sound, and its entry has paid for this release."""
    stated, given = evidence.record.ledger, evidence.request.ledger
    if isinstance(stated, str):
        asked = given is not None and not evidence.request.usual
        raise (GoalMissed if asked else NotChecked)("none paid for this release")
    if given is None:
        raise NotChecked(f"entry {stated.entry} of dataset {stated.dataset!r} paid; give the ledger, or its export")
    walked = whole_ledger(given, evidence.request.anchor)
    paid = _entry(walked, stated)
    planned = evidence.events(evidence.document["plan"]["events"])
    if paid.events != planned or paid.plan not in ("", _followed(evidence)):
        raise GoalMissed(f"entry {paid.number} paid for another plan")
    if paid.reason != stated_reason(evidence.record):
        raise GoalMissed(f"entry {paid.number} was paid for another reason, by or for somebody else")
    return f"{len(walked.entries)} entries are chained and priced; entry {paid.number} paid; {_end(evidence, walked)}"


def whole_ledger(given: str, anchor: str | None) -> Record:
    """The ledger, or its export, from the first entry on. LedgerError where it is damaged."""
    if not is_address(given) and is_export(Path(given)):
        return read_export(Path(given))
    return configured_ledger(given, anchor or NO_ANCHOR).verify()


def _entry(walked: Record, stated: Paid) -> Entry:
    paid = walked.entries[stated.entry] if stated.entry < len(walked.entries) else None
    if paid is None or paid.hash != stated.seal or (paid.kind, paid.dataset) != ("reserve", stated.dataset):
        raise GoalMissed(f"entry {stated.entry} is not the one whose seal the record states: it is another ledger")
    return paid


def _end(evidence: Evidence, walked: Record) -> str:
    """How the run was settled. GoalMissed where its settlement does not cover what the record says was charged."""
    number = evidence.record.ledger.entry if isinstance(evidence.record.ledger, Paid) else None
    settled = next((entry for entry in walked.entries if entry.settles == number), None)
    if settled is None:
        return "it is not settled yet"
    drawn, planned = (
        evidence.events(part) for part in (evidence.document["events"], evidence.document["plan"]["events"])
    )
    if settled.events not in (drawn, planned):
        raise GoalMissed(f"entry {settled.number} settled other events than the record says were charged")
    _require_charged(walked, settled, evidence.record.ledger)
    return f"entry {settled.number} settled {'what was charged' if settled.events == drawn else 'all that was planned'}"


def _require_charged(walked: Record, settled: Entry, stated: str | Paid) -> None:
    """What the record says that the ledger keeps. GoalMissed where it keeps something else."""
    if isinstance(stated, str) or not stated.charged or settled.cost is None:
        return
    kept = walked.state.accounts[stated.dataset].terms.currency.words(settled.cost, upward_text)
    if kept != stated.charged:
        raise GoalMissed(f"entry {settled.number} keeps {kept}, and the record says {stated.charged}")


def locked_plan(evidence: Evidence) -> str:
    """The plan of the record is the one that was reviewed."""
    given = evidence.request.plan
    if given is None:
        raise NotChecked("give the plan that was reviewed, if there is one")
    kept = read_plan(given).document
    require_written(kept, Path(given))
    followed = evidence.document["plan"]
    same = kept[SEAL] == _followed(evidence) and all(kept[part] == followed[part] for part in ("budget", "events"))
    if kept != followed and not (evidence.of_session and same):
        raise GoalMissed(f"{given}: is another plan than the one that the release followed")
    return f"the release followed it; its sha256 is {kept[SEAL]}"


def _followed(evidence: Evidence) -> str:
    """The SHA-256 of the plan that was paid for: of a session, that of its opening."""
    return evidence.questions.plan if evidence.questions else str(evidence.record.plan.sha256)
