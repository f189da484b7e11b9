"""Sessions of questions from Python, over a table in memory."""

import pandas as pd
import pytest

import dpqr

ROWS = pd.DataFrame({"day": ["Mon", "Sun"] * 200, "open": ["yes", "no"] * 200})


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
