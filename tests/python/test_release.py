"""Releases of tables in memory, and their frames."""

from __future__ import annotations

import json
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.cases import thinned
from support.command_desk import QUERIES

import dpqr
from dpqr.releases import paying as paid_run
from dpqr.releases import release as app_release

CERTAIN = 1000
"""An epsilon at which the chance of any noise is below 1e-36."""


@pytest.fixture
def made(frame):
    return dpqr.release(frame, queries="q.json", eps=CERTAIN)


def test_answers_are_ordered_as_the_domain(made):
    assert list(made.answers.columns)[:4] == ["query", "sex", "age", "detail"]
    age = made.answers["age"].dtype
    assert age.ordered
    assert list(age.categories) == ["[0, 25)", "[25, 50)", "[50, 75)", "[75, 99]", "(null)"]
    shuffled = made.answers.sample(frac=1, random_state=1)
    assert list(shuffled.sort_values("age")["age"].dropna().unique()) == list(age.categories)
    assert made.queries == ("marginal(sex,age)", "prefix(income)")


def test_pivots(made):
    table = made.pivot("marginal(sex,age)", "measured")
    assert table.loc["F", "[25, 50)"] == 2
    assert table.shape == (2, 5)
    assert (table.index.name, table.columns.name) == ("sex", "age")
    line = made.pivot("prefix(income)")
    assert list(line.index) == ["< 100", "< 200", "<= 400"]
    assert list(line["measured"]) == [1, 2, 4]


def test_measured_answers_have_their_intervals(made):
    measured = made.measured
    assert len(measured) == 13
    assert "estimate" not in measured
    assert (measured["lower"] <= measured["measured"]).all()


def test_the_frame_stays_as_it_was(frame):
    before = frame.copy(deep=True)
    dpqr.release(frame, queries="q.json", eps=1)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("form", thinned(["csv", "parquet", "json"], 3))
def test_a_saved_release_reads_back(made, tmp_path, form):
    made.save(tmp_path / "out", format=form, synthetic="rows")
    read = dpqr.read_release(tmp_path / "out")
    pd.testing.assert_frame_equal(read.answers, made.answers)
    pd.testing.assert_frame_equal(read.synthetic, made.synthetic)
    assert read.record["plan"] == made.record["plan"]
    assert (read.guarantee, read.trust) == (made.guarantee, made.trust)
    assert read.guarantee in " ".join(read.receipt.split())
    with pytest.raises(dpqr.UsageFault, match="copy that"):
        read.save(tmp_path / "again")
    with pytest.raises(dpqr.UsageFault, match="exists"):
        made.save(tmp_path / "out")


def test_labels_that_spreadsheets_would_run_read_back_as_they_are(tmp_path):
    labels = ["=1+1", "'=x", "-1", "", "'tis", 'a,\n"b']
    domain = {
        "missingValues": ["NA"],
        "fields": [dpqr.domain_from({"a": labels[:3] + labels[4:]}).document["fields"][0]],
    }
    made = dpqr.release(pd.DataFrame({"a": labels}), queries=dpqr.queries().marginal("a"), domain=domain, eps=1)
    made.save(tmp_path / "out")
    pd.testing.assert_frame_equal(dpqr.read_release(tmp_path / "out").answers, made.answers)


def test_synthetic_rows_are_ordered_and_drawn_once(made):
    assert made.synthetic is made.synthetic
    assert made.synthetic["age"].cat.ordered
    median = dpqr.release(
        pd.DataFrame({"a": [0, 1]}),
        queries=dpqr.queries().marginal("a"),
        domain={"a": 2},
        eps=1,
        update="least-squares",
    )
    with pytest.raises(dpqr.InfeasiblePlan):
        _ = median.synthetic


def test_shown_in_a_notebook(frame):
    asked = {**QUERIES, "queries": [{"marginal": ["sex"], "name": "<script>alert(1)</script>"}]}
    made = dpqr.release(frame, queries=asked, eps=1)
    shown = made._repr_html_() + made.receipt._repr_html_() + dpqr.plan(queries=asked, eps=1)._repr_html_()
    assert "<script>" not in shown
    assert "Guarantee" in shown
    assert made._repr_html_().count("Guarantee") == 1
    assert repr(made) == "Release(2 answers in 1 query, differentially private with epsilon = 1)"
    assert str(made.receipt).startswith(("Warning  ", "Guarantee  "))
    assert repr(made.receipt) == str(made.receipt)


