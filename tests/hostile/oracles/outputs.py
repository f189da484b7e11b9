"""Whatever is shown or left behind: progress, files and their sizes, refusals, plans, a continued run."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from hostile.oracles.attempt import LEDGER, PAYER, Attempt, Table
from hostile.oracles.tables import (
    DROPPING,
    OF_PERSONS,
    PERSONS,
    ROWS,
    SHOP,
    attempt,
    csv,
    over,
    packed,
    predict,
    release,
    row,
    unpaid,
    usual,
)
from support.command_desk import Desk

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.noise.source import SeededNoise

PROGRESS = ("--progress", "json")
GROWN = (usual(), usual(ROWS + 1), usual(0), usual(4000))
SIZES = (packed(), packed(0), packed(4000, form={"row_group_size": 50}))
GZIPPED = (usual(name="t.csv.gz"), usual(4000, name="t.csv.gz"))
NONE_KEPT = (usual(), csv(*(row(number, sex="X") for number in range(ROWS))), csv())
PARTS = tuple(Table(name="parts", parts=(usual(rows), usual(ROWS - rows))) for rows in (0, 1, ROWS))
SEVERAL_PASSES = (("dpqr.tables.counting.PEAK", 2**17),)
OUT = ("--out", "out")
FORMS = {
    "csv": OUT,
    "parquet": (*OUT, "--format", "parquet"),
    "json": (*OUT, "--format", "json"),
    "rows": (*OUT, "--synthetic", "rows"),
    "rows-sampled": (*OUT, "--synthetic", "rows", "--bins", "sampled"),
    "cells": (*OUT, "--synthetic", "cells"),
    "json-on-stdout": ("--json",),
    "table-on-stdout": (),
}
DELTA = ("--delta", "1e-9")
IN_RHO = ("--eps", "100", "--delta", "1e-6")
SCHEDULES = {
    "rounds": ("--schedule", "rounds", "--rounds", "3"),
    "marginals": ("--schedule", "marginals"),
    "strategy": ("--schedule", "strategy"),
    "ordered": ("--schedule", "ordered"),
    "queries": ("--schedule", "queries"),
}
FACTS = {
    "facts.json": over({**DROPPING, "impossible": [{"where": "sex = 'F' and age < 75"}], "totals": [{"count": ROWS}]})
}
SPARSE = (("dpqr.tables.load._SMALL", 1), ("dpqr.tables.load._CELLS_A_ROW", 1))
ONLINE = ("--learner", "online", "--neighbours", "replace", "--n", str(ROWS))
EVALUATE = ("evaluate", "DATA", "out/synthetic.parquet", "--rows", "--queries", "q.json")
THEORY = ("--schedule", "theory", "--n", "100000", "--alpha", "0.9")
LEARNERS = {
    "logistic": ("--learner", "logistic"),
    "logistic-of-n": ("--learner", "logistic", "--n", str(ROWS)),
    "tuned": ("--learner", "logistic", "--n", str(ROWS), "--tune", "0.3"),
    "aggregate": ("--learner", "aggregate", "--parts", "3"),
    "function": ("--release", "function", "--n", str(ROWS), "--out", "m.json"),
    "to-a-file": ("--learner", "svm", "--out", "p.csv"),
}


NAMED = ("desk", *LEDGER)
QUESTIONS = (
    ("interactive", "open", "desk", "DATA", "--domain", "session.json", "--eps", "20", "--surprises", "2", *PAYER),
    ("interactive", "ask", *NAMED, "--where", "sex = 'F' and age >= 50"),
    ("interactive", "ask", *NAMED, "--queries", "session-queries.json", "--json"),
    ("interactive", "status", *NAMED),
)
ASKED_ALONE = {"session.json": SHOP, "session-queries.json": {"queries": [{"marginal": ["sex", "buys"]}]}}
PREDICTED = ("predict", "open", "desk", "DATA", "--target", "buys", "--domain", "d.json", "--eps", "20", *PAYER)
POINTS_ASKED = (("predict", "ask", *NAMED, "--points", "points.csv"), ("predict", "status", *NAMED))
LEARNED = (
    *("domain", "DATA", "--learn", "sex,income", "--types", "income=number"),
    *("--eps", "1", "--delta", "1e-6", *PAYER, *OUT),
)
LEARNING = ("--accounting", "basic", "--allow-learning")
REPEATABLE = (("dpqr.sessions.interactive.SystemNoise", lambda: SeededNoise(seed=1)),)
"""The noise of thresholds: comparisons are paid for, and what passes one is drawn with it."""


def killed(desk: Desk) -> None:
    """The release to `out` ends between its last draw and its files."""

    def full(*_: Any, **__: Any) -> None:
        raise UsageFault("no space is left on the device")

    table = next(path.name for path in desk.path.glob("t.*"))
    with pytest.MonkeyPatch.context() as broken:
        broken.setattr("dpqr.releases.release.write_release", full)
        assert desk.run(*(table if word == "DATA" else word for word in release(*OUT))).code == 2


def forgotten(desk: Desk) -> None:
    """The folder of a session that is settled: it states where its table lies."""
    shutil.rmtree(desk.path / "l.sqlite.sessions")


def changed(desk: Desk) -> None:
    """Another table takes the place of the one that there was."""
    usual().lay(desk)


OUTPUTS: list[Attempt] = [
    attempt("progress-csv", "the file's size", GROWN, release(*PROGRESS)),
    attempt("progress-parquet", "the file's size", SIZES, release(*PROGRESS)),
    attempt("progress-gzip", "the file's size", GZIPPED, release(*PROGRESS)),
    attempt("progress-predict", "the file's size", GROWN, predict(*PROGRESS)),
    attempt("progress-of-parts", "where the rows lie", PARTS, release(*PROGRESS)),
    attempt("progress-by-stdin", "the table's size", (usual(name="-"), usual(4000, name="-")), release(*PROGRESS)),
    attempt(
        "progress-of-passes",
        "how many passes there are",
        (usual(), usual(2000)),
        release(*PERSONS, *PROGRESS),
        budget=OF_PERSONS,
        changes=SEVERAL_PASSES,
    ),
    *(attempt(f"files-{name}", "n", GROWN, release(*form)) for name, form in FORMS.items()),
    *(attempt(f"schedule-{name}", "n", GROWN[:3], release(*options, *OUT)) for name, options in SCHEDULES.items()),
    attempt("schedule-theory", "n", GROWN[:2], release(*THEORY, eps="100"), budget=("--eps", "1000")),
    attempt("schedule-zcdp", "n", GROWN, release(*DELTA, *OUT), budget=IN_RHO),
    *(attempt(f"learner-{name}", "n", GROWN, predict(*options)) for name, options in LEARNERS.items()),
    attempt(
        "learner-online",
        "whether a row is kept",
        (usual(), usual(ROWS - 1, row(0, sex="X"))),
        predict(*ONLINE, target="age"),
        budget=("--eps", "100", "--neighbours", "replace"),
        files={"d.json": {**SHOP, "malformed": "drop"}, "points.csv": "sex,buys\nF,no\n"},
    ),
    attempt("none-kept", "whether any row is kept", NONE_KEPT, release(*OUT, "--synthetic", "rows")),
    attempt("facts-that-are-false", "whether they hold", GROWN[:3], release(queries="facts.json"), files=FACTS),
    attempt("form-of-the-histogram", "n", GROWN, release(*OUT, "--synthetic", "rows"), changes=SPARSE),
    attempt("dropped-rows-counted", "how many rows are dropped", NONE_KEPT, release("--count-dropped", "0.1", *OUT)),
    attempt("errors-bought", "n", GROWN[:2], release("--certify", "0.05", "--rounds", "1", *OUT)),
    attempt("dropped-rows-of-persons", "how many are dropped", NONE_KEPT, release(*PERSONS, *OUT), budget=OF_PERSONS),
    attempt("dry-run", "anything", GROWN, unpaid("--dry-run"), budget=None, unopened=True),
    attempt("dry-run-of-predict", "anything", GROWN, predict("--dry-run", payer=()), budget=None, unopened=True),
    attempt(
        "evaluate-a-private-table",
        "exact errors",
        GROWN,
        ("evaluate", "DATA", "DATA", "--rows", "--queries", "q.json", "--dataset", "survey", *LEDGER),
        codes=(4,),
        unopened=True,
    ),
    attempt(
        "evaluate-what-a-private-table-has-paid-for",
        "exact errors",
        GROWN[:2],
        release(*OUT, "--synthetic", "rows", "--bins", "midpoint"),
        (*EVALUATE, *LEDGER),
        codes=(0, 4),
    ),
    attempt(
        "evaluate-without-the-ledger",
        "exact errors",
        GROWN[:2],
        release(*OUT, "--synthetic", "rows", "--bins", "midpoint"),
        EVALUATE,
        codes=(0, 2),
    ),
    attempt("resume-on-the-same-table", "n", GROWN[:2], killed, release(*OUT, "--resume")),
    attempt("resume-on-another-table", "n", GROWN[1:], killed, changed, release(*OUT, "--resume"), codes=(5,)),
    attempt("killed-and-left", "n", GROWN, killed, release(*OUT), codes=(2,)),
    attempt(
        "session-of-questions",
        "n",
        GROWN,
        *QUESTIONS,
        ("interactive", "close", *NAMED, *OUT),
        files=ASKED_ALONE,
        changes=REPEATABLE,
    ),
    attempt(
        "session-of-another-table",
        "n",
        GROWN[1:],
        QUESTIONS[0],
        changed,
        QUESTIONS[1],
        ("interactive", "close", *NAMED),
        forgotten,
        codes=(0, 5, 2),
        files=ASKED_ALONE,
        changes=REPEATABLE,
    ),
    *(
        attempt(
            f"session-of-predictions-{name}",
            "n",
            GROWN,
            (*PREDICTED, "--predictions", "5", *options),
            *POINTS_ASKED,
            ("predict", "close", *NAMED, "--out", "p.csv"),
        )
        for name, options in {"of-n": (), "votes": LEARNERS["aggregate"]}.items()
    ),
    attempt(
        "session-of-predictions-on-another-table",
        "n",
        GROWN[1:],
        PREDICTED,
        changed,
        POINTS_ASKED[0],
        ("predict", "close", *NAMED),
        forgotten,
        codes=(0, 5, 2),
    ),
    *(
        attempt(
            f"learned-{name}",
            "a label, a number, n",
            (usual(), usual(ROWS, row(ROWS, sex="PRIVATEVALUE", income="1e400")), usual(0), csv(*('"F,1', "\x00") * 9)),
            (*LEARNED, *options),
            budget=(*("--eps", "100", "--delta", "1e-5"), *LEARNING, *unit),
        )
        for name, options, unit in (
            ("of-rows", (), ()),
            ("quantiles", ("--cuts", "quantiles"), ()),
            ("of-persons", ("--unit", "who", "--max-rows", "4", "--max-labels", "2"), OF_PERSONS[2:]),
            ("rows-of-persons", ("--unit", "who", "--max-rows", "4", "--learn-max-rows", "0.3"), OF_PERSONS[2:]),
        )
    ),
    attempt(
        "tables-of-persons",
        "n",
        NONE_KEPT,
        release(*PERSONS, *OUT, queries="persons.json"),
        budget=OF_PERSONS,
        files={"persons.json": {"queries": [{"persons": {"by": ["sex"]}}, {"persons": {}}], "domain": DROPPING}},
    ),
    attempt("domain", "a value", (usual(), usual(ROWS, '"F,1'), usual(0)), ("domain", "DATA"), budget=None),
    attempt("domain-of-parquet", "a value", (*SIZES, packed(age=[2**40] * ROWS)), ("domain", "DATA"), budget=None),
]
