"""SIGTERM, SIGHUP, SIGINT: a process that is asked to end says so, pays, keeps its transcript and frees its locks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from support.cases import slowly
from support.command_desk import TABLE

from dpqr.kernel.errors import STAYS_SPENT

pytestmark = [
    pytest.mark.slow,  # every test starts a process
    pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there"),
]

RELEASE = ("release", "table.csv", "--queries", "q.json", "--eps", "1", "--out", "out")
PAID = (*RELEASE, "--dataset", "survey", "--ledger", "l.sqlite")
WAITS = "the release is paid and waits: the same command with --resume continues it"

STOPPED = """
import os, signal, sys, time
from importlib import import_module
from dpqr.releases.paying import PaidRun
from dpqr.cli.main import run

place, name, before, number = {moment!r}
module = import_module(place)
owner = module
for part in name.split(".")[:-1]:
    owner = getattr(owner, part)
last = name.split(".")[-1]
original = getattr(owner, last)
calls = [0]

def hit():
    calls[0] += 1
    if calls[0] == number:
        os.kill(os.getpid(), {signal})
        time.sleep(60)

def stopped(*given, **more):
    if before:
        hit()
    done = original(*given, **more)
    if not before:
        hit()
    return done

def failed(self, error):
    for _ in range({more}):
        os.kill(os.getpid(), {signal})
    ended(self, error)

ended, PaidRun.failed = PaidRun.failed, failed
setattr(owner, last, stopped)
sys.argv = ["dpqr", *{arguments!r}]
run()
"""

HEARD = """
import signal
for each in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
"""A suite that was started in the background may ignore signals, and its children would, too."""

PLANNING = ("dpqr.releases.release", "checked_plan", True, 1)
RESERVED = ("dpqr.releases.paying", "PaidRun.look", True, 1)
READING = ("dpqr.tables.counting", "tally", False, 1)
DRAWING = ("dpqr.mechanisms.noisy_answers", "LaplaceAnswers.sample", False, 2)
BETWEEN = ("dpqr.strategies.updates.multiplicative_weights", "MultiplicativeWeights.update", True, 1)
WRITING = ("dpqr.releases.release", "release_document", True, 1)
PUBLISHED = ("dpqr.releases.release", "write_release", False, 1)


def stopped(desk, moment, arguments=PAID, number=signal.SIGTERM, more=0):
    script = HEARD + STOPPED.format(moment=moment, arguments=list(arguments), signal=int(number), more=more)
    return subprocess.run(
        [sys.executable, "-c", script], cwd=desk.path, capture_output=True, text=True, timeout=50, check=False
    )


@pytest.fixture
def survey(desk):
    assert desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite").code == 0
    return desk


def entries(desk):
    lines = desk.run("budget", "history", "--json", "--ledger", "l.sqlite").json
    return [entry["entry"] for entry in lines if entry["entry"] in {"reserve", "settle"}]


def spent(desk):
    return desk.run("budget", "show", "survey", "--json", "--ledger", "l.sqlite").json[0]["spent"]


def assert_quiet(done, code=143):
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.startswith("dpqr: interrupted\n")
    assert len(done.stderr.splitlines()) <= 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
@pytest.mark.parametrize("moment", [PLANNING, RESERVED, READING, DRAWING, BETWEEN, WRITING])
def test_without_a_ledger_nothing_is_left_behind(desk, moment, number, code):
    before = desk.everything()
    done = stopped(desk, moment, RELEASE, number)
    assert_quiet(done, code)
    assert done.stderr == "dpqr: interrupted\n"
    assert desk.everything() == before


def test_before_the_reservation_nothing_is_paid(survey):
    assert_quiet(stopped(survey, PLANNING))
    assert entries(survey) == []


def test_before_the_table_is_looked_at_the_reservation_comes_back(survey):
    assert_quiet(stopped(survey, RESERVED))
    assert entries(survey) == ["reserve", "settle"]
    assert survey.release("--out", "out", "--dataset", "survey", "--ledger", "l.sqlite").code == 0


@pytest.mark.parametrize("moment", [DRAWING, *slowly(BETWEEN, WRITING)])
def test_after_the_first_draw_the_run_is_paid_and_can_be_continued(survey, moment):
    done = stopped(survey, moment)
    assert_quiet(done)
    assert done.stderr.splitlines()[1] == WAITS
    assert entries(survey) == ["reserve"]
    paid = spent(survey)
    assert (survey.path / ".out.transcript").stat().st_size > 0
    assert not (survey.path / "out").exists()
    again = survey.run(*PAID, "--resume")
    assert again.code == 0, again.err
    assert entries(survey) == ["reserve", "settle"]
    assert spent(survey) == paid
    assert json.loads((survey.path / "out" / "release.json").read_text())["dpqr"] == "release/1"


def test_after_the_release_is_in_its_place_only_the_settlement_is_missing(survey):
    done = stopped(survey, PUBLISHED)
    assert_quiet(done)
    assert done.stderr.splitlines()[1] == WAITS
    published = (survey.path / "out" / "answers.csv").read_bytes()
    assert survey.run(*PAID, "--resume").code == 0
    assert (survey.path / "out" / "answers.csv").read_bytes() == published
    assert entries(survey) == ["reserve", "settle"]


def test_whoever_asks_more_than_once_stops_no_cleanup(survey):
    done = stopped(survey, BETWEEN, more=3)
    assert_quiet(done)
    assert done.stderr.splitlines()[1] == WAITS
    assert survey.run(*PAID, "--resume").code == 0


def test_what_the_caller_ignores_stays_ignored(desk):
    script = "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    script += STOPPED.format(moment=PLANNING, arguments=list(RELEASE), signal=int(signal.SIGHUP), more=0)
    done = subprocess.run(
        [sys.executable, "-c", script.replace("time.sleep(60)", "pass")],
        cwd=desk.path,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0
    assert (desk.path / "out" / "release.json").exists()


def test_a_process_that_is_killed_from_outside_while_it_waits_for_its_table(survey):
    run = subprocess.Popen(
        [sys.executable, "-m", "dpqr", *(("-" if each == "table.csv" else each) for each in PAID)],
        cwd=survey.path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert run.stdin
    run.stdin.write(TABLE.encode() + b"F,31,100.5,2024-01-05\n" * 10_000)  # more than one piece: the header is read
    run.stdin.flush()
    deadline = time.monotonic() + 40
    while not entries(survey) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert entries(survey) == ["reserve"]
    run.terminate()
    out, err = run.communicate(timeout=40)
    assert (run.returncode, out) == (143, b"")
    assert err.decode().splitlines() == ["dpqr: interrupted", STAYS_SPENT]
    assert entries(survey) == ["reserve", "settle"]
    assert not (survey.path / "out").exists()
    assert survey.release("--dataset", "survey", "--ledger", "l.sqlite", "--out", "next").code == 0
