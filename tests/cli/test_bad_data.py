"""Tables that are unreadable or break their declared contract: exit 5 and constant words, nothing of the cells."""

from __future__ import annotations

import gzip
import io
import os

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.command_desk import DOMAIN, PRIVATE, QUERIES, TABLE
from support.refusal_form import Bad, assert_refusal, domain, each, malformed, refused

ROWS = TABLE.splitlines()
REPLACE = ("--neighbours", "replace", "--n")


def lines(*rows):
    return "\n".join(rows) + "\n"


def columns(**changes):
    """A Parquet file with the desk's columns."""
    made = {
        "sex": pa.array(["F", "M", "PRIVATEVALUE"]),
        "age": pa.array([31, 64, 12]),
        "income": pa.array([100.5, 987654321.0, -77.125]),
    }
    file = io.BytesIO()
    parquet.write_table(pa.table({**made, **changes}), file)
    return file.getvalue()


def table(name, says, content, file="table.csv", options=(), **more):
    return Bad(name, 5, says, data=file, options=options, files={file: content, **more})


def failing(name, column, fault, row, **rules):
    """A row that breaks a rule `fail`."""
    changed = next(dict(field) for field in domain()["fields"] if field["name"] == column)
    changed["dpqr"] = {**changed["dpqr"], "outside": "drop", fault: "fail", **rules}
    files = {"table.csv": lines(ROWS[0], *ROWS[1:2], row), "q.json": {**QUERIES, "domain": domain(**{column: changed})}}
    return Bad(name, 5, f"column {column!r} has a cell that its rule in the domain file does not allow", files=files)


