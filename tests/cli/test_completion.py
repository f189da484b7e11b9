"""Completion of commands, options, files, datasets, topics and strategies; it never fails loudly."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from dpqr.cli.completion import SHELLS, VARIABLE
from dpqr.cli.main import COMMANDS, main
from dpqr.report.guide import TOPICS


def completed(*arguments):
    """(type, value) of what the last argument is completed to."""
    *before, incomplete = arguments
    found = ShellComplete(main, {}, "dpqr", VARIABLE).get_completions(list(before), incomplete)
    return [(item.type, item.value) for item in found]


def values(*arguments):
    return [value for _, value in completed(*arguments)]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell(desk, shell):
    ended = desk.run("completion", shell)
    assert (ended.code, ended.err) == (0, "")
    assert f"{VARIABLE}={shell}_complete" in ended.out


def test_another_shell_is_refused(desk):
    assert desk.run("completion", "tcsh").code == 2


def test_a_shell_gets_what_it_asks_for(desk):
    asked = {VARIABLE: "bash_complete", "COMP_WORDS": "dpqr release --neigh", "COMP_CWORD": "2"}
    ended = desk.run(env=asked)
    assert (ended.code, ended.out, ended.err) == (0, "plain,--neighbours\n", "")


def test_commands_and_options():
    assert values("") == list(COMMANDS)
    assert values("budget", "in") == ["init"]
    assert values("release", "--if") == ["--if-exists"]
    assert values("release", "--if-exists", "") == ["skip", "fail", "replace"]
    assert values("guide", "") == list(TOPICS)
    assert "theory" in values("release", "--schedule", "th")
    assert values("release", "--accountant", "zc") == ["zcdp"]


def test_files_by_their_endings(desk):
    desk.write(t__csv="", other__txt="", old__sqlite="")
    assert values("release", "--queries", "") == ["q.json"]
    assert values("release", "") == ["t.csv", "table.csv"]
    assert values("release", "--ledger", "o") == ["old.sqlite"]
    assert completed("release", "--queries", "x") == [("file", "x")]
    desk.put("deep/q.json", "{}")
    assert completed("release", "--queries", "") == [("file", "")]
    assert values("release", "--queries", "deep/") == ["deep/q.json"]
    assert completed("release", "--queries", "no/such/") == [("file", "no/such/")]


def test_datasets_of_the_ledger(desk, monkeypatch):
    for name in ("survey", "sales", "visits"):
        assert desk.run("budget", "init", name, "--eps", "5", "--ledger", "l.sqlite").code == 0
    assert values("release", "--ledger", "l.sqlite", "--dataset", "s") == ["survey", "sales"]
    assert values("budget", "show", "--ledger", "l.sqlite", "") == ["survey", "sales", "visits"]
    desk.put("dpqr.toml", 'ledger = "l.sqlite"')
    assert values("release", "--dataset", "v") == ["visits"]
    monkeypatch.setenv("DPQR_LEDGER", "nowhere.sqlite")
    assert values("release", "--dataset", "v") == []


@pytest.mark.parametrize("text", ["", "no ledger", "SQLite format 3\0"])
def test_a_damaged_ledger_or_settings_complete_nothing_quietly(desk, capfd, text):
    desk.put("l.sqlite", text)
    desk.put("dpqr.toml", "datset = 1")
    assert values("release", "--ledger", "l.sqlite", "--dataset", "") == []
    assert capfd.readouterr() == ("", "")


def test_no_completion_opens_a_connection(desk, monkeypatch):
    def connect(*_, **__):
        raise AssertionError("a completion connects")

    monkeypatch.setattr("socket.socket.connect", connect)
    psycopg = pytest.importorskip("psycopg")
    monkeypatch.setattr(psycopg, "connect", connect)
    monkeypatch.setattr("dpqr.ledger.postgres.PostgresStore.opened", connect, raising=False)
    server = "postgresql://owner@127.0.0.1:1/budgets"
    assert values("release", "--ledger", server, "--dataset", "") == []
    assert values("budget", "show", "--ledger", server, "") == []
    monkeypatch.setenv("DPQR_LEDGER", server)
    assert values("predict", "--dataset", "s") == []
    for text in ("postgresql://127.0.0.1:1/b?table=", "duckdb:", "spark:"):
        assert completed("release", text) == [("file", text)]
        assert completed("budget", "policy", "survey", "--source", text) == []
