"""Honest records of all kinds: made afresh from a small made-up table, by name, and the old ones of the repository."""

from __future__ import annotations

from pathlib import Path

import dpqr

ROOT = Path(__file__).parents[2]
OLD = sorted((ROOT / "tests/old_releases").iterdir())
DOMAIN = {
    "dpqr": "domain/1",
    "malformed": "drop",
    "fields": [
        {
            "name": "region",
            "type": "string",
            "constraints": {"enum": ["North", "South"]},
            "dpqr": {"otherwise": "drop"},
        },
        {
            "name": "sex",
            "type": "string",
            "constraints": {"enum": ["f", "m"]},
            "dpqr": {"null": "cell", "otherwise": "drop"},
        },
        {
            "name": "age",
            "type": "integer",
            "constraints": {"minimum": 18, "maximum": 57},
            "dpqr": {"width": 10, "outside": "clip", "otherwise": "drop"},
        },
        {
            "name": "income",
            "type": "number",
            "dpqr": {"edges": [0, 10, 20, 40], "outside": "clip", "otherwise": "drop"},
        },
    ],
}
QUERIES = {
    "counts": [{"marginal": []}, {"where": "age >= 38", "name": "older"}],
    "columns": [{"marginals": {"ways": 1}}],
    "pairs": [{"marginals": {"ways": 2}}],
    "ordered": [{"prefix": "age"}, {"ranges": "age", "random": 5, "seed": 1}],
    "by": [{"prefix": "age", "by": ["sex"]}],
    "mixed": [
        {"marginal": ["region", "sex"]},
        {"where": "age >= 38", "name": "w"},
        {"conjunctions": {"random": 6, "seed": 7, "ways": [1, 2], "columns": ["region", "sex", "age"]}},
        {"sum": "income", "by": ["region"]},
    ],
    "people": [{"marginal": ["region"]}, {"persons": {"by": ["sex"], "max_cells": 1}}, {"persons": {"by": ["age"]}}],
    "totals": [
        {"persons": {"by": ["region"], "max_cells": 2, "mean": {"sum": "income", "within": [0, 60]}}},
        {"persons": {"by": ["sex"], "quantiles": {"sum": "income", "edges": [0, 10, 20, 60]}}},
        {"persons": {"by": ["sex"], "max_cells": 1}},
        {"marginal": ["region"]},
    ],
    "means": [{"mean": "income", "by": ["sex"]}, {"sum": "income", "by": ["region"]}],
    "figures": [
        {"median": "income", "by": ["sex"], "name": "m"},
        {"quantiles": "income", "at": [0.1, 0.9]},
        {"variance": "income", "name": "v"},
        {"ratio": {"of": "income", "to": "age"}, "name": "r"},
        {"proportion": "age >= 38", "by": ["region"]},
        {"top": "age", "k": 2, "name": "t"},
        {"mean": "income", "where": "age >= 38", "name": "of the older"},
        {"prefix": "age", "where": "sex = 'f'"},
    ],
    "weights": [
        {"marginal": ["region"], "weight": 3},
        {"marginals": [["region"], ["sex"]], "weight": {"column": "age", "maximum": 40}, "name": "x"},
        {"prefix": "age", "weight": {"column": "income", "maximum": 40}},
    ],
    "conditions": [
        {"persons": {"by": ["sex"]}, "where": "age >= 38"},
        {"persons": {}, "where": "age >= 38 or sex = 'f'"},
        {"marginal": ["sex", "age"]},
    ],
}
LEARNED = {
    "columns": ["sex"],
    "epsilon": "0.5",
    "delta": "1e-7",
    "unit": "one row of the table added or removed (the number of rows is private)",
    "ledger": [{"dataset": "others", "entry": 3, "seal": "0" * 64, "epsilon": "0.5", "delta": "1e-7"}],
}
WITH_DELTA = {"delta": "1e-9"}
GDP = WITH_DELTA | {"accountant": "gdp"}
RELEASES = {
    "counts": ("counts", {}),
    "counts, optimal": ("counts", {**WITH_DELTA, "accountant": "optimal", "schedule": "rounds"}),
    "counts, persons": ("counts", {"unit": "person", "max_rows": 2, "ledger": True}),
    "people": ("people", {"unit": "person", "max_rows": 2}),
    "columns, gdp": ("columns", {**WITH_DELTA, "accountant": "gdp", "ledger": True}),
    "ordered": ("ordered", {}),
    "mixed, replace": ("mixed", {"neighbours": "replace", "n": 600, "schedule": "rounds"}),
    "rows left out, persons": ("counts", {"unit": "person", "max_rows": 2, "count_dropped": "0.1"}),
    "counts, advanced": ("counts", {**WITH_DELTA, "accountant": "advanced", "schedule": "rounds"}),
    "counts, zcdp": ("counts", {**WITH_DELTA, "accountant": "zcdp", "schedule": "rounds"}),
    "counts, replace": ("counts", {"neighbours": "replace", "n": 600}),
    "columns": ("columns", {}),
    "columns, rounds": ("columns", {"schedule": "rounds"}),
    "columns, persons": ("columns", {"unit": "person", "max_rows": 3}),
    "columns, replace": ("columns", {"neighbours": "replace", "n": 600}),
    "columns, zcdp": ("columns", {**WITH_DELTA, "accountant": "zcdp", "ledger": True}),
    "columns, rounds, gdp": ("columns", {**WITH_DELTA, "accountant": "gdp", "schedule": "rounds"}),
    "columns, rounds, pld": ("columns", {**WITH_DELTA, "accountant": "pld", "schedule": "rounds"}),
    "pairs": ("pairs", {}),
    "pairs, zcdp": ("pairs", {**WITH_DELTA, "accountant": "zcdp"}),
    "pairs, searched": ("pairs", {**WITH_DELTA, "accountant": "zcdp", "eps": 0.4}),
    "pairs, marginals": ("pairs", {"schedule": "marginals"}),
    "ordered, ordered": ("ordered", {"schedule": "ordered"}),
    "ordered, strategy": ("ordered", {"schedule": "strategy"}),
    "ordered, replace": ("ordered", {"neighbours": "replace", "n": 600}),
    "by": ("by", {}),
    "by, strategy": ("by", {"schedule": "strategy"}),
    "mixed": ("mixed", {}),
    "counts, theory": ("counts", {"schedule": "theory", "n": 600, "alpha": 0.3, "eps": 4}),
    "mixed, queries": ("mixed", {"schedule": "queries"}),
    "mixed, queries, zcdp": ("mixed", {**WITH_DELTA, "accountant": "zcdp", "schedule": "queries"}),
    "mixed, persons": ("mixed", {"unit": "person", "max_rows": 2}),
    "means": ("means", {}),
    "means, persons": ("means", {"unit": "person", "max_rows": 2}),
    "means, replace": ("means", {"neighbours": "replace", "n": 600}),
    "learned": ("counts", {"eps": 2, "delta": "1e-6", "learn": "region"}),
    "learned, ledger": (
        "counts",
        {"eps": 2, "delta": "1e-6", "accountant": "basic", "learn": "region", "ledger": True},
    ),
    "rows chosen": ("counts", {"eps": 2, "unit": "person", "max_rows": 4, "learn_max_rows": 0.2}),
    "rows chosen, gdp": ("means", GDP | {"eps": 2, "unit": "person", "learn_max_rows": 0.1}),
    "totals": ("totals", {"unit": "person", "max_rows": 2}),
    "totals, gdp": ("totals", GDP | {"unit": "person", "max_rows": 2}),
    "totals, zcdp": ("totals", {**WITH_DELTA, "accountant": "zcdp", "unit": "person", "max_rows": 1}),
    "totals, replaced": ("totals", GDP | {"unit": "person", "max_rows": 2, "neighbours": "replace", "n": 300}),
    "totals, replaced, pure": ("totals", {"unit": "person", "max_rows": 2, "neighbours": "replace", "n": 300}),
    "people, replaced": ("people", GDP | {"unit": "person", "max_rows": 2, "neighbours": "replace", "n": 300}),
    "rows in one cell": (
        "pairs",
        GDP | {"unit": "person", "max_rows": 3, "max_rows_per_cell": 2, "schedule": "rounds"},
    ),
    "rows in one cell, marginals": (
        "counts",
        {"unit": "person", "max_rows": 3, "max_rows_per_cell": 2, "schedule": "marginals"},
    ),
    "rows in one cell, all": ("pairs", {"unit": "person", "max_rows": 3, "max_rows_per_cell": 2, "eps": 2}),
    "mixed, persons, gdp": ("mixed", GDP | {"unit": "person", "max_rows": 2}),
    "mixed, persons, queries": ("mixed", {"unit": "person", "max_rows": 2, "schedule": "queries", "eps": 0.4}),
    "mixed, persons, optimal": ("mixed", WITH_DELTA | {"unit": "person", "max_rows": 2, "accountant": "optimal"}),
    "mixed, zcdp": ("mixed", WITH_DELTA | {"accountant": "zcdp", "eps": 0.1}),
    "by, gdp": ("by", GDP | {"eps": 2}),
    "means, ordered": ("means", WITH_DELTA | {"accountant": "zcdp", "schedule": "ordered", "eps": 0.1}),
    "means, persons, zcdp": ("means", WITH_DELTA | {"accountant": "zcdp", "unit": "person", "max_rows": 2}),
    "pairs, gdp": ("pairs", GDP | {"eps": 0.4}),
    "one person's region": ("counts", {"unit": ("person", "region"), "max_rows": 2}),
    "ordered, rounds": ("ordered", {"schedule": "rounds"}),
    "ordered, rows in one cell": (
        "ordered",
        GDP | {"unit": "person", "max_rows": 3, "max_rows_per_cell": 2, "schedule": "rounds", "eps": 4},
    ),
    "figures": ("figures", {}),
    "figures, optimal": ("figures", WITH_DELTA | {"accountant": "optimal", "format": "json"}),
    "figures, persons, zcdp": ("figures", WITH_DELTA | {"accountant": "zcdp", "unit": "person", "max_rows": 2}),
    "weights": ("weights", {}),
    "weights, gdp": ("weights", GDP),
    "conditions": ("conditions", {"unit": "person", "max_rows": 2}),
    "unit in the domain": ("conditions", {"unit in the domain": {"column": "person", "max_rows": 2}}),
    "counts, rehearsed": ("counts", {"rehearse": True}),
    "columns, json": ("columns", {"format": "json"}),
    "columns, least epsilon": ("columns", {"eps": "1e-9", "delta": "1e-9", "accountant": "zcdp"}),
    "columns, parquet": ("columns", {"format": "parquet"}),
}
"""By name: the queries, and the options. `ledger`: a ledger of its own pays."""
QUICK = tuple(RELEASES)[:7]
"""What the plain suite makes."""
PREDICTIONS = {
    "quantile": {"learner": "quantile", "tau": 0.5, "target": "income"},
    "least squares": {"learner": "least-squares", "target": "income"},
    "learned domain": {"learner": "least-squares", "target": "income", "domain": DOMAIN | {"learned": LEARNED}},
    "function": {"learner": "quantile", "tau": 0.5, "target": "income", "form": "function"},
    "svm": {"learner": "svm", "target": "sex", "positive": "f", "form": "function"},
    "svm, zcdp": {"learner": "svm", "target": "sex", "positive": "f", "form": "function"}
    | WITH_DELTA
    | {"accountant": "zcdp"},
    "records counted first": {"learner": "quantile", "tau": 0.9, "target": "age", "form": "function", "n": None},
}