FILES = [
    Bad("missing", 5, "none.csv does not exist", data="none.csv"),
    Bad("missing-parquet", 5, "none.parquet does not exist", data="none.parquet"),
    Bad("empty-name", 2, "a file name is empty", data=""),
    Bad("empty-directory", 5, "holds no table", data="folder", files={"folder/notes.txt": "x"}),
    Bad("glob-of-nothing", 5, "no file matches", data="*.pq"),
    Bad("device", 5, "is no regular file", data="/dev/null"),
    table("no-bytes", "is empty: it has no bytes", b""),
    table("no-bytes-parquet", "is empty: it has no bytes", b"", "t.parquet"),
    Bad(
        "mixed-kinds",
        5,
        "mixes CSV with Parquet",
        data="both",
        files={"both/a.csv": TABLE, "both/b.parquet": columns()},
    ),
    Bad("empty-stdin", 5, "standard input", data="-", stdin=""),
    Bad("stdin-without-columns", 5, "standard input", data="-", stdin="a,b\n1,2\n"),
]
CSV = [
    table("wrong-delimiter", "name another with --delimiter", TABLE.replace(",", ";")),
    table("delimiter-option-wrong", "name another with --delimiter", TABLE, options=("--delimiter", ";")),
    table("column-missing", "has no column 'income'", TABLE.replace("income", "wage")),
    table("column-in-capitals", "has no column 'sex'", TABLE.replace("sex", "SEX")),
    table("header-missing", "no column", lines(*ROWS[1:])),
    table("column-twice", "'age' twice", TABLE.replace("day", "age")),
    malformed("row-too-short", lines(*ROWS, "PRIVATEVALUE,3")),
    malformed("row-too-long", lines(*ROWS, "PRIVATEVALUE,3,4,5,6,7")),
    malformed("quote-never-closed", lines(*ROWS, '"PRIVATEVALUE,3,4,5')),
    malformed("not-utf-8", TABLE.encode() + b"PRIVATEVALUE\xff\xfe,3,4,5\n"),
    table("utf-16", "table.csv", TABLE.encode("utf-16")),
    table("binary", "table.csv", b"\x00\x01\x02" * 1000),
    table("gzip-cut-short", "table.csv.gz", gzip.compress(TABLE.encode() * 50)[:-30], "table.csv.gz"),
    table("gzip-with-damage", "table.csv.gz", gzip.compress(TABLE.encode())[:30] + b"PRIVATEVALUE", "table.csv.gz"),
    table("parquet-by-another-name", "table.csv", columns()),
    malformed("endless-row", lines(ROWS[0], "x" * 2**21)),
]
PARQUET = [
    table("parquet-damaged", "cannot be read as Parquet", columns()[:-100], "t.parquet"),
    table("parquet-is-csv", "cannot be read as Parquet", TABLE, "t.parquet"),
    table("parquet-footer-only", "cannot be read as Parquet", b"PAR1PRIVATEVALUEPAR1", "t.parquet"),
    table("parquet-column-missing", "has no column 'income'", columns().replace(b"income", b"incone"), "t.parquet"),
    table(
        "parquet-text-for-numbers",
        "'age' has the Parquet type",
        columns(age=pa.array(["PRIVATEVALUE"] * 3)),
        "t.parquet",
    ),
    table("parquet-list", "'sex' has the Parquet type", columns(sex=pa.array([["PRIVATEVALUE"]] * 3)), "t.parquet"),
    table("parquet-number-for-labels", "'sex' has the Parquet type", columns(sex=pa.array([1.5] * 3)), "t.parquet"),
    table(
        "parquet-date-for-numbers",
        "'income' has the Parquet type",
        columns(income=pa.array([1, 2, 3], pa.date32())),
        "t.parquet",
    ),
]
RULES = [
    failing("fail-on-null", "age", "null", "F,,3,4"),
    failing("fail-on-words", "age", "unparsable", "F,PRIVATEVALUE,3,4"),
    failing("fail-on-nan", "income", "nan", "F,3,nan,4"),
    failing("fail-on-infinity", "income", "infinite", "F,3,inf,4"),
    failing("fail-on-a-number-outside", "age", "outside", "F,987654321,3,4", outside="fail"),
    failing("fail-on-a-label-outside", "sex", "outside", "PRIVATEVALUE,3,4,5", outside="fail"),
]
COUNTS = [
    Bad("count-column-missing", 5, "has no column 'count'", options=("--counts", "count")),
    Bad("count-column-of-the-domain", 2, "is a column of the domain too", options=("--counts", "age")),
    *(
        malformed(f"count-{name}", f"sex,age,income,count\nF,3,4,{cell}\n", options=("--counts", "count"))
        for name, cell in [
            ("negative", "-1"),
            ("fraction", "1.5"),
            ("in-words", "PRIVATEVALUE"),
            ("null", ""),
            ("nan", "nan"),
        ]
    ),
]
LIMITS = [
    Bad("more-bytes-than-declared", 5, "more bytes than the declared limit", options=("--max-bytes", "20")),
    Bad("more-columns-than-declared", 5, "more columns than the declared limit", options=("--max-columns", "2")),
    Bad("more-records-than-declared", 5, "more records than the declared limit", options=("--max-records", "2")),
    Bad("fewer-records-than-n", 5, "does not hold the declared number of records, 6", options=(*REPLACE, "6")),
    Bad("more-records-than-n", 5, "does not hold the declared number of records, 4", options=(*REPLACE, "4")),
]


@each([*FILES, *CSV, *PARQUET, *RULES, *COUNTS, *LIMITS])
def test_table_is_refused(desk, case):
    refused(desk, case)


MALFORMED = [case for case in (*CSV, *COUNTS) if "malformed" in case.says]


@each(MALFORMED)
def test_rows_that_cannot_be_read_are_dropped_unless_the_domain_says_otherwise(desk, case):
    for name, content in case.files.items():
        desk.put(name, QUERIES if name == "q.json" else content)
    ended = desk.release(*case.options, "--json")
    assert ended.code == 0, ended.err
    assert not any("one bit" in note for note in ended.json["trust"])


def test_the_words_do_not_depend_on_which_row_is_at_fault(desk):
    case = RULES[1]
    desk.write(q__json=case.files["q.json"])
    said = set()
    for rows in (["F,PRIVATEVALUE,3,4"], ["F,1,1,1"] * 50 + ["M,x,3,4"], ["M,y,3,4"] * 3):
        desk.write(table__csv=lines(ROWS[0], *rows))
        said.add(desk.release("--out", "out").err)
    assert len(said) == 1


def test_the_same_file_twice(desk):
    (desk.path / "again.csv").symlink_to("table.csv")
    ended = desk.run("release", "table.csv", "again.csv", "--queries", "q.json", "--eps", "1")
    assert_refusal(ended, 5, "is named twice")
    assert_refusal(desk.run("release", "table.csv", "-", "--queries", "q.json", "--eps", "1"), 2, "give it alone")


