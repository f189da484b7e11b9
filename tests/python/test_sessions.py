"""Sessions of questions and of predictions from Python, over a table in memory."""

from __future__ import annotations

import copy
import pickle

import pandas as pd
import pytest

import dpqr

ROWS = pd.DataFrame({"day": ["Mon", "Sun"] * 200, "open": ["yes", "no"] * 200})


@pytest.mark.slow
def test_a_session_over_a_frame(tmp_path):
    ledger = dpqr.Ledger(tmp_path / "l.sqlite")
    ledger.init("shops", eps=50)
    domain = dpqr.domain_from({"day": ["Mon", "Sun"], "open": ["no", "yes"]})
    session = dpqr.open_session(
        ROWS, name="desk", eps=40, domain=domain, dataset="shops", ledger=ledger, surprises=3, questions=10
    )
    found = session.ask("day = 'Sun' and open = 'no'")
    assert list(found.columns) == ["query", "detail", "estimate", "low", "high", "free"]
    assert found.loc[0, "low"] <= found.loc[0, "estimate"] <= found.loc[0, "high"]
    assert len(session.ask(queries={"queries": [{"marginal": ["day"]}]})) == 2
    assert session.status().questions == 3
    again = dpqr.Session(name="desk", ledger=str(tmp_path / "l.sqlite"))
    with pytest.raises(dpqr.UsageFault, match="in memory"):
        again.ask("day = 'Sun'")
    closed = session.close(tmp_path / "out")
    assert len(closed.answers) == 3
    assert dpqr.read_release(tmp_path / "out").record["ledger"]["dataset"] == "shops"
    for wrong in ({}, {"where": "day = 'Sun'", "queries": {"queries": []}}):
        with pytest.raises(dpqr.UsageFault, match="give one of"):
            session.ask(**wrong)


@pytest.mark.parametrize("kind", [dpqr.Session, dpqr.PredictionSession])
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda session: pickle.loads(pickle.dumps(session))])
def test_a_pickle_holds_no_row(kind, copied):
    session = kind(name="desk", ledger="l.sqlite", anchor="a", table=ROWS)
    assert copied(session) == kind(name="desk", ledger="l.sqlite", anchor="a")
    assert b"Mon" not in pickle.dumps(session)


# Sessions of predictions from Python, over a table in memory.


@pytest.fixture
def shops(tmp_path):
    ledger = dpqr.Ledger(tmp_path / "l.sqlite")
    ledger.init("shops", eps=50)
    domain = dpqr.domain_from({"day": ["Mon", "Sun"], "open": ["no", "yes"]})
    return {"name": "desk", "target": "open", "domain": domain, "eps": 40, "dataset": "shops", "ledger": ledger}


def test_a_session_of_predictions_over_a_frame(tmp_path, shops):
    planned = dpqr.open_predictions(ROWS, **shops, n=400, dry_run=True)
    assert planned.record["form"]["draws"] == 100
    session = dpqr.open_predictions(ROWS, **shops, n=400, predictions=3)
    found = session.ask(pd.DataFrame({"day": ["Sun", "Mon"]}))
    assert (list(found.columns), found["prediction"].tolist()) == (["prediction", "score"], ["no", "yes"])
    assert session.status().left == 1
    again = dpqr.PredictionSession(name="desk", ledger=str(tmp_path / "l.sqlite"))
    with pytest.raises(dpqr.UsageFault, match="in memory"):
        again.ask(pd.DataFrame({"day": ["Sun"]}))
    closed = session.close(tmp_path / "p.csv")
    assert closed.table["prediction"].tolist() == ["no", "yes"]
    assert (tmp_path / "p.csv").is_file()


def test_a_session_by_a_plan_that_was_saved(tmp_path, shops):
    path = tmp_path / "lock.json"
    planned = dpqr.open_predictions(ROWS, **shops, n=400, predictions=3, dry_run=True)
    planned.save(path)
    paid = {name: value for name, value in shops.items() if name in ("name", "dataset", "ledger")}
    assert dpqr.open_predictions(ROWS, plan=path, **paid).status().points == 3
    with pytest.raises(dpqr.UsageFault, match="is of a session"):
        dpqr.predict(ROWS, plan=path, points=ROWS[["day"]].copy())


def test_points_that_are_the_private_table_and_options_of_other_commands_are_refused(shops):
    with pytest.raises(dpqr.UsageFault, match="before its points are known"):
        dpqr.open_predictions(ROWS, **shops, points=ROWS[["day"]])
    session = dpqr.open_predictions(ROWS, **shops, n=400)
    with pytest.raises(dpqr.UsageFault, match="private table"):
        session.ask(ROWS)
    assert session.close() is None