SESSIONS = {
    "session": {},
    "session, zcdp": {"delta": "1e-6", "accountant": "zcdp"},
    "session, persons, gdp": {"delta": "1e-6", "accountant": "gdp", "unit": "person", "max_rows": 2},
    "session, replace": {"neighbours": "replace", "n": 600},
}
"""Of questions; their region and sex depend so strongly on each other that each has a surprise."""


def table():
    import pandas

    rows = range(600)
    return pandas.DataFrame(
        {
            "person": [each // 2 for each in rows],
            "region": ["North" if each % 3 else "South" for each in rows],
            "sex": [("f", "m", None)[each * each % 3] for each in rows],
            "age": [18 + each * 7 % 40 for each in rows],
            "income": [each * 11 % 40 for each in rows],
        }
    )


def release(where, name):
    """(the directory, the export of the ledger or None) of the release of that name."""
    entries, options = RELEASES[name]
    options, out, export = dict(options), where / name, None
    if options.pop("ledger", None):
        terms = {
            "eps": 4,
            "accounting": options.get("accountant"),
            "delta": options.get("delta"),
            "unit": options.get("unit"),
            "allow_learning": True if "learn" in options else None,
        }
        options["ledger"] = ledger = dpqr.Ledger(where / f"{name}.sqlite")
        ledger.init("people", **{key: value for key, value in terms.items() if value is not None})
        options["dataset"] = "people"
    domain, learned = DOMAIN, options.pop("learn", None)
    if learned:
        gap = {"name": learned, "type": "string", "dpqr": {"labels": "learn"}}
        domain = DOMAIN | {"fields": [gap if each["name"] == learned else each for each in DOMAIN["fields"]]}
    unit = options.pop("unit in the domain", None)
    domain = domain | ({"unit": unit} if unit else {})
    queries = {"dpqr": "queries/1", "domain": domain, "queries": QUERIES[entries]}
    dpqr.release(table(), queries=queries, out=out, **{"eps": 1, **options})
    if "ledger" in options:
        export = where / f"{name}.jsonl"
        export.write_text("".join(f"{line}\n" for line in ledger.export()), encoding="ascii")
    return out, export


def counter(where):
    """(the directory, the export of the ledger) of the third release of a counter of persons.

    A person pays for one of the three at most, which together cost more than the budget.
    """
    field = {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}}
    domain = {"period": {"column": "day", "every": "month"}, "fields": [field]}
    ledger = dpqr.Ledger(where / "counter.sqlite")
    ledger.init("people", eps=1, unit="person")
    paid = {"eps": 1, "unit": "person", "max_rows": 2, "dataset": "people", "ledger": ledger, "cumulative": 64}
    for month in range(1, 4):
        rows, before = table().assign(day="2026-01-05"), str(where / f"month {month - 1}") if month > 1 else None
        step = {"period": f"2026-0{month}", "after": before, "out": str(where / f"month {month}")}
        dpqr.release(rows, queries={"queries": [{"marginal": ["sex"]}]}, domain=domain, **paid, **step)
    export = where / "counter.jsonl"
    export.write_text("".join(f"{line}\n" for line in ledger.export()), encoding="ascii")
    return where / "month 3", export


