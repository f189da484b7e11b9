"""Counters from options: what they become, and what is refused."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction

import pytest
from support.cases import in_one_test
from support.counters import DOMAIN, MONTHS, QUERIES, TABLE, released, women

import dpqr
from dpqr.domain.periods import Period
from dpqr.kernel.errors import UsageFault
from dpqr.kernel.values import replace
from dpqr.ledger.budgets import configured_ledger
from dpqr.releases.counters import with_counter_strategies
from dpqr.releases.planning import plan_release
from dpqr.releases.record.plan_document import seal_document
from dpqr.releases.requests import PlanRequest

ASKED = PlanRequest(
    queries=QUERIES, domain=DOMAIN, epsilon="1", delta="1e-9", period="2024-10", cumulative=24, first="2024-01"
)


def changed(**options):
    return replace(ASKED, **options)


def test_a_release_gets_a_node_s_share_and_reads_its_periods():
    plan = plan_release(ASKED)
    turn, rows = plan.problem.turn, plan.problem.period
    assert (turn.counter.tree.base, turn.counter.tree.levels, turn.number) == (5, 2, 10)
    assert plan.budget == turn.counter.node
    assert plan.budget.epsilon < 1
    assert [rows.since.name, rows.period.name] == ["2024-06", "2024-10"]
    assert (plan.schedule.name, plan.roles.accountant.name) == ("strategy", "zcdp")
    assert "2024-06 to 2024-10" in plan.notes[0]
    assert "epsilon 1, delta 1e-9: it is read by 2 of them at most" in plan.notes[1]
    alone = plan_release(changed(delta=None))
    assert (alone.budget.epsilon, alone.problem.turn.since.name) == (1, "2024-10"), "one by one at a pure budget"
    other = changed(cumulative=None, first=None)
    assert with_counter_strategies(other) is other


@in_one_test("unit", [{}, {"unit": "person", "max_rows": 3}])
@pytest.mark.parametrize(("period", "first"), [("2024-10", "2024-06"), ("2024-11", "2024-11")])
def test_a_release_reads_every_day_of_its_node_and_persons_are_counted_from_the_first_on(period, first, unit):
    rows = plan_release(changed(period=period, **unit)).problem.period
    months = [Period.parse("2024-01").later(step) for step in range(12)]
    held = [month.start for month in months if (("2024-01" if unit else first) <= month.name <= period)]
    assert rows.days == ((held[0], rows.period.end) if not unit else (*held, rows.period.end))


PERSONS = {"unit": "person", "max_rows": 2}


@in_one_test(
    ("options", "words"),
    [
        ({"period": None}, "add --period"),
        ({"schedule": "marginals"}, "--schedule marginals: a counter adds up answers"),
        ({"accountant": "pld"}, "choose basic, zcdp, gdp"),
        *(
            ({**unit, option: "0.1"}, "releases its counts alone")
            for unit in (PERSONS, {"neighbours": "replace"})
            for option in ("count_dropped", "certify", "error_bars")
        ),
        ({"neighbours": "replace", "n": 5}, "leave --n out"),
        ({"period": "2026-01"}, "runs from 2024-01 to 2025-12"),
        ({"cumulative": 10**6}, "over 1 to 1,024 periods"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(UsageFault, match=words):
        plan_release(changed(**{"domain": RULED, **options}))


RULED = {**DOMAIN, "malformed": "drop", "fields": [{**DOMAIN["fields"][0], "dpqr": {"otherwise": "drop"}}]}


@in_one_test(("relation", "prices"), [("add-remove", 2), ("replace", 4)])
def test_a_counter_of_persons_bounds_their_rows_over_the_life(relation, prices):
    plan = plan_release(changed(unit="person", max_rows=3, neighbours=relation, domain=RULED))
    turn, rows = plan.problem.turn, plan.problem.period
    assert (turn.counter.prices, rows.first.name, rows.since.name) == (prices, "2024-01", "2024-06")
    assert (plan.problem.n, plan.problem.declared) == (None, None)
    assert plan.problem.unit.drops
    assert f"over all periods: {prices} times the price of one release" in plan.notes[1]
    assert "of each person the first 3 rows from 2024-01 on are used, over the whole life" in plan.notes[2]


def test_rows_that_are_replaced_need_no_number_and_their_nodes_hold_any_of_them():
    plan = plan_release(changed(neighbours="replace", domain=RULED))
    assert plan.problem.turn.counter.prices == 4
    assert (plan.problem.n, plan.problem.unit.rows_public, plan.problem.period.first) == (None, False, None)


KEPT = {
    **DOMAIN,
    "malformed": "fail",
    "fields": [{**DOMAIN["fields"][0], "dpqr": {"otherwise": "cell", "null": "cell"}}],
}


def test_how_many_replaced_rows_a_node_has_is_private_where_no_rule_drops_any():
    """A row that is replaced may come from a period that is not read, or go to one."""
    plan = plan_release(changed(neighbours="replace", domain=KEPT))
    assert (plan.problem.unit.drops, plan.problem.unit.rows_public) == (True, False)
    assert plan.problem.turn.counter.unit == plan.problem.unit
    assert not plan_release(changed(domain=KEPT)).problem.unit.drops


@pytest.fixture(scope="module")
def paid(tmp_path_factory):
    """Four releases of a counter, and the ledger whose every month has the budget of the counter's life."""
    place = tmp_path_factory.mktemp("paid")
    ledger = dpqr.Ledger(place / "budgets.sqlite")
    ledger.init("people", eps=3, delta="1e-9", period="month", period_column="day", per_period=1)
    after, options = None, {"eps": 1, "delta": "1e-9", "cumulative": 8, "dataset": "people", "ledger": ledger}
    for month in MONTHS[:4]:
        released(place, month, after, **options)
        after = month
    return ledger, place, options


