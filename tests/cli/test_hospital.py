"""A new user's walk over 60,000 hospital discharges: from a table alone to a page, by commands that the guide names.

Walked by hand on 28 November 2026 with README, topics `start`, `codebooks` and `queries`: seven commands, no refusal,
one stumble: `--types age=...:outside=clip` took from null the cell of its own that it has otherwise, so rows without
an age or a cost were left out. A readmission needs a column of its own: the share of stays above 14 days was asked.
"""

from __future__ import annotations

import csv
import json

import pytest
from support.discharges import CODES, DEPARTMENTS, write

LABELS = "|".join(DEPARTMENTS)
GAPS = "missingValues=|NA|-99"
TYPES = (
    f"department=string:{LABELS}",
    f"sex=string:1=male|2=female|9=unknown:{GAPS}",
    f"age=integer:0..99:width=10:outside=clip:{GAPS}",
    f"icd=string:{'|'.join(CODES)}",
    "admitted=datetime:2024-01-01..2024-12-31T23:59:59:format=%d.%m.%Y %H:%M:every=month",
    f"cost=number:0..50000:width=1000:outside=clip:{GAPS}",
    "days=integer:0..59:outside=clip",
)
QUESTIONS = [
    {"marginal": [], "name": "discharges"},
    {"marginal": ["department"], "name": "discharges by department"},
    {"marginal": ["admitted"], "name": "discharges by month"},
    {"mean": "cost", "by": ["department"]},
    {"median": "days"},
    {"median": "age", "by": ["sex"]},
    {"top": "icd", "k": 10},
    {"proportion": "days > 14", "by": ["department"]},
    {"ratio": {"of": "cost", "to": "days"}, "by": ["department"]},
    {"marginal": ["department", "sex"], "name": "department by sex"},
]
PAID = ("--dataset", "hospital", "--ledger", "budgets.sqlite")
RELEASE = ("release", "discharges.csv", "--queries", "questions.json", "--eps", "2")
PERSONS = ("--unit", "patient_id", "--max-rows", "3")
COMMANDS = (
    ("domain", "discharges.csv", *(f"--types={one}" for one in TYPES), *PERSONS, "--out", "columns.json"),
    ("check", "--queries", "questions.json"),
    (*RELEASE, "--dry-run"),
    ("budget", "init", "hospital", "--eps", "5", "--unit", "patient_id", "--ledger", "budgets.sqlite"),
    (*RELEASE, *PAID, "--out", "first", "--progress", "none"),
    ("show", "first"),
    ("report", "first", "--html", "first.html", "--ledger", "budgets.sqlite"),
)


@pytest.mark.slow
def test_from_nothing_to_a_page_without_a_refusal(desk):
    write(desk.path)
    desk.put("questions.json", {"domain": "columns.json", "queries": QUESTIONS})
    ended = [desk.run(*arguments) for arguments in COMMANDS]
    assert [each.err for each in ended if each.code] == []
    # The ten questions are answered, and gaps keep their rows.
    record = json.loads((desk.path / "first" / "release.json").read_text("utf-8"))
    rows = list(csv.DictReader((desk.path / "first" / "answers.csv").read_text("utf-8").splitlines()))
    (total,) = (float(row["estimate"]) for row in rows if row["query"] == "discharges")
    assert 40_000 < total < 60_000
    assert not record["warning"]
    figures = list(csv.DictReader((desk.path / "first" / "figures.csv").read_text("utf-8").splitlines()))
    means = {
        row["department"]: float(row["estimate"]) for row in figures if row["figure"] == "mean(cost) by department"
    }
    assert means["Surgery"] > means["Cardiology"] > means["Paediatrics"]
    page = (desk.path / "first.html").read_text("utf-8")
    asked = [each.get("name") for each in QUESTIONS if "name" in each]
    assert [name for name in (*asked, "mean(cost) by department", "median(days)") if name not in page] == []


