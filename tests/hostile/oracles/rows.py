"""Rows that are faulty: whether there is one must show nowhere, whoever pays and whatever form the table has."""

from __future__ import annotations

import pyarrow as pa
from hostile.oracles.tables import (
    DROPPING,
    OF_PERSONS,
    PERSONS,
    ROWS,
    attempt,
    over,
    packed,
    predict,
    release,
    row,
    unpaid,
    usual,
)

PLAIN = usual()
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
    "like-the-header": "sex,age,income,count,who,buys,note",
}
OF_PREDICT = ("short", "over-long", "not-utf-8", "quote-never-closed", "label-unknown")
PARQUET_ROWS = {
    "not-utf-8": (packed(), packed(sex=texts(b"\xff\xfe"))),
    "null": (packed(), packed(sex=texts(None))),
    "longest-text": (packed(), packed(sex=texts(b"x" * 2**20))),
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
FAULTY = [
    *(attempt(f"row-{name}", LEARNS, with_row(last), release()) for name, last in ROWS_ALONE.items()),
    *(attempt(f"predict-row-{name}", LEARNS, with_row(ROWS_ALONE[name]), predict()) for name in OF_PREDICT),
    *(attempt(f"unpaid-row-{name}", LEARNS, with_row(ROWS_ALONE[name]), unpaid(), budget=None) for name in OF_PREDICT),
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
