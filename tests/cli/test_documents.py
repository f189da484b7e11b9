"""`dpqr check`, `dpqr domain` and `dpqr schema`."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from support import planted_faults
from support.command_desk import DOMAIN, QUERIES, TABLE
from support.guide_pages import topic
from support.refusal_form import assert_refusal

SAMPLE = Path(__file__).parents[2] / "sample_data"
CHECKED = """\
q.json: 13 queries in 2 blocks over 30 cells
  sex: 2 cells; null: drop, outside: drop
  age: 5 cells; null: cell, unparsable: drop, nan: drop, infinite: drop, outside: clip
  income: 3 cells; null: drop, unparsable: drop, nan: drop, infinite: drop, outside: clip
"""
SKELETON = {
    "dpqr": "domain/1",
    "malformed": "drop",
    "fields": [
        {
            "name": "gr\u00f6\u00dfe",
            "type": "integer",
            "constraints": {"minimum": "FILL-IN", "maximum": "FILL-IN"},
            "dpqr": {"bins": 10, "null": "cell", "otherwise": "drop"},
        },
        {
            "name": "day",
            "type": "date",
            "constraints": {"minimum": "FILL-IN", "maximum": "FILL-IN"},
            "dpqr": {"every": "month", "null": "cell", "otherwise": "drop"},
        },
        {
            "name": "who",
            "type": "string",
            "constraints": {"enum": ["FILL-IN"]},
            "dpqr": {"null": "cell", "otherwise": "drop"},
        },
    ],
}
OPEN = """\
proposed, change what does not suit: 10 bins of gr\u00f6\u00dfe; one bin per month of day
to fill in (FILL-IN), from public knowledge: minimum and maximum of gr\u00f6\u00dfe, day; labels of who
"""


def test_figures_are_named_by_check_and_plan(desk):
    asked = {"queries": [{"mean": "income", "by": ["sex"]}, {"median": "age", "name": "middle"}]}
    desk.write(q__json=asked, d__json=DOMAIN, t__csv=TABLE)
    documents = ("--queries", "q.json", "--domain", "d.json")
    assert "\n  figures: 2: mean(income) by sex, middle\n" in desk.run("check", *documents).out
    assert desk.run("check", *documents, "--json").json["figures"] == ["mean(income) by sex", "middle"]
    planned = desk.run("release", "t.csv", *documents, "--eps", "1", "--dry-run")
    assert "Figures     2: mean(income) by sex, middle\n" in planned.out + planned.err


def typed_table():
    file = io.BytesIO()
    columns = {
        "gr\u00f6\u00dfe": pa.array([987654321]),
        "day": pa.array([1], pa.date32()),
        "who": pa.array(["PRIVATEVALUE"]),
    }
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


def test_check(desk):
    ended = desk.run("check", "--queries", "q.json")
    assert (ended.code, ended.out, ended.err) == (0, CHECKED, "")


def test_check_counts_one_of_each(desk):
    desk.write(q__json={"domain": {"a": 1}, "queries": [{"marginal": []}]})
    assert desk.run("check", "--queries", "q.json").out.startswith("q.json: 1 query in 1 block over 1 cell\n")


def test_check_in_json(desk):
    found = desk.run("check", "--queries", "q.json", "--json").json
    assert (found["queries"], found["blocks"], found["cells"]) == (13, 2, 30)
    assert found["columns"][0] == {"name": "sex", "cells": 2, "rules": {"null": "drop", "outside": "drop"}}
    assert found["notes"] == []


def test_check_with_a_domain_of_its_own(desk):
    desk.write(d__json=DOMAIN, q__json={"queries": [{"marginal": ["sex"]}]})
    assert desk.run("check", "--queries", "q.json", "--domain", "d.json").code == 0


def test_check_notes(desk):
    fields = [{**field, "dpqr": {**field["dpqr"], "null": "fail"}} for field in DOMAIN["fields"]]
    del fields[0]["dpqr"]["otherwise"]
    desk.write(q__json={**QUERIES, "domain": {"fields": fields}})
    lines = desk.run("check", "--queries", "q.json").out.splitlines()
    assert [line for line in lines if line.startswith("note: ")] == [
        *(
            f"note: warning: column {name!r} has a rule `fail`: the exit code tells one bit of the data that the "
            "guarantee does not cover"
            for name in ("sex", "age", "income")
        ),
        "note: --neighbours replace would need every rule stated; not all are for: 'sex'",
        'note: --neighbours replace would need a rule for malformed rows: "malformed": "drop"',
    ]


def test_check_opens_no_table(desk):
    shutil.copytree(SAMPLE, desk.path / "sample")
    for table in (*(desk.path / "sample").glob("survey.*"), desk.path / "table.csv"):
        table.unlink()
    assert desk.run("check", "--queries", "sample/queries.json").code == 0


def test_domain_from_parquet(desk):
    desk.put("t.parquet", typed_table())
    ended = desk.run("domain", "t.parquet")
    assert (ended.code, ended.err) == (0, OPEN)
    assert ended.json == SKELETON
    assert "gr\u00f6\u00dfe" in ended.out


def test_domain_from_csv_reads_names_only(desk):
    fields = desk.run("domain", "table.csv").json["fields"]
    assert [(field["name"], field["type"]) for field in fields] == [
        ("sex", "string"),
        ("age", "string"),
        ("income", "string"),
        ("day", "string"),
    ]
    desk.put("t.txt", TABLE.replace(",", "\t"))
    assert desk.run("domain", "t.txt", "--delimiter", r"\t").json["fields"] == fields


def test_domain_to_a_file_that_is_refused_until_it_is_filled_in(desk):
    desk.put("t.parquet", typed_table())
    ended = desk.run("domain", "t.parquet", "--out", "d.json")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"{OPEN}wrote d.json; check it: dpqr check --domain d.json --queries FILE\n"
    assert json.loads((desk.path / "d.json").read_text()) == SKELETON
    refused = desk.run("check", "--domain", "d.json", "--queries", "q.json")
    assert refused.code == 3
    assert "still holds the placeholder FILL-IN" in refused.err


def test_domain_that_cannot_be_finished_leaves_no_file(desk, monkeypatch):
    def full(path, *_, **__):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    assert_refusal(desk.run("domain", "table.csv", "--out", "d.json"), 2, "cannot be written (No space left on device)")
    assert "d.json" not in desk.everything()


def test_domain_from_a_codebook_and_types(desk):
    shutil.copy(SAMPLE / "codebooks" / "clinic.sql", desk.path)
    ended = desk.run("domain", "table.csv", "--from", "clinic.sql", "--types", "income=number:0..9:bins=3,day=boolean")
    assert ended.code == 0
    assert [field["constraints"] for field in ended.json["fields"][:3]] == [
        {"enum": ["female", "male"]},
        {"minimum": 0, "maximum": 110},
        {"minimum": 0, "maximum": 9},
    ]
    assert ended.err == (
        "left out, for the table has no such column: patient_id, visit_date, ward, triage, temperature, insured\n"
    )


def test_domain_from_queries(desk):
    asked = {"queries": [{"where": "age >= 65 and sex in ('F', 'M')"}]}
    desk.put("asked.json", asked)
    fields = {one["name"]: one for one in desk.run("domain", "table.csv", "--queries", "asked.json").json["fields"]}
    assert fields["sex"]["constraints"] == {"enum": ["F", "M"]}
    assert fields["age"]["dpqr"]["edges"] == ["FILL-IN: minimum", 65, "FILL-IN: maximum"]
    typed = desk.run("domain", "table.csv", "--queries", "asked.json", "--types", "age=integer:0..99").json["fields"]
    assert typed[1]["constraints"] == {"minimum": 0, "maximum": 99}, "what is stated stays"


def test_domain_hints_at_identifiers_and_takes_the_unit_of_a_codebook(desk):
    assert "named like an identifier" in desk.run("domain", "--types", "person_id=string:a|b,age=integer:0..9").err
    book = {"": {"s": {"t": {"max_ids": 2, "person_id": {"type": "int", "private_id": True}, "age": {"type": "int"}}}}}
    desk.put("book.yaml", json.dumps(book))
    desk.write(t__csv="person_id,age\n1,2\n")
    made = desk.run("domain", "t.csv", "--from", "book.yaml")
    assert made.json["unit"] == {"column": "person_id", "max_rows": 2}
    assert [field["name"] for field in made.json["fields"]] == ["age"]
    assert "identifier" not in made.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("table.csv", "--queries", "none.json"), 2, "cannot read 'none.json'"),
        ((), 2, "name a table, or a codebook by --from, or columns by --types"),
        (("--from", "none.sql"), 2, "cannot read 'none.sql'"),
        (("--from", "table.csv"), 3, "is no codebook of a known form"),
        (("--from", "q.json"), 3, "is no codebook of a known form"),
        (("--from", "table.csv", "--form", "ddl"), 3, "no CREATE TABLE statement"),
        (("table.csv", "--types", "agee=boolean"), 2, "no column 'agee'; did you mean 'age'?"),
    ],
)
def test_domain_that_cannot_be_written(desk, arguments, code, says):
    assert_refusal(desk.run("domain", *arguments), code, says)


@pytest.mark.parametrize("document", ["domain", "queries"])
def test_schema(desk, document):
    found = desk.run("schema", document).json
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["$id"] == f"urn:dpqr:{document}:1"


def test_check_says_what_the_queries_add(desk) -> None:
    desk.write(q__json={**QUERIES, "queries": [{"where": "age >= 30"}]})
    assert "note: bins of 'age' cut by the queries at 30 (" in desk.run("check", "--queries", "q.json").out
    assert_refusal(desk.run("check", "--queries", "q.json", "--strict"), 3, "cuts through the bin")


def test_check_names_the_unit_or_what_could_be_one(desk) -> None:
    field = {"name": "patient_id", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}
    domain = {**DOMAIN, "fields": [*DOMAIN["fields"], field]}
    desk.write(q__json={**QUERIES, "domain": domain})
    hint = "note: column 'patient_id' is named like an identifier"
    assert hint in desk.run("check", "--queries", "q.json").out
    desk.write(q__json={**QUERIES, "domain": {**domain, "unit": {"column": "who", "max_rows": 3}}})
    shown = desk.run("check", "--queries", "q.json").out
    assert "note: unit: persons, by column 'who'; at most 3 rows of each are used" in shown
    assert "named like" not in shown


def test_a_unit_and_totals_contradict_each_other(desk) -> None:
    domain = {**DOMAIN, "unit": {"column": "who", "max_rows": 3}, "totals": [{"count": 5}]}
    desk.write(q__json={**QUERIES, "domain": domain})
    assert_refusal(desk.run("check", "--queries", "q.json"), 3, "$.domain.unit: totals count all rows")


def test_check_prints_every_fault(desk):
    desk.write(domain__json=planted_faults.DOMAIN, q__json=planted_faults.QUERIES)
    ended = desk.run("check", "--queries", "q.json")
    lines = ended.err.splitlines()
    assert (ended.code, ended.out, lines[0]) == (3, "", "dpqr: 20 faults in domain.json and q.json")
    assert [line.split(": ")[:2] for line in lines[1:21]] == [
        [f"{document}:{line}", path] for document, line, path, _ in planted_faults.FAULTS
    ]
    assert lines[21:] == ["see: `dpqr check --fix` fixes 7 of them"]


def test_check_points_to_the_line_of_one_fault(desk):
    desk.write(q__json='{"domain": {"a": 2},\n"queries": [\n{"marginal": ["b"]}]}')
    ended = desk.run("check", "--queries", "q.json")
    assert ended.err.splitlines() == [
        "dpqr: q.json: $.queries[0].marginal[0]: the domain has no column 'b'; its columns are 'a'",
        "see: q.json:3",
    ]


def test_check_fixes_what_is_obvious(desk):
    desk.write(q__json='{"domain": {"a": 2},\n "quries": [{"marginal": "a"}]}')
    ended = desk.run("check", "--queries", "q.json", "--fix")
    assert ended.err.splitlines() == [
        'fixed q.json:2: $.quries: "quries" -> "queries"',
        'fixed q.json:2: $.queries[0].marginal: "a" -> ["a"]',
    ]
    assert (ended.code, ended.out.splitlines()[0]) == (0, "q.json: 2 queries in 1 block over 2 cells")
    assert (desk.path / "q.json").read_text() == '{"domain": {"a": 2},\n "queries": [{"marginal": ["a"]}]}'


def test_check_says_what_it_could_not_fix(desk):
    desk.write(q__json='{"domain": {"a": 2},\n "queries": [{"marginal": "a"}, {"marginal": ["b"]}]}')
    ended = desk.run("check", "--queries", "q.json", "--fix")
    assert ended.code == 3
    assert ended.err.splitlines()[0].startswith("fixed q.json:2: ")
    assert ended.err.splitlines()[1].startswith("dpqr: q.json: $.queries[1].marginal[0]: the domain has no column 'b'")


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


def test_sql_and_a_file_are_two_questions(sql_desk):
    ended = sql_desk.run("check", "--sql", SQL, "--queries", "q.sql", "--domain", "domain.json")
    assert (ended.code, ended.err.splitlines()[0]) == (2, "dpqr: --sql and --queries both ask; give one of them")


def test_a_queries_file_of_the_settings_gives_way(sql_desk, monkeypatch):
    monkeypatch.delenv("DPQR_SETTINGS", raising=False)
    sql_desk.write(dpqr__toml='queries = "q.json"\ndomain = "domain.json"\n')
    ended = sql_desk.run("check", "--sql", "SELECT COUNT(*) AS everybody FROM t", "--json")
    assert ended.json["queries"] == 1


def test_faults_say_line_and_column(sql_desk):
    sql_desk.write(
        bad__sql="SELECT sex, COUNT(*)\nFROM data GROUP BY sex\nHAVING COUNT(*) > 3; SELECT AVG(day) FROM data"
    )
    ended = sql_desk.run("check", "--queries", "bad.sql", "--domain", "domain.json")
    assert ended.code == 3
    assert "bad.sql: line 3, column 1: HAVING: " in ended.err
    assert "bad.sql: line 3, column 33: the domain has no column 'day'" in ended.err
    ended = sql_desk.run("check", "--sql", "SELECT COUNT(*) FROM t WHERE sex = 'X'", "--domain", "domain.json")
    assert ended.err.startswith("dpqr: SQL: line 1, column 30: column 'sex' has no label 'X'")
    ended = sql_desk.run("check", "--sql", SQL)
    assert (ended.code, ended.err) == (3, "dpqr: SQL names no domain; give --domain FILE\n")


def test_without_sqlglot_one_line_says_what_to_install(sql_desk, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    ended = sql_desk.run("check", "--queries", "q.sql", "--domain", "domain.json")
    assert (ended.code, ended.err) == (
        2,
        "dpqr: q.sql: SQL is read by the package sqlglot; pip install 'dpqr[sql]'\n",
    )
