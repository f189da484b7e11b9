"""`dpqr check`, `dpqr domain` and `dpqr schema`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from support import planted_faults
from support.command_desk import DOMAIN
from support.guide_pages import topic
from support.refusal_form import assert_refusal

SAMPLE = Path(__file__).parents[2] / "sample_data"


def test_check_opens_no_table(desk):
    shutil.copytree(SAMPLE, desk.path / "sample")
    for table in (*(desk.path / "sample").glob("survey.*"), desk.path / "table.csv"):
        table.unlink()
    assert desk.run("check", "--queries", "sample/queries.json").code == 0


WIDE = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 619}} for name in "abc"]
SEX = {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}
PERSONS = {"unit": {"column": "person", "max_rows": 2}}
NO_RELEASE = {
    "more cells together than a fit can hold": ({"fields": WIDE}, {"marginals": {"ways": 3}}),
    "totals of rows, where persons are protected": (
        {"fields": [SEX], "totals": [{"count": 9}], **PERSONS},
        {"marginal": ["sex"]},
    ),
    "answers by person": ({"fields": [SEX | {"name": "person"}], **PERSONS}, {"marginal": ["person"]}),
}


@pytest.mark.parametrize("case", NO_RELEASE)
def test_check_refuses_what_a_release_would_refuse(desk, case):
    """In the same words, with the same exit code; neither opens a table."""
    domain, entry = NO_RELEASE[case]
    documents = ("--queries", desk.put("wide.json", {"queries": [entry]}), "--domain", desk.put("over.json", domain))
    checked = desk.run("check", *documents)
    released = desk.run("release", "no-such.csv", *documents, "--eps", "1")
    assert (checked.code, checked.err) == (released.code, released.err)
    assert checked.code in (2, 3)


def test_domain_that_cannot_be_finished_leaves_no_file(desk, monkeypatch):
    def full(path, *_, **__):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    assert_refusal(desk.run("domain", "table.csv", "--out", "d.json"), 2, "cannot be written (No space left on device)")
    assert "d.json" not in desk.everything()


@pytest.mark.parametrize("document", ["domain", "queries"])
def test_schema(desk, document):
    found = desk.run("schema", document).json
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["$id"] == f"urn:dpqr:{document}:1"


def test_check_prints_every_fault(desk):
    desk.write(domain__json=planted_faults.DOMAIN, q__json=planted_faults.QUERIES)
    ended = desk.run("check", "--queries", "q.json")
    lines = ended.err.splitlines()
    assert (ended.code, ended.out, lines[0]) == (3, "", "dpqr: 20 faults in domain.json and q.json")
    assert [line.split(": ")[:2] for line in lines[1:21]] == [
        [f"{document}:{line}", path] for document, line, path, _ in planted_faults.FAULTS
    ]
    assert lines[21:] == ["see: `dpqr check --fix` fixes 7 of them"]


def test_the_example_of_the_guide_is_what_check_prints(desk):
    page = topic("check")
    domain, queries = page.all_of("json")
    said = page.all_of("text")
    desk.write(domain__json=domain, queries__json=queries)
    assert desk.run("check", "--queries", "queries.json").err == said[0]
    fixed = desk.run(*said[1].split()[1:])
    assert fixed.err.startswith(said[2])
    assert fixed.err.splitlines()[2] == "dpqr: 3 faults in domain.json and queries.json"


# SQL in place of a queries file, at every command that takes one.


SQL = "SELECT sex, COUNT(*) AS n FROM data WHERE age < 50 GROUP BY sex; SELECT SUM(income) AS pay FROM data"
TWIN = [{"where": "age < 50", "by": ["sex"], "name": "n"}, {"sum": "income", "name": "pay"}]


@pytest.fixture
def sql_desk(desk):
    desk.write(domain__json=DOMAIN, q__sql=SQL)
    return desk


def test_the_translated_document_can_be_seen(sql_desk):
    for name, asked in (("one.json", ("--queries", "q.sql")), ("two.json", ("--sql", SQL))):
        ended = sql_desk.run("check", *asked, "--domain", "domain.json", "--out", name)
        assert ended.code == 0
        assert json.loads((sql_desk.path / name).read_text()) == {"dpqr": "queries/1", "queries": TWIN}
    assert sql_desk.run("check", "--sql", SQL, "--domain", "domain.json", "--out", "one.json").code == 8


def test_a_release_of_sql_keeps_its_twin(sql_desk):
    options = ("--domain", "domain.json", "--eps", "1", "--schedule", "strategy", "--out", "out")
    assert sql_desk.run("release", "table.csv", "--sql", SQL, *options).code == 0
    record = json.loads((sql_desk.path / "out/release.json").read_text())
    assert record["plan"]["request"]["queries"] == {"queries": TWIN}


def test_without_sqlglot_one_line_says_what_to_install(sql_desk, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    ended = sql_desk.run("check", "--queries", "q.sql", "--domain", "domain.json")
    assert (ended.code, ended.err) == (
        2,
        "dpqr: q.sql: SQL is read by the package sqlglot; pip install 'dpqr[sql]'\n",
    )
