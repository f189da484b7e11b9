"""Checks of predictions, and of a released function: record, file, plan, ledger, events, prices, a session's draws."""

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
from dpqr.domain.domain_file import public_domain
from dpqr.domain.text.documents import parse_json
from dpqr.kernel.accountants.known import PREDICTING, available
from dpqr.kernel.budget import NO_COST, PrivacyBudget, upward_text
from dpqr.kernel.currency import currency
from dpqr.kernel.errors import DocumentError, GoalMissed, InfeasiblePlan, UsageFault
from dpqr.kernel.events import Composition
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import NO_REASON, Reason, Reservation
from dpqr.ledger.record import Record
from dpqr.prediction.plan import PredictionPlan
from dpqr.prediction.planner import plan_prediction
from dpqr.prediction.predict import resolve_run, with_reading
from dpqr.prediction.problem import CLASSIFIERS
from dpqr.prediction.receipt import prediction_receipt
from dpqr.prediction.record import PredictionRelease, prediction_document, prediction_plan_document
from dpqr.published.checks import ROUNDING, names_plan, require_bound, require_learned_domain, require_one_version
from dpqr.published.evidence import (
    NotChecked,
    NotRepeated,
    Sameness,
    VerifyRequest,
    is_since,
    require_same_text,
    same_documents,
    walked_ledger,
)
from dpqr.releases.files.atomic import RECORD
from dpqr.releases.files.read_release import prediction_record, read_table
from dpqr.releases.locked_plan import UNCOMPARED_KEYS, read_plan
from dpqr.releases.reading import parse_prediction_request
from dpqr.releases.record.parts import MODEL_FORMAT, PREDICTION_PLAN_FORMAT, parsed_events, reason_part, record_path
from dpqr.releases.record.plan_document import SEAL, seal_document
from dpqr.releases.rehearsal import rows_to_draw
from dpqr.tables.files import STDIN
from dpqr.tables.source import TableSource

DIGITS = 6
SEALED = (0, 7)
"""Versions of dpqr from this on seal the records of predictions."""
UNREPEATED_KEYS = ("version", "hashes", SEAL, "plan")
"""Keys of the record that have a check of their own."""


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
            release = (self.path.parent / RECORD).is_file()
            fix = (
                f"give the directory of the release: {self.path.parent}"
                if release
                else "give the directory that `dpqr release` has made, or what `dpqr predict` wrote"
            )
            raise GoalMissed(f"{self.path}: no record of predictions lies beside it, and it is none itself; {fix}")
        own = Path(record_path(str(self.path)))
        require_same_text(found, own if own.is_file() else self.path)
        if SEAL in found and seal_document(found) != found:
            raise GoalMissed(f"{self.path}: its record was changed after its sha256 was written into it; restore it")
        return found

    @cached_property
    def walked(self) -> Record:
        """The whole ledger, or its export. Raises: as `walked_ledger`."""
        return walked_ledger(self.request)

    def events(self, parts: Any) -> Composition:
        """GoalMissed for events that dpqr does not know."""
        try:
            return parsed_events(parts)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise GoalMissed("the record states events that dpqr does not know") from None

    @cached_property
    def replanned(self) -> PredictionPlan:
        """Made again from the public request that the record holds. GoalMissed where it gives none."""
        request = self.document["plan"].get("request")
        if request is None:
            raise NotRepeated("the record holds no documents to plan it from; dpqr 0.1 to 0.7 kept none")
        if request["options"]["trust"]:
            raise NotRepeated("a third party's code takes part in it, and a check runs no code that a record names")
        try:
            stated = parse_prediction_request(request, TableSource(paths=(STDIN,)))
            session = True if "draws" in self.document else stated.plan.session
            wanted = resolve_run(replace(stated, plan=replace(stated.plan, session=session)))
            continued = replace(wanted.request, plan=replace(wanted.request.plan, session=stated.plan.session))
            return with_reading(plan_prediction(wanted.planner), continued)[0]
        except (DocumentError, UsageFault, InfeasiblePlan) as fault:
            raise GoalMissed(f"the request in the record cannot be planned: {fault}") from None

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
    whole = seal_document(found["plan"]) == found["plan"]
    if not whole and (SEAL in found["plan"] or is_since(found["version"], SEALED)):
        raise GoalMissed("the plan in the record was changed after its sha256 was written into it; restore the record")
    if SEAL not in found and is_since(found["version"], SEALED):
        raise GoalMissed(f"a record of dpqr {found['version']} states its sha256, and this one does not")
    require_one_version(found)
    seal = "its sha256 is right" if SEAL in found else "it states no sha256"
    return f"{found['dpqr']} of dpqr {found['version']}, written as dpqr writes it; {seal}"