def prediction(where, name):
    """The file of the predictions, or of the function, of that name."""
    out = where / f"{name}.{'json' if 'form' in PREDICTIONS[name] else 'csv'}"
    points = {} if "form" in PREDICTIONS[name] else {"points": table().head(4)}
    dpqr.predict(table(), out=out, **{"domain": DOMAIN, "eps": 2, "n": 600} | points | PREDICTIONS[name])
    return out


def session(where, name):
    """(the directory, the export of the ledger) of the closed session of that name."""
    options, ledger = SESSIONS[name], dpqr.Ledger(where / f"{name}.sqlite")
    ledger.init("people", eps=9, **{key: options[key] for key in ("delta", "unit", "neighbours") if key in options})
    paid = {"dataset": "people", "ledger": ledger, "eps": 8, "surprises": 4, "questions": 20}
    desk = dpqr.open_session(table(), name="desk", domain=DOMAIN, **paid, **options)
    for entry in ({"marginal": ["region", "sex"]}, {"sum": "income"}, {"where": "region = 'North' and sex = 'f'"}):
        desk.ask(queries={"queries": [entry]})
    desk.close(where / name)
    export = where / f"{name}.jsonl"
    export.write_text("".join(f"{line}\n" for line in ledger.export()), encoding="ascii")
    return where / name, export


def everything(where):
    """(a record, the export of the ledger or None), one after another, of all kinds; the old ones last."""
    for name in RELEASES:
        yield release(where, name)
    for name in PREDICTIONS:
        yield prediction(where, name), None
    for name in SESSIONS:
        yield session(where, name)
    for place in OLD:
        yield place, None
