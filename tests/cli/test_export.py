"""`dpqr export`: what is said, and the exit codes."""

import sys

import pytest


@pytest.fixture
def released(desk):
    assert desk.release("--out", "out").code == 0
    return desk


def test_an_export_says_what_it_wrote(released):
    ended = released.run("export", "out", "--duckdb", "out.db")
    assert (ended.code, ended.out) == (0, "")
    said = ended.err.splitlines()
    assert said[0] == "note: no table of synthetic rows: the release holds none; make it with --synthetic rows"
    assert said[1].startswith("exported to out.db: answers (13 rows), columns (3 rows), cells (10 rows), facts (")
    again = released.run("export", "out", "--duckdb", "out.db")
    assert again.code == 8
    assert "--duckdb out.db: the file exists" in again.err
    assert released.run("export", "out", "--duckdb", "out.db", "--if-exists", "skip").err == (
        "note: out.db holds this release already\n"
    )


def test_without_duckdb_one_line_says_what_to_install(released, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    ended = released.run("export", "out", "--duckdb", "out.db")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "pip install 'dpqr[duckdb]'" in ended.err