@pytest.mark.slow
def test_each_month_pays_for_the_releases_that_read_it(paid):
    """Of the tree with base 3: the third release reads the first three months, and no other month is read twice."""
    account = configured_ledger(str(paid[1] / "budgets.sqlite"), None).account("people")
    node = account.periods["2024-04"].amount
    assert {name: cost.amount / node for name, cost in account.periods.items()} == {
        "2024-01": 2,
        "2024-02": 2,
        "2024-03": 1,
        "2024-04": 1,
    }
    assert Fraction(99, 200) * account.terms.periods.share.amount <= node <= account.terms.periods.share.amount / 2
    assert account.spent.amount == 2 * node


def test_a_month_that_has_paid_for_its_life_pays_no_more(paid):
    """The third release again: the first two months have nothing left for it."""
    _, place, options = paid
    with pytest.raises(dpqr.BudgetRefused, match="from the budget of 2024-01"):
        released(place, "2024-03", "2024-02", **options, out=place / "again")
    again = released(place, "2024-04", "2024-03", **options, out=place / "other")
    assert "corrects: entry" in " ".join(again.trust), "its own month has"
    assert dpqr.verify(place / "2024-03", ledger=place / "budgets.sqlite").passed


# Releases of a counter go on from each other, and from nothing else.


BINARY = {"eps": "1000", "delta": "1e-9", "accountant": "zcdp"}


@pytest.fixture(scope="module")
def life(tmp_path_factory):
    """A counter of six months, whose tree has two levels (base 3), all of it released."""
    place = tmp_path_factory.mktemp("life")
    after = None
    for month in MONTHS:
        released(place, month, after, **BINARY, cumulative=8)
        after = month
    return place


def test_counts_are_those_of_all_rows_up_to_the_period(life):
    """2024-03 reads three months, and so does 2024-06."""
    for month in MONTHS:
        found = dpqr.read_release(life / month).cumulative
        assert found["estimate"].tolist() == [women(month), 5 * (MONTHS.index(month) + 1)]
    spans = [dpqr.read_release(life / month).answers["estimate"][0] for month in MONTHS]
    assert spans == [20, 30, 90, 50, 60, 180]
    again = released(life, "2024-05", "2024-04", **BINARY, cumulative=8, if_exists="skip")
    assert again.cumulative["estimate"][0] == women("2024-05"), "a finished release is skipped"


