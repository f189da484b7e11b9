"""Public documents from Python: what the commands `check`, `domain`, `schema` and `init` give, and their refusals."""

from __future__ import annotations

import json

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
