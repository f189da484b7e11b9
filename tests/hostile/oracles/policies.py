"""Bits that are announced: limits and rules that the owner of a budget has fixed, or that nobody's budget pays for.

The tables differ, and so do the endings: in one bit, that plan and receipt name, and that is paid for in full.
"""

from __future__ import annotations

from functools import partial

from hostile.oracles.limits import SIZE, rule
from hostile.oracles.tables import (
    FILES,
    LARGEST,
    OF_PERSONS,
    PERSONS,
    ROWS,
    SHOP,
    attempt,
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
RICHER = (usual(), usual(ROWS - 1, row(ROWS - 1, income=LARGEST + 500)))
RAGGED = (usual(), usual(ROWS, "F,1"))
N = ("--max-records", str(ROWS))
B = ("--max-bytes", str(SIZE))
MALFORMED = {"f.json": over({**FILES["q.json"]["domain"], "malformed": "fail"})}
OUTSIDE = rule("income", "outside")
free = partial(attempt, budget=None)
POLICIES = [
    attempt("owner-limits-records", "n > 40", MORE, release(), budget=(*EPS, *N), bit="--max-records"),
    attempt("owner-limits-a-footer", "n > 40", PACKED, release(), budget=(*EPS, *N), bit="--max-records"),
    attempt("owner-limits-bytes", "size > 1000", MORE, release(), budget=(*EPS, *B), bit="--max-bytes"),
    attempt("owner-limits-predict", "n > 40", MORE, predict(), budget=(*EPS, *N), bit="--max-records"),
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
        "owner-names-counts",
        "whether all counts are whole",
        (usual(), usual(ROWS - 1, row(ROWS - 1, count="1.5"))),
        release("--counts", "count"),
        budget=(*EPS, "--counts", "count"),
        bit="count",
    ),
    free("unpaid-records", "n > 40", MORE, unpaid(*N), bit="--max-records"),
    free("unpaid-records-of-a-footer", "n > 40", PACKED, unpaid(*N), bit="--max-records"),
    free("unpaid-bytes", "size > 1000", MORE, unpaid(*B), bit="--max-bytes"),
    free("unpaid-records-of-predict", "n > 40", MORE, predict(*N, payer=()), bit="--max-records"),
    free("unpaid-fail", "whether somebody earns more", RICHER, unpaid(queries="f.json"), files=OUTSIDE, bit="income"),
    free("unpaid-malformed-fail", "a ragged row", RAGGED, unpaid(queries="f.json"), files=MALFORMED, bit="malformed"),
    free(
        "unpaid-counts",
        "whether all counts are whole",
        (usual(), usual(ROWS - 1, row(ROWS - 1, count="1.5"))),
        unpaid("--counts", "count"),
        bit="count",
    ),
    free(
        "replace-with-another-n",
        "n, which is declared and public",
        (usual(), usual(ROWS + 1)),
        unpaid("--neighbours", "replace", "--n", str(ROWS)),
        bit="public",
    ),
    attempt(
        "replace-with-another-n-paid",
        "n, which is declared and public",
        (usual(), usual(ROWS + 1)),
        release("--neighbours", "replace", "--n", str(ROWS)),
        budget=(*EPS, "--neighbours", "replace"),
        bit="public",
    ),
    attempt(
        "replace-with-another-number-of-persons",
        "how many there are, which is declared and public",
        (usual(), usual(ROWS + 2)),
        release(*PERSONS, "--neighbours", "replace", "--n", str(ROWS // 2)),
        budget=(*OF_PERSONS, "--neighbours", "replace"),
        bit="public",
    ),
]
