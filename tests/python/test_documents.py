"""Public documents from Python: what the commands `check`, `domain`, `schema` and `init` give, and their refusals."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from support.command_desk import DOMAIN

import dpqr


def test_check_says_what_the_command_says(desk):
    ended = desk.run("check", "--queries", "q.json", "--json")
    held = json.loads((desk.path / "q.json").read_text())
    found = dpqr.check("q.json")
    assert found.record == dpqr.check(held).record == ended.json
    assert found.columns["column"].tolist() == [each["name"] for each in ended.json["columns"]]
    assert found.notes == tuple(ended.json["notes"])
    assert repr(found)[len("Checked(") : -1] in desk.run("check", "--queries", "q.json").out
    assert "<table" in found._repr_html_()


def test_faults_are_those_of_the_command_and_can_be_fixed(desk):
    desk.write(d__json=DOMAIN, wrong__json={"queries": [{"marginl": ["sex"]}, {"marginal": ["age"], "nam": "old"}]})
    given = ("--queries", "wrong.json", "--domain", "d.json")
    ended = desk.run("check", *given, "--json")
    with pytest.raises(dpqr.DocumentError) as raised:
        dpqr.check("wrong.json", "d.json")
    assert raised.value.exit_code == ended.code == 3
    assert len(raised.value.faults) == len(ended.json["error"]["faults"]) == 2
    fixed = dpqr.check("wrong.json", "d.json", fix=True)
    assert [each.after for each in fixed.fixed] == ['"marginal"', '"name"']
    with pytest.raises(dpqr.UsageFault, match="a document is in memory"):
        dpqr.check({"queries": []}, "d.json", fix=True)


def test_a_domain_file_is_that_of_the_command(desk):
    given = {"types": "age=integer:0..99", "queries": "q.json"}
    ended = desk.run("domain", "table.csv", "--types", given["types"], "--queries", "q.json")
    made = dpqr.domain_file("table.csv", **given, out="d.json")
    assert made.document == ended.json == json.loads((desk.path / "d.json").read_text())
    assert all(remark in ended.err for remark in made.remarks)
    with pytest.raises(dpqr.AlreadyThere):
        dpqr.domain_file("table.csv", out="d.json")
    with pytest.raises(dpqr.UsageFault, match="name a table"):
        dpqr.domain_file()


def test_a_domain_file_is_made_of_a_table_in_memory(tmp_path):
    frame = pd.DataFrame({"sex": ["f", "m"] * 50, "age": [30, 60] * 50})
    fields = dpqr.domain_file(frame, types="sex=string:f|m").document["fields"]
    assert [(each["name"], each["type"]) for each in fields] == [("sex", "string"), ("age", "integer")]
    assert fields[1]["constraints"] == {"minimum": "FILL-IN", "maximum": "FILL-IN"}
    learned = dpqr.domain_file(frame, learn="sex,age", eps=800, delta=1e-6).document
    assert learned["fields"][0]["constraints"]["enum"] == ["f", "m"]
    assert dpqr.release(frame, queries={"queries": [{"marginal": ["sex"]}]}, domain=learned, eps=1)
    with pytest.raises(dpqr.UsageFault, match="list is no table"):
        dpqr.domain_file([{"sex": "f"}])
    with pytest.raises(dpqr.UsageFault, match="delimiter: is about CSV files"):
        dpqr.domain_file(frame, delimiter=";")


LEARN = {"learn": "sex,age", "types": "age=integer", "eps": 50, "delta": "1e-6"}
LEARNED = ("--learn", "sex,age", "--types", "age=integer", "--eps", "50", "--delta", "1e-6")


@pytest.mark.slow
def test_learned_columns_are_those_of_the_command_and_cost_what_it_costs(desk):
    """At epsilon 50 labels of one person are kept with probability 1e-6 all the same: nothing of the desk is shown."""
    ended = desk.run("domain", "table.csv", *LEARNED, "--dry-run")
    dry = dpqr.domain_file("table.csv", **LEARN, dry_run=True)
    assert ended.out.splitlines() == list(dry.remarks)
    assert dry.remarks[0].startswith("epsilon 50, delta 1e-6 for one row")
    made = dpqr.domain_file("table.csv", **LEARN, out="d.json")
    assert made.document == json.loads((desk.path / "d.json").read_text())
    ledger = dpqr.Ledger("l.sqlite", "none")
    ledger.init("t", eps=120, delta="1e-5", accounting="basic")
    payer = {"dataset": "t", "ledger": ledger}
    with pytest.raises(dpqr.BudgetRefused, match="--allow-learning"):
        dpqr.domain_file("table.csv", **LEARN, **payer)
    ledger.policy("t", learning=True)
    dpqr.domain_file("table.csv", **LEARN, **payer)
    ended = desk.run("domain", "table.csv", *LEARNED, "--dataset", "t", "--ledger", "l.sqlite", "--anchor", "none")
    assert ended.code == 0
    assert "paid: (epsilon 50, delta 1e-6), entry 5 of dataset 't'" in ended.err
    assert ledger.budget("t").spent == 100
    assert desk.run("domain", "table.csv", "--eps", "1").code == 2
    assert desk.run("domain", "table.csv", "--learn", "sex").code == 2


def test_the_rows_of_each_person_are_chosen_by_the_command_and_by_the_function_alike(desk):
    options = ("--types", "sex=string:f|m", "--unit", "age", "--learn-max-rows", "1", "--eps", "50")
    ended = desk.run("domain", "table.csv", *options)
    given = {"types": "sex=string:f|m", "unit": "age", "learn_max_rows": 1, "eps": 50}
    made = dpqr.domain_file("table.csv", **given).document
    assert (ended.code, ended.json["fields"]) == (0, made["fields"])
    assert ended.json["learned"]["max_rows"]["numbers"] == made["learned"]["max_rows"]["numbers"]
    assert "the bound of" in ended.err
    dry = desk.run("domain", "table.csv", *options, "--dry-run")
    assert dry.out.splitlines() == list(dpqr.domain_file("table.csv", **given, dry_run=True).remarks)
    assert "the least number is chosen that uses 95% of the rows" in dry.out
    assert desk.run("domain", "table.csv", "--learn-max-rows", "1", "--unit", "age").code == 2


def test_a_domain_that_states_less_for_what_was_learned_than_its_entry_has_paid_is_refused(desk):
    """By all runs that its ledger would pay for, before anything is paid; what commands say: `messages/learned.txt`."""
    ledger = dpqr.Ledger("l.sqlite", "none")
    ledger.init("t", eps=9, unit="age", allow_learning=True)
    payer = {"dataset": "t", "ledger": ledger}
    described = {"types": "sex=string:F|M,income=string:a|b", "unit": "age", "learn_max_rows": 1, "eps": "0.2"}
    document = dpqr.domain_file("table.csv", **described, **payer).document
    document["learned"]["epsilon"] = document["learned"]["ledger"][0]["epsilon"] = "0.1"
    run, queries = {"domain": document, "eps": 1, **payer}, {"queries": [{"marginal": ["sex"]}]}
    runs = (
        lambda: dpqr.release("table.csv", queries=queries, **run),
        lambda: dpqr.plan(queries=queries, **run),
        lambda: dpqr.predict("table.csv", target="sex", positive="F", form="function", out="m.json", **run),
        lambda: dpqr.open_session("table.csv", name="lively", **run),
        lambda: dpqr.open_predictions("table.csv", name="lively", target="sex", positive="F", **run),
    )
    for one in runs:
        with pytest.raises(dpqr.DocumentError, match=r"^entry 2 of dataset 't' paid more than .*\ngive the domain"):
            one()
    assert ledger.budget("t").spent == pytest.approx(0.2)


def test_a_file_of_settings_says_who_pays_for_what_is_learned_and_for_nothing_else(desk):
    dpqr.Ledger("l.sqlite", "none").init("t", eps=120, delta="1e-5", accounting="basic", allow_learning=True)
    desk.put("dpqr.toml", 'dataset = "t"\nledger = "l.sqlite"\n')
    assert desk.run("domain", "table.csv", "--types", "age=integer").code == 0
    assert desk.run("domain", "table.csv", *LEARNED).code == 0
    assert dpqr.Ledger("l.sqlite", "none").budget("t").spent == 50


def test_a_schema_and_a_new_project(desk):
    assert json.loads(json.dumps(dpqr.schema("queries"))) == desk.run("schema", "queries").json
    with pytest.raises(dpqr.UsageFault, match="none of 'domain', 'queries'"):
        dpqr.schema("plan")
    paths = dpqr.init("new", "table.csv", dataset="survey").paths
    desk.run("init", "table.csv", "--out", "other", "--dataset", "survey")
    assert [(desk.path / each).read_text() for each in paths] == [
        (desk.path / each.replace("new", "other", 1)).read_text() for each in paths
    ]
    with pytest.raises(dpqr.AlreadyThere):
        dpqr.init("new")


@pytest.mark.parametrize(
    ("maximum", "outside", "notes"),
    [
        ("2024-01-31", "drop", ["seen: ends with 2024-01-31T00:00:00; later times of that day are outside"]),
        ("2024-01-31", "clip", []),
        ("2024-01-31T23:59:59", "drop", []),
    ],
)
def test_a_column_of_times_that_ends_with_a_midnight_is_named(maximum, outside, notes):
    rules = {"every": "day", "outside": outside}
    seen = {"name": "seen", "type": "datetime", "constraints": {"minimum": "2024-01-01", "maximum": maximum}}
    checked = dpqr.check({"queries": [{"marginal": ["seen"]}]}, {"fields": [{**seen, "dpqr": rules}]})
    assert [note for note in checked.notes if note.startswith("seen: ")] == notes