def test_rows_that_fit_nothing_are_no_error(desk):
    desk.write(table__csv=lines(ROWS[0], *["PRIVATEVALUE,x,nan,y"] * 20))
    ended = desk.release("--out", "out")
    assert ended.code == 0
    assert desk.release(data="-", stdin=ROWS[0] + "\n").code == 0, "a table without rows is released like any other"


# A table as people write it: dates, money, spellings, gaps, and an encoding that is not UTF-8.


LEDGER = ("--ledger", "ledger.sqlite")
MESSY = """region;paid;visited;again
North;1.234,50 EUR;03/11/2024;yes
 NORTH ;EUR 950;3/1/2024;n
N;-;31/12/2024;YES
south;12.5 EUR;03/11/2024;yes
;0,5 EUR;11/23/2024;no
Süd;4.999,99 €;01/07/2024;no
"""
FIELDS = """
missingValues: ["", "-"]
fields:
- name: region
  type: string
  constraints: {enum: [north, south]}
  dpqr: {trim: true, caseSensitive: false, aliases: {north: [n], south: [süd]}, "null": cell}
- name: paid
  type: number
  decimalChar: ","
  groupChar: "."
  bareNumber: false
  dpqr: {edges: [0, 1000, 5000], "null": cell, unparsable: cell}
- name: visited
  type: date
  format: "%d/%m/%Y"
  constraints: {minimum: 2024-01-01, maximum: 2024-12-31}
  dpqr: {every: quarter, unparsable: cell}
- name: again
  type: boolean
  trueValues: [yes]
  falseValues: [no, n]
  dpqr: {outside: cell}
"""
CODED = """
fields:
- {name: fruit, type: integer, categories: [{value: 0, label: apple}, {value: 1, label: pear}]}
- {name: again, type: boolean, trueValues: [yes], falseValues: [no]}
"""
COUNTED = {
    "region": {"north": 3, "south": 2, "(null)": 1},
    "paid": {"[0, 1000)": 2, "[1000, 5000]": 2, "(null)": 1, "(unparsable)": 1},
    "visited": {"Q1": 1, "Q2": 0, "Q3": 1, "Q4": 3, "(unparsable)": 1},
    "again": {"false": 3, "true": 2, "(outside)": 1},
}


def test_a_table_as_people_write_it(desk):
    """No cleaning: each text counts where the domain file says. At this epsilon noise has a chance below 1e-36."""
    desk.put("t.csv", MESSY.encode("cp1252"))
    desk.put("d.yaml", FIELDS)
    desk.put("q.toml", "".join(f'[[queries]]\nmarginal = ["{name}"]\n' for name in COUNTED))
    stated = ("--delimiter", ";", "--encoding", "windows-1252", "--domain", "d.yaml")
    done = desk.release("--json", *stated, data="t.csv", queries="q.toml", eps="1000")
    assert done.code == 0, done.err
    assert [round(answer["estimate"]) for answer in done.json["answers"]] == [
        count for counts in COUNTED.values() for count in counts.values()
    ]


def test_the_encoding_belongs_to_the_budgets_owner(desk):
    desk.put("t.csv", MESSY.encode("cp1252"))
    desk.put("d.yaml", FIELDS)
    desk.put("q.toml", '[[queries]]\nmarginal = ["region"]\n')
    stated = ("--delimiter", ";", "--encoding", "cp1252")
    desk.run("budget", "init", "survey", "--eps", "9", *stated, *LEDGER)
    done = desk.release("--domain", "d.yaml", "--dataset", "survey", *LEDGER, data="t.csv", queries="q.toml")
    assert (done.code, "region" in done.out) == (0, True), done.err
    other = ("--domain", "d.yaml", "--encoding", "ascii", "--dataset", "survey", *LEDGER)
    done = desk.release(*other, data="t.csv", queries="q.toml")
    assert done.code == 4
    assert "--encoding 'ascii': the owner of the budget fixed 'cp1252'" in done.err


