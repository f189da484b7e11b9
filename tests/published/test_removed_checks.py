"""Every check taken out one at a time: some record or ledger passes that then, and did not before."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from types import SimpleNamespace

import pytest
from published.test_mutated_records import predictions
from support.removed_checks import outcome, removals

from dpqr.kernel.errors import GoalMissed
from dpqr.kernel.values import replace
from dpqr.published import checks as checks_of_ledger
from dpqr.published import checks as checks_of_record
from dpqr.published import prediction_checks as checks_of_predictions
from dpqr.published.evidence import ReleaseEvidence, VerifyRequest
from dpqr.published.prediction_checks import PredictionEvidence
from dpqr.releases.record.parts import FigurePart, written
from dpqr.releases.record.plan_document import seal_document
from dpqr.releases.record.release_document import parsed_record

HALF, TWO = (written(FigurePart.of(value)) for value in (Fraction(1, 2), Fraction(2)))


def edited(evidence, change):
    """The same evidence with another record; its seals are none of these checks' concern."""
    document = copy.deepcopy(evidence.document)
    change(document)
    other = copy.copy(evidence)
    vars(other).pop("plan", None)
    other.document, other.record = document, parsed_record(document, "here")
    return other


def of_version(name):
    def change(document):
        document["version"] = document["plan"]["version"] = document["versions"]["dpqr"] = name

    return change


def without(*names):
    return lambda document: [document.pop(name) for name in names]


def only_basic(change):
    """Prices of other accountants depend on what is changed."""

    def both(document):
        document["spent"]["epsilon"] = {"basic": document["spent"]["epsilon"]["basic"]}
        change(document)

    return both


def cheaper(document):
    document["plan"]["budget"]["epsilon"] = document["plan"]["proved_epsilon"] = HALF


RECORDS = [
    ("record", without("versions"), "the record holds 2"),
    ("record", without("versions", "hashes", "sha256"), "the record holds 0"),
    ("record", of_version("0.3.0"), "the record holds 3"),
    ("record", lambda d: d.update(version="9.9.9"), "several versions"),
    ("record", lambda d: d["versions"].update(dpqr="0.9.0"), "several versions"),
    ("record", lambda d: d["plan"].update(version="0.9.0"), "several versions"),
    ("files", lambda d: d["hashes"].update(more="0" * 64), "'more' is listed by the record"),
    ("files", lambda d: d.update(files=d["files"][1:], hashes={}), "'answers.csv' lies beside the record"),
    ("files", lambda d: d["hashes"].pop("answers.csv"), "holds no hash of it"),
    ("files", lambda d: d["hashes"].update({"answers.csv": "0" * 64}), "is not the file"),
    ("events", lambda d: d["transcript"][0].update(charges=d["transcript"][1]["charges"]), "do not name different"),
    ("events", lambda d: d["transcript"][0].update(charges=[99]), "do not name different"),
    ("events", lambda d: d["events"].append(d["events"][-1]), "the charged events cost epsilon"),
    ("prices", lambda d: d["plan"]["proved_epsilon"].update(float=0.1), "is not that number rounded up"),
    ("prices", lambda d: d["spent"]["epsilon"].update(basic=HALF), "the record states epsilon 0.5"),
    ("prices", lambda d: d["spent"]["epsilon"].pop("basic"), "cost more than the guarantee"),
    ("prices", cheaper, "cost more than the guarantee"),
    ("prices", lambda d: d["plan"].update(proved_epsilon=TWO), "cost more than the guarantee"),
    ("prices", lambda d: d.update(guarantee="Perfectly private."), "is not the one of the budget"),
    ("prices", only_basic(lambda d: d["spent"].update(delta=HALF)), "not those at the plan's delta and accountant"),
    ("prices", lambda d: d["spent"].update(charged="advanced"), "not those at the plan's delta and accountant"),
]


@pytest.fixture
def free(free_release, tmp_path):
    return ReleaseEvidence(free_release, tmp_path)


def survivors(module, sound, cases):
    """Removals that change the outcome of no case; every case fails by its check, and the sound one passes."""
    before = [outcome(getattr(module, name), evidence) for name, evidence, _ in cases]
    for found, (name, _, said) in zip(before, cases, strict=True):
        assert found.startswith(GoalMissed.__name__), (name, found)
        assert said in found
    for name in {name for name, _, _ in cases}:
        assert outcome(getattr(module, name), sound).startswith("found ")
    for words, names in removals(module, {name for name, _, _ in cases}):
        after = [outcome(names[name], evidence) for name, evidence, _ in cases]
        if after == before:
            yield words


@pytest.mark.slow
def test_every_check_of_the_record(free):
    cases = [(name, edited(free, change), said) for name, change, said in RECORDS]
    assert list(survivors(checks_of_record, free, cases)) == []


