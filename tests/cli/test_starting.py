"""`dpqr init`: the files of a new project."""

from __future__ import annotations

import json

import pytest
from support.command_desk import PRIVATE, TABLE, Desk


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path)
    made.write(table__csv=TABLE)
    return made


def test_a_project_of_a_table_is_to_be_filled_in_and_then_runs(desk):
    ended = desk.run("init", "table.csv", "--dataset", "survey")
    assert ended.err == (
        "proposed by the names alone, change what does not suit: integer from 0 to 120 for age; number for income\n"
        "proposed, change what does not suit: 10 bins of age, income\n"
        "to fill in (FILL-IN), from public knowledge: labels of sex, day; minimum and maximum of income\n"
        "wrote dpqr.toml, domain.json and queries.json; check them: dpqr check\n"
    )
    assert 'dataset = "survey"\n' in (desk.path / "dpqr.toml").read_text()
    text = (desk.path / "domain.json").read_text()
    assert not any(hidden in text for hidden in PRIVATE)
    assert [field["name"] for field in json.loads(text)["fields"]] == ["sex", "age", "income", "day"]
    refused = desk.run("check")
    assert refused.code == 3
    assert "still holds the placeholder FILL-IN" in refused.err
    desk.put("domain.json", {"fields": [{"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"]}}]})
    desk.put("queries.json", {"queries": [{"marginals": {"ways": 1}}]})
    assert desk.run("check").code == 0
    assert desk.run("budget", "init", "survey", "--eps", "2", "--ledger", "l.sqlite").code == 0
    assert desk.run("release", "table.csv", "--eps", "1", "--ledger", "l.sqlite", "--out", "out").code == 0


def test_columns_are_described_as_for_a_domain_file(desk):
    desk.put("old.csv", "größe;who\n1;x\n".encode("cp1252"))
    desk.put("book.json", {"fields": [{"name": "größe", "type": "number"}]})
    table = "old.csv", "--encoding", "cp1252", "--delimiter", ";", "--unit", "who", "--max-rows", "3"
    ended = desk.run("init", *table, "--from", "book.json", "--types", "größe=number:0..2:bins=4,who=string:x|y")
    assert ended.code == 0, ended.err
    assert "dpqr.toml, domain.json and queries.json" in ended.err
    assert desk.run("check").code == 0
    document = json.loads((desk.path / "domain.json").read_text())
    assert document["unit"] == {"column": "who", "max_rows": 3}
    assert document["fields"][0]["dpqr"]["bins"] == 4


def test_without_a_table_types_name_the_columns(desk):
    assert desk.run("init", "--types", "age=integer:0..9").code == 0
    assert [field["name"] for field in json.loads((desk.path / "domain.json").read_text())["fields"]] == ["age"]


def test_without_a_table_an_example_is_written(desk):
    assert desk.run("init", "--out", "new").code == 0
    assert desk.everything() == {"table.csv", "new", "new/dpqr.toml", "new/domain.json", "new/queries.json"}
    assert '# dataset = "survey"' in (desk.path / "new/dpqr.toml").read_text()
