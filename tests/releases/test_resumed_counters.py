"""A counter, and a release with a start, that are killed at every step: continued, paid once, and gone on from."""

import json
from fractions import Fraction

import pytest
from support.cases import slow_one
from support.command_desk import DOMAIN, TABLE
from support.ledger_jobs import ledger_in, terms
from support.paid_releases import continue_all, document, killed_at, run, unsound

from dpqr.domain.periods import Period
from dpqr.kernel.budget import Cost
from dpqr.kernel.values import replace
from dpqr.ledger.chained_ledger import ChainedLedger
from dpqr.ledger.periods import PeriodBudgets
from dpqr.published.export import start_of
from dpqr.releases import release as release_module
from dpqr.releases.files.read_release import read_release
from dpqr.releases.journal import TranscriptFile

STAGES = [
    (ChainedLedger, "reserve", 1, False),
    (ChainedLedger, "reserve", 1, True),
    (ChainedLedger, "begin", 1, False),
    (ChainedLedger, "begin", 1, True),
    (TranscriptFile, "append", 1, True),
    (ChainedLedger, "record", 1, True),
    (release_module, "write_release", 1, False),
    (release_module, "write_release", 1, True),
    (ChainedLedger, "settle", 1, False),
    (ChainedLedger, "settle", 1, True),
]
LIFE = {"epsilon": "1", "cumulative": 3, "rounds": None, "no_count_dropped": True}
PAIR = {"queries": [{"marginal": ["sex", "age"]}], "domain": {**DOMAIN, "period": {"column": "day", "every": "month"}}}


def slow_but_one(stages):
    return [row if place == 6 else slow_one(row) for place, row in enumerate(stages)]


@pytest.fixture
def desk(tmp_path):
    """A desk with a budget of 2 a month."""
    header, *rows = TABLE.splitlines(keepends=True)
    (tmp_path / "table.csv").write_text(header + "".join(rows) * 200)
    (tmp_path / "q.json").write_text(json.dumps(PAIR))
    budgets = PeriodBudgets(column="day", every="month", share=Cost(Fraction(2)), first=Period.parse("2024-01"))
    ledger_in(tmp_path).open(replace(terms(epsilon="5"), periods=budgets))
    return tmp_path


def finished(desk, **asked):
    """Continue the release; whether it had begun no draw, so that there is nothing to continue and it pays anew."""
    continue_all(desk, **asked)
    again = not (desk / "out").exists()
    if again:
        run(desk, **asked)
    return again


@pytest.mark.parametrize("stage", slow_but_one(STAGES), ids=str)
def test_a_killed_release_of_a_counter_goes_on_and_pays_once(desk, stage):
    """The next release adds to what the continued one has published."""
    first = {**LIFE, "first": "2024-01"}
    run(desk, out="one", period="2024-01", **first)
    asked = {"period": "2024-02", "after": "one", **first}
    assert killed_at(desk, stage, **asked) == 9
    assert unsound(desk) is None
    reserved = ledger_in(desk).account("survey").reservations
    assert ledger_in(desk).account("survey").periods.get("2024-02", Cost()) == reserved - 1
    again = finished(desk, **asked)
    run(desk, out="three", period="2024-03", after="out", **first)
    account = ledger_in(desk).account("survey")
    paid = {"2024-01": 1, "2024-02": reserved - 1 + again, "2024-03": 1}
    assert account.periods == {month: Cost(Fraction(cost)) for month, cost in paid.items()}
    assert account.reservations == sum(paid.values())
    assert document(desk, "three")["cumulative"]["after"]["sha256"] == document(desk)["sha256"]
    for out in ("one", "out", "three"):
        read_release(str(desk / out)).require_sealed()
    assert unsound(desk) is None


@pytest.mark.slow
@pytest.mark.parametrize("stage", slow_but_one(STAGES), ids=str)
def test_a_killed_release_with_a_start_goes_on_from_the_same_tables(desk, stage):
    plain = {"schedule": "marginals", "rounds": None, "epsilon": "0.5"}
    run(desk, out="one", period="2024-01", **plain)
    asked = {"period": "2024-02", "start": start_of(str(desk / "one")), **plain}
    assert killed_at(desk, stage, **asked) == 9
    assert unsound(desk) is None
    reserved = ledger_in(desk).account("survey").reservations
    again = finished(desk, **asked)
    name = document(desk)["plan"]["request"]["options"]["start"]
    assert (desk / "out" / name).read_bytes() == asked["start"]
    account = ledger_in(desk).account("survey")
    assert account.reservations == reserved + again
    assert account.periods["2024-02"] <= Cost(Fraction(reserved - 1 + again, 2))
    assert unsound(desk) is None