def test_every_check_of_the_ledger(paid_release, tmp_path):
    sound = ReleaseEvidence(paid_release, tmp_path)
    entries, paid = sound.walked.entries, sound.record.ledger.entry

    def walked(**changed):
        """A ledger whose last entry, the settlement, says otherwise."""
        other = copy.copy(sound)
        other.walked = SimpleNamespace(entries=(*entries[:-1], replace(entries[-1], **changed)))
        return other

    def states(**changed):
        return edited(sound, lambda document: document["ledger"].update(changed))

    def versioned(evidence, name):
        other = edited(evidence, of_version(name))
        other.walked = evidence.walked
        return other

    other_plan = copy.copy(sound)
    other_plan.request = replace(sound.request, plan=str(tmp_path / "other.json"))
    (tmp_path / "other.json").write_text(json.dumps(seal_document(sound.document["plan"] | {"seed": 9})))
    unplanned = copy.copy(sound)
    unplanned.walked = SimpleNamespace(entries=tuple(replace(entry, plan="") for entry in entries))
    fewer = {"plan": {**sound.document["plan"], "events": sound.document["plan"]["events"][:-1]}}
    cases = [
        ("ledger", edited(sound, lambda d: d.update(fewer)), "paid for another plan"),
        ("ledger", edited(sound, lambda d: d["plan"].update(sha256="0" * 64)), "paid for another plan"),
        ("ledger", unplanned, "paid for another plan"),
        ("ledger", edited(sound, lambda d: d.update(purpose="another")), "for another reason"),
        ("ledger", edited(sound, lambda d: d.update(by="Zoe")), "for another reason"),
        ("ledger", edited(sound, lambda d: d.update(approved_by="Zoe")), "for another reason"),
        ("ledger", states(entry=99), "it is another ledger"),
        ("ledger", states(seal="0" * 64), "it is another ledger"),
        ("ledger", states(dataset="other"), "it is another ledger"),
        ("ledger", states(entry=1, seal=entries[1].hash), "it is another ledger"),
        ("ledger", walked(events=entries[paid].events[:1]), "settled other events"),
        ("ledger", states(charged="eps 9"), "and the record says eps 9"),
        ("settlement", walked(drawn="0" * 64), "names other draws"),
        ("settlement", versioned(walked(drawn=""), "0.11.0"), "has released nothing"),
        ("settlement", edited(sound, lambda d: d["transcript"].pop()), "names other draws"),
        ("locked_plan", other_plan, "is another plan"),
    ]
    assert list(survivors(checks_of_ledger, sound, cases)) == []
    unbound = outcome(checks_of_ledger.settlement, versioned(walked(drawn=""), "0.10.0"))
    assert unbound.startswith("NotChecked not bound: entry")


@pytest.fixture(scope="module")
def predicted(tmp_path_factory):
    return predictions(tmp_path_factory.mktemp("predicted"))


