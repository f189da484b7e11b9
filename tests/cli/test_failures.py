"""With --json every failure is one object on stdout too; the line on stderr stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from support.cases import in_one_test
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


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_the_code_of_a_signal_is_the_one_of_the_process(desk):
    done = subprocess.run([sys.executable, "-c", TERMINATED], cwd=desk.path, capture_output=True, text=True)
    assert done.returncode == 128 + signal.SIGTERM
    assert json.loads(done.stdout)["error"]["code"] == done.returncode


@in_one_test(
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
)
def test_parts_of_a_message(error, where, what, fix):
    document = failure_document(ending_of(error), error.exit_code)
    assert (document["where"], document["what"], document["fix"]) == (where, what, fix)
    assert document["message"] == str(error)
