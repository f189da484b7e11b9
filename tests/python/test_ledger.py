"""Budgets through the Python interface."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

import dpqr
from dpqr.kernel.errors import UsageFault
from dpqr.ledger.budgets import PeriodRequest
from dpqr.python.ledger import budget_fields, ledger_paths, payer, policy_fields


@pytest.fixture
def ledger(tmp_path):
    return dpqr.Ledger(tmp_path / "ledger.sqlite", tmp_path / "outside.anchor")


def test_a_budget_is_opened_once_and_read(ledger):
    opened = ledger.init("survey", eps="0.3", cap_eps=0.1, max_records=10**6)
    assert (opened.epsilon, opened.left, opened.request) == (Fraction(3, 10), Fraction(3, 10), "--eps 0.1")
    assert opened.record["policy"]["records"] == 10**6
    assert "record" not in repr(opened)
    with pytest.raises(dpqr.BudgetRefused):
        ledger.init("survey", eps=1)
    assert ledger.policy("survey", max_records=1000).record["policy"]["records"] == 1000
    assert ledger.budget("survey").spent == 0
    with pytest.raises(dpqr.UsageFault, match="nobody"):
        ledger.budget("nobody")


def test_frames_of_budgets_and_entries(ledger):
    assert ledger.init("old", eps=1, delta="1e-6", accounting="basic", kind="synthetic").left_delta == Fraction(
        1, 10**6
    )
    ledger.init("survey", eps=3)
    dpqr.release(
        pd.DataFrame({"a": [0, 1]}),
        queries=dpqr.queries().marginal("a"),
        domain={"a": 2},
        eps="0.1",
        dataset="survey",
        ledger=ledger,
    )
    shown = ledger.show().set_index("dataset")
    assert shown.loc["survey", "spent"] == 0.1
    assert shown.loc["survey", "left"] <= Fraction(29, 10)
    assert shown.loc["survey", "eps_basic"] == 0.1
    history = ledger.history("survey")
    assert history["entry"].tolist() == ["init", "reserve", "settle"]
    assert history["settles"].iloc[-1] == history["number"].iloc[1]
    assert str(history["time"].dt.tz) == "UTC"
    assert ledger.verify()["entries"] == len(list(ledger.export())) == len(ledger.history())
    assert "survey" in ledger._repr_html_()


def test_wrong_values_are_refused(ledger):
    for wrong in (
        {"eps": None},
        {"eps": 1, "kind": "secret"},
        {"eps": 1, "max_records": "many"},
        {"eps": 1, "delimiter": 7},
    ):
        with pytest.raises(dpqr.UsageFault):
            ledger.init("survey", **wrong)
    with pytest.raises(TypeError, match="did you mean 'max_records'"):
        ledger.init("survey", eps=1, max_record=5)


def test_a_ledger_is_named_or_configured(monkeypatch, tmp_path):
    monkeypatch.setenv("DPQR_LEDGER", str(tmp_path / "other.sqlite"))
    dpqr.Ledger().init("survey", eps=1)
    assert (tmp_path / "other.sqlite").exists()
    assert repr(dpqr.Ledger()) == "Ledger(as configured)"
    asked = {"queries": dpqr.queries().marginal("a"), "domain": {"a": 2}, "eps": 1}
    assert dpqr.plan(**asked).record
    with pytest.raises(dpqr.UsageFault, match="--dataset"):
        dpqr.release(pd.DataFrame({"a": [0, 1]}), **asked)


# Who pays, from what callers name.


def test_a_ledger_of_the_caller_brings_its_own_files():
    assert ledger_paths(dpqr.Ledger("l.sqlite", "l.anchor"), None) == ("l.sqlite", "l.anchor")
    assert ledger_paths("l.sqlite", None) == ("l.sqlite", None)


def test_nobody_pays_where_nothing_is_named(monkeypatch):
    monkeypatch.delenv("DPQR_LEDGER", raising=False)
    monkeypatch.delenv("DPQR_ANCHOR", raising=False)
    assert payer(None, None, None) is None
    assert payer("survey", None, None).dataset == "survey"
    with pytest.raises(dpqr.UsageFault, match="--dataset NAME"):
        payer(None, "l.sqlite", None)


def test_options_have_the_names_of_the_fields():
    given = {"max_records": 5, "require_approval": True, "delimiter": None}
    assert policy_fields(given) == {"records": 5, "approval": True}
    with pytest.raises(UsageFault):
        policy_fields({"require_approval": "yes"})


def test_a_budget_is_divided_by_a_kind_a_column_and_a_share():
    whole = {"period": "month", "period_column": "day", "per_period": "0.1"}
    asked = PeriodRequest(every="month", column="day", epsilon="0.1", first="2026-01")
    assert budget_fields({**whole, "first": "2026-01", "max_records": 9}) == ({"records": 9}, asked)
    assert budget_fields({"max_records": 9, "period": None}) == ({"records": 9}, None)
    for name in whole:
        with pytest.raises(UsageFault, match=f"--{name.replace('_', '-')}: is missing"):
            budget_fields({key: value for key, value in whole.items() if key != name} | {"first": "2026-01"})
    with pytest.raises(UsageFault, match="period"):
        budget_fields({**whole, "period": "decade"})


# What is shown of an approval.


def test_an_approval_says_what_was_approved(tmp_path):
    ledger = dpqr.Ledger(tmp_path / "l.sqlite")
    ledger.init("survey", eps=5)
    planned = dpqr.plan(queries={"queries": [{"marginal": ["age"]}]}, domain={"age": 4}, eps="0.5")
    planned.save(tmp_path / "plan.json")
    approved = ledger.approve("survey", tmp_path / "plan.json", by="M. Lee", purpose="read it")
    assert approved.sha256 == planned.sha256
    assert repr(approved) == f"Approval({planned.sha256[:12]})"
    said = " ".join(str(approved).split())
    for words in ("epsilon = 0.5", "4 queries in 1 block", "charged by basic", planned.sha256, "read it, by M. Lee"):
        assert words in said