def files(evidence: PredictionEvidence) -> str:
    """The file is the one that the record was written for."""
    found = evidence.document
    if found["dpqr"] == MODEL_FORMAT:
        return "the model is its own record"
    if "hashes" not in found and SEAL in found:
        raise GoalMissed("the record holds no hash of the predictions, which its version does")
    if "hashes" not in found:
        raise NotChecked("the record holds no hash of the predictions")
    (stated,) = found["hashes"].values()  # the file may have another name by now
    if hashlib.sha256(evidence.path.read_bytes()).hexdigest() != stated:
        raise GoalMissed(f"{evidence.path} is not the file that the record was written for; restore it")
    return "the file has the hash that the record states"


def locked_plan(evidence: PredictionEvidence) -> str:
    """The plan of the record is the one that was reviewed."""
    given = evidence.request.plan
    if given is None:
        raise NotChecked("give the plan that was reviewed, if there is one")
    kept = read_plan(given, PREDICTION_PLAN_FORMAT).document
    require_same_text(kept, Path(given))
    if kept != evidence.document["plan"]:
        raise GoalMissed(f"{given}: is another plan than the one that the predictions followed")
    return f"the predictions followed it; its sha256 is {kept[SEAL]}"


def ledger(evidence: PredictionEvidence) -> str:
    """The whole ledger is sound, and its entry has paid for these draws."""
    stated, given = evidence.document["ledger"], evidence.request.ledger
    if stated is None:
        expected = given is not None and not evidence.request.usual
        raise (GoalMissed if expected else NotChecked)("none paid for this run")
    if given is None:
        raise NotChecked(f"entry {stated['entry']} of dataset {stated['dataset']!r} paid; give the ledger")
    entries = evidence.walked.entries
    paid = entries[stated["entry"]] if 0 <= stated["entry"] < len(entries) else None
    if paid is None or (paid.kind, paid.dataset, paid.hash) != ("reserve", stated["dataset"], stated["seal"]):
        raise GoalMissed(f"entry {stated['entry']} is not the one whose seal the record states: it is another ledger")
    asked_for = {name: evidence.document[name] for name in reason_part(paid.reason)}
    if not names_plan(paid, str(evidence.document["plan"].get(SEAL)), evidence.document["version"]):
        raise GoalMissed(f"entry {paid.number} paid for the plan {paid.plan[:12]}, which is another one")
    if paid.events != evidence.planned or reason_part(paid.reason) != asked_for:
        raise GoalMissed(f"entry {paid.number} paid for another plan, or for another reason")
    settled = next((entry for entry in entries if entry.settles == paid.number), None)
    if settled is not None and Counter(dict(evidence.charged)) - Counter(dict(settled.events)):
        raise GoalMissed(f"entry {settled.number} settled less than the record says was charged")
    end = "it is not settled yet" if settled is None else f"entry {settled.number} settled it"
    end += require_learned_domain(evidence.walked, evidence.document["plan"])
    return f"{len(entries)} entries are chained and priced; entry {paid.number} paid; {end}"


def settlement(evidence: PredictionEvidence) -> str:
    """The entry that settled the run names the draws of this record, or its file."""
    stated = evidence.document["ledger"]
    if stated is None:
        raise NotChecked("none paid for this run")
    return require_bound(evidence.walked, stated["entry"], evidence.document)


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
        known = name in found["spent"] and (stated is None) == (today is None)
        if not known and found["version"] == __version__:
            raise GoalMissed(f"under {name} the record states another price than the events cost")
        if stated is None or today is None:
            continue
        if abs(today - Fraction(stated["exact"])) > ROUNDING * today:
            raise GoalMissed(f"under {name} the events cost epsilon {upward_text(today, DIGITS)}: another is stated")
        shared.append(name)
    proved = PREDICTING[plan["accountant"]].epsilon(evidence.planned, budget.delta)
    if proved is not None and proved > budget.epsilon:
        raise GoalMissed("the planned events cost more than the guarantee")
    if unknown := sorted(set(found["spent"]) - set(PREDICTING)):
        raise GoalMissed(f"the record states a price under {unknown[0]}, which dpqr does not know")
    return f"the planned events give the stated epsilon under {', '.join(shared)}"


