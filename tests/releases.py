"""Releases that a ledger pays for, as jobs that are killed at any point, race, or meet a full disk.

As a command (`python tests/releases.py job|kills|race|full ...`) it forks the jobs from a small process of its own
and prints what happened as JSON; the caller then looks at the desk and its ledger.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

from desk import DOMAIN, TABLE
from ledgers import ledger_in, terms

from dpqr.app import paid_run as module
from dpqr.app.paid_run import LedgerRequest
from dpqr.app.release import OutputRequest, release
from dpqr.app.request import PlanRequest
from dpqr.errors import DpqrError
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.source import TableSource
from dpqr.privacy.ledger import DataKind

QUERIES = {
    "dpqr": "queries/1",
    "domain": DOMAIN,
    "queries": [{"marginal": pair} for pair in (["sex", "age"], ["sex", "income"], ["age", "income"])],
}
LONGEST_LIFE = 4
"""When a release is killed at the latest, in times of one that no ledger pays for: most are killed at their draws."""


class Unwatched:
    def reading(self, total):
        pass

    def read(self, count):
        pass

    def finished(self, rounds, planned):
        pass


def lay(directory, epsilon="5", kind=DataKind.PRIVATE, **more):
    """A desk with a table, its queries and a ledger."""
    (directory / "table.csv").write_text(TABLE)
    (directory / "q.json").write_text(json.dumps(QUERIES))
    ledger = ledger_in(directory)
    ledger.open(replace(terms(epsilon=epsilon, **more), kind=kind))
    return ledger


def payer(directory, **more):
    return LedgerRequest(
        dataset="survey", ledger=str(directory / "ledger.sqlite"), anchor=str(directory / "outside.anchor"), **more
    )


def request(directory, **more):
    return PlanRequest(**{"queries": str(directory / "q.json"), "epsilon": "1", "rounds": 2, **more})


def run(directory, *, out="out", resume=False, table="table.csv", observer=None, **more):
    """One release of the desk."""
    return release(
        TableSource(paths=(str(directory / table),)),
        request(directory, **more),
        OutputRequest(directory=None if out is None else str(directory / out)),
        Limits(),
        observer or Unwatched(),
        payer=payer(directory, resume=resume),
    )


def killed_at(directory, moment, **more):
    """A release in a child process that is killed at `moment`; how the child ended (9: killed)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads that numpy has made are idle
        child = os.fork()
    if child == 0:
        try:
            arm(*moment)
            run(directory, **more)
        except BaseException:
            os._exit(1)
        os._exit(0)
    return -os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def arm(owner, name, count, after):
    """Kill this process at call number `count` of owner.name, before or after it."""
    original, calls = getattr(owner, name), []

    def fatal(*given, **stated):
        calls.append(name)
        if len(calls) == count and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        found = original(*given, **stated)
        if len(calls) == count and after:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, name, fatal)


def transcript(directory, out="out"):
    return module.transcript_path(directory / out)


def document(directory, out="out"):
    return json.loads((directory / out / "release.json").read_text())


def begun(directory):
    """Events of all draws that the ledger knows to have been begun, by reservation."""
    found = {}
    for entry in ledger_in(directory).entries():
        if entry.kind == "draw":
            found.setdefault(entry.run, []).extend(event for event, _ in entry.events)
    return found


def price(directory, events):
    return ledger_in(directory).account("survey").terms.currency.price(tuple((event, 1) for event in events))


def unsound(directory):
    """What is wrong with the desk: nothing, or a sentence.

    Everything that was published was paid before, files are whole, and no draw is charged below its price.
    """
    ledger = ledger_in(directory)
    try:
        ledger.verify()
        entries = ledger.entries()
    except DpqrError as error:
        return str(error)
    paid = {entry.hash: entry for entry in entries if entry.kind == "reserve"}
    for path in directory.iterdir():
        if not path.is_dir() or path.name.startswith("."):
            continue
        if {each.name for each in path.iterdir()} != {"answers.csv", "release.json"}:
            return f"{path.name} is half a release"
        told = json.loads((path / "release.json").read_text())["ledger"]
        if told["seal"] not in paid or paid[told["seal"]].number != told["entry"]:
            return f"{path.name} was published and not paid"
    settled = {entry.settles: entry.cost for entry in entries if entry.kind == "settle"}
    for number, events in begun(directory).items():
        if settled.get(number, entries[number].cost) < price(directory, events):
            return f"entry {number} drew more than it paid"
    return None


