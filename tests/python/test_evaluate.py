"""Exact errors from Python are those of the command, for a release in memory or on disk; and so are refusals."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

import dpqr


@pytest.mark.slow
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


# Sweeps over public tables.


TABLE = pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1]})
ASKED = {"queries": dpqr.queries().marginals(ways=1), "domain": {"a": 2, "b": 2}}


def test_every_combination_has_its_rows():
    found = dpqr.sweep(public=TABLE, **ASKED, eps=[1, 1000], schedule=["rounds", "strategy"], repeats=2)
    assert len(found) == 2 * 2 * 2 * 2
    assert set(found["schedule"]) == {"rounds", "strategy"}
    assert set(found["update"]) == {"multiplicative-weights", "least-squares"}
    assert (found.loc[found["eps"] == 1000, "l1"] < 0.5).all()
    assert (found["l1_over_n"] == found["l1"] / 3).all()
    assert found["refused"].isna().all()


def test_what_cannot_be_planned_is_a_row_that_says_so():
    found = dpqr.sweep(public=TABLE, **ASKED, eps=1, schedule="rounds", update=[None, "median"])
    refused = found[found["refused"].notna()]
    assert refused["update"].tolist() == ["median"]
    assert "theory" in refused["refused"].iloc[0]
    with pytest.raises(dpqr.UsageFault, match="nothing could be planned so"):
        dpqr.sweep(public=TABLE, **ASKED, eps=1, schedule="rounds", update="median")


def test_what_is_not_declared_public_is_refused(tmp_path):
    ledger = dpqr.Ledger(tmp_path / "ledger.sqlite", tmp_path / "outside.anchor")
    ledger.init("survey", eps=5)
    ledger.init("made-up", eps=5, kind="synthetic")
    assert len(dpqr.sweep(public=TABLE, **ASKED, eps=1, dataset="made-up", ledger=ledger)) == 2
    with pytest.raises(dpqr.BudgetRefused, match="exact errors would disclose it"):
        dpqr.sweep(public=TABLE, **ASKED, eps=1, dataset="survey", ledger=ledger)
    with pytest.raises(dpqr.UsageFault, match="say on what"):
        dpqr.sweep(**ASKED, eps=1)
    with pytest.raises(dpqr.UsageFault, match="say on what"):
        dpqr.sweep(public=TABLE, rehearse=True, **ASKED, eps=1)
    dpqr.release(TABLE, **ASKED, eps=1, dataset="survey", ledger=ledger, out=tmp_path / "out", synthetic="rows")
    with pytest.raises(dpqr.BudgetRefused):
        dpqr.sweep(public=tmp_path / "out" / "synthetic.parquet", **ASKED, eps=1, ledger=ledger)


def test_rows_of_a_rehearsal_need_no_table():
    found = dpqr.sweep(rehearse=True, **ASKED, eps=1000)
    assert (found["l1"] < 0.5).all()
    assert found["l1_over_n"].notna().all()


def test_streams_and_empty_lists_are_refused():
    with pytest.raises(dpqr.UsageFault, match="not a stream"):
        dpqr.sweep(public=pa.Table.from_pandas(TABLE), **ASKED, eps=1)
    with pytest.raises(dpqr.UsageFault, match="leaves nothing to try"):
        dpqr.sweep(public=TABLE, **ASKED, eps=[])
    with pytest.raises(dpqr.UsageFault, match="repeats"):
        dpqr.sweep(public=TABLE, **ASKED, eps=1, repeats=0)