def plan(evidence: PredictionEvidence) -> str:
    """The documents and options of the record give its plan. Another version of dpqr may rightly plan otherwise."""

    def compared() -> Sameness:
        kept, made = evidence.document["plan"], prediction_plan_document(evidence.replanned)
        parts = {name: part for name, part in made.items() if name not in (*UNCOMPARED_KEYS, "version")}
        older = {} if evidence.document["version"] == __version__ else dict.fromkeys(parts)
        return same_documents(older | {name: kept[name] for name in parts if name in kept}, parts, "$.plan")

    return f"the request in the record gives it; {_of_version(evidence, compared).words('values')}"


def statements(evidence: PredictionEvidence) -> str:
    """What the record says beside plan, prices and draws: guarantee, receipt, and the figures that follow from what was
    bought, lambda, sensitivity and noise among them."""
    kept = {name: part for name, part in evidence.document.items() if name not in UNREPEATED_KEYS}

    def compared() -> Sameness:
        made = _made_again(evidence.document, evidence.replanned)
        return same_documents(kept, {name: part for name, part in made.items() if name not in UNREPEATED_KEYS})

    found = _of_version(evidence, compared)
    if found.near:
        raise NotRepeated(found.words("values"), accepted="ok")
    return found.words("values")


def _of_version(evidence: PredictionEvidence, compare: Callable[[], Sameness]) -> Sameness:
    """What a comparison found; a mismatch with what another version of dpqr has made is none that can be repeated."""
    try:
        return compare()
    except GoalMissed as mismatch:
        if evidence.document["version"] == __version__:
            raise
        raise NotRepeated(
            f"dpqr {evidence.document['version']} made it, {__version__} does otherwise: {mismatch}"
        ) from None


def _made_again(document: dict[str, Any], planned: PredictionPlan) -> dict[str, Any]:
    """The record that the plan and what was drawn give."""
    notes, factor = tuple(document["plan"]["notes"]), Fraction(document.get("factor", 1))
    made, counted = replace(planned, notes=notes, factor=factor), document["counted"]
    records = made.problem.records if counted is None else int(counted)
    weights = document["weights"] if document["dpqr"] == MODEL_FORMAT else []
    session = document.get("draws", {"numbers": weights})
    released = PredictionRelease(
        plan=made,
        numbers=np.array(session["numbers"], dtype=np.int64),
        figures=made.figures(records or 0),
        spent={name: None if cost is None else Fraction(cost["exact"]) for name, cost in document["spent"].items()},
        private=bool(document["private"]),
        counted=counted,
        paid=_payer(document["ledger"], made),
        reason=Reason(**{name: document[name] or "" for name in reason_part(NO_REASON)}),
        rehearsed=rows_to_draw(made.problem.domain, made.problem.records) if document["rehearsal"] is True else None,
        charged=parsed_events(document["events"]) if "draws" in document else None,
    )
    if document["dpqr"] != MODEL_FORMAT:
        return prediction_document(released, prediction_receipt(released))
    # The model carries the text of its domain file, which must be the plan's domain.
    text = str(document["domain_file"])
    if public_domain(parse_json(text.encode(), "domain_file")) != document["plan"]["request"]["domain"]:
        raise GoalMissed("the domain file in the model is not the domain of its plan")
    return prediction_document(released, prediction_receipt(released), text)


def _payer(stated: dict[str, Any] | None, plan: PredictionPlan) -> Reservation | None:
    """What the record states of its payer; the ledger alone knows currency and cost."""
    if stated is None:
        return None
    return Reservation(
        dataset=str(stated["dataset"]),
        number=int(stated["entry"]),
        receipt=str(stated["seal"]),
        currency=currency("basic"),
        cost=NO_COST,
        events=plan.events,
    )


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
