"""How commands end when something breaks: constant words, the right exit code, nothing private, nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from desk import PRIVATE
from refusals import assert_refusal

from dpqr.cli.main import NO_MEMORY, UNEXPECTED
from dpqr.errors import BudgetRefused

DPQR = (sys.executable, "-m", "dpqr")
RELEASE = ("release", "table.csv", "--queries", "q.json", "--eps", "1")
SECRET = " ".join(PRIVATE)


def breaking(error):
    def broken(*_, **__):
        raise error

    return broken


PLACES = [
    "dpqr.app.release.plan_release",
    "dpqr.app.release.check_table",
    "dpqr.app.release.load_table",
    "dpqr.app.release.iterative_construction",
    "dpqr.app.release.assemble",
    "dpqr.app.release.write_release",
    "dpqr.io.outputs.release_directory.answer_tables",
    "dpqr.io.outputs.release_directory.release_document",
    "dpqr.strategies.updates.multiplicative_weights.MultiplicativeWeights.update",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (ValueError(SECRET), 1, UNEXPECTED),
        (KeyError(SECRET), 1, UNEXPECTED),
        (AssertionError(SECRET), 1, UNEXPECTED),
        (SystemExit(SECRET), 1, UNEXPECTED),
        (MemoryError(SECRET), 3, NO_MEMORY),
        (KeyboardInterrupt(SECRET), 130, "interrupted"),
        (BudgetRefused("the run asks for more than was set aside"), 4, "more than was set aside"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_a_crash_tells_nothing_and_leaves_nothing(desk, monkeypatch, place, error, code, says):
    before = desk.everything()
    monkeypatch.setattr(place, breaking(error))
    assert_refusal(desk.run(*RELEASE, "--out", "out"), code, says)
    assert desk.everything() == before


@pytest.mark.parametrize("error", [ValueError(SECRET), MemoryError(SECRET), SystemExit(SECRET)], ids=repr)
def test_a_crash_inside_the_gate(desk, monkeypatch, error):
    before = desk.everything()
    monkeypatch.setattr("dpqr.mechanisms.noisy_answers.LaplaceAnswers.sample", breaking(error))
    assert_refusal(desk.run(*RELEASE, "--out", "out"), 1, "a mechanism failed on the private table")
    assert desk.everything() == before


def test_a_full_disk_leaves_no_draft(desk, monkeypatch):
    before = desk.everything()
    monkeypatch.setattr(
        "dpqr.io.outputs.release_directory.write_tables", breaking(OSError(28, "No space left on device", SECRET))
    )
    assert_refusal(desk.run(*RELEASE, "--out", "out"), 2, "--out out: cannot be written (No space left on device)")
    assert desk.everything() == before


def test_a_name_with_line_ends_and_terminal_codes_is_shown_escaped(desk):
    ended = desk.release(data="a\x1b[31m\nb.csv")
    assert_refusal(ended, 5, "a\\x1b[31m")
    assert "\x1b" not in ended.err


def test_a_long_line_is_cut_in_its_middle(desk):
    ended = desk.release(data="a" * 150 + "\x1b" * 100 + "z.csv")
    assert_refusal(ended, 5, "z.csv does not exist or cannot be reached; check the path and its permissions")
    (line,) = ended.err.splitlines()
    assert len(line) == 400
    assert line.startswith("dpqr: " + "a" * 150 + "\\x1b")


def ran(desk, *arguments, **more):
    return subprocess.run([*DPQR, *arguments], cwd=desk.path, capture_output=True, text=True, **more)


SIGNALLED = """
import os, signal, time
from dpqr.app import release
from dpqr.cli.main import main

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job starts with it ignored

def interrupted(*_, **__):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)

release.load_table = interrupted
main({arguments!r})
"""


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_ctrl_c_while_the_table_is_read(desk):
    before = desk.everything()
    script = SIGNALLED.format(arguments=[*RELEASE, "--out", "out"])
    done = subprocess.run([sys.executable, "-c", script], cwd=desk.path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "dpqr: interrupted\n")
    assert desk.everything() == before


@pytest.mark.parametrize(
    "arguments", [(*RELEASE, "--json"), ("schema", "queries"), ("release", "--help")], ids=" ".join
)
def test_a_reader_that_leaves_is_no_error(desk, arguments):
    run = subprocess.Popen([*DPQR, *arguments], cwd=desk.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    run.stdout.close()
    err = run.stderr.read().decode()
    run.stderr.close()
    assert run.wait() == 0, err
    for word in ("Traceback", "Exception ignored", "dpqr: "):
        assert word not in err


def test_a_closed_standard_error_does_not_stop_a_release(desk):
    command = " ".join([*DPQR, *RELEASE, "--out", "out", "--progress", "json", "2>&-"])
    assert subprocess.run(command, cwd=desk.path, shell=True).returncode == 0
    assert (desk.path / "out" / "release.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_standard_output_that_cannot_be_written(desk):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*DPQR, "schema", "domain"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("dpqr: standard output cannot be written (No space left on device)")


def test_a_label_that_the_encoding_lacks_does_not_stop_a_release(desk):
    domain = {"fields": [{"name": "sex", "type": "string", "constraints": {"enum": ["F", "\u03a9"]}}]}
    desk.write(q__json={"domain": domain, "queries": [{"name": "\u03a9", "marginal": ["sex"]}]})
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    shown = ran(desk, *RELEASE, env=env)
    assert shown.returncode == 0
    assert "sex=\\u03a9" in shown.stdout
    plan = ran(desk, *RELEASE, "--dry-run", "--json", env=env)
    assert json.loads(plan.stdout)["workload"]["blocks"][0]["name"] == "\u03a9"


BUSY = """
import threading, time
from dpqr.cli import main

threading.Thread(target=time.sleep, args=(60,)).start()
main.run()
"""


def test_the_end_waits_for_no_thread_and_loses_no_output():
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", BUSY, "schema", "domain"], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)
    done = subprocess.run([sys.executable, "-c", BUSY, "schema", "data"], capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dpqr: ")
    assert time.perf_counter() - began < 50
