"""Budgets through the Python interface."""

from fractions import Fraction

import pandas as pd
import pytest

import dpqr


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
