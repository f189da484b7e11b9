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
from support.command_desk import DOMAIN, TABLE
from support.guide_pages import topic
from support.refusal_form import assert_refusal

SAMPLE = Path(__file__).parents[2] / "sample_data"
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


def typed_table():
    file = io.BytesIO()
    columns = {
        "gr\u00f6\u00dfe": pa.array([987654321]),
        "day": pa.array([1], pa.date32()),
        "who": pa.array(["PRIVATEVALUE"]),
    }
    parquet.write_table(pa.table(columns), file)
    return file.getvalue()


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


def test_domain_hints_at_identifiers_and_takes_the_unit_of_a_codebook(desk):
    assert "named like an identifier" in desk.run("domain", "--types", "person_id=string:a|b,age=integer:0..9").err
    book = {"": {"s": {"t": {"max_ids": 2, "person_id": {"type": "int", "private_id": True}, "age": {"type": "int"}}}}}
    desk.put("book.yaml", json.dumps(book))
    desk.write(t__csv="person_id,age\n1,2\n")
    made = desk.run("domain", "t.csv", "--from", "book.yaml")
    assert made.json["unit"] == {"column": "person_id", "max_rows": 2}
    assert [field["name"] for field in made.json["fields"]] == ["age"]
    assert "identifier" not in made.err


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
