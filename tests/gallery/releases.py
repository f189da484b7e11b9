"""The five releases of the gallery. Nobody is in their table, and their noise is repeatable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from support.discharges import DOMAIN, write
from support.repeatable_noise import repeatable_noise

import dpqr

ROWS = 20_000
PERIODS = ("2024-Q1", "2024-Q2", "2024-Q3")
DATASETS: dict[str, dict[str, Any]] = {
    "hospital-rows": {"eps": 4},
    "hospital": {"eps": 10, "unit": "patient_id"},
    "hospital-quarters": {
        "eps": 2,
        "period": "quarter",
        "period_column": "admitted",
        "per_period": 1,
        "first": PERIODS[0],
    },
}
"""Budgets by dataset: the same made-up table, which protects rows, persons, or the rows of each quarter."""
COUNTS = [{"name": "discharges", "marginal": []}, {"marginals": {"ways": 1}}]
PAIRS = [{"marginals": {"ways": 2, "columns": ["department", "sex", "age", "admitted"]}}]
FIGURES = [
    {"mean": "cost", "by": ["department"]},
    {"median": "cost", "by": ["department"]},
    {"median": "age", "by": ["sex"]},
    {"ratio": {"of": "cost", "to": "days"}, "by": ["department"]},
    {"proportion": "age >= 70", "by": ["department"]},
]
SERIES = [{"name": "discharges", "marginal": []}, {"name": "by department", "marginal": ["department"]}]


def prepare(desk: Path, rows: int = ROWS) -> None:
    """The table, and a ledger with a budget for rows and one for persons."""
    write(desk, rows)
    ledger = dpqr.Ledger(desk / "budget.sqlite")
    for name, terms in DATASETS.items():
        ledger.init(name, **terms)


def release(
    desk: Path,
    name: str,
    queries: list[dict[str, Any]],
    domain: Mapping[str, Any] = DOMAIN,
    table: str = "discharges.csv",
    **options: Any,
) -> Path:
    """A release of the table, in the folder `name`, and its page."""
    out = desk / name
    document = {"dpqr": "queries/1", "domain": domain, "queries": queries}
    ledger = desk / "budget.sqlite"
    dpqr.release(desk / table, queries=document, ledger=ledger, out=out, by="M. Weber", **options)
    dpqr.write_report(out, html=desk / f"{name}.html", ledger=ledger)
    return out


def counts(desk: Path) -> Path:
    """Every column by itself; rows are protected."""
    return release(desk, "counts", COUNTS, eps=1, dataset="hospital-rows", purpose="Every column by itself")


PERSONS: dict[str, Any] = {"unit": "patient_id", "max_rows": 3, "dataset": "hospital"}


def pairs(desk: Path) -> Path:
    """Pairs of columns; persons are protected."""
    return release(desk, "pairs", PAIRS, eps=2, purpose="Pairs of columns", **PERSONS)


def figures(desk: Path) -> Path:
    """Means, medians, a ratio and a share, in their own units."""
    return release(desk, "figures", FIGURES, eps=2, purpose="Costs and stays", **PERSONS)


def series(desk: Path) -> Path:
    """The same questions of three quarters, and how the answers change."""
    # Which period a row is in is read from dates of ISO 8601 alone.
    table = re.sub(r"\b(\d\d)\.(\d\d)\.(\d{4}) \d\d:\d\d\b", r"\3-\2-\1", (desk / "discharges.csv").read_text())
    (desk / "quarters.csv").write_text(table)
    domain = {**DOMAIN, "period": {"column": "admitted", "every": "quarter"}}
    shared: dict[str, Any] = {
        "table": "quarters.csv",
        "eps": 0.5,
        "dataset": "hospital-quarters",
        "purpose": "Discharges by quarter",
    }
    found = [release(desk, f"series-{each}", SERIES, domain, period=each, **shared) for each in PERIODS]
    dpqr.series(found).save(desk / "series.csv")
    return found[-1]


def predictions(desk: Path) -> Path:
    """A released function, and its label."""
    out = desk / "predictions.json"
    options = {"target": "age", "domain": DOMAIN, "learner": "quantile", "tau": 0.5, "n": ROWS, "form": "function"}
    dpqr.predict(desk / "discharges.csv", eps=2, delta=1e-6, out=out, **options)
    return out


GALLERY: tuple[Callable[[Path], Path], ...] = (counts, pairs, figures, series, predictions)


def make(desk: Path, rows: int = ROWS, wanted: Iterable[Callable[[Path], Path]] = GALLERY) -> None:
    """The releases, with a page or a label of each."""
    with repeatable_noise():
        prepare(desk, rows)
        for one in wanted:
            out = one(desk)
            label = dpqr.label(out, ledger=desk / "budget.sqlite")
            label.save(desk / f"{one.__name__}-label.html")
            label.save(desk / f"{one.__name__}-label.svg")
