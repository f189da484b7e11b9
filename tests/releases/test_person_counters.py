"""Counters of persons from end to end: month after month from files, paid by a ledger, with certain counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpqr
from dpqr.domain.periods import Period
from dpqr.releases.paying import release_bill
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest

PERIODS, ROWS = 64, 3
SLOW = [pytest.param(kind, 24, marks=pytest.mark.slow) for kind in ("csv", "parquet")]
FIRST = Period.parse("2023-01")
DOMAIN = {
    "period": {"column": "day", "every": "month"},
    "fields": [{"name": "ward", "type": "string", "constraints": {"enum": ["east", "west"]}}],
}
QUERIES = {"queries": [{"name": "ward", "marginal": ["ward"]}]}
CERTAIN = "1000"
"""At this epsilon, pure, no noise of half of it and 3 rows is drawn but with a probability below 1e-70."""


def month(number):
    return FIRST.later(number - 1).name


def rows_until(number):
    """Rows of persons, as they have come by a month: some have many rows a month, some come late."""
    generator = np.random.default_rng(5)
    count = 400
    person, period = generator.integers(0, 40, count) ** 2 // 40, generator.integers(1, 25, count)
    arrives = period + np.where(generator.random(count) < 0.1, generator.integers(1, 4, count), 0)
    ward = generator.choice(["east", "west"], count)
    table = pd.DataFrame({"person": person, "ward": ward, "day": [f"{month(each)}-07" for each in period]})
    return table[arrives <= number], table.assign(period=period, arrives=arrives)


def written(place, number, kind):
    path, (table, _) = place / f"table.{kind}", rows_until(number)
    if kind == "csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path)
    return str(path)


def used(number, since):
    """How many rows a release counts: of each person's rows of these months, those among the first ones."""
    _, table = rows_until(number)
    found = 0
    for _, own in table[table.arrives <= number].groupby("person"):
        counts = Counter(own.period)
        for period in range(since, number + 1):
            before = sum(counts[other] for other in range(1, period))
            found += min(counts[period], max(0, ROWS - before))
    return found


def options(place, number, **more):
    before = str(place / month(number - 1)) if number > 1 else None
    given = {"queries": QUERIES, "domain": DOMAIN, "eps": CERTAIN, "unit": "person", "max_rows": ROWS}
    given |= {"period": month(number), "cumulative": PERIODS, "after": before, "out": str(place / month(number))}
    return given | more


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "months"), [("csv", 10), *SLOW])
def test_month_after_month_persons_pay_a_price_a_level(tmp_path, kind, months):
    """The tree has base 9 and two levels: release 9 reads nine months, and the others one each."""
    ledger = dpqr.Ledger(tmp_path / "budgets.sqlite")
    ledger.init("visits", eps=CERTAIN, unit="person", period="month", period_column="day", per_period=CERTAIN)
    total = {}
    for number in range(1, months + 1):
        path = written(tmp_path, number, kind)
        made = dpqr.release(path, **options(tmp_path, number, dataset="visits", ledger=ledger))
        since = number - 8 if number % 9 == 0 else number
        total[number] = (total[since - 1] if since > 1 else 0) + used(number, since)
        assert made.cumulative["estimate"].sum() == total[number]
    spent = float(ledger.budgets()[0].spent)
    assert spent == float(CERTAIN), "two levels, half of it each"
    shown = ledger.show().iloc[0]
    assert shown["eps_basic"] == spent
    assert [name for name in shown.index if name.startswith("eps_")] == ["eps_basic"]
    assert dpqr.verify(tmp_path / month(months), ledger=tmp_path / "budgets.sqlite").passed
    assert "a counter costs a person one price a level" in " ".join(made.trust)


@pytest.mark.slow
def test_a_node_that_is_made_again_does_not_fit_the_life(tmp_path):
    ledger = dpqr.Ledger(tmp_path / "budgets.sqlite")
    ledger.init("visits", eps=1, unit="person")
    for number in (1, 2):
        path = written(tmp_path, number, "csv")
        given = options(tmp_path, number, dataset="visits", ledger=ledger, eps=1)
        dpqr.release(path, **given)
    again = {"out": str(tmp_path / "again")}
    dpqr.release(path, **(given | again))
    with pytest.raises(dpqr.BudgetRefused, match="spent 1 of 1"):
        dpqr.release(path, **(given | {"out": str(tmp_path / "third")}))
    assert not (tmp_path / "third").exists()


def test_a_database_is_refused_before_anything_is_paid(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    place = tmp_path / "visits.duckdb"
    with duckdb.connect(str(place)) as made:
        made.execute("CREATE TABLE visits AS SELECT 1 AS person, 'east' AS ward, DATE '2023-01-07' AS day")
    ledger = dpqr.Ledger(tmp_path / "budgets.sqlite")
    ledger.init("visits", eps=1, unit="person", source=f"duckdb:{place}?table=visits")
    with pytest.raises(dpqr.UsageFault, match=r"--period: .* cannot be asked for one period yet"):
        dpqr.release(f"duckdb:{place}?table=visits", **options(tmp_path, 1, dataset="visits", ledger=ledger, eps=1))
    assert not ledger.budgets()[0].spent
    assert not Path(tmp_path / month(1)).exists()


def test_releases_that_may_find_other_rows_malformed_share_no_layer():
    """A row that is nobody's to one reader may be somebody's to another: by the columns, and by the encoding."""
    given = {"epsilon": "1", "unit": "person", "max_rows": 3, "period": "2023-02", "cumulative": 4, "first": "2023-01"}
    age = {"name": "age", "type": "integer", "constraints": {"enum": [1, 2]}}
    wider = {**DOMAIN, "fields": [*DOMAIN["fields"], age]}
    asked = [(QUERIES, DOMAIN), ({"queries": [{"marginal": ["ward", "age"]}]}, wider)]
    plans = [plan_release(PlanRequest(queries=queries, domain=domain, **given)) for queries, domain in asked]
    reads = [release_bill(plan, encoding=code).period.read for plan in plans for code in (None, "utf-8", "latin-1")]
    assert [reads.index(read) for read in reads] == [0, 0, 2, 3, 3, 5]
