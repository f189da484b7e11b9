"""Exact errors from Python are those of the command, for a release in memory or on disk; and so are refusals."""

from __future__ import annotations

import pytest

import dpqr


def test_errors_are_those_of_the_command(desk, frame):
    made = dpqr.release(frame, queries="q.json", eps=1, out="out", synthetic="rows")
    ended = desk.run("evaluate", "table.csv", "out", "--queries", "q.json", "--json")
    for released in (made, dpqr.read_release("out"), "out"):
        found = dpqr.evaluate(frame, released, queries="q.json")
        assert found.record == ended.json
    rows = desk.run("evaluate", "table.csv", "out", "--queries", "q.json", "--rows", "--json").json
    assert dpqr.evaluate("table.csv", "out", queries="q.json", rows=True).record == rows
    assert dpqr.evaluate(frame, made, queries="q.json", rows=True).record["blocks"] == rows["blocks"]
    assert found.errors["l1"].tolist() == [each["l1"] for each in ended.json["blocks"]]
    assert "NOT FOR RELEASE" in found.text
    assert "NOT FOR RELEASE" in found._repr_html_()
    assert repr(found).startswith("Evaluation(mean L1 ")


def test_a_goal_is_missed_as_by_the_command(desk, frame):
    dpqr.release(frame, queries="q.json", eps=1, out="out")
    ended = desk.run("evaluate", "table.csv", "out", "--queries", "q.json", "--max-error", "1e-12")
    found = dpqr.evaluate(frame, "out", queries="q.json")
    with pytest.raises(dpqr.GoalMissed) as raised:
        found.require(max_error=1e-12)
    assert (raised.value.exit_code, str(raised.value)) == (ended.code, ended.err.strip().removeprefix("dpqr: "))
    found.require(max_error=1e12, max_l1=1e12)


def test_a_private_dataset_is_refused_by_name_and_by_the_payer_of_a_release(desk, frame):
    """Whether its release lies on disk or in memory."""
    ledger = dpqr.Ledger("ledger.sqlite")
    ledger.init("survey", eps=5)
    made = dpqr.release(frame, queries="q.json", eps=1, dataset="survey", ledger=ledger)
    for given in ({"dataset": "survey"}, {}):
        with pytest.raises(dpqr.BudgetRefused, match="'survey' is private"):
            dpqr.evaluate(frame, made, queries="q.json", ledger=ledger, **{"dataset": "survey", **given})
    with pytest.raises(dpqr.DpqrError):
        dpqr.evaluate(frame, made, queries="q.json")
