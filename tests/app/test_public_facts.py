"""Public facts of a domain file, from the document to the plan, the answers and the rows."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest
from desk import DOMAIN

YOUNG, HIGH = "[0, 25)", "[200, 400]"
FACTS = {
    "impossible": [{"where": "age < 25 and income >= 200"}],
    "totals": [{"where": "sex = 'F'", "count": 40}, {"where": "sex = 'M'", "count": 60}],
}


def asked(desk, entries=None, **facts):
    entries = entries or [{"marginal": ["sex", "age"]}, {"marginal": ["age", "income"]}]
    desk.put("q.json", {"domain": {**DOMAIN, **facts}, "queries": entries})


def test_answers_and_rows_obey(desk):
    asked(desk, **FACTS)
    ended = desk.release("--out", "out", "--synthetic", "rows", "--json", eps="0.1")
    assert ended.code == 0, ended.err
    answers = [row for row in ended.json["answers"] if row["query"] == "marginal(age,income)"]
    barred = [row["estimate"] for row in answers if row["age"] == YOUNG and row["income"] == HIGH]
    assert barred == [0.0]
    assert sum(row["estimate"] for row in answers) == pytest.approx(100)
    rows = pq.read_table(desk.path / "out/synthetic.parquet").to_pylist()
    assert len(rows) == 100
    women = [
        row["estimate"] for row in ended.json["answers"] if row["query"] == "marginal(sex,age)" and row["sex"] == "F"
    ]
    assert sum(women) == pytest.approx(40, abs=0.5)
    assert abs(sum(row["sex"] == "F" for row in rows) - 40) < 14  # each of women's 14 cells is rounded down or up
    assert not any(row["age"] == YOUNG and row["income"] == HIGH for row in rows)


def test_the_plan_and_the_record_say_so(desk):
    asked(desk, **FACTS)
    shown = desk.release("--dry-run", "--json")
    assert shown.json["domain"]["facts"] == {
        "impossible": ["age < 25 and income >= 200"],
        "totals": [{"where": "sex = 'F'", "count": 40}, {"where": "sex = 'M'", "count": 60}],
        "records": [100, 100],
    }
    (note,) = (note for note in shown.json["notes"] if "public facts" in note)
    assert note == (
        "public facts of the domain file bind the fit (1 impossible combination, 2 known totals, 100 records in all); "
        "they are constants of the run, and the guarantee does not cover what they tell"
    )
    asked(desk)
    assert json.loads(desk.release("--dry-run", "--json").out)["domain"]["facts"] is None


@pytest.mark.parametrize("more", [("--update", "least-squares"), ("--no-replay",)])
def test_rules_that_cannot_obey_are_named(desk, more):
    asked(desk, **FACTS)
    notes = desk.release("--dry-run", "--json", *more).json["notes"]
    assert any("are not used: the fit of multiplicative-weights alone obeys them" in note for note in notes)


REFUSED = [
    ((), {"totals": [{"where": "sex = 'X'", "count": 4}]}, "q.json: $.domain.totals[0].where: "),
    ((), {"totals": [{"count": 4}, {"where": "sex = 'F'", "count": 5}]}, "$.domain.totals[1]: no table can have"),
    (("--neighbours", "replace", "--n", "3"), {"totals": [{"count": 4}]}, "--n 3: the domain's known totals need"),
    (("--unit", "who", "--max-rows", "2"), {"totals": [{"count": 4}]}, "known totals count all rows, and --unit"),
]


@pytest.mark.parametrize(("options", "facts", "said"), REFUSED)
def test_facts_that_cannot_be_true_are_refused(desk, options, facts, said):
    stated = {
        **DOMAIN,
        "fields": [{**each, "dpqr": {**each["dpqr"], "otherwise": "drop"}} for each in DOMAIN["fields"]],
    }
    desk.put("q.json", {"domain": {**stated, **facts}, "queries": [{"marginal": ["sex"]}]})
    ended = desk.release("--dry-run", *options)
    assert ended.code == 3
    assert said in ended.err
    assert len(ended.err.splitlines()) <= 2
