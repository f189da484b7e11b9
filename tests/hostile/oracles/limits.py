"""Limits, count columns, delimiters and rules `fail` that a requester chooses and rows can break.

A ledger pays, and its policy states none of them: every one is refused before the table is opened, just as where there
is no table.
"""

from __future__ import annotations

from functools import partial

from hostile.oracles.tables import (
    FILES,
    HEAD,
    LARGEST,
    OF_PERSONS,
    PERSONS,
    ROWS,
    SHOP,
    attempt,
    csv,
    failing,
    lines,
    over,
    packed,
    predict,
    release,
    row,
    text,
    usual,
)

MORE = (usual(), usual(ROWS + 1))
PACKED = (packed(), packed(ROWS + 1))
GZIPPED = (usual(name="t.csv.gz"), usual(ROWS + 1, name="t.csv.gz"))
SIZE, PACKED_SIZE = len(text(*lines())), len(PACKED[0].content or b"")
RECORDS = [("--max-records", str(ROWS + away)) for away in (-1, 0, 1)]
BYTES = [("--max-bytes", str(SIZE + away)) for away in (-1, 0, 20)]
MEMORY = ("--max-memory", str(2**28))
CROWD = (usual(), usual(400))
SMALL = (("dpqr.tables.persons.PEAK", 2**16),)
"""The smallest memory then holds 40 rows and not 400."""
SUM = [("--counts", "count", "--max-records", str(2 * ROWS + away)) for away in (-2, -1, 0, 1)]
VOTES = ("--learner", "aggregate", "--parts", "2")
MOST = range(LARGEST, LARGEST + 10, 3)
WHOLE_LINES = {"fields": [{"name": HEAD, "type": "string", "constraints": {"enum": ["a", "b"]}}]}


def changed(**cells: object) -> tuple[object, ...]:
    """Tables that differ in one row."""
    return usual(), usual(ROWS - 1, row(ROWS - 1, **cells))


def rule(column: str, fault: str, **changes: object) -> dict[str, object]:
    return {"f.json": over(failing(column, fault, **changes))}


OWN = ("--points", "DATA")
"""The private rows themselves as points; the last of two options counts."""
refused = partial(attempt, codes=(4,), unopened=True)
LIMITS = [
    refused("records-by-bisection", "n", MORE, *(release(*most) for most in RECORDS)),
    refused("records-of-a-footer", "n", PACKED, *(release(*most) for most in RECORDS)),
    refused("records-of-predict", "n", MORE, *(predict(*most) for most in RECORDS)),
    attempt("records-of-points", "n", MORE, *(predict(*most, *OWN) for most in RECORDS), codes=(2,)),
    attempt("points-counted-by-a-plan", "n", MORE, predict("--dry-run", *OWN, payer=()), budget=None, codes=(2,)),
    refused("bytes-by-bisection", "the file's size", MORE, *(release(*most) for most in BYTES)),
    refused("bytes-unpacked", "the size of what is packed", GZIPPED, release(*BYTES[1])),
    refused("bytes-of-a-footer", "the size of the columns", PACKED, release("--max-bytes", str(PACKED_SIZE))),
    refused("bytes-of-predict", "the file's size", MORE, predict(*BYTES[1])),
    refused(
        "memory-for-persons", "how many there are", CROWD, release(*PERSONS, *MEMORY), budget=OF_PERSONS, changes=SMALL
    ),
    refused(
        "memory-of-predict",
        "how many there are",
        CROWD,
        predict(*PERSONS, *MEMORY, *VOTES),
        budget=OF_PERSONS,
        changes=SMALL,
    ),
    refused("sum-between-limits", "an exact sum", MORE, *(release(*most) for most in SUM)),
    refused("counts-of-any-column", "whether all are whole", changed(count="2.5"), release("--counts", "count")),
    refused(
        "counts-of-parquet",
        "whether one is null",
        (packed(), packed(count=[None, *[1] * (ROWS - 1)])),
        release("--counts", "count"),
    ),
    refused("counts-of-predict", "whether one is negative", changed(count="-1"), predict("--counts", "count")),
    refused(
        "maximum-by-bisection",
        "the largest income",
        changed(income=LARGEST + 5),
        *(release(queries=f"q{most}.json") for most in MOST),
        files={f"q{most}.json": over(failing("income", "outside", edges=[0, 100, most])) for most in MOST},
    ),
    refused(
        "fail-on-null", "whether one is missing", changed(age=""), release(queries="f.json"), files=rule("age", "null")
    ),
    refused(
        "fail-on-words",
        "whether one is a word",
        changed(age="old"),
        release(queries="f.json"),
        files=rule("age", "unparsable"),
    ),
    refused(
        "fail-on-a-label",
        "whether a label occurs",
        (packed(), packed(sex=["X", *["F"] * (ROWS - 1)])),
        release(queries="f.json"),
        files=rule("sex", "outside"),
    ),
    refused(
        "fail-of-predict",
        "whether somebody is older",
        changed(age="101"),
        predict(),
        files={"d.json": failing("age", "outside", SHOP)},
    ),
    refused(
        "malformed-fail",
        "whether a row is ragged",
        (usual(), usual(ROWS, "F,1")),
        release(queries="f.json"),
        files={"f.json": over({**FILES["q.json"]["domain"], "malformed": "fail"})},
    ),
    refused(
        "malformed-fail-of-predict",
        "whether a row is ragged",
        (usual(), usual(ROWS, "F,1")),
        predict(),
        files={"d.json": {**SHOP, "malformed": "fail"}},
    ),
    refused(
        "delimiter-that-no-header-holds",
        "whether any row holds @",
        changed(note="a@b"),
        release("--delimiter", "@", queries="lines.json"),
        files={"lines.json": {"domain": WHOLE_LINES, "queries": [{"marginal": [HEAD]}]}},
    ),
    refused(
        "encoding-in-which-no-accent-is-text",
        "whether any row holds an accent",
        changed(note="\xe9"),
        release("--encoding", "ascii", queries="lines.json"),
        files={"lines.json": {"domain": WHOLE_LINES, "queries": [{"marginal": [HEAD]}]}},
    ),
    refused(
        "delimiter-of-predict",
        "whether any row holds a semicolon more",
        (csv("F;1;no", head="sex;age;buys"), csv("F;1;no;", head="sex;age;buys")),
        predict("--delimiter", ";"),
        files={"points.csv": "sex;age\nF;31\n"},
    ),
]
