"""CSV: packing, headers, encodings, rows and counts."""

from __future__ import annotations

import gzip

from support.command_desk import TABLE
from support.refusal_form import Bad, malformed

HEAD = TABLE.splitlines()[0]
CSV = [
    Bad(
        "gzip-of-gzip",
        5,
        "is packed by gzip, not CSV; unpack it",
        data="t.csv.gz",
        files={"t.csv.gz": gzip.compress(gzip.compress(b"x" * 99))},
    ),
    Bad("gzip-with-tail", 5, "t.csv.gz", data="t.csv.gz", files={"t.csv.gz": gzip.compress(TABLE.encode()) + b"tail"}),
    Bad("byte-order-mark-twice", 5, "has no column 'sex'", files={"table.csv": "\ufeff\ufeff" + TABLE}),
    Bad("columns-100000", 5, "more columns than", files={"table.csv": ",".join(map(str, range(10**5))) + "\n"}),
    Bad("header-endless", 5, "has a first line longer than", files={"table.csv": "a," * 10**6}),
    Bad("header-one-name", 5, "has a first line longer than", files={"table.csv": "a" * 2**22}),
    Bad("header-of-nulls", 5, "has no column 'sex'", files={"table.csv": bytes(2**16)}),
    Bad("header-only-quotes", 5, "table.csv", files={"table.csv": '"' * 999}),
    malformed("null-bytes-for-rows", HEAD.encode() + b"\n" + bytes(2**12)),
    malformed("overlong-utf-8", TABLE.encode() + b"\xc0\xaf,3,4,5\n"),
    malformed("utf-8-surrogate", TABLE.encode() + b"\xed\xa0\x80,3,4,5\n"),
    Bad("utf-16-without-mark", 5, "table.csv", files={"table.csv": TABLE.encode("utf-16-le")}),
    malformed("cell-of-2-megabytes", TABLE + "F,1,2," + "x" * 2**21 + "\n"),
    malformed("quote-over-the-rest", TABLE + '"' + "F,1,2,3\n" * 9),
    malformed("rows-of-other-length", TABLE + "F\n"),
    malformed("count-2-63", "sex,age,income,n\nF,1,2,9223372036854775808\n", options=("--counts", "n")),
    malformed("count-1e300", "sex,age,income,n\nF,1,2,1e300\n", options=("--counts", "n")),
    Bad(
        "counts-that-add-up",
        5,
        "more records than",
        options=("--counts", "n"),
        files={"table.csv": "sex,age,income,n\n" + f"F,1,2,{2**36}\n" * 2},
    ),
]