@pytest.mark.parametrize("kind", thinned(["arrow", "paths", "folder"], 3))
def test_other_tables(desk, frame, kind):
    text = pa.Table.from_pandas(frame)
    tables = {"arrow": text, "paths": ["table.csv"], "folder": desk.path / "table.csv"}
    made = dpqr.release(tables[kind], queries="q.json", eps=CERTAIN)
    assert made.pivot("prefix(income)")["measured"].tolist() == [1, 2, 4]


@pytest.mark.slow
def test_a_rehearsal_opens_no_table(desk, tmp_path):
    made = dpqr.release(None, queries="q.json", eps=1, rehearse=True, out="tried", synthetic="rows")
    assert made.record["rehearsal"]
    read = dpqr.read_release("tried")
    pd.testing.assert_frame_equal(read.answers, made.answers)
    pd.testing.assert_frame_equal(read.synthetic, made.synthetic)
    with pytest.raises(dpqr.UsageFault, match="None is no table"):
        dpqr.release(None, queries="q.json", eps=1)


def test_the_total_alone(desk):
    """No column of the file is wanted."""
    queries = {"domain": QUERIES["domain"], "queries": [{"marginal": []}]}
    made = dpqr.release("table.csv", queries=queries, eps=CERTAIN)
    assert made.answers["measured"].tolist() == [4]


def test_documents_in_memory(frame):
    domain, (first, _) = QUERIES["domain"], QUERIES["queries"]
    asked = dpqr.queries().prefix("income")
    for queries, stated in [({"queries": [first]}, domain), (asked.over(domain), None), (asked, domain)]:
        assert dpqr.release(frame, queries=queries, domain=stated, eps=1).queries


def ledger_of(desk):
    ledger = dpqr.Ledger(desk.path / "ledger.sqlite", desk.path / "outside.anchor")
    ledger.init("survey", eps=5)
    return ledger


@pytest.mark.slow
def test_a_killed_release_of_a_frame_is_continued(desk, frame):
    ledger = ledger_of(desk)
    paid = {"queries": "q.json", "eps": 1, "rounds": 2, "dataset": "survey", "ledger": ledger, "out": "out"}

    child = os.fork()
    if child == 0:
        try:
            original = paid_run.LedgerJournal.same_table

            def fatal(self, mark):
                original(self, mark)
                os._exit(9)

            paid_run.LedgerJournal.same_table = fatal
            dpqr.release(frame, **paid)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with pytest.raises(dpqr.UsageFault, match="--resume continues it"):
        dpqr.release(frame, **paid)
    made = dpqr.release(frame.copy(), **paid, resume=True)
    assert dpqr.read_release("out").queries == made.queries
    assert ledger.budget("survey").left == 4


def test_another_frame_closes_the_run(desk, frame, monkeypatch):
    ledger = ledger_of(desk)
    paid = {"queries": "q.json", "eps": 1, "dataset": "survey", "ledger": ledger, "out": "out"}

    def broken(*_, **__):
        raise RuntimeError("-77.125")

    with monkeypatch.context() as patch:
        patch.setattr(app_release, "iterative_construction", broken)
        with pytest.raises(dpqr.DpqrError, match="internal fault") as failed:
            dpqr.release(frame, **paid)
    assert "-77.125" not in str(failed.value)
    assert failed.value.__context__ is None
    assert "--resume" in failed.value.__notes__[0]
    with pytest.raises(dpqr.DataError, match="the table is not the one"):
        dpqr.release(frame.iloc[:4], **paid, resume=True)
    assert ledger.budget("survey").left == 4


