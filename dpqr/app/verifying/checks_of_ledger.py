"""Checks of a release against what lies elsewhere: the ledger that paid for it, and the plan that was locked before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpqr.app.releasing.locked_plan import read_plan
from dpqr.app.verifying.evidence import Evidence, NotChecked, is_since, require_written
from dpqr.app.verifying.repeat import stated_reason
from dpqr.errors import GoalMissed
from dpqr.io.ledger.record import Record
from dpqr.io.outputs.records.drawn import drawn_digest
from dpqr.io.outputs.records.plan_document import SEAL
from dpqr.io.outputs.records.record_form import Paid
from dpqr.privacy.budget import upward_text
from dpqr.privacy.ledger import Entry

PLANNED, BINDING = (0, 10), (0, 11)
"""Versions of dpqr from which on every reservation names its plan, and every settlement what was drawn."""


def ledger(evidence: Evidence) -> str:
    """The whole ledger is sound, and its entry has paid for this release."""
    stated, given = evidence.record.ledger, evidence.request.ledger
    if isinstance(stated, str):
        asked = given is not None and not evidence.request.usual
        raise (GoalMissed if asked else NotChecked)("none paid for this release")
    if given is None:
        raise NotChecked(f"entry {stated.entry} of dataset {stated.dataset!r} paid; give the ledger, or its export")
    walked = evidence.walked
    paid = _entry(walked, stated)
    planned = evidence.events(evidence.document["plan"]["events"])
    if paid.events != planned or not names_plan(paid, _followed(evidence), evidence.record.version):
        raise GoalMissed(f"entry {paid.number} paid for another plan")
    if paid.reason != stated_reason(evidence.record):
        raise GoalMissed(f"entry {paid.number} was paid for another reason, by or for somebody else")
    return f"{len(walked.entries)} entries are chained and priced; entry {paid.number} paid; {_end(evidence, walked)}"


def names_plan(paid: Entry, followed: str, version: object) -> bool:
    """Whether a reservation was made for the plan of this hash; of versions before PLANNED some name none."""
    return paid.plan == followed or (not paid.plan and not is_since(version, PLANNED))


def settlement(evidence: Evidence) -> str:
    """The entry that settled the run names the draws of this record: another run by the same plan has others."""
    stated = evidence.record.ledger
    if isinstance(stated, str):
        raise NotChecked("none paid for this release")
    return require_bound(evidence.walked, stated.entry, evidence.document)


def require_bound(walked: Record, number: int, record: Mapping[str, Any]) -> str:
    """That a reservation's settlement names the draws of a record. Raises: GoalMissed where it names others; NotChecked
    where it names none. A record of a version that binds its draws may not name an entry that binds none."""
    settled = next((entry for entry in walked.entries if entry.settles == number), None)
    if settled is None:
        raise NotChecked(f"not bound: entry {number} is not settled yet, so no entry names what was drawn")
    if not settled.drawn and is_since(record["version"], BINDING):
        raise GoalMissed(f"entry {settled.number} names no draws: the run that it settled has released nothing")
    if not settled.drawn:
        raise NotChecked(
            f"not bound: entry {settled.number} is of dpqr 0.10 or older and names no draws; another release by the "
            "same plan could name the same entry"
        )
    if settled.drawn != drawn_digest(record):
        raise GoalMissed(f"entry {settled.number} names other draws than the record: it settled another run")
    return f"entry {settled.number} names the draws of the record, {settled.drawn[:12]}"


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
