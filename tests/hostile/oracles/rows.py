"""Rows that are faulty: whether there is one must show nowhere, whoever pays and whatever form the table has."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
from hostile.oracles.attempt import Table
from hostile.oracles.tables import (
    DROPPING,
    OF_PERSONS,
    PERSONS,
    ROWS,
    attempt,
    columns,
    csv,
    over,
    packed,
    parquet_file,
    predict,
    release,
    row,
    unpaid,
    usual,
)

PLAIN = usual()
COUNTS = ("--counts", "count")
OF_COUNTS = ("--eps", "100", *COUNTS)
STATED = ("--neighbours", "replace", "--n", str(ROWS))
REPLACED = {
    "budget": ("--eps", "100", "--neighbours", "replace"),
    "files": {"q.json": over({**DROPPING, "malformed": "drop"})},
}


def with_row(last: str | bytes) -> tuple[object, ...]:
    """The table, and the same with one row more."""
    return PLAIN, usual(ROWS, last)


def by_stdin(last: str | bytes) -> tuple[object, ...]:
    """The same on standard input."""
    return usual(name="-"), usual(ROWS, last, name="-")


def texts(*last: bytes | None) -> object:
    """A Parquet column of texts, that need not be UTF-8."""
    return pa.array([*[b"F"] * (ROWS - len(last)), *last], pa.binary()).view(pa.string())


ROWS_ALONE = {
    "short": "F,1",
    "long": row(0) + ",1,2,3",
    "of-delimiters": "," * 99,
    "over-long": row(0, note="x" * 2**21),
    "not-utf-8": b"\xff\xfe" + row(0).encode()[1:],
    "not-utf-8-elsewhere": row(0).encode() + b"\xff\xfe",
    "surrogates": row(0, sex="").encode().replace(b",", b"\xed\xa0\x80,", 1),
    "quote-never-closed": '"' + row(0),
    "quote-within": row(0, note='a"b'),
    "quote-over-lines": row(0, note='"a\nb\nc"'),
    "of-nulls": b"\0" * 99,
    "null-in-a-cell": row(0, sex="F\0"),
    "empty": "",
    "of-blanks": "   ",
    "carriage-returns": row(0).encode() + b"\r\r" + row(1).encode(),
    "byte-order-mark": b"\xef\xbb\xbf" + row(0).encode(),
    "label-unknown": row(0, sex="X"),
    "number-that-is-none": row(0, age="old", income="much"),
    "number-beyond-all": row(0, age="9" * 400, income="-1e999"),
    "nan": row(0, income="nan"),
    "gzip-magic": b"\x1f\x8b" + row(0).encode(),
    "parquet-magic": b"PAR1" + row(0).encode(),
    "counted-as-none": row(0, count="2.5"),
    "counted-as-nothing": row(0, count=""),
    "like-the-header": "sex,age,income,count,who,buys,note",
}
OF_PREDICT = ("short", "over-long", "not-utf-8", "quote-never-closed", "label-unknown")
PARQUET_ROWS = {
    "not-utf-8": (packed(), packed(sex=texts(b"\xff\xfe"))),
    "null": (packed(), packed(sex=texts(None))),
    "longest-text": (packed(), packed(sex=texts(b"x" * 2**20))),
    "type-of-nothing": (packed(), packed(age=pa.nulls(ROWS))),
    "dictionary": (packed(), packed(sex=columns()["sex"].dictionary_encode())),
    "all-null": (packed(), packed(age=pa.nulls(ROWS, pa.int64()))),
    "largest-in-statistics": (packed(), packed(age=pa.array([2**62, *[1] * (ROWS - 1)]))),
    "without-statistics": (packed(form={"write_statistics": False}), packed(form={"write_statistics": True})),
    "without-dictionary": (packed(form={"use_dictionary": False}), packed(form={"use_dictionary": True})),
    "groups": (packed(form={"row_group_size": 7}), packed(form={"row_group_size": 40})),
    "nan": (packed(), packed(income=[float("nan"), *[1.0] * (ROWS - 1)])),
    "rows": (packed(0), packed(1), packed(ROWS)),
}
PERSON_IDS = {
    "null": (packed(), packed(who=pa.array([None, *["p"] * (ROWS - 1)]))),
    "long": (packed(), packed(who=pa.array(["x" * 2**21, *["p"] * (ROWS - 1)]))),
    "long-and-many": (packed(), packed(who=pa.array([str(each) * 2**17 for each in range(ROWS)]))),
    "all-alike": (packed(), packed(who=pa.array(["p"] * ROWS))),
    "csv-empty": with_row(row(0, who="")),
    "csv-long": with_row(row(0, who="x" * 2**19)),
    "csv-not-utf-8": with_row(row(0, who="").encode().replace(b",,", b",\xff,")),
}
LEARNS = "whether there is such a row"
DATES = [
    {
        "name": "born",
        "type": "date",
        "dpqr": {"edges": ["2000-01-01", "2020-01-01"], "otherwise": "drop"},
    },
    {"name": "seen", "type": "datetime", "dpqr": {"edges": ["2000-01-01", "2020-01-01"], "otherwise": "drop"}},
    {"name": "paid", "type": "number", "dpqr": {"edges": [0, 1, 2], "otherwise": "drop"}},
]
OF_DATES = {
    "q.json": {"domain": {"fields": DATES}, "queries": [{"marginal": ["born"]}, {"marginal": ["seen", "paid"]}]}
}
USUAL_DATE = "2005-05-05,2005-05-05T10:00:00,1.5"
ODD_DATES = {
    "beyond": "9999-12-31,9999-12-31T23:59:59.999999999Z,1e308",
    "before": "0001-01-01,0001-01-01T00:00:00+23:59,-1e-320",
    "impossible": "2001-02-29,2001-13-01T25:61:61,0x10",
    "endless": "2" * 5000 + ",2005,1" + "0" * 5000,
}


def dated(*rows: str) -> Table:
    return csv(USUAL_DATE, *rows, head="born,seen,paid")


def stored(born: int, seen: int, paid: str) -> Table:
    """The same in Parquet: days and microseconds since 1970, a decimal number."""
    made = {
        "born": pa.array([born, 1], pa.date32()),
        "seen": pa.array([seen, 1], pa.timestamp("us")),
        "paid": pa.array([Decimal(paid), Decimal(1)], pa.decimal128(38, 2)),
    }
    return parquet_file(made)


FAULTY = [
    *(
        attempt(f"dates-{name}", LEARNS, (dated(), dated(last)), release(), files=OF_DATES)
        for name, last in ODD_DATES.items()
    ),
    attempt(
        "dates-parquet",
        LEARNS,
        (
            stored(13000, 10**15, "1.5"),
            stored(2**31 - 1, 2**63 - 1, "9" * 36),
            stored(-(2**31), -(2**63), "-" + "9" * 36),
        ),
        release(),
        files=OF_DATES,
    ),
    *(attempt(f"row-{name}", LEARNS, with_row(last), release()) for name, last in ROWS_ALONE.items()),
    *(attempt(f"predict-row-{name}", LEARNS, with_row(ROWS_ALONE[name]), predict()) for name in OF_PREDICT),
    *(attempt(f"unpaid-row-{name}", LEARNS, with_row(ROWS_ALONE[name]), unpaid(), budget=None) for name in OF_PREDICT),
    *(
        attempt(f"counts-row-{name}", LEARNS, with_row(ROWS_ALONE[name]), release(*COUNTS), budget=OF_COUNTS)
        for name in ("short", "counted-as-none", "counted-as-nothing")
    ),
    *(attempt(f"stdin-row-{name}", LEARNS, by_stdin(ROWS_ALONE[name]), release()) for name in OF_PREDICT),
    *(attempt(f"parquet-{name}", LEARNS, tables, release()) for name, tables in PARQUET_ROWS.items()),
    *(
        attempt(f"person-{name}", LEARNS, tables, release(*PERSONS), budget=OF_PERSONS)
        for name, tables in PERSON_IDS.items()
    ),
    *(
        attempt(f"replaced-{name}", LEARNS, (PLAIN, usual(ROWS - 1, ROWS_ALONE[name])), release(*STATED), **REPLACED)
        for name in OF_PREDICT
    ),
]
