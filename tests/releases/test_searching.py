"""A release whose prices follow what it releases: what ledgers of both currencies set aside for it, and give back."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from support.paid_releases import document, killed_at, lay, run, transcript, unsound

from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import PureSumEvent, RhoSumEvent
from dpqr.ledger.chained_ledger import ChainedLedger

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
def test_the_sum_is_set_aside_and_what_was_drawn_is_paid(desk, ledger, asked, event):
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
