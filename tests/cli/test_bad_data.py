"""Tables that are unreadable or break their declared contract: exit 5 and constant words, nothing of the cells."""

from __future__ import annotations

import gzip
import io

import pyarrow as pa
from pyarrow import parquet
from support.command_desk import QUERIES, TABLE
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
