"""A release whose prices follow what it releases: what ledgers of both currencies set aside for it, and give back."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from support.paid_releases import document, killed_at, lay, run, transcript, unsound
from support.staged_runs import CELLS, N, planned, stated

import dpqr
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import PureSumEvent, RhoSumEvent
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.releases.forecast.simulation import likely_certificates, likely_words, simulate_tables
from dpqr.strategies.updates.perceptron import Perceptron

SIZE, COLUMNS = 60, "abcd"
ZCDP = {"delta": "1e-6", "accountant": "zcdp"}


@pytest.fixture
def desk(tmp_path):
    """Four columns, of which two agree: too many cells for one table."""

    def laid(**ledger):
        found = lay(tmp_path, epsilon="5", **ledger)
        random = np.random.default_rng(5)
        codes = random.integers(0, SIZE, (3000, len(COLUMNS)))
        codes[:, 1] = codes[:, 0]
        rows = "\n".join(",".join(map(str, row)) for row in codes)
        (tmp_path / "table.csv").write_text(",".join(COLUMNS) + "\n" + rows + "\n")
        pairs = [list(pair) for pair in combinations(COLUMNS, 2)]
        queries = {"domain": dict.fromkeys(COLUMNS, SIZE), "queries": [{"marginals": pairs}]}
        (tmp_path / "q.json").write_text(json.dumps(queries))
        return tmp_path, found

    return laid


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ledger", "asked", "event"),
    [
        ({}, {}, PureSumEvent(epsilon=Fraction(199, 200))),
        (ZCDP, {"epsilon": "0.5"}, PureSumEvent(epsilon=Fraction(199, 400))),
        (ZCDP, {"delta": "1e-6", "check": "gaussian"}, None),
        ({}, {"count_dropped": "0.1"}, PureSumEvent(epsilon=Fraction(199, 200))),
    ],
    ids=["epsilons", "epsilons in rho", "rhos", "beside a count"],
)
def test_the_sum_is_set_aside_and_what_wconsistent_with_draws_is_paid(desk, ledger, asked, event):
    place, books = desk(**ledger)
    made = run(place, rounds=None, **asked)
    assert made.plan.schedule.name == "marginals"
    ((stated, _),) = made.plan.phase("search").events
    assert stated == event or (event is None and isinstance(stated, RhoSumEvent))
    money = books.account("survey").terms.currency
    assert books.account("survey").spent == money.price(made.events)
    planned = money.price(made.plan.events).amount
    assert planned / 20 < money.price(made.events).amount <= planned
    assert unsound(place) is None
    assert not transcript(place).exists()
    charged = document(place)["events"]
    assert sum(part["count"] for part in charged) == sum(count for _, count in made.events) > len(COLUMNS)
    assert {part["kind"] for part in charged} <= {
        "discrete-laplace",
        "discrete-gaussian",
        "exponential",
        "permute-and-flip",
        *(["left-out"] if "count_dropped" in asked else []),
    }


def test_a_ledger_of_epsilons_refuses_rhos_before_any_draw_and_other_theorems_claim_no_less_than_the_sum(desk):
    place, books = desk()
    with pytest.raises(BudgetRefused, match="no pure epsilon"):
        run(place, rounds=None, delta="1e-6", check="laplace", accountant="zcdp")
    assert books.account("survey").spent == 0
    spent = run(place, rounds=None).spent
    assert spent["basic"] == 1
    assert all(price is None or price >= Fraction(9, 10) for price in spent.values())


@pytest.mark.slow
@pytest.mark.parametrize("count", [7, 12], ids=["in the search", "among the last"])
def test_a_killed_search_is_continued_at_the_same_prices(desk, count):
    """The draw that was begun is lost; all before it come from the transcript, and lead to the same prices."""
    place, _ = desk(**ZCDP)
    asked = {"delta": "1e-6", "check": "gaussian"}
    assert killed_at(place, (ChainedLedger, "begin", count, True), rounds=None, **asked) == 9
    made = run(place, resume=True, rounds=None, **asked)
    assert made.transcript.lost == 1
    assert unsound(place) is None


# Releases by `theory` with draws before and after its stages: these leave them their shares of the budget.

FIELDS = [
    {"name": "sex", "type": "string", "constraints": {"enum": ["f", "m"]}, "dpqr": {"otherwise": "drop"}},
    {"name": "region", "type": "string", "constraints": {"enum": ["n", "s"]}, "dpqr": {"otherwise": "drop"}},
]
ROWS = np.arange(4000)
TABLE = pd.DataFrame(
    {"sex": np.where(ROWS % 3 > 0, "f", "m"), "region": np.where(ROWS % 5 > 0, "n", "s"), "person": ROWS // 2}
).assign(times=100)
REPLACED = {"neighbours": "replace", "n": 100 * len(TABLE), "counts": "times"}
"""Of so many rows stages would take rounds until the budget is spent."""


@pytest.mark.parametrize(
    ("more", "beside"),
    [
        (REPLACED | {"count_dropped": "0.1"}, ["left out"]),
        (REPLACED | {"certify": "0.1"}, ["bounds"]),
        ({"unit": "person", "max_rows": 2, "n": len(TABLE)}, ["persons"]),
    ],
)
def test_a_run_with_other_draws_beside_its_stages_ends_within_its_budget(more, beside):
    """It took the whole budget for its stages, and a paid run ended without an answer."""
    asked = [{"marginal": ["sex", "region"]}, *([{"persons": {"by": ["sex"]}}] if "persons" in beside else [])]
    queries = {"queries": asked, "domain": {"fields": FIELDS, "malformed": "drop"}}
    made = dpqr.release(TABLE, queries=queries, eps=4, schedule="theory", **more)
    phases = made.record["spent"]["phases"]
    assert set(phases) - {"search", "opening"} == set(beside)
    assert sum(float(phase["basic"]["float"]) for phase in phases.values()) <= 4 * (1 + 1e-9)
    assert len(made.answers) > 3


# What stages certify on public tables. Noise is public, so every run gives the same.


@pytest.mark.slow
def test_likely_is_far_below_certain_and_reached_on_every_table():
    plan = planned(update=Perceptron(), epsilon=10)
    tables = simulate_tables(plan.problem.domain, N, 3)[:2]
    found = likely_certificates(plan, tables)
    assert found[:1] == likely_certificates(plan, tables[:1])
    assert 0 < max(found) < float(plan.stop.certain)
    words = likely_words(plan, tables)
    assert words.startswith("likely certificate: alpha 0.0")
    assert words.endswith(f"in 2 simulated runs at epsilon 10; certain: {float(plan.stop.certain):.4g}")


def test_nothing_certain_is_said_so():
    plan = planned(stated(n=N // 50))
    assert plan.stop.certain is None
    assert plan.problem.domain.size == CELLS
    words = likely_words(plan, simulate_tables(plan.problem.domain, N // 50, 3)[:1])
    assert words.endswith("certain: none below 1")
