"""Exports from Python."""

import pandas as pd
import pytest

import dpqr


def test_a_release_becomes_tables(tmp_path):
    table = pd.DataFrame({"a": [0, 1, 2]})
    made = dpqr.release(table, queries=dpqr.queries().marginal("a"), domain={"a": 3}, eps=1)
    made.save(tmp_path / "out")
    found = dpqr.export(tmp_path / "out", duckdb=tmp_path / "out.db")
    assert found.tables["answers"] == 3
    with pytest.raises(dpqr.AlreadyThere):
        dpqr.export(tmp_path / "out", duckdb=tmp_path / "out.db")
    with pytest.raises(dpqr.UsageFault):
        dpqr.export(tmp_path / "out", duckdb=tmp_path / "out.db", if_exists="maybe")
