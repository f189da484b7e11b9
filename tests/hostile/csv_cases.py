"""CSV: packing, headers, encodings, rows and counts."""

from __future__ import annotations

import gzip

from desk import TABLE
from refusals import Bad

HEAD = TABLE.splitlines()[0]
CSV = [
    Bad(
        "gzip-of-gzip",
        5,
        "has no column 'sex'",
        data="t.csv.gz",
        files={"t.csv.gz": gzip.compress(gzip.compress(b"x" * 99))},
    ),
    Bad("gzip-with-tail", 5, "t.csv.gz", data="t.csv.gz", files={"t.csv.gz": gzip.compress(TABLE.encode()) + b"tail"}),
    Bad("byte-order-mark-twice", 5, "has no column 'sex'", files={"table.csv": "\ufeff\ufeff" + TABLE}),
    Bad("columns-100000", 5, "more columns than", files={"table.csv": ",".join(map(str, range(10**5))) + "\n"}),
    Bad("header-endless", 5, "has a row longer than", files={"table.csv": "a," * 10**6}),
    Bad("header-one-name", 5, "has a row longer than", files={"table.csv": "a" * 2**22}),
    Bad("header-of-nulls", 5, "has no column 'sex'", files={"table.csv": bytes(2**16)}),
    Bad("header-only-quotes", 5, "table.csv", files={"table.csv": '"' * 999}),
    Bad("null-bytes-for-rows", 5, "table.csv", files={"table.csv": HEAD.encode() + b"\n" + bytes(2**12)}),
    Bad("overlong-utf-8", 5, "is not UTF-8", files={"table.csv": TABLE.encode() + b"\xc0\xaf,3,4,5\n"}),
    Bad("utf-8-surrogate", 5, "is not UTF-8", files={"table.csv": TABLE.encode() + b"\xed\xa0\x80,3,4,5\n"}),
    Bad("utf-16-without-mark", 5, "table.csv", files={"table.csv": TABLE.encode("utf-16-le")}),
    Bad("cell-of-2-megabytes", 5, "has a row longer than", files={"table.csv": TABLE + "F,1,2," + "x" * 2**21 + "\n"}),
    Bad("quote-over-the-rest", 5, "table.csv", files={"table.csv": TABLE + '"' + "F,1,2,3\n" * 9}),
    Bad("rows-of-other-length", 5, "more or fewer cells", files={"table.csv": TABLE + "F\n"}),
    Bad(
        "count-2-63",
        5,
        "must hold whole numbers",
        files={"table.csv": "sex,age,income,n\nF,1,2,9223372036854775808\n"},
        options=("--counts", "n"),
    ),
    Bad(
        "count-1e300",
        5,
        "must hold whole numbers",
        files={"table.csv": "sex,age,income,n\nF,1,2,1e300\n"},
        options=("--counts", "n"),
    ),
    Bad(
        "counts-that-add-up",
        5,
        "more records than",
        options=("--counts", "n"),
        files={"table.csv": "sex,age,income,n\n" + f"F,1,2,{2**36}\n" * 2},
    ),
]
