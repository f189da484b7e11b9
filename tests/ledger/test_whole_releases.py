"""Whole releases that pay from one ledger in PostgreSQL: races, kills, restarts of the server, lost connections."""

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from support.cut_connections import AFTER, BEFORE, DURING, Door
from support.ledger_jobs import SERVER, store_of
from support.paid_releases import continue_all, lay, run, unsound
from support.process_races import run_module

from dpqr.kernel.errors import LedgerError

pytestmark = pytest.mark.slow
pytest.importorskip("psycopg")

JOBS, FITTING = 16, 7


@pytest.fixture
def desk(server, tmp_path, monkeypatch):
    """A table and its queries; its ledger will be on the server."""
    monkeypatch.setenv(SERVER, f"postgresql://owner@/postgres?host={server.folder}")
    return tmp_path


def require_no_lock(server, directory):
    """Nobody holds the ledger, and the next release has not to wait."""
    assert server.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'dpqr'") == [(0,)]
    began = time.monotonic()
    run(directory, out="last", epsilon="0.01")
    assert time.monotonic() - began < 20


def test_sixteen_processes_release_exactly_what_fits(desk, server):
    ledger = lay(desk, epsilon=str(FITTING))
    asked = ["release", "table.csv", "--queries", "q.json", "--eps", "1", "--rounds", "2", "--dataset", "survey"]
    paying = [*asked, "--ledger", store_of(desk).place, "--anchor", "outside.anchor"]
    jobs = [
        subprocess.Popen(
            [sys.executable, "-m", "dpqr", *paying, "--out", f"out{number}"],
            cwd=desk,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for number in range(JOBS)
    ]
    assert Counter(job.wait() for job in jobs) == {0: FITTING, 4: JOBS - FITTING}
    account = ledger.account("survey")
    assert account.reservations == FITTING
    assert account.spent <= FITTING
    assert len(list(desk.glob("out*/release.json"))) == FITTING
    assert unsound(desk) is None


def test_releases_that_begin_at_one_moment_get_exactly_what_fits(desk, server):
    ledger = lay(desk, epsilon=str(FITTING))
    assert run_module("support.concurrent_releases", "race", desk, "--jobs", JOBS) == [
        {"0": FITTING, "4": JOBS - FITTING}
    ]
    assert ledger.account("survey").reservations == FITTING == len(list(desk.glob("out*/release.json")))
    assert unsound(desk) is None


def test_kills_restarts_and_dropped_connections_leave_it_sound(desk, server):
    """While releases are killed at random moments, the server is stopped at once and started, or drops connections."""
    lay(desk, epsilon="1000")
    ended, moments, faults = threading.Event(), random.Random(22), Counter()

    def disturb():
        while not list(desk.glob(".life*")) and not ended.wait(0.05):
            pass  # the jobs are not there yet
        while not ended.wait(moments.uniform(0.2, 2)):
            faults[restart := moments.random() < 0.3] += 1
            if restart:
                server.stop("immediate")
                server.start()
            else:
                server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'dpqr'")

    disturbing = threading.Thread(target=disturb)
    disturbing.start()
    try:
        done = run_module("support.concurrent_releases", "kills", desk, "--count", 24, "--crowd", 4)
    finally:
        ended.set()
        disturbing.join()
    # A look that meets the server while it is down says so; once it is at rest everything is there.
    assert [fault for fault in done["unsound"] if "nothing was spent, try again" not in fault] == []
    assert unsound(desk) is None
    assert done["killed"] >= 24
    assert not done["ended"].keys() & {"1", "3", "4", "5"}
    assert min(faults[True], faults[False]) > 0
    continue_all(desk)
    require_no_lock(server, desk)


def test_a_connection_that_breaks_at_every_third_message_of_a_release(desk, server, monkeypatch):
    """What is published was paid, and what was paid is continued. (Single transactions: every message.)
    Each release has a ledger of its own, which is as short as the one before it."""
    at, whole = 0, False
    with tempfile.TemporaryDirectory(prefix="dpqr-door-", dir="/tmp") as folder:
        door = Door(Path(folder), server.folder)
        while not whole:
            place = desk / f"desk{at}"
            place.mkdir()
            ledger = lay(place)
            door.cut(at, (BEFORE, DURING, AFTER)[at // 3 % 3])
            with monkeypatch.context() as through:
                through.setenv(SERVER, os.environ[SERVER].replace(str(server.folder), folder))
                with suppress(LedgerError):
                    run(place, rounds=1)
                    whole = door.passed <= at
            assert unsound(place) is None
            continue_all(place, rounds=1)
            assert ledger.account("survey").reservations <= 1
            at += 3
    assert at > 100
    assert (place / "out" / "release.json").exists()
    require_no_lock(server, place)
