"""Parquet: forged footers and pages."""

from __future__ import annotations

from support.forged_parquet import (
    BINARY,
    CHILDREN,
    FIRST_PAGE,
    GROUP_ROWS,
    GROUPS,
    I32,
    PACKED,
    ROWS,
    SCHEMA,
    UNPACKED,
    VALUES,
    chunk_facts,
    forged,
    table_bytes,
    with_page,
)
from support.refusal_form import Bad, malformed

DAMAGED = "cannot be read as Parquet; it is damaged"


def columns(rows=3):
    return {"sex": ["F", "M", "F"][:rows], "age": [31, 64, 12][:rows], "income": [100.5, 2.0, 3.0][:rows]}


def parquet(name, says, content, options=()):
    return Bad(name, 5, says, data="t.parquet", files={"t.parquet": content}, options=options)


def footer(name, says, change, **options):
    return parquet(name, says, lambda: forged(table_bytes(columns(), **options), change))


def page(name, says, change, **options):
    return parquet(name, says, lambda: with_page(table_bytes(columns(), use_dictionary=False, **options), change))


def set_rows(count):
    def change(found):
        found[ROWS][1] = found[GROUPS][1][1][0][GROUP_ROWS][1] = count
        for column in range(3):
            chunk_facts(found, 0, column)[VALUES][1] = count

    return change


def set_fact(field, value):
    return lambda found: chunk_facts(found)[field].__setitem__(1, value)


def nested(levels):
    def change(found):
        elements = found[SCHEMA][1][1]
        leaf = elements.pop()
        elements.extend({3: [I32, 1], 4: [BINARY, b"g"], CHILDREN: [I32, 1]} for _ in range(levels))
        elements.append(leaf)

    return change


def many_columns(found):
    elements = found[SCHEMA][1][1]
    elements.extend({1: [I32, 1], 3: [I32, 1], 4: [BINARY, b"c%d" % each]} for each in range(10**5))
    elements[0][CHILDREN][1] += 10**5


def children(count):
    return lambda found: found[SCHEMA][1][1][0][CHILDREN].__setitem__(1, count)


def size(field, value):
    return lambda header: header[field].__setitem__(1, value)


PARQUET = [
    footer("rows-2-40", "more records than the declared limit", set_rows(2**40)),
    footer("rows-2-63", "more records than the declared limit", set_rows(2**63 - 1)),
    footer("rows-2-33", "more than 32 rows for each of its bytes; state --max-records", set_rows(2**33)),
    footer("rows-negative", DAMAGED, set_rows(-1)),
    footer("rows-that-do-not-add-up", DAMAGED, lambda found: found[ROWS].__setitem__(1, 4)),
    footer("values-2-40", DAMAGED, set_fact(VALUES, 2**40)),
    footer("values-negative", DAMAGED, set_fact(VALUES, -1)),
    footer("unpacked-2-62", "more bytes than the declared limit", set_fact(UNPACKED, 2**62)),
    footer("packed-2-62", DAMAGED, set_fact(PACKED, 2**62)),
    footer("packed-negative", DAMAGED, set_fact(PACKED, -5)),
    footer("page-behind-the-file", DAMAGED, set_fact(FIRST_PAGE, 2**40), use_dictionary=False),
    footer("page-in-the-footer", DAMAGED, set_fact(FIRST_PAGE, 2**11), use_dictionary=False),
    footer("rows-of-another-type", DAMAGED, lambda found: found.update({ROWS: [I32, 3]})),
    footer("groups-gone", DAMAGED, lambda found: found.update({GROUPS: [9, [12, []]]})),
    footer("schema-100-deep", "t.parquet", nested(100)),  # Arrow before 26 reads the schema: a column is missing
    footer("schema-10000-deep", "t.parquet", nested(10**4)),
    footer("columns-100000", DAMAGED, many_columns),
    footer("children-beyond", DAMAGED, children(10**9)),
    footer("children-negative", DAMAGED, children(-1)),
    footer(
        "levels-that-disagree",
        DAMAGED,
        lambda found: chunk_facts(found).update({16: [12, {3: [9, [6, [1, 1, 1]]]}]}),
    ),
    page("page-2-30", "unpacks to more than 100 times its size", size(2, 2**30)),
    page("page-negative", DAMAGED, size(2, -1)),
    page("page-beyond-its-chunk", DAMAGED, size(3, 2**20)),
    page("page-of-2-31-values", DAMAGED, lambda header: header[5][1][1].__setitem__(1, 2**31 - 1)),
    page("page-of-no-kind", DAMAGED, size(1, 77)),
    page("page-unpacks-to-less", DAMAGED, size(2, 2), compression="zstd"),
    parquet("footer-length", DAMAGED, lambda: table_bytes(columns())[:-8] + b"\xff\xff\xff\x7fPAR1"),
    parquet("footer-of-nulls", DAMAGED, b"PAR1" + bytes(1000) + b"\xe8\x03\0\0PAR1"),
    parquet("encrypted-mark", DAMAGED, lambda: table_bytes(columns())[:-4] + b"PARE"),
    parquet("twice-in-a-row", DAMAGED, lambda: table_bytes(columns())[:-4] * 2 + b"PAR2"),
    malformed(
        "long-text-of-a-person",
        table_bytes({**columns(), "who": ["x" * 2**21, "b", "c"]}),
        "t.parquet",
        ("--unit", "who", "--max-rows", "1"),
    ),
]
