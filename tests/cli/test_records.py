"""`dpqr verify`, `reprice` and `compare`, for a person, for a job and for a program: the same at each door."""

from __future__ import annotations

import csv
import hashlib
import json

import pytest

import dpqr
from dpqr.releases.files.atomic import document_text
from dpqr.releases.record.plan_document import seal_document


def test_a_line_a_check(released):
    ended, found = released.run("verify", "out"), dpqr.verify("out")
    assert (found.passed, repr(found)) == (True, "Verification(passed)")
    assert ended.out.startswith(str(found))
    lines = ended.out.splitlines()
    assert (ended.code, ended.err) == (0, "")
    assert lines[0].startswith("ok           record: release/1 of dpqr")
    assert "ok           answers: 13 rows equal bit for bit" in lines
    assert lines[-2] == "repeated bit for bit"
    assert lines[-1].startswith("not shown by any check: that the noise was honestly drawn")


def test_a_mismatch_ends_with_six(released):
    answers = released.path / "out/answers.csv"
    answers.write_bytes(answers.read_bytes() + b"\n")
    ended = released.run("verify", "out")
    assert ended.code == 6
    said = "files: answers.csv is not the file that the record was written for; restore it"
    assert ended.out.splitlines()[-1] == f"FAILED       {said}"
    assert ended.err == f"dpqr: {said}\n"
    found = released.run("verify", "out", "--json")
    assert found.code == 6
    assert (found.json["passed"], found.json["checks"][-1]["state"]) == (False, "FAILED")
    same = dpqr.verify("out")
    assert same.document() == found.json
    assert repr(same) == f"Verification(FAILED       {said})"
    with pytest.raises(dpqr.UsageFault):
        dpqr.verify("out/nowhere")


@pytest.mark.slow
def test_what_cannot_be_repeated_here_needs_the_tolerance(released):
    """An answer that is a little off, under a record that names another numpy."""
    place = released.path / "out"
    record, answers = json.loads((place / "release.json").read_text()), (place / "answers.csv").read_text()
    first = next(csv.DictReader(answers.splitlines()))["estimate"]
    (place / "answers.csv").write_text(answers.replace(first, repr(float(first) + 0.001), 1))
    record["versions"]["numpy"] = "1.0"
    record["hashes"]["answers.csv"] = hashlib.sha256((place / "answers.csv").read_bytes()).hexdigest()
    (place / "release.json").write_text(document_text(seal_document(record)))
    ended = released.run("verify", "out")
    assert (ended.code, ended.err.splitlines()[0].partition(": answers: ")[0]) == (
        6,
        "dpqr: not repeatable on this machine",
    )
    assert any(line.startswith("not repeated answers: ") for line in ended.out.splitlines())
    assert "--tolerance" in ended.err
    ended = released.run("verify", "out", "--json")
    assert (ended.code, ended.json["passed"], ended.json["outcome"]) == (6, False, "not repeatable on this machine")
    ended = released.run("verify", "out", "--tolerance")
    assert (ended.code, ended.out.splitlines()[-2]) == (0, "repeated within the tolerance"), ended.err
    found = dpqr.verify(place)
    assert (found.passed, found.outcome) == (False, "not repeatable on this machine")
    assert "not repeated answers" in repr(found)
    with pytest.raises(dpqr.GoalMissed, match="--tolerance"):
        found.require()
    accepted = dpqr.verify(place, tolerance=True)
    assert (accepted.passed, accepted.outcome) == (True, "repeated within the tolerance")
    accepted.require()


@pytest.mark.slow
def test_a_damaged_ledger_ends_with_seven(desk):
    assert desk.run("budget", "init", "survey", "--eps", "2", "--ledger", "l.sqlite").code == 0
    assert desk.release("--out", "out", "--dataset", "survey", "--ledger", "l.sqlite").code == 0
    exported = desk.run("budget", "export", "--ledger", "l.sqlite").out
    desk.write(l__jsonl=exported, cut__jsonl=exported[:-9])
    assert desk.run("verify", "out", "--ledger", "l.sqlite").code == 0
    assert desk.run("verify", "out", "--ledger", "l.jsonl").code == 0
    ended = desk.run("verify", "out", "--ledger", "cut.jsonl")
    assert ended.code == 7
    assert "is no export of a ledger, or is damaged" in ended.err


def test_prices_of_today(released):
    ended = released.run("reprice", "out")
    assert ended.code == 0
    assert "basic (charged)" in ended.out
    prices = released.run("reprice", "out", "--json").json["now"]["epsilon"]
    assert prices["basic"] == {"exact": "1", "float": 1.0}
    found = dpqr.reprice("out").set_index("accountant")
    assert (list(found.columns), sorted(found.index)) == (["stated", "now"], sorted(prices))
    assert found.loc["basic"].tolist() == [1, 1]


def test_side_by_side(released):
    ended, found = released.run("compare", "out", "out"), dpqr.compare("out", "out")
    assert ended.code == 0
    assert ended.out.splitlines()[0].split() == list(found.facts.columns) == ["A", "B"]
    assert str(found).split() == ended.out.split()
    assert (repr(found), found._repr_html_()[:4]) == ("Comparison(2 queries in both)", "<pre")
    assert found.blocks["apart"].eq(0).all()
    beside = released.run("compare", "out", "out", "--proxy", "table.csv", "--json").json
    assert json.loads(json.dumps(dpqr.compare("out", "out", proxy="table.csv").document())) == beside
    assert [block["name"] for block in beside["blocks"]] == ["marginal(sex,age)", "prefix(income)"]
    assert all(block["apart"] == 0 and block["off"][0] >= 0 for block in beside["blocks"])
    assert beside["alone"] == [[], []]


def test_the_schema_is_printed(desk):
    assert desk.run("schema", "release").json["$id"] == "urn:dpqr:release:1"
    assert json.loads(desk.run("schema", "release").out)["title"] == "dpqr release/1"
