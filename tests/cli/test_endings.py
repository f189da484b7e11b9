"""How commands end when something breaks: constant words, the right exit code, nothing private, nothing left behind."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.cases import slowly
from support.command_desk import DOMAIN, PRIVATE
from support.refusal_form import assert_refusal

from dpqr.cli.endings import NO_MEMORY, UNEXPECTED
from dpqr.kernel.errors import BudgetRefused

pytestmark = pytest.mark.slow  # nearly every test starts a process

DPQR = (sys.executable, "-m", "dpqr")
RELEASE = ("release", "table.csv", "--queries", "q.json", "--eps", "1")
SECRET = " ".join(PRIVATE)


def breaking(error):
    def broken(*_, **__):
        raise error

    return broken


PLACES = [
    "dpqr.releases.release.plan_with_documents",
    "dpqr.releases.release.check_table",
    "dpqr.releases.release.load_table",
    "dpqr.releases.release.iterative_construction",
    "dpqr.releases.release.assemble",
    "dpqr.releases.release.write_release",
    "dpqr.releases.release.answer_tables",
    "dpqr.releases.release.release_document",
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
        "dpqr.releases.files.tidy.CsvFiles.write", breaking(OSError(28, "No space left on device", SECRET))
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


full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
LEDGER = ("--dataset", "survey", "--ledger", "l.sqlite")
PREDICT = ("predict", "table.csv", "--target", "sex", "--domain", "domain.json", "--eps", "1", "--n", "5")


@pytest.fixture
def survey(desk):
    desk.write(domain__json=DOMAIN, p__csv="age,income\n30,100\n")
    assert desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite").code == 0
    return desk


def in_shell(desk, redirected, *arguments):
    command = f"{shlex.join([*DPQR, *arguments])} {redirected}"
    return subprocess.run(command, cwd=desk.path, shell=True, capture_output=True, text=True)


def entries(desk):
    return [one["entry"] for one in desk.run("budget", "history", "--json", "--ledger", "l.sqlite").json]


@full_device
@pytest.mark.parametrize(
    "arguments",
    [
        (*RELEASE, *LEDGER, "--out", "out"),
        ("budget", "verify", "--ledger", "l.sqlite"),
        *slowly(
            (*RELEASE, *LEDGER, "--out", "out", "--progress", "json"),
            (*RELEASE, *LEDGER),
            (*RELEASE, *LEDGER, "--json"),
            (*PREDICT, *LEDGER, "--points", "p.csv", "--out", "guess.csv"),
            (*PREDICT, *LEDGER, "--points", "p.csv"),
            (*PREDICT, *LEDGER, "--release", "function", "--out", "model.json"),
            ("domain", "table.csv", "--out", "new.json"),
        ),
    ],
    ids=" ".join,
)
def test_a_standard_error_that_takes_nothing_changes_nothing(survey, arguments):
    for redirected in ("2>/dev/full", "2>&-"):
        assert in_shell(survey, redirected, *arguments).returncode == 0
        if "survey" in arguments:
            assert entries(survey)[-1] == "settle"
        for made in ("out", "guess.csv", "guess.csv.record.json", "model.json", "new.json"):
            path = survey.path / made
            if made in arguments or (made == "guess.csv.record.json" and "guess.csv" in arguments):
                path.rename(survey.path / f"{made}.{len(entries(survey))}.{redirected[-1]}.kept")
        assert not list(survey.path.glob("**/*.transcript"))


@full_device
def test_a_refusal_that_nobody_can_read_keeps_its_code(desk):
    for redirected in ("2>/dev/full", "2>&-"):
        assert in_shell(desk, redirected, *RELEASE, "--out", "no/out").returncode == 2
        assert in_shell(desk, redirected).returncode == 2


@full_device
@pytest.mark.parametrize("redirected", [">&-", *slowly(">/dev/full", "1<q.json")])
@pytest.mark.parametrize(
    "arguments",
    [
        (*RELEASE, *LEDGER),
        (*RELEASE, *LEDGER, "--json", "--out", "out"),
        (*PREDICT, *LEDGER, "--points", "p.csv"),
        ("budget", "init", "other", "--eps", "1", "--ledger", "l.sqlite"),
        ("budget", "show", "--ledger", "l.sqlite"),
        ("check", "--queries", "q.json"),
        ("strategies",),
        ("schema", "domain"),
    ],
    ids=" ".join,
)
def test_a_standard_output_that_takes_nothing_is_found_before_anything_is_spent(survey, arguments, redirected):
    before, entered = survey.everything(), entries(survey)
    ended = in_shell(survey, redirected, *arguments)
    assert ended.returncode == 2
    assert ended.stderr.startswith("dpqr: standard output ")
    assert len(ended.stderr.splitlines()) == 1
    assert (survey.everything(), entries(survey)) == (before, entered)


@full_device
def test_a_help_text_that_cannot_be_written_is_no_bug(desk):
    for arguments in (("--help",), ("release", "--help"), ("--version",)):
        ended = in_shell(desk, ">/dev/full", *arguments)
        assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)


@pytest.mark.slow
def test_without_a_product_there_standard_output_may_be_closed(survey):
    assert in_shell(survey, "0<&- 1>&- 2>&-", *RELEASE, "--out", "out").returncode == 0
    assert (survey.path / "out" / "release.json").exists()
    assert in_shell(survey, ">&-", *PREDICT, "--release", "function", "--out", "model.json").returncode == 0


def test_standard_input_that_is_closed_holds_no_table(desk):
    ended = in_shell(desk, "0<&-", "release", "-", "--queries", "q.json", "--eps", "1")
    assert (ended.returncode, ended.stdout) == (5, "")
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*RELEASE, *LEDGER), "the run is finished and paid, and what it released is lost; --out keeps it"),
        ((*RELEASE, *LEDGER, "--json", "--out", "out"), "the run is finished: its product is in out"),
        ((*PREDICT, *LEDGER, "--points", "p.csv"), "the run is finished and paid, and what it released is lost"),
    ],
    ids=["release", "directory", "predict"],
)
def test_a_disk_that_is_full_after_the_run_gives_nothing_back(survey, monkeypatch, arguments, says):
    def full(message=None, *, err=False, **_):
        if not err:
            raise OSError(28, "No space left on device")
        sys.stderr.write(f"{message}\n")

    with monkeypatch.context() as patched:
        patched.setattr("dpqr.cli.streams.click.echo", full)
        ended = survey.run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    first, second = ended.err.splitlines()[-2:]
    assert first.startswith("dpqr: standard output cannot be written (No space left on device)")
    assert second.startswith(says)
    assert entries(survey)[-1] == "settle"
    assert survey.run("budget", "show", "survey", "--json", "--ledger", "l.sqlite").json[0]["spent"]["exact"] == "1"


def test_names_of_outputs_are_shown_escaped(survey):
    odd = "o\x1b[31m\x9b2J\u202e\nx"
    for arguments in (
        (*RELEASE, "--out", odd),
        (*PREDICT, "--points", "p.csv", "--out", f"{odd}.csv"),
        (*PREDICT, "--release", "function", "--out", f"{odd}.json"),
        ("domain", "table.csv", "--out", f"{odd}.domain"),
    ):
        ended = survey.run(*arguments)
        assert ended.code == 0, ended.err
        assert "o\\x1b[31m\\x9b2J\\u202e\\nx" in ended.err
        assert not {"\x1b", "\x9b", "\u202e"} & set(ended.err)


MARKED = {"name": "sex", "type": "string", "constraints": {"enum": ["[red]F[/red]", "[/]", ":smile:", "\x1b[2J\x9b"]}}


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--json",), ("--dry-run", "--json"), ("--out", "out")])
def test_labels_and_names_are_neither_markup_nor_codes(desk, more):
    block = {"name": "[bold]\x1b]0;x\x07", "marginal": ["sex"]}
    desk.write(q__json={"domain": {"fields": [MARKED]}, "queries": [block]})
    ended = desk.release(*more)
    assert ended.code == 0, ended.err
    assert not {"\x1b", "\x9b", "\x07"} & set(ended.out + ended.err)
    if not more:
        for label in ("[red]F[/red]", "[/]", ":smile:", "\\x1b[2J\\x9b", "[bold]"):
            assert label in ended.out
    if more == ("--json",):
        assert {answer["sex"] for answer in ended.json["answers"]} == set(MARKED["constraints"]["enum"])


def test_predicted_labels_are_shown_escaped(desk):
    labels = ["[red]F", "\x1b[2J"]
    fields = [{**MARKED, "constraints": {"enum": labels}}, *DOMAIN["fields"][1:]]
    desk.write(domain__json={"fields": fields}, p__csv="age,income\n30,100\n")
    for learner in ("logistic", "aggregate"):
        ended = desk.run(*PREDICT, "--points", "p.csv", "--learner", learner)
        assert ended.code == 0, ended.err
        assert ended.out.strip() in {"[red]F", "\\x1b[2J"}


@pytest.mark.slow
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


LOUD = """
import sys, threading, warnings
from dpqr.releases import release
from dpqr.cli.main import run

