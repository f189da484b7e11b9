"""Bits that are announced: limits and rules that the owner of a budget has fixed, or that nobody's budget pays for.

The tables differ, and so do the endings: in one bit, that plan and receipt name, and that is paid for in full. Guards
that the program has fixed, and damage to a file, are no choice of anybody's; they are paid for in full as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hostile.oracles.attempt import Table
from hostile.oracles.limits import CROWD, MEMORY, SIZE, SMALL, rule
from hostile.oracles.tables import (
    DROPPING,
    FILES,
    LARGEST,
    OF_PERSONS,
    PERSONS,
    ROWS,
    SHOP,
    attempt,
    csv,
    failing,
    over,
    packed,
    predict,
    release,
    row,
    unpaid,
    usual,
)

EPS = ("--eps", "100")
MORE, PACKED = (usual(), usual(ROWS + 1)), (packed(), packed(ROWS + 1))
LARGER, PIPED = (*MORE, usual(4000)), (usual(name="-"), usual(ROWS + 1, name="-"))
PROGRESS, OUT = ("--progress", "json"), ("--out", "out")
RICHER = (usual(), usual(ROWS - 1, row(ROWS - 1, income=LARGEST + 500)))
RAGGED = (usual(), usual(ROWS, "F,1"))
COUNTS = ("--counts", "count")
N = ("--max-records", str(ROWS))
SUM = ("--max-records", str(2 * ROWS - 1))
B = ("--max-bytes", str(SIZE))
STATED = {"q.json": over({**DROPPING, "malformed": "drop"})}
MALFORMED = {"f.json": over({**FILES["q.json"]["domain"], "malformed": "fail"})}
OUTSIDE = rule("income", "outside")
free = partial(attempt, budget=None)
BOMB = (("dpqr.tables.limits._FREE_BYTES", 2**16), ("dpqr.tables.limits._EXPANSION", 50))
ALIKE = (csv(*[row(0)] * 40, name="t.csv.gz"), csv(*[row(0)] * 9000, name="t.csv.gz"))
CROWDED = (("dpqr.tables.limits._FREE_ROWS", ROWS), ("dpqr.tables.limits._ROWS_A_BYTE", 0))


def cut(name: str, rows: int, lost: int) -> Table:
    """A table without its last bytes."""
    return Table(name=name, content=(usual(rows, name=name).content or b"")[:-lost])


def damaged() -> Table:
    """A Parquet file whose pages hold noise."""
    whole = packed(form={"use_dictionary": False}).content or b""
    return Table(name="t.parquet", content=whole[:8] + b"\xff" * 90 + whole[98:])


def parts(*rows: int, form: Callable[..., Table] = usual) -> Table:
    """A directory of tables with so many rows each."""
    return Table(name="parts", parts=tuple(form(count) for count in rows))


IN_PARTS = (parts(20, 20), parts(41, 0), parts(0, 41), parts(21, 20))
PARQUET_PARTS = tuple(parts(*rows, form=packed) for rows in ((20, 20), (41, 0), (0, 41), (21, 20)))
FEW = ("--max-bytes", "2000")
ZIPPED = tuple(usual(rows, name="t.csv.gz") for rows in (ROWS, 200, 4000))
SIZES = tuple(parts(*rows) for rows in ((20, 20), (200, 0), (0, 200), (60, 60)))
POLICIES = [
    attempt("owner-limits-records", "n > 40", MORE, release(), budget=(*EPS, *N), bit="--max-records"),
    attempt("owner-limits-a-footer", "n > 40", PACKED, release(), budget=(*EPS, *N), bit="--max-records"),
    attempt("owner-limits-bytes", "size > 1000", MORE, release(), budget=(*EPS, *B), bit="--max-bytes"),
    attempt("owner-limits-predict", "n > 40", MORE, predict(), budget=(*EPS, *N), bit="--max-records"),
    attempt("owner-limits-progress", "n > 40", LARGER, release(*PROGRESS), budget=(*EPS, *N), bit="--max-records"),
    attempt("owner-limits-by-stdin", "n > 40", PIPED, release(), budget=(*EPS, *N), bit="--max-records"),
    attempt("owner-limits-to-a-directory", "n > 40", LARGER, release(*OUT), budget=(*EPS, *N), bit="--max-records"),
    attempt("owner-limits-parts", "n > 40", IN_PARTS, release(), budget=(*EPS, *N), bit="--max-records"),
    attempt("owner-limits-parquet-parts", "n > 40", PARQUET_PARTS, release(), budget=(*EPS, *N), bit="--max-records"),
    attempt("owner-limits-bytes-of-gzip", "size > 2000", ZIPPED, release(), budget=(*EPS, *FEW), bit="--max-bytes"),
    attempt(
        "owner-limits-bytes-with-progress",
        "size > 2000",
        ZIPPED,
        release(*PROGRESS),
        budget=(*EPS, *FEW),
        bit="--max-bytes",
    ),
    attempt("owner-limits-bytes-of-parts", "size > 2000", SIZES, release(), budget=(*EPS, *FEW), bit="--max-bytes"),
    attempt("owner-limits-retried", "n > 40", MORE, *[release()] * 3, budget=(*EPS, *N), bit="--max-records"),
    attempt("owner-limits-stated", "n > 40", MORE, release(*N), budget=(*EPS, *N), bit="--max-records"),
    attempt(
        "owner-allows-fail",
        "whether somebody earns more",
        RICHER,
        release(queries="f.json"),
        budget=(*EPS, "--allow-fail"),
        files=OUTSIDE,
        bit="income",
    ),
    attempt(
        "owner-allows-fail-of-predict",
        "whether somebody is older",
        (usual(), usual(ROWS - 1, row(ROWS - 1, age=101))),
        predict(),
        budget=(*EPS, "--allow-fail"),
        files={"d.json": failing("age", "outside", SHOP)},
        bit="age",
    ),
    attempt(
        "owner-allows-malformed-fail",
        "whether a row is ragged",
        RAGGED,
        release(queries="f.json"),
        budget=(*EPS, "--allow-fail"),
        files=MALFORMED,
        bit="malformed",
    ),
    attempt(
        "owner-limits-memory",
        "how many persons there are",
        CROWD,
        release(*PERSONS),
        budget=(*OF_PERSONS, *MEMORY),
        changes=SMALL,
        bit="--max-memory",
    ),
    attempt("owner-names-counts", "n > 40", MORE, release(), budget=(*EPS, *COUNTS, *SUM), bit="--max-records"),
    attempt("guard-against-a-bomb", "what it unpacks to", ALIKE, release(), changes=BOMB, bit=""),
    attempt("guard-against-a-crowd", "n", (packed(), packed(4000)), release(), changes=CROWDED, bit=""),
    attempt("gzip-cut-short", "damage", (usual(4000, name="t.csv.gz"), cut("t.csv.gz", 4000, 99)), release(), bit=""),
    attempt("parquet-damaged", "damage", (packed(), damaged()), release(), bit=""),
    free("unpaid-records", "n > 40", MORE, unpaid(*N), bit="--max-records"),
    free("unpaid-records-of-a-footer", "n > 40", PACKED, unpaid(*N), bit="--max-records"),
    free("unpaid-bytes", "size > 1000", MORE, unpaid(*B), bit="--max-bytes"),
    free("unpaid-records-of-predict", "n > 40", MORE, predict(*N, payer=()), bit="--max-records"),
    free("unpaid-fail", "whether somebody earns more", RICHER, unpaid(queries="f.json"), files=OUTSIDE, bit="income"),
    free("unpaid-malformed-fail", "a ragged row", RAGGED, unpaid(queries="f.json"), files=MALFORMED, bit="malformed"),
    free("unpaid-counts", "n > 40", MORE, unpaid(*COUNTS, *SUM), bit="--max-records"),
    free("unpaid-memory", "persons", CROWD, unpaid(*PERSONS, *MEMORY), changes=SMALL, bit="--max-memory"),
    free(
        "replace-with-another-n",
        "n, which is declared and public",
        (usual(), usual(ROWS + 1)),
        unpaid("--neighbours", "replace", "--n", str(ROWS)),
        files=STATED,
        bit="public",
    ),
    attempt(
        "replace-with-another-n-paid",
        "n, which is declared and public",
        (usual(), usual(ROWS + 1)),
        release("--neighbours", "replace", "--n", str(ROWS)),
        budget=(*EPS, "--neighbours", "replace"),
        files=STATED,
        bit="public",
    ),
    attempt(
        "replace-with-another-number-of-persons",
        "how many there are, which is declared and public",
        (usual(), usual(ROWS + 2)),
        release(*PERSONS, "--neighbours", "replace", "--n", str(ROWS // 2)),
        budget=(*OF_PERSONS, "--neighbours", "replace"),
        files=STATED,
        bit="public",
    ),
]