@pytest.mark.parametrize("bins", ["midpoint", "title"])
def test_synthetic_rows_hold_the_labels_and_are_compared_by_them(desk, bins):
    desk.put("t.csv", "fruit;again\n" + "0;yes\n" * 30 + "1;no\n" * 20)
    desk.put("d.yaml", CODED)
    desk.put("q.yaml", "queries: [{marginal: [fruit, again]}]")
    stated = ("--delimiter", ";", "--domain", "d.yaml")
    made = ("--out", "out", "--synthetic", "rows", "--bins", bins)
    assert desk.release(*stated, *made, data="t.csv", queries="q.yaml", eps="1000").code == 0
    found = desk.run(
        "evaluate", "t.csv", "out", "--rows", "--queries", "q.yaml", *stated, "--json", "--max-error", "0.001"
    )
    assert found.code == 0, found.err


# A file of the private table is no document: messages quote documents, and no budget pays for that.


PARENTS = {
    "fields": [
        {
            "name": "sex",
            "type": "string",
            "constraints": {"enum": ["F", "M"]},
            "parent": {"file": "table.csv"},
        }
    ]
}
"""A domain whose hierarchy is the private table: a label that stands twice would be quoted with both its parents."""


def refused_document(done, code=2):
    said = done.out + done.err
    assert done.code == code, said
    assert "is a file of the private table, and messages quote documents" in said
    assert not [cell for cell in PRIVATE if cell in said]


@pytest.fixture
def places(desk):
    """Other names of the table: a link and a hard link, with endings that are read as documents."""
    (desk.path / "linked.yaml").symlink_to(desk.path / "table.csv")
    for ending in ("json", "yaml", "toml", "sql", "npy"):
        os.link(desk.path / "table.csv", desk.path / f"same.{ending}")
    return desk


@pytest.mark.parametrize("name", ["table.csv", "linked.yaml", "same.json", "same.yaml", "same.toml", "same.sql"])
@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--if-exists", "skip", "--out", "out")], ids=" ".join)
def test_queries_and_domain_of_a_release(places, name, more):
    if "skip" in more:
        assert places.release("--out", "out").code == 0
    refused_document(places.run("release", "table.csv", "--queries", name, "--eps", "1", *more))
    refused_document(places.run("release", "table.csv", "--queries", "q.json", "--domain", name, "--eps", "1", *more))


def test_a_directory_of_tables(desk):
    (desk.path / "tables").mkdir()
    (desk.path / "table.csv").rename(desk.path / "tables" / "table.csv")
    refused_document(desk.run("release", "tables", "--queries", "tables/table.csv", "--eps", "1"))
    refused_document(desk.run("release", "tables/*.csv", "--queries", "tables/table.csv", "--eps", "1"))


def test_files_that_documents_name(places):
    counted = {"domain": DOMAIN, "queries": [{"columns": ["sex"], "coefficients": "table.csv"}]}
    places.write(d__json=PARENTS, m__json={"queries": [{"marginal": ["sex"]}]}, c__json=counted)
    refused_document(
        places.run("release", "table.csv", "--queries", "m.json", "--domain", "d.json", "--eps", "1"), code=3
    )
    refused_document(places.run("release", "table.csv", "--queries", "c.json", "--eps", "1"), code=3)


def test_predictions_and_domain_files(places):
    places.write(domain__json=DOMAIN)
    predict = ("predict", "table.csv", "--target", "sex", "--learner", "aggregate", "--eps", "1")
    refused_document(places.run(*predict, "--domain", "same.yaml", "--points", "domain.json"))
    refused_document(places.run("domain", "table.csv", "--from", "same.yaml"))
    refused_document(places.run("domain", "table.csv", "--queries", "same.json"))


def test_questions_of_a_session(places):
    places.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite", "--allow-fail")
    refused_document(
        places.run(
            *("interactive", "open", "talk", "table.csv", "--dataset", "survey", "--ledger", "l.sqlite"),
            *("--domain", "same.json", "--eps", "1"),
        )
    )


@pytest.mark.parametrize("name", ["alone.json", "alone.yaml", "alone.toml", "alone.sql"])
@pytest.mark.parametrize("text", ["987654321", '"PRIVATEVALUE\\n987654321"', "PRIVATEVALUE", "- PRIVATEVALUE"])
def test_a_whole_document_is_never_quoted(desk, name, text):
    """Without a table to compare with, the wrong file may still be anybody's."""
    (desk.path / name).write_text(text)
    for options in (("check", "--queries", name), ("check", "--queries", "q.json", "--domain", name)):
        done = desk.run(*options)
        assert done.code == 3, done.out + done.err
        assert not [cell for cell in PRIVATE if cell in done.out + done.err]