original = release.load_table

class Unraisable:
    def __del__(self):
        raise ValueError({secret!r})

def failing():
    raise ValueError({secret!r})

def loud(*given, **more):
    warnings.warn({secret!r})
    Unraisable()
    thread = threading.Thread(target=failing)
    thread.start()
    thread.join()
    return original(*given, **more)

release.load_table = loud
sys.argv = ["dpqr", *{arguments!r}]
run()
"""


@pytest.mark.parametrize("more", [{}, *slowly({"PYTHONWARNINGS": "error"})], ids=["plain", "strict"])
def test_nothing_else_writes_to_standard_error(desk, more):
    script = LOUD.format(secret=SECRET, arguments=[*RELEASE, "--out", "out"])
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=desk.path, capture_output=True, text=True, env={**os.environ, **more}
    )
    assert done.returncode == 0, done.stderr
    for hidden in ("UserWarning", "Exception", "Traceback", *PRIVATE):
        assert hidden not in done.stderr


def test_another_pipe_that_breaks_is_no_reader_that_leaves(desk, monkeypatch):
    monkeypatch.setattr("dpqr.releases.release.load_table", breaking(BrokenPipeError(32, SECRET)))
    assert_refusal(desk.run(*RELEASE, "--out", "out"), 1, UNEXPECTED)
