"""With --json every failure is one object on stdout too; the line on stderr stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from support.command_desk import PRIVATE

from dpqr.cli.endings import UNEXPECTED, ending_of, failure_document
from dpqr.kernel.errors import STAYS_SPENT, AlreadyThere, DocumentError, GoalMissed, LedgerError, UsageFault

SECRET = " ".join(PRIVATE)
LEDGER = ("--dataset", "survey", "--ledger", "l.sqlite")


def failed(ended):
    """The object; the human line must say the same."""
    (error,) = ended.json.values()
    assert error["code"] == ended.code
    assert ended.err.startswith("dpqr: ")
    assert error["what"].split(" ")[0] in ended.err
    for hidden in ("Traceback", *PRIVATE):
        assert hidden not in ended.out + ended.err
    return error


def test_a_fault_of_a_document_names_its_place(desk):
    desk.write(q__json={"domain": {"age": 3}, "queries": [{"marginal": ["agee"]}]})
    error = failed(desk.release("--json"))
    assert error["code"] == 3
    assert error["kind"] == "DocumentError"
    assert error["where"] == "q.json: $.queries[0].marginal[0]"
    assert error["fix"] == "did you mean 'age'?"


def test_every_fault_of_the_documents_is_listed(desk):
    desk.write(q__json={"domain": {"age": 3}, "queries": [{"marginal": ["agee"]}, {"marginal": ["aeg"]}]})
    error = failed(desk.release("--json"))
    assert (error["what"], error["where"], error["fix"]) == ("2 faults in q.json", None, None)
    assert [fault["path"] for fault in error["faults"]] == ["$.queries[0].marginal[0]", "$.queries[1].marginal[0]"]
    assert {(fault["document"], fault["line"]) for fault in error["faults"]} == {("q.json", 1)}


def test_an_option_that_does_not_exist(desk):
    error = failed(desk.release("--json", "--epsilon", "1"))
    assert (error["code"], error["kind"], error["what"]) == (2, "UsageFault", "no such option '--epsilon'")
    assert error["fix"].endswith("\nsee: dpqr release --help")


def test_what_took_the_place_of_an_older_option(desk):
    assert desk.release("--force", "--out", "o").err.startswith(
        "dpqr: no such option '--force' any more; give --if-exists replace\n"
    )


def test_a_command_without_that_option_does_not_name_it(desk):
    assert desk.run("predict", "t.csv", "--force").err.startswith("dpqr: no such option '--force'\nsee: ")


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (("release", "nowhere.csv", "--queries", "q.json", "--eps", "1"), 5, "DataError"),
        (("release", "table.csv", "--queries", "q.json", "--eps", "0"), 2, "UsageFault"),
        (("release", "table.csv", "--eps", "1"), 2, "UsageFault"),
        (("release", "table.csv", "--queries", "q.json", "--eps", "1", "--max-cells", "10", "--no-replay"), 3, None),
        (("release", "table.csv", "--queries", "q.json", "--eps", "9", *LEDGER), 4, "BudgetRefused"),
        (("budget", "show", "nothing", "--ledger", "l.sqlite"), 2, "UsageFault"),
        (("budget", "verify", "--ledger", "q.json"), 7, "LedgerError"),
        (("check", "--queries", "nowhere.json"), 2, "UsageFault"),
        (("predict", "table.csv"), 2, "UsageFault"),
        (("evaluate", "table.csv", "nowhere", "--queries", "q.json"), 2, "UsageFault"),
        (("audit", "--case", "nothing"), 2, "UsageFault"),
        (("strategies", "--n", "3"), 2, "UsageFault"),
        (("releese",), 2, "UsageFault"),
    ],
    ids=lambda each: " ".join(each[:2]) if isinstance(each, tuple) else "",
)
def test_every_command_fails_as_an_object(desk, arguments, code, kind):
    assert desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite").code == 0
    error = failed(desk.run(*arguments, "--json"))
    assert error["code"] == code
    assert kind in (None, error["kind"])
    plain = desk.run(*arguments)
    assert (plain.code, plain.out) == (code, "")


@pytest.mark.parametrize(
    ("fault", "code", "kind"),
    [
        (ValueError(SECRET), 1, "UnexpectedFault"),
        (MemoryError(SECRET), 3, "MemoryError"),
        (KeyboardInterrupt(SECRET), 130, "Interrupted"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_an_unexpected_end_tells_nothing(desk, monkeypatch, fault, code, kind):
    def broken(*_, **__):
        raise fault

    monkeypatch.setattr("dpqr.releases.release.load_table", broken)
    error = failed(desk.release("--json"))
    assert (error["code"], error["kind"], error["faults"]) == (code, kind, [])


def test_what_becomes_of_a_paid_run_is_a_note(desk, monkeypatch):
    assert desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite").code == 0
    monkeypatch.setattr("dpqr.releases.release.iterative_construction", lambda *_: 1 / 0)
    error = failed(desk.release("--json", *LEDGER))
    assert error["message"] == UNEXPECTED
    assert error["notes"] == [STAYS_SPENT]


def test_stdout_holds_one_document_at_most(desk, monkeypatch):
    """A check that has printed what it found fails without a second document."""

    def missed(*_):
        raise GoalMissed("the largest error is above the goal")

    monkeypatch.setattr("dpqr.report.evaluation.require_goals", missed)
    assert desk.release("--out", "out").code == 0
    ended = desk.run("evaluate", "table.csv", "out", "--queries", "q.json", "--json")
    assert ended.code == 6
    assert "error" not in ended.json


def test_without_a_stdout_that_takes_it_the_code_stays(desk, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpqr.cli.endings.product_json", full)
    assert desk.release("--json", eps="0").code == 2


TERMINATED = """
import os, signal, sys, time
from dpqr.releases import release
from dpqr.cli.main import run

def ended(*_, **__):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)

release.load_table = ended
sys.argv = ["dpqr", "release", "table.csv", "--queries", "q.json", "--eps", "1", "--json"]
run()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_the_code_of_a_signal_is_the_one_of_the_process(desk):
    done = subprocess.run([sys.executable, "-c", TERMINATED], cwd=desk.path, capture_output=True, text=True)
    assert done.returncode == 128 + signal.SIGTERM
    assert json.loads(done.stdout)["error"]["code"] == done.returncode


@pytest.mark.parametrize(
    ("error", "where", "what", "fix"),
    [
        (UsageFault("--out a/b: the file exists; choose another"), "--out a/b", "the file exists", "choose another"),
        (DocumentError("column 'a': no rule\nadd one"), "column 'a'", "no rule", "add one"),
        (DocumentError('d.json: $["a b"][0].c: no; x: y'), 'd.json: $["a b"][0].c', "no", "x: y"),
        (LedgerError("a checkpoint of another state"), None, "a checkpoint of another state", None),
        (UsageFault("no: such; do\nso"), None, "no: such", "do\nso"),
        (AlreadyThere("--out : exists; x"), None, "--out : exists", "x"),
        (UsageFault(""), None, "", None),
    ],
    ids=lambda each: str(each)[:20],
)
def test_parts_of_a_message(error, where, what, fix):
    document = failure_document(ending_of(error), error.exit_code)
    assert (document["where"], document["what"], document["fix"]) == (where, what, fix)
    assert document["message"] == str(error)