def test_a_stream_cannot_be_continued(desk, frame, monkeypatch):
    ledger, table = ledger_of(desk), pa.Table.from_pandas(frame)
    paid = {"queries": "q.json", "eps": 1, "dataset": "survey", "ledger": ledger, "out": "out"}

    def broken(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(app_release, "iterative_construction", broken)
        with pytest.raises(dpqr.InfeasiblePlan, match="not enough memory") as failed:
            dpqr.release(table, **paid)
    assert "stays spent" in failed.value.__notes__[0]
    assert ledger.budget("survey").left == 4
    with pytest.raises(dpqr.UsageFault, match="no killed release waits"):
        dpqr.release(table, **paid, resume=True)


def test_whatever_a_row_holds_the_release_ends_alike(desk):
    domain = {"a": 2}
    for cells in ([0, 1], ["x", None], [[1], {2}], [np.nan, 1e300], []):
        table = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
        assert len(dpqr.release(table, queries=dpqr.queries().marginal("a"), domain=domain, eps=1).answers) == 2


# Answers of one query as a table.


TABLE = pd.DataFrame({"a": [0, 1, 1], "b": [0, 0, 1], "c": [11, 0, 5]})


@pytest.fixture(scope="module")
def made_of_results():
    asked = dpqr.queries().marginal(name="all").marginal("a", "b", "c", name="cube").prefix("c", by="a", name="steps")
    return dpqr.release(TABLE, queries=asked, domain={"a": 2, "b": 2, "c": 12}, eps=1000)


def test_no_column_one_pair_and_more(made_of_results):
    assert made_of_results.pivot("all")["measured"].tolist() == [3]
    cube = made_of_results.pivot("cube", "measured")
    assert cube.index.names == ["a", "b"]
    assert cube.loc[("1", "0"), "0"] == 1
    assert list(cube.columns) == [str(code) for code in range(12)]


def test_details_stay_in_order(made_of_results):
    steps = made_of_results.pivot("steps")
    assert list(steps.columns)[1:3] == ["<= 1", "<= 2"]
    assert len(steps.columns) == 12


def test_wrong_names(made_of_results):
    with pytest.raises(dpqr.UsageFault, match="did you mean 'cube'"):
        made_of_results.pivot("cubes")
    with pytest.raises(dpqr.UsageFault, match="known: estimate, error, measured"):
        made_of_results.pivot("cube", "guess")


def test_estimates_of_one_model_add_up_and_are_not_negative(frame):
    """The topic `figures` says so of the default; measured answers need not."""
    frame = frame[["sex", "age"]]
    asked = {**QUERIES, "queries": [{"marginal": ["sex", "age"]}, {"marginal": ["sex"]}]}
    estimates = dpqr.release(frame, queries=asked, eps=0.1).answers.set_index("query")["estimate"]
    cells, sexes = estimates["marginal(sex,age)"], estimates["marginal(sex)"]
    assert (cells >= 0).all()
    assert np.allclose(cells.to_numpy().reshape(len(sexes), -1).sum(axis=1), sexes)


@pytest.mark.slow
def test_labels_that_nobody_has_listed_are_learned_on_the_way(tmp_path):
    """In memory or into files, from a frame; the share is a figure as others are."""
    table = pd.DataFrame({"code": ["a"] * 300 + ["b"] * 200 + ["PRIVATEVALUE"]})
    domain = {"fields": [{"name": "code", "type": "string", "dpqr": {"labels": "learn"}}]}
    asked = {"queries": dpqr.queries().marginal("code"), "domain": domain, "eps": 60, "delta": "1e-6"}
    made = dpqr.release(table, **asked, learn_share=0.5, out=tmp_path / "out")
    assert list(made.pivot("marginal(code)").index) == ["a", "b", "(null)", "(outside)"]
    assert made.record["plan"]["budget"]["epsilon"]["exact"] == "30"
    assert made.record["plan"]["whole"]["epsilon"]["exact"] == "60"
    kept = json.loads((tmp_path / "out" / "domain.json").read_text("utf-8"))
    assert dpqr.release(table, **asked | {"domain": kept}).record["plan"]["whole"]["epsilon"]["exact"] == "90"
    assert "whole" in dpqr.release(table, **asked).record["plan"]
    with pytest.raises(dpqr.DocumentError, match="nobody knows the labels of 'code' yet"):
        dpqr.plan(**asked)
