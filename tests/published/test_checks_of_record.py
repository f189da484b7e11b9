"""Checks that need the record and its files alone: which prices and events are believed."""

from __future__ import annotations

import itertools
import json
import shutil
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.cases import in_one_test

from dpqr.kernel.budget import upward
from dpqr.kernel.errors import DocumentError, GoalMissed, UsageFault
from dpqr.published import checks as checks_of_record
from dpqr.published.checks import events, files, prices, record, reprice
from dpqr.published.evidence import ReleaseEvidence
from dpqr.releases.record.parts import FigurePart, written
from dpqr.releases.record.release_document import parsed_record


@pytest.fixture
def evidence(free_release, tmp_path):
    return ReleaseEvidence(free_release, tmp_path)


def edited(evidence, change):
    """The same evidence with another record; its seal is none of these checks' concern."""
    document = json.loads(json.dumps(evidence.document))
    change(document)
    other = SimpleNamespace(path=evidence.path, document=document, record=parsed_record(document, "here"))
    other.events = lambda parts: ReleaseEvidence.events(other, parts)
    return other


def test_a_sound_record(evidence):
    assert "its sha256 is right" in record(evidence)
    assert files(evidence) == "2 files have the hashes that the record states"
    assert "and cost epsilon 1 together; the plan proves 1" in events(evidence)
    assert "give the stated epsilon under basic, advanced, optimal, zcdp, gdp, pld" in prices(evidence)


@pytest.mark.parametrize(
    ("accountant", "stated", "version", "passes"),
    [
        ("basic", "1", "0.0.9", True),
        ("basic", "2", "0.0.9", False),
        ("pld", "2", "0.0.9", True),  # a theorem was improved since
        ("pld", "1/2", "0.0.9", False),
        ("pld", "2", None, False),
        ("pld", "1000000000000001/1000000000000000", None, True),
        ("zcdp", "2", None, False),
        ("pld", None, "0.0.9", True),
        ("pld", None, None, False),
    ],
)
def test_which_prices_are_believed(evidence, accountant, stated, version, passes, monkeypatch):
    """A later version may find less, and never more; the same version finds the same, rounding of floats aside."""
    found = {"basic": Fraction(1), "pld": Fraction(1), "zcdp": None}
    monkeypatch.setattr(checks_of_record, "prices_today", lambda events, delta, charged: found)

    def change(document):
        document["version"] = version or document["version"]
        document["spent"]["epsilon"] = {"basic": written(FigurePart.of(Fraction(1)))} | {
            accountant: None if stated is None else written(FigurePart.of(Fraction(stated)))
        }

    other = edited(evidence, change)
    if passes:
        assert prices(other)
    else:
        with pytest.raises(GoalMissed, match=f"under {accountant}"):
            prices(other)


def test_an_accountant_that_is_not_here_is_named(evidence, monkeypatch):
    monkeypatch.setattr(checks_of_record, "prices_today", lambda events, delta, charged: {"basic": Fraction(1)})
    assert "under basic; not advanced, optimal, zcdp, gdp, pld, which is not installed here" in prices(evidence)


def test_events_that_nobody_knows(evidence):
    with pytest.raises(GoalMissed, match="states events that dpqr does not know"):
        events(edited(evidence, lambda d: d["events"][0].update(kind="magic")))


def test_a_file_too_many_or_too_few(evidence):
    extra = evidence.path / "notes.txt"
    extra.write_text("hello")
    try:
        with pytest.raises(GoalMissed, match=r"'notes\.txt' lies beside the record, which does not list it"):
            files(evidence)
    finally:
        extra.unlink()
    (evidence.path / "answers.csv").rename(evidence.path.with_name("away"))
    try:
        with pytest.raises(GoalMissed, match=r"'answers\.csv' is listed by the record and does not lie beside it"):
            files(evidence)
    finally:
        evidence.path.with_name("away").rename(evidence.path / "answers.csv")


def test_every_draw_names_its_event():
    """Of rounds, of the count of dropped rows, of the errors that were drawn, and of tables of persons."""
    rounds = [SimpleNamespace(charges=(0, 1)), SimpleNamespace(charges=()), SimpleNamespace(charges=(2,))]
    errors = SimpleNamespace(draws=[SimpleNamespace(charge=4), SimpleNamespace(charge=5)])
    dropped = SimpleNamespace(charge=3)
    for given, drawn, tables in itertools.product((None, dropped), (None, errors), (None, SimpleNamespace(charge=6))):
        found = SimpleNamespace(transcript=rounds, dropped=given, errors=drawn, person_tables=tables)
        expected = [0, 1, 2, *([3] if given else []), *([4, 5] if drawn else []), *([6] if tables else [])]
        assert sorted(checks_of_record._charges(found)) == expected


def test_a_draw_may_name_the_last_event_and_none_beyond_it(evidence):
    total = sum(event["count"] for event in evidence.document["events"])
    last = {charge for each in evidence.document["transcript"] for charge in each["charges"]}
    assert max(last) < total
    with pytest.raises(GoalMissed, match="do not name different ones"):
        events(edited(evidence, lambda document: document["transcript"][-1].update(charges=[total])))


def figure(value):
    return None if value is None else SimpleNamespace(exact=str(value), rounded=upward(value))


NEAR, FAR = Fraction(1, 10**10), Fraction(1, 10**6)
AROUND = [1 - FAR, 1 - NEAR, Fraction(1), 1 + NEAR, 1 + FAR]


@in_one_test("exactly", [False, True])
@pytest.mark.parametrize("name", ["basic", "pld"])
def test_a_price_is_what_the_events_cost(name, exactly):
    """Exact sums to the digit, others but for rounding; of an older version it may be too high, and a price may have
    come since, but never too low, and none may be gone."""
    for stated in (*AROUND, None):
        for today in (*AROUND, None):
            same = stated == today or (stated is None and not exactly)
            known = stated is not None and today is not None
            rounded = known and name != "basic" and abs(today - stated) <= Fraction(1, 10**9)
            lower = known and today < stated and not exactly
            call = partial(checks_of_record._require_price, name, figure(stated), today, exactly=exactly)
            if same or rounded or lower:
                call()
            else:
                with pytest.raises(GoalMissed, match="the record states"):
                    call()


# Old prices beside those of today.


OLD = Path(__file__).parents[1] / "old_releases"


def test_old_prices_are_stated_at_the_delta_of_the_release_and_at_another():
    found = reprice(str(OLD / "0.1.0"))
    assert (found.version, found.charged, found.delta, found.now["pld"]) == ("0.1.0", "basic", 0, 1)
    assert "pld" not in found.before
    assert found.document()["now"]["epsilon"]["zcdp"] is None
    found = reprice(str(OLD / "0.2.0"), "0.001")
    assert (found.delta_before, found.delta, found.now["basic"]) == (0, Fraction(1, 1000), 1)


@in_one_test(
    ("place", "delta"), [(OLD / "0.2.0", "1"), (OLD / "0.2.0", "1e-99"), (OLD / "0.2.0", "small"), (OLD, None)]
)
def test_no_delta_and_no_release(place, delta):
    with pytest.raises(UsageFault):
        reprice(str(place), delta)


@in_one_test("change", [{"events": [{"kind": "magic", "count": 1}]}, {"events": 3}])
def test_a_damaged_one(tmp_path, change):
    shutil.copytree(OLD / "0.2.0", tmp_path / "out")
    path = tmp_path / "out/release.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"plan": record["plan"] | change}))
    with pytest.raises(DocumentError):
        reprice(str(tmp_path / "out"))