def test_releases_name_the_one_before_and_are_verified(life):
    before = None
    for month in MONTHS:
        record = dpqr.read_release(life / month).record
        assert record["cumulative"] == {"after": before}
        before = {"period": month, "sha256": record["sha256"]}
    checked = dpqr.verify(life / "2024-05")
    states = {check["check"]: check["state"] for check in checked.document()["checks"]}
    assert checked.passed
    assert {states[name] for name in ("statements", "figures", "answers")} == {"ok"}, "with what was handed over"


def test_a_changed_count_is_found(life, tmp_path):
    place = tmp_path / "2024-05"
    shutil.copytree(life / "2024-05", place)
    path = place / "cumulative.csv"
    path.write_text(path.read_text().replace("200", "201", 1))
    found = dpqr.verify(place)
    assert not found.passed
    with pytest.raises(dpqr.GoalMissed):
        released(tmp_path, "2024-06", "2024-05", **BINARY, cumulative=8)


def test_others_are_refused(life, tmp_path):
    for after, options, error, words in (
        ("2024-03", {}, dpqr.UsageFault, "is release 3 of its counter, and 2024-06 is release 6"),
        ("2024-05", {"cumulative": 12}, dpqr.DocumentError, "periods differs"),
        ("2024-05", {"eps": "999"}, dpqr.DocumentError, "life differs"),
        ("2024-05", {"queries": {"queries": [{"name": "n", "marginal": []}]}}, dpqr.DocumentError, "other queries"),
        ("2024-05", {"cumulative": None}, dpqr.UsageFault, "add --cumulative"),
        ("2024-05", {"out": None}, dpqr.UsageFault, "add --out"),
        ("2024-05", {"rehearse": True}, dpqr.DocumentError, "a rehearsal goes on from a rehearsal"),
    ):
        given = {**BINARY, "cumulative": 8, "out": tmp_path / "new"} | options
        with pytest.raises(error, match=words):
            released(life, "2024-06", after, **given)
    assert not (tmp_path / "new").exists()


def test_a_release_of_no_counter_is_refused(tmp_path):
    """The first release of a counter needs no other, and begins it."""
    assert released(tmp_path, "2024-04").record["plan"]["counter"]["first"] == "2024-04"
    domain = {"fields": DOMAIN["fields"]}
    dpqr.release(TABLE, queries=QUERIES, domain=domain, eps=1, out=tmp_path / "2024-01")
    with pytest.raises(dpqr.UsageFault, match="is no release of a counter"):
        released(tmp_path, "2024-02", "2024-01")
    with pytest.raises(dpqr.UsageFault, match="is of no counter"):
        _ = dpqr.read_release(tmp_path / "2024-01").cumulative


def test_the_files_of_a_series(life):
    found = dpqr.series([life / month for month in MONTHS])
    frame = found.frame[found.frame["sex"] == "f"]
    assert frame["estimate"].tolist() == [women(month) for month in MONTHS]
    errors = {month: dpqr.read_release(life / month).cumulative["error"][0] for month in MONTHS}
    own = errors["2024-01"]
    expected = [own, (own**2 + errors["2024-02"] ** 2) ** 0.5, own, own, (own**2 + 2 * own**2) ** 0.5]
    assert frame["change_error"].tolist()[1:] == pytest.approx(expected), "shared noise cancels"


def test_counters_and_other_releases_are_not_mixed(life, tmp_path):
    place = tmp_path / "other"
    shutil.copytree(life / "2024-02", place)
    record = json.loads((place / "release.json").read_text())
    del record["plan"]["counter"]
    (place / "release.json").write_text(json.dumps(seal_document(record)))
    with pytest.raises(dpqr.DocumentError, match="another counter"):
        dpqr.series([life / "2024-01", place])
