"""Files that no line of text shows, for the conversations of `test_messages`."""

from __future__ import annotations

import gzip
import io
import json

import pyarrow as pa
from pyarrow import parquet
from support.command_desk import DOMAIN, QUERIES, TABLE


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


DOCUMENTS = {
    "d.json": DOMAIN,
    "latin-1.json": json.dumps(QUERIES).replace("sex", "s\u00e9x").encode("latin-1"),
    "endless.json": {"domain": "d.json", "queries": [{"where": "(" * 20000 + "age > 25"}]},
}
TABLES = {
    "strict.json": {**QUERIES, "domain": {**DOMAIN, "malformed": "fail"}},
    "no-bytes.csv": b"",
    "no-bytes.parquet": b"",
    "both/b.parquet": columns(),
    "not-utf-8.csv": TABLE.encode() + b"PRIVATEVALUE\xff\xfe,3,4,5\n",
    "utf-16.csv": TABLE.encode("utf-16"),
    "binary.csv": b"\x00\x01\x02" * 1000,
    "cut-short.csv.gz": gzip.compress(TABLE.encode() * 50)[:-30],
    "damaged.csv.gz": gzip.compress(TABLE.encode())[:30] + b"PRIVATEVALUE",
    "parquet-by-another-name.csv": columns(),
    "endless-row.csv": TABLE.splitlines()[0] + "\n" + "x" * 2**21 + "\n",
    "damaged.parquet": columns()[:-100],
    "column-missing.parquet": columns().replace(b"income", b"incone"),
    "text-for-numbers.parquet": columns(age=pa.array(["PRIVATEVALUE"] * 3)),
    "lists.parquet": columns(sex=pa.array([["PRIVATEVALUE"]] * 3)),
    "numbers-for-labels.parquet": columns(sex=pa.array([1.5] * 3)),
    "dates-for-numbers.parquet": columns(income=pa.array([1, 2, 3], pa.date32())),
}
