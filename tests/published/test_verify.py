"""Verify: a sound release passes every check, and whatever was changed is named."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import pytest
from support.cases import thinned
from support.verified_release import changed, code_of, flips, make, same_but_blanks

from dpqr.kernel.errors import GoalMissed, LedgerError, UsageFault
from dpqr.kernel.values import replace
from dpqr.published.evidence import VerifyRequest
from dpqr.published.verify import CHECKS, require_verified, verify
from dpqr.releases.files.atomic import document_text
from dpqr.releases.record.plan_document import seal_document


@pytest.fixture(scope="module")
def record(paid_release):
    return Path(paid_release.release) / "release.json"


def test_a_sound_release_passes_every_check(paid_release, record):
    found = verify(paid_release)
    states = {name: "not checked" if name == "figures" else "ok" for name in CHECKS}  # it has none
    assert {each.name: each.state for each in found.checks} == states
    assert [each.name for each in found.checks] == list(CHECKS)
    assert found.passed
    require_verified(found)
    spread = record.read_bytes().replace(b"\n", b"\r\n")
    assert code_of(paid_release, record, spread) == 0, "blanks between the parts of JSON mean nothing"
    place = Path(paid_release.ledger)
    itself = replace(paid_release, ledger=str(place.with_name("ledger.sqlite")), anchor=None)
    for anchor in (None, str(place.with_name("outside.anchor"))):
        assert verify(replace(itself, anchor=anchor)).passed, "the ledger itself serves as its export does"
    alone = {each.name: each.state for each in verify(VerifyRequest(release=paid_release.release)).checks}
    unchecked = ("figures", "ledger", "locked plan", "settlement")
    assert alone == dict.fromkeys(CHECKS, "ok") | dict.fromkeys(unchecked, "not checked"), "what is not given"


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"release": "nowhere"}, "is no release directory"),
        ({"ledger": "nowhere"}, "there is no such file"),
        ({"plan": "nowhere"}, "there is no such file"),
        ({"ledger": None, "anchor": "nowhere"}, "--anchor is about a ledger"),
    ],
)
def test_what_is_not_there_is_a_fault_of_usage(paid_release, given, fault):
    with pytest.raises(UsageFault, match=fault):
        verify(replace(paid_release, **given))
    with pytest.raises(UsageFault, match="give the directory that it lies in"):
        verify(VerifyRequest(release=f"{paid_release.release}/release.json"))


def resealed(record, change):
    """A record that somebody forged with care: its seal is made anew."""
    document = json.loads(record.read_text())
    change(document)
    return document_text(seal_document(document)).encode()


def other_choice(document):
    chosen = next(each for each in document["transcript"] if each["choice"] is not None)
    chosen["choice"] = 1 - min(chosen["choice"], 1)


FORGERIES = {
    "purpose": (lambda d: d.update(purpose="another"), "ledger"),
    "guarantee": (lambda d: d.update(guarantee=d["guarantee"].replace("= 1 ", "= 0.5 ")), "prices"),
    "price": (lambda d: d["spent"]["epsilon"].update(basic={"exact": "1/2", "float": 0.5}), "prices"),
    "float": (lambda d: d["spent"]["epsilon"]["basic"].update(float=0.5), "prices"),
    "event": (lambda d: d["events"][0].update(count=99), "ledger"),
    "kind of event": (lambda d: d["events"][0].update(kind="magic"), "ledger"),
    "draw": (lambda d: d["transcript"][0]["measured"][0]["values"].__setitem__(0, 90), "answers"),
    "draw too many": (lambda d: d["transcript"].append(d["transcript"][-1]), "events"),
    "draws missing": (lambda d: d["transcript"].pop(), "draws"),
    "choice": (other_choice, "draws"),
    "receipt": (lambda d: d["receipt"][0].__setitem__(1, "all is well"), "statements"),
    "certificate": (
        lambda d: d.update(certificate={"records": 1.0, "fraction": None, "confidence": 0.99}),
        "statements",
    ),
    "hash": (lambda d: d["hashes"].update({"answers.csv": "0" * 64}), "files"),
    "file": (lambda d: d["files"].append("more.csv"), "files"),
    "form": (lambda d: d.pop("spent"), "record"),
    "ledger": (lambda d: d["ledger"].update(entry=1), "ledger"),
    "query": (lambda d: d["plan"]["request"]["queries"]["queries"].pop(), "locked plan"),
}


@pytest.mark.parametrize("forged", thinned(FORGERIES, 5))
def test_a_forgery_under_a_new_seal_is_found(paid_release, record, forged):
    change, found_by = FORGERIES[forged]
    with changed(record, resealed(record, change)):
        found = verify(paid_release)
    assert (found.checks[-1].name, found.checks[-1].state, found.code) == (found_by, "FAILED", 6)
    with pytest.raises(GoalMissed, match=found_by):
        require_verified(found)


def test_a_forged_answer_is_named(paid_release, record):
    answers = record.with_name("answers.csv")
    first = next(csv.DictReader(answers.read_text().splitlines()))["estimate"]
    forged = answers.read_text().replace(first, "9000.5", 1).encode()

    def change(document):
        document["hashes"]["answers.csv"] = hashlib.sha256(forged).hexdigest()

    with changed(answers, forged), changed(record, resealed(record, change)):
        found = verify(paid_release)
    assert found.checks[-1].name == "answers"
    assert "answers.csv, row 1, estimate: 9000.5 stands there, the draws give " in found.checks[-1].text


def test_another_plan_and_another_ledger(paid_release, record, tmp_path):
    other = make(tmp_path)
    assert verify(replace(paid_release, plan=other.plan)).passed, "the same request gives the same plan"
    found = verify(replace(paid_release, ledger=other.ledger))
    assert "another ledger" in found.checks[-1].text


def test_a_release_that_nobody_paid_for(tmp_path):
    request = make(tmp_path, paid=False, delta="1e-9")
    assert verify(request).passed
    found = verify(replace(request, ledger=str(tmp_path / "ledger.jsonl")))
    assert (found.checks[-1].name, found.code) == ("ledger", 6)


def places(request, ledger="ledger.jsonl"):
    """Every file that is checked."""
    return [*sorted(Path(request.release).iterdir()), Path(request.plan), Path(request.ledger).with_name(ledger)]


def missed(request, count, seed):
    """The flips that were not found, among so many; those that move nothing but blanks aside."""
    for path, content in flips(places(request), count, seed):
        if not same_but_blanks(path, content) and code_of(request, path, content) not in (6, 7):
            yield path.name


@pytest.mark.parametrize(
    ("count", "seed"), [pytest.param(50, 1, id="50"), pytest.param(2000, 2, id="2000", marks=pytest.mark.slow)]
)
def test_every_flipped_byte_is_found(paid_release, count, seed):
    assert list(missed(paid_release, count, seed)) == []


def test_a_damaged_ledger_has_its_own_exit_code(paid_release):
    place = Path(paid_release.ledger)
    with changed(place, place.read_bytes()[:-100]):
        found = verify(paid_release)
    assert (found.checks[-1].name, found.code) == ("ledger", 7)
    with pytest.raises(LedgerError):
        require_verified(found)


def other_numpy(document):
    document["versions"]["numpy"] = "1.0"


@pytest.fixture
def widened(paid_release, record):
    """A record that names another numpy, and an answer that is a little off: within the tolerance of other machines."""
    answers = record.with_name("answers.csv")
    first = next(csv.DictReader(answers.read_text().splitlines()))["estimate"]
    other = answers.read_text().replace(first, repr(float(first) + 0.001), 1).encode()

    def change(document):
        other_numpy(document)
        document["hashes"]["answers.csv"] = hashlib.sha256(other).hexdigest()

    with changed(answers, other), changed(record, resealed(record, change)):
        yield paid_release


def test_altered_versions_are_no_success_without_the_tolerance(widened):
    found = verify(widened)
    assert (found.code, found.passed, found.outcome) == (6, False, "not repeatable on this machine")
    states = {each.name: each.state for each in found.checks}
    assert (states["answers"], states["statements"], states["settlement"]) == ("not repeated", "ok", "ok")
    assert found.document()["outcome"] == "not repeatable on this machine"
    with pytest.raises(
        GoalMissed, match=r"not repeatable on this machine: answers: .* made with numpy 1\.0\n.*--tolerance"
    ):
        require_verified(found)


def test_the_tolerance_is_an_outcome_of_its_own(widened):
    found = verify(replace(widened, tolerance=True))
    assert (found.code, found.outcome) == (0, "repeated within the tolerance")
    answers = next(each for each in found.checks if each.name == "answers")
    assert (answers.state, answers.repeated) == ("ok", False)


@pytest.mark.slow
def test_a_mismatch_is_none_within_any_tolerance(widened, record):
    with changed(record, resealed(record, lambda d: d["transcript"][0]["measured"][0]["values"].__setitem__(0, 90))):
        found = verify(replace(widened, tolerance=True))
    assert (found.code, found.outcome) == (6, "does not belong together")


@pytest.mark.slow
def test_what_was_repeated_bit_for_bit_says_so(paid_release, record):
    assert verify(paid_release).outcome == "repeated bit for bit"
    assert verify(replace(paid_release, tolerance=True)).outcome == "repeated bit for bit"
    with changed(record, resealed(record, other_numpy)):
        assert verify(paid_release).outcome == "repeated bit for bit", "versions widen nothing by themselves"


@pytest.mark.slow
@pytest.mark.parametrize("left", [0, 1])
def test_another_version_of_dpqr_is_no_way_around(paid_release, record, left):
    """A forged record may not be taken for an older one that is done otherwise today, whatever is accepted."""

    def older(document):
        document["version"] = document["versions"]["dpqr"] = document["plan"]["version"] = "0.9.0"
        document["plan"] = seal_document(document["plan"])
        document["transcript"][0]["measured"][0]["values"][left] += 90

    with changed(record, resealed(record, older)):
        for tolerance in (False, True):
            request = VerifyRequest(release=paid_release.release, tolerance=tolerance)
            found = verify(request)
            assert (found.code, found.outcome) == (6, "not repeatable on this machine")
            assert verify(replace(request, ledger=paid_release.ledger)).code == 6, "the ledger knows the plan"
