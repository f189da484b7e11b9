"""Sweeps over public tables."""

import pandas as pd
import pyarrow as pa
import pytest

import dpqr

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
