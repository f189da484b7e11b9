"""Verify of a session of questions: what its recorded draws do not give is found, under a new seal too."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import pytest
from sessions.test_interactive import SURPRISE, WHERE, asked, checked, opened, place  # noqa: F401 (a fixture)
from support.cases import thinned
from support.paid_releases import payer
from support.verified_release import ASKED, make

from dpqr import __version__
from dpqr.published.evidence import ReleaseEvidence, VerifyRequest
from dpqr.published.repeat import NoNoise, recorded_reason
from dpqr.published.verify import CHECKS, verify
from dpqr.releases.answers.errors import AnswerIntervals
from dpqr.releases.files.atomic import document_text
from dpqr.releases.record.plan_document import seal_document
from dpqr.releases.requests import OutputRequest
from dpqr.sessions.interactive import close


@pytest.fixture
def closed(place):  # noqa: F811
    opened(place)
    asked(place, WHERE)
    asked(place, SURPRISE)
    asked(place, SURPRISE)
    close("desk", payer(place), OutputRequest(directory=str(place / "out")))
    return place


def failed(closed):
    return [name for name, state in checked(closed).items() if state == "FAILED"]


def change(closed, edit):
    kept = closed / "out" / "release.json"
    record = json.loads(kept.read_text())
    edit(record)
    kept.write_text(document_text(seal_document(record)))


def other_draw(record):
    record["transcript"][0]["measured"][0]["values"][1] += 40


def other_opening(record):
    record["questions"]["opening"][0][0][0] += 40


def other_question(record):
    record["questions"]["asks"][0]["queries"][0]["where"] = "age = 2 and job = 1"


def one_was_free(record):
    record["questions"]["asks"][1]["answers"][0][2] = True


def fewer_paid(record):
    record["questions"]["paid"] = 3


def without_questions(record):
    record["questions"]["asks"][1]["answers"] = record["questions"]["asks"][0]["answers"] = []
    record["questions"]["asks"][2]["answers"] = []


def starts(key, value):
    def edit(record):
        record["questions"]["asks"][2]["start"][key] = value

    return edit


@pytest.mark.parametrize(
    "edit",
    thinned(
        [
            other_draw,
            other_opening,
            other_question,
            one_was_free,
            fewer_paid,
            without_questions,
            starts("surprises", 0),
            starts("measured", 0),
            starts("epochs", 99),
        ],
        5,
    ),
)
def test_a_forged_record_is_found(closed, edit):
    assert failed(closed) == []
    change(closed, edit)
    assert len(failed(closed)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("column", ["estimate", "lower", "upper"])
def test_a_forged_answer_is_found(closed, column):
    answers = closed / "out" / "answers.csv"
    lines = answers.read_text().splitlines()
    (head, *_), rows = csv.reader(lines[:1]), list(csv.reader(lines))
    free = next(number for number, row in enumerate(rows) if row[-1] == "compared")
    parts = lines[free].rsplit(",", len(head) - 2)
    parts[head.index(column) - len(head)] = str(float(rows[free][head.index(column)]) + 5)
    lines[free] = ",".join(parts)
    answers.write_text("\n".join(lines) + "\n")
    digest = hashlib.sha256(answers.read_bytes()).hexdigest()
    change(closed, lambda record: record["hashes"].update({"answers.csv": digest}))
    assert failed(closed) == ["answers"]


RARE = {"queries": [{"where": "age = 3 and town = 9"}]}
"""No record."""


@pytest.mark.parametrize(("version", "state"), [("0.11.0", "ok"), (__version__, "FAILED")])
def test_intervals_of_earlier_versions_did_not_begin_at_0(place, version, state, monkeypatch):  # noqa: F811
    with monkeypatch.context() as patch:
        patch.setattr(AnswerIntervals, "from_zero", lambda intervals: intervals)
        opened(place)
        asked(place, RARE)
        close("desk", payer(place), OutputRequest(directory=str(place / "out")))
    (answer,) = csv.DictReader((place / "out" / "answers.csv").read_text().splitlines())
    assert float(answer["lower"]) < 0

    def of_version(record):
        record["version"] = record["versions"]["dpqr"] = record["plan"]["version"] = version
        record["plan"] = seal_document(record["plan"])
        if version == "0.10.0":
            del record["questions"]["rule"]

    change(place, of_version)
    assert checked(place)["answers"] == state


# A release is made again from its record, whatever its schedule.


OLD = Path(__file__).parents[1] / "old_releases"

MARGINALS = {**ASKED, "queries": ASKED["queries"][:1]}
SEX = {**ASKED, "queries": [{"marginal": ["sex"]}]}
OPTIONS = [
    {"schedule": "marginals", "rounds": None, "delta": "1e-9", "queries": MARGINALS},
    {"update": "multiplicative-weights", "replay": False},
    {"schedule": "queries", "rounds": 4},
    {"schedule": "theory", "n": 1000, "rounds": None, "epsilon": "1000", "queries": SEX},
    {"certify": "0.1"},
    {"certify": "0.1", "delta": "1e-9", "check": "gaussian"},
    {"error_bars": "none"},
    {"unit": "day", "max_rows": 2, "count_dropped": "0.2", "no_count_dropped": False},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", [OPTIONS[0], *OPTIONS[1:]])
def test_every_schedule_can_be_repeated(tmp_path, options):
    found = verify(make(tmp_path, paid=False, **options))
    assert [(each.name, each.state) for each in found.checks if each.state != "ok"] == [
        (name, "not checked") for name in CHECKS if name in ("figures", "ledger", "settlement")
    ]


def test_a_repeated_run_has_no_noise():
    with pytest.raises(AssertionError, match="draws nothing"):
        NoNoise(private=True).words(1)


def test_a_reason_that_was_not_stated(tmp_path):
    old = ReleaseEvidence(VerifyRequest(release=str(OLD / "0.1.0")), tmp_path)
    assert recorded_reason(old.record).words == ""