def command(*arguments):
    """Run this file as a command; its JSON."""
    done = subprocess.run(
        [sys.executable, "-W", "error", __file__, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def attempt(directory, out, **more):
    """The exit code that a command would end with."""
    try:
        run(directory, out=out, epsilon="1", **more)
    except DpqrError as error:
        return error.exit_code
    except BaseException:
        return 1
    return 0


def race(directory, jobs):
    """All jobs release at the same moment. Exit codes, counted."""
    reader, writer = os.pipe()
    children = []
    for number in range(jobs):
        child = os.fork()
        if child == 0:
            os.close(writer)
            os.read(reader, 1)
            os._exit(attempt(directory, f"out{number}"))
        children.append(child)
    os.close(reader)
    os.close(writer)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    return {str(code): codes.count(code) for code in set(codes)}


def kills(directory, count, seed, crowd, life):
    """Kill releases at random moments, `crowd` of them racing, every fifth with a full disk, and continue half of
    those that were killed (which are killed too)."""
    moments = random.Random(seed)
    done = {"killed": 0, "ended": {}, "continued": 0, "unsound": []}
    number = 0
    while done["killed"] < count:
        children = []
        for _ in range(crowd):
            waiting = [path for path in directory.iterdir() if path.name.endswith(".transcript")]
            resume = bool(waiting) and moments.random() < 0.5
            name = moments.choice(waiting).name[1:].removesuffix(".transcript") if resume else f"out{number}"
            number, done["continued"] = number + 1, done["continued"] + resume
            children.append(start(directory, name, resume=resume, full=moments.random() < 0.2))
        for child in children:
            time.sleep(moments.uniform(0, life))
            os.kill(child, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            done["killed"] += code == -signal.SIGKILL
            done["ended"][str(code)] = done["ended"].get(str(code), 0) + 1
        if fault := unsound(directory):
            done["unsound"].append(fault)
    return done


def start(directory, out, *, resume, full):
    child = os.fork()
    if child:
        return child
    if full:
        fill(directory)
    os._exit(attempt(directory, out, resume=resume))


def fill(directory, room=4096):
    """From now on no file of this process grows beyond the ledger's size by `room`: a disk that is about to be full."""
    size = (directory / "ledger.sqlite").stat().st_size + room
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def full(directory, rooms):
    """Releases on disks where no file grows beyond so many bytes; how each ended."""
    ended = {}
    for room in rooms:
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            os._exit(attempt(directory, f"out{room}"))
        ended[str(room)] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return ended


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["race", "kills", "full"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--jobs", type=int, default=24)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--crowd", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", type=int, nargs="*", default=[])
    given = parser.parse_args()
    life = LONGEST_LIFE * warm(given.directory)
    if given.what == "race":
        print(json.dumps(race(given.directory, given.jobs)))
    elif given.what == "full":
        print(json.dumps(full(given.directory, given.rooms)))
    else:
        print(json.dumps(kills(given.directory, given.count, given.seed, given.crowd, life)))


def warm(directory):
    """Releases that no ledger pays for, so that everything is imported before the jobs are forked, whose lives are
    short. Seconds of one."""
    source, output = (
        TableSource(paths=(str(directory / "table.csv"),)),
        OutputRequest(directory=str(directory / "warm")),
    )
    for _ in range(2):
        began = time.perf_counter()
        release(source, request(directory), output, Limits(), Unwatched())
        seconds = time.perf_counter() - began
        shutil.rmtree(directory / "warm")
    ledger_in(directory).account("survey")
    return seconds


if __name__ == "__main__":
    main()
