"""Typed uses of the Python interface. Never run: a type checker reads it, and refuses only the lines marked `wrong`."""
# ruff: noqa: B018 (lines that nobody may write have no use either)

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pandas as pd

import dpqr


def three_lines(frame: pd.DataFrame) -> pd.DataFrame:
    release = dpqr.release(frame, queries="q.json", domain=Path("domain.json"), eps=1, ledger="b.sqlite", dataset="s")
    release.save(Path("out"), format="parquet", synthetic="rows", bins="sampled", if_exists="replace")
    names: tuple[str, ...] = release.queries
    promise: str = release.guarantee + str(release.receipt)
    print(names, promise, release.record["plan"])
    return release.pivot("work by sex", "measured")


def every_option(frame: pd.DataFrame, ledger: dpqr.Ledger) -> dpqr.Release:
    return dpqr.release(
        frame,
        queries={"queries": [{"marginal": ["a"]}]},
        domain={"a": 2},
        eps=Decimal("0.1"),
        delta="1e-9",
        ledger=ledger,
        dataset="s",
        out="out",
        resume=True,
        unit="person",
        max_rows=3,
        schedule="rounds",
        rounds=5,
        opening=True,
        replay=None,
        trust=["mine"],
        max_records=10**6,
    )


def builders() -> dpqr.Plan:
    domain: dpqr.Domain = dpqr.domain_from({"sex": ["f", "m"], "age": range(0, 100, 5)}).rules("age", outside="clip")
    asked: dpqr.Queries = dpqr.queries(domain).marginals(ways=2).where("age >= 65", by="sex")
    return dpqr.plan(queries=asked, eps=0.5, neighbours="replace", n=100)


def budgets() -> Iterator[str]:
    ledger = dpqr.Ledger("budgets.sqlite", anchor="outside.anchor")
    opened: dpqr.Budget = ledger.init("survey", eps=5, delta="1e-9", accounting="zcdp", kind="private")
    left: Fraction = ledger.budget("survey").left + opened.spent
    print(left, ledger.show(), ledger.history("survey"))
    return ledger.export()


def errors(frame: pd.DataFrame) -> int:
    try:
        dpqr.sweep(public=frame, queries="q.json", eps=[0.1, 1], schedule=["rounds", None], repeats=3, delta="1e-9")
    except dpqr.BudgetRefused as refused:
        return refused.exit_code
    except dpqr.DpqrError as error:
        return error.exit_code
    return dpqr.read_release("out").trust.__len__()


def predictions(frame: pd.DataFrame) -> pd.DataFrame:
    learned: dpqr.Predictions = dpqr.predict(
        frame, target="sex", points=frame, domain="d.json", eps=0.5, penalty="0.1", n=10**4, ledger=dpqr.Ledger()
    )
    planned: dpqr.PredictionPlan = dpqr.predict(dry_run=True, target="sex", domain={"sex": 2}, eps=1, predictions=10)
    applied: dpqr.Predictions = dpqr.predict(model="model.json", points="new.csv")
    print(planned.record, planned.text, applied.receipt, learned.guarantee)
    return learned.table


def other_commands(frame: pd.DataFrame, release: dpqr.Release) -> str:
    checked: dpqr.Checked = dpqr.check(dpqr.queries().marginal("a"), {"a": 2}, strict=True)
    found: dpqr.Evaluation = dpqr.evaluate(frame, release, queries="q.json", rows=True)
    found.require(max_error=0.1)
    made = dpqr.domain_file("t.csv", codebooks=["book.yaml"], types="age=integer:0..99", form="csvw")
    learned = dpqr.domain_file("t.csv", learn=["a", "b"], eps=0.1, delta="1e-6", max_labels=2, out="d.json")
    print(learned.document)
    paths: tuple[str, ...] = dpqr.init("new", "t.csv", dataset="survey").paths
    attacked = dpqr.run_audit("laplace-*", short=True)
    attacked.require_sound()
    tables: list[pd.DataFrame] = [checked.columns, found.errors, dpqr.list_strategies(queries="q.json", eps=1, n=10)]
    print(tables, paths, dpqr.schema("domain")["$defs"], made.remarks)
    page: dpqr.Page = dpqr.guide("ledger", search="seal")
    return page


def misuse(frame: pd.DataFrame, release: dpqr.Release, asked: dpqr.Queries) -> None:
    dpqr.release(frame, "q.json", 1)  # wrong
    dpqr.release(frame, queries="q.json", eps=[1])  # wrong
    dpqr.release(frame, queries="q.json", eps=1, seed="7")  # wrong
    dpqr.release(frame, queries="q.json", eps=1, rouns=5)  # wrong
    dpqr.release(frame, queries="q.json", eps=1, neighbours="both")  # wrong
    dpqr.release(frame, queries="q.json", eps=1, noise=None)  # wrong
    dpqr.plan(queries=7, eps=1)  # wrong
    dpqr.sweep(frame, queries="q.json", eps=1)  # wrong
    dpqr.sweep(public=frame, eps=1)  # wrong
    release.save("out", format="xlsx")  # wrong
    release.answer  # wrong
    asked.entries = ()  # wrong
    asked.where(by="sex")  # wrong
    dpqr.domain_from(["a"])  # wrong
    dpqr.nothing  # wrong
    dpqr.predict(frame, target="sex", lerner="svm")  # wrong
    dpqr.predict(frame, target=7)  # wrong
    dpqr.predict(frame, target="sex", form="model")  # wrong
    dpqr.predict(dry_run=True, target="sex").table  # wrong
    dpqr.check("q.json", "d.json", True)  # wrong
    dpqr.schema("plan")  # wrong
    dpqr.domain_file("t.csv", to="arrow")  # wrong
    dpqr.domain_file("t.csv", learn="a", cuts="halves")  # wrong
    dpqr.evaluate(frame, release)  # wrong
    dpqr.list_strategies(queries="q.json", eps=1, repeats=3)  # wrong
