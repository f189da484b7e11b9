"""Verify of a session of questions: what its recorded draws do not give is found, under a new seal too."""

import csv
import hashlib
import json

import pytest
from sessions.test_interactive import SURPRISE, WHERE, asked, checked, opened, place  # noqa: F401 (a fixture)
from support.paid_releases import payer

from dpqr.releases.files import document_text
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
)
def test_a_forged_record_is_found(closed, edit):
    assert failed(closed) == []
    change(closed, edit)
    assert len(failed(closed)) == 1


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