def test_a_rule_of_one_column_takes_no_cell_from_null(desk):
    """What `--types` states of values outside says nothing of gaps."""
    ended = desk.run("domain", "--types", f"age=integer:0..99:outside=clip:{GAPS}")
    (age,) = ended.json["fields"]
    assert age["dpqr"] == {"null": "cell", "outside": "clip", "otherwise": "drop"}


DIAGNOSES = {
    "domain": {
        "fields": [
            {"name": "department", "type": "string", "constraints": {"enum": list(DEPARTMENTS)}},
            {"name": "icd", "type": "string", "dpqr": {"labels": "learn"}},
            {"name": "cost", "type": "number", "dpqr": {"bounds": "learn", "bins": 20}},
        ]
    },
    "queries": [{"top": "icd", "k": 3, "by": ["department"]}, {"top": "icd", "k": 5}, {"mean": "cost"}],
}
"""The top diagnoses, without a list of codes; and what a stay costs, without bounds."""


@pytest.mark.slow
def test_top_diagnoses_without_a_list_of_codes(desk):
    """One file asks for codes that it does not list; what was learned is paid, kept, and asked about once more."""
    codes = [("I21", 400), ("J18", 300), ("K35", 200), ("RARE-PRIVATEVALUE", 1)]
    found = [code for code, count in codes for _ in range(count)]
    rows = [f"p{row},{DEPARTMENTS[0]},{code},{1000 + row}" for row, code in enumerate(found)]
    desk.put("stays.csv", "\n".join(["patient,department,icd,cost", *rows, ""]))
    desk.put("top.json", DIAGNOSES)
    asked = ("stays.csv", "--unit", "patient", "--max-rows", "1", "--delta", "1e-6", *PAID)
    release = ("release", *asked, "--queries", "top.json", "--eps", "60", "--progress", "none")
    terms = ("--eps", "70", "--delta", "1e-5", "--accounting", "basic", "--unit", "patient")
    commands = (
        ("budget", "init", "hospital", *terms, "--allow-learning", "--ledger", "budgets.sqlite"),
        (*release, "--dry-run"),
        (*release, "--out", "first", "--learn-share", "0.5"),
        ("verify", "first", "--ledger", "budgets.sqlite"),
        ("label", "first", "--ledger", "budgets.sqlite"),
        ("budget", "show", "hospital", "--ledger", "budgets.sqlite"),
    )
    ended = [desk.run(*arguments) for arguments in commands]
    assert [each.err for each in ended if each.code] == []
    _, planned, _, _, card, budget = (each.out for each in ended)
    assert "In all      epsilon 60 and delta 1e-6: epsilon 12 and delta 2e-7 of it to learn the domain" in planned
    assert "learned first: labels of 'icd': kept with probability 1/2 from" in planned
    assert any(line.split()[:2] == ["Epsilon", "60"] for line in card.splitlines())
    assert "in 2 reservations" in budget
    assert "for this and 0 other runs" in " ".join(card.split())
    assert "Paid runs 2 so far, 1 of them to learn for this one" in " ".join(card.split())
    figures = list(csv.DictReader((desk.path / "first" / "figures.csv").read_text("utf-8").splitlines()))
    top = [row["detail"] for row in figures if row["figure"] == "top(icd)"]
    assert top[:3] == ["I21", "J18", "K35"]
    (mean,) = (float(row["estimate"]) for row in figures if row["figure"] == "mean(cost)")
    assert abs(mean - 1450) < 100
    assert "PRIVATEVALUE" not in "".join(path.read_text("utf-8") for path in (desk.path / "first").iterdir())
    # A later question over the same codes costs itself alone.
    again = ("release", *asked, "--queries", "more.json", "--domain", "first/domain.json", "--eps", "5")
    desk.put("more.json", {"queries": [{"marginal": ["icd"]}]})
    later = desk.run(*again, "--out", "second", "--progress", "none")
    assert later.code == 0
    assert later.err.startswith("In all     epsilon 35 and delta 1.5e-6: epsilon 30 and delta 5e-7 of it to learn")
    record = json.loads((desk.path / "second" / "release.json").read_text("utf-8"))
    assert record["plan"]["whole"]["epsilon"]["exact"] == "35"