@pytest.mark.slow
def test_every_check_of_predictions(predicted, tmp_path):
    sound = {
        kind: PredictionEvidence(VerifyRequest(release=str(each.release), ledger=each.ledger))
        for kind, each in predicted.items()
    }

    def forged(kind, change):
        document = copy.deepcopy(sound[kind].document)
        change(document)
        other = PredictionEvidence(sound[kind].request)
        vars(other).update(document=document, walked=sound[kind].walked)
        return other

    def with_ledger(kind, place, **changed):
        """An entry of the ledger, the reservation or its settlement, says otherwise."""
        other, number = forged(kind, lambda document: None), sound[kind].document["ledger"]["entry"]
        entries = list(sound[kind].walked.entries)
        at = number if place == "reserve" else next(e.number for e in entries if e.settles == number)
        entries[at] = replace(entries[at], **changed)
        vars(other).update(walked=SimpleNamespace(entries=entries))
        return other

    def more(document):
        document["events"][0]["count"] += 5

    def fewer(document):
        document["events"][0]["count"] -= 1

    def without_factor(document):
        document["plan"]["budget"]["epsilon"] = HALF

    def fewer_numbers(document):
        document["draws"]["numbers"].pop()

    def other_file(document):
        document["hashes"] = dict.fromkeys(document["hashes"], "0" * 64)

    def other_plan(kind):
        other = forged(kind, lambda document: None)
        path = tmp_path / "other.json"
        path.write_text(json.dumps(seal_document(other.document["plan"] | {"notes": ["another"]})))
        vars(other).update(request=replace(other.request, plan=str(path)))
        return other

    first = sound["run"].walked.entries[1]
    cases = [
        ("record", forged("run", lambda d: d["plan"].update(records=9)), "the plan in the record was changed"),
        ("record", forged("run", lambda d: d["plan"].pop("sha256")), "the plan in the record was changed"),
        ("record", forged("run", lambda d: d.pop("sha256")), "states its sha256, and this one does not"),
        ("record", forged("run", lambda d: d.update(version="9.9.9")), "several versions"),
        ("files", forged("run", lambda d: d.pop("hashes")), "holds no hash"),
        ("files", forged("run", other_file), "is not the file"),
        ("locked_plan", other_plan("run"), "is another plan"),
        ("ledger", forged("run", lambda d: d["ledger"].update(entry=99)), "another ledger"),
        ("ledger", forged("run", lambda d: d["ledger"].update(entry=-1)), "another ledger"),
        ("ledger", forged("run", lambda d: d["ledger"].update(seal="0" * 64)), "another ledger"),
        ("ledger", forged("run", lambda d: d["ledger"].update(dataset="other")), "another ledger"),
        ("ledger", forged("run", lambda d: d["ledger"].update(entry=1, seal=first.hash)), "another ledger"),
        ("ledger", with_ledger("run", "reserve", plan="0" * 64), "which is another one"),
        ("ledger", with_ledger("run", "reserve", plan=""), "which is another one"),
        ("ledger", with_ledger("run", "reserve", events=()), "for another reason"),
        ("ledger", forged("run", lambda d: d.update(purpose="sport")), "for another reason"),
        ("ledger", forged("run", lambda d: d.update(by="Zoe")), "for another reason"),
        ("ledger", forged("run", lambda d: d.update(approved_by="Zoe")), "for another reason"),
        ("ledger", with_ledger("run", "settle", events=()), "settled less"),
        ("settlement", with_ledger("run", "settle", drawn="0" * 64), "names other draws"),
        ("settlement", forged("run", other_file), "names other draws"),
        ("settlement", forged("model", lambda d: d["weights"].__setitem__(0, 1)), "names other draws"),
        ("settlement", forged("session", lambda d: d["draws"]["numbers"].__setitem__(0, 1)), "names other draws"),
        ("events", forged("run", more), "draws that its plan has not paid for"),
        ("events", forged("run", fewer), "fewer draws than its plan"),
        ("prices", forged("run", lambda d: d["spent"].pop("basic")), "under basic the record states another price"),
        ("prices", forged("run", lambda d: d["spent"].update(zcdp=TWO)), "under zcdp the record states another price"),
        ("prices", forged("run", lambda d: d["spent"].update(basic=TWO)), "another is stated"),
        ("prices", forged("run", lambda d: d["spent"].update(magic=None)), "which dpqr does not know"),
        ("prices", forged("run", without_factor), "cost more than the guarantee"),
        ("statements", forged("model", lambda d: d.update(domain_file='{"fields": []}')), ""),
        ("draws", forged("session", fewer_numbers), "more or fewer predictions than draws"),
        ("draws", forged("session", lambda d: d.update(events=[])), "more or fewer predictions than draws"),
        ("draws", forged("session", lambda d: d["draws"]["numbers"].__setitem__(0, 2**21)), "are not those"),
    ]
    assert sound["run"].document["spent"]["zcdp"] is None
    alike = {"draws": "session", "statements": "model", "locked_plan": None}
    for name in {name for name, _, _ in cases}:
        if (kind := alike.get(name, "run")) is not None:
            assert outcome(getattr(checks_of_predictions, name), sound[kind]).startswith("found ")
    before = [outcome(getattr(checks_of_predictions, name), evidence) for name, evidence, _ in cases]
    assert [found for found, (*_, said) in zip(before, cases, strict=True) if said not in found] == []
    assert [found for found in before if not found.startswith(("GoalMissed", "DocumentError"))] == []
    lone, broken = tmp_path / "lone.csv", tmp_path / "broken.csv"
    for path in (lone, broken):
        path.write_bytes(predicted["run"].release.read_bytes())
    text = predicted["run"].record.read_text().replace('"purpose": "advice"', '"purpose": "advise"')
    (tmp_path / "broken.csv.record.json").write_text(text)

    def read(names):
        """What a record that is not there, and one under a wrong seal, come to."""
        reader = names["PredictionEvidence"]
        return [outcome(lambda e: e.document, reader(VerifyRequest(release=str(path)))) for path in (lone, broken)]

    unread = read(vars(checks_of_predictions))
    assert ["no record of predictions lies beside it" in unread[0], "changed after its" in unread[1]] == [True, True]
    left = [
        words
        for words, names in removals(checks_of_predictions, {name for name, *_ in cases})
        if [outcome(names[name], evidence) for name, evidence, _ in cases] == before and read(names) == unread
    ]
    assert left == []
