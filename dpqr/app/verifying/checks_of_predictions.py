"""Checks of predictions, and of a released function: record, file, ledger, events, prices, and a session's draws."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dpqr import __version__
from dpqr.app.verifying.checks_of_ledger import whole_ledger
from dpqr.app.verifying.checks_of_record import ROUNDING
from dpqr.app.verifying.evidence import NotChecked, VerifyRequest, require_written
from dpqr.errors import DocumentError, GoalMissed
from dpqr.io.outputs.document_parts import parsed_events, reason_part
from dpqr.io.outputs.plan_document import SEAL, sealed
from dpqr.io.outputs.prediction_document import MODEL_FORMAT
from dpqr.io.outputs.prediction_files import record_path
from dpqr.io.outputs.read_answers import read_table
from dpqr.io.outputs.read_release import prediction_record
from dpqr.prediction.names import CLASSIFIERS
from dpqr.privacy.accountants.known import PREDICTING, available
from dpqr.privacy.budget import PrivacyBudget, upward_text
from dpqr.privacy.events import Composition

DIGITS = 6


@dataclass(frozen=True)
class PredictionEvidence:
    """Predictions, or a model, and the record that belongs to them."""

    request: VerifyRequest

    @property
    def path(self) -> Path:
        return Path(self.request.release)

    @cached_property
    def document(self) -> dict[str, Any]:
        """The record. GoalMissed where there is none, or dpqr has not written it."""
        try:
            found = prediction_record(str(self.path))
        except DocumentError as fault:
            raise GoalMissed(str(fault)) from None
        if found is None:
            raise GoalMissed(f"{self.path}: no record of predictions lies beside it, and it is none itself")
        own = Path(record_path(str(self.path)))
        require_written(found, own if own.is_file() else self.path)
        if SEAL in found and sealed(found) != found:
            raise GoalMissed(f"{self.path}: its record is not what its seal was made of")
        return found

    def events(self, parts: Any) -> Composition:
        """GoalMissed for events that dpqr does not know."""
        try:
            return parsed_events(parts)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise GoalMissed("the record states events that dpqr does not know") from None

    @property
    def planned(self) -> Composition:
        """That the run was paid for."""
        return self.events(self.document["plan"]["events"])

    @property
    def charged(self) -> Composition:
        """That were drawn."""
        return self.events(self.document["events"])


def record(evidence: PredictionEvidence) -> str:
    """Read, of a known form, and what its hash was made of."""
    found = evidence.document
    seal = "its sha256 is right" if SEAL in found else "it states no sha256"
    return f"{found['dpqr']} of dpqr {found['version']}, written as dpqr writes it; {seal}"


def files(evidence: PredictionEvidence) -> str:
    """The file is the one that the record was written for."""
    found = evidence.document
    if found["dpqr"] == MODEL_FORMAT:
        return "the model is its own record"
    if "hashes" not in found:
        raise NotChecked("the record holds no hash of the predictions")
    (stated,) = found["hashes"].values()  # the file may have another name by now
    if hashlib.sha256(evidence.path.read_bytes()).hexdigest() != stated:
        raise GoalMissed(f"{evidence.path} is not the file that the record was written for")
    return "the file has the hash that the record states"


def ledger(evidence: PredictionEvidence) -> str:
    """The whole ledger is sound, and its entry has paid for these draws."""
    stated, given = evidence.document["ledger"], evidence.request.ledger
    if stated is None:
        asked = given is not None and not evidence.request.usual
        raise (GoalMissed if asked else NotChecked)("none paid for this run")
    if given is None:
        raise NotChecked(f"entry {stated['entry']} of dataset {stated['dataset']!r} paid; give the ledger")
    entries = whole_ledger(given, evidence.request.anchor).entries
    paid = entries[stated["entry"]] if 0 <= stated["entry"] < len(entries) else None
    if paid is None or (paid.kind, paid.dataset, paid.hash) != ("reserve", stated["dataset"], stated["seal"]):
        raise GoalMissed(f"entry {stated['entry']} is not the one whose seal the record states: it is another ledger")
    asked_for = {name: evidence.document[name] for name in reason_part(paid.reason)}
    if paid.events != evidence.planned or reason_part(paid.reason) != asked_for:
        raise GoalMissed(f"entry {paid.number} paid for another plan, or for another reason")
    settled = next((entry for entry in entries if entry.settles == paid.number), None)
    if settled is not None and Counter(dict(evidence.charged)) - Counter(dict(settled.events)):
        raise GoalMissed(f"entry {settled.number} settled less than the record says was charged")
    end = "it is not settled yet" if settled is None else f"entry {settled.number} settled it"
    return f"{len(entries)} entries are chained and priced; entry {paid.number} paid; {end}"


def events(evidence: PredictionEvidence) -> str:
    """Every draw is one that was paid for."""
    charged, planned = Counter(dict(evidence.charged)), Counter(dict(evidence.planned))
    if charged - planned:
        raise GoalMissed("the record states draws that its plan has not paid for")
    if "draws" not in evidence.document and charged != planned:
        raise GoalMissed("the record states fewer draws than its plan, and it is no session")
    return f"{charged.total():,} of {planned.total():,} planned draws were charged"


def prices(evidence: PredictionEvidence) -> str:
    """The planned events, added up again under every accountant; the guarantee is no less than what was charged."""
    found, plan = evidence.document, evidence.document["plan"]
    budget = PrivacyBudget(*(Fraction(plan["budget"][name]["exact"]) for name in ("epsilon", "delta")))
    shared = []
    for name, one in available(PREDICTING).items():
        stated, today = found["spent"].get(name), one.epsilon(evidence.planned, budget.delta)
        if (stated is None) != (today is None) and found["version"] == __version__:
            raise GoalMissed(f"under {name} the record states another price than the events cost")
        if stated is None or today is None:
            continue
        if abs(today - Fraction(stated["exact"])) > ROUNDING * today:
            raise GoalMissed(f"under {name} the events cost epsilon {upward_text(today, DIGITS)}: another is stated")
        shared.append(name)
    proved = PREDICTING[plan["accountant"]].epsilon(evidence.planned, budget.delta)
    if proved is not None and proved > budget.epsilon:
        raise GoalMissed("the planned events cost more than the guarantee")
    return f"the planned events give the stated epsilon under {', '.join(shared)}"


def draws(evidence: PredictionEvidence) -> str:
    """The predictions of a session follow from its draws."""
    found, plan = evidence.document.get("draws"), evidence.document["plan"]
    if found is None:
        raise NotChecked("a run of one batch publishes its predictions alone")
    values = np.array(found["numbers"], dtype=np.float64) * found["step"]
    table = read_table(evidence.path)
    shown = table["prediction"].to_pylist()
    counted = sum(event["count"] for event in evidence.document["events"])
    if len(shown) != len(values) or len(values) > counted:
        raise GoalMissed("there are more or fewer predictions than draws")
    if "bounds" in found:
        low, high = found["bounds"]
        made: list[Any] = ((np.clip(values, -1.0, 1.0) * (high - low) + low + high) / 2).tolist()
        same = np.allclose(np.array(shown, dtype=np.float64), made, rtol=1e-12, atol=0)
    elif plan["learner"]["name"] in CLASSIFIERS:
        made = [value > 0 for value in values.tolist()]
        scores = np.array(table["score"].to_pylist(), dtype=np.float64)
        same = np.array_equal(scores, values) and made == [label == plan["target"]["positive"] for label in shown]
    else:
        same = shown == [found["labels"][number] for number in found["numbers"]]
    if not same:
        raise GoalMissed("the predictions are not those that the recorded draws give")
    return f"{len(values):,} predictions follow from the recorded draws"


def formed(check: Callable[[PredictionEvidence], str]) -> Callable[[PredictionEvidence], str]:
    """The check, to which a record or a file of another form than dpqr gives it is a mismatch."""

    def checked(evidence: PredictionEvidence) -> str:
        try:
            return check(evidence)
        except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, OSError) as fault:
            kind = type(fault).__name__
            raise GoalMissed(f"the record, or the file, has not the form that dpqr gives it ({kind})") from None

    return checked
