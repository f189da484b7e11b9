"""Releases in crowds: they race for a budget, are killed at random moments, meet a disk that is full.

As a command (`PYTHONPATH=tests python -m support.concurrent_releases race|kills|full DIRECTORY ...`) it forks the jobs
from a process of its own and prints what happened as JSON; the caller then looks at the desk and its ledger. Everything
is imported and planned before the first fork, so that what a job does, and where a kill meets it, is what matters here:
it takes the output's place, reserves, opens the table, draws, keeps the transcript, publishes, settles.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import time
from collections import Counter
from pathlib import Path

from dpqr.kernel.errors import DpqrError
from dpqr.releases import release as release_module
from dpqr.releases.loop import SILENT
from dpqr.releases.release import release
from dpqr.releases.requests import OutputRequest, ReleaseRequest
from dpqr.tables.source import TableSource
from support.ledger_jobs import SERVER, ledger_in
from support.paid_releases import request, run, transcript, unsound
from support.process_races import race

MEMORY = Path("/dev/shm")
"""Where syncs take no time, so that most kills meet the code and crowds are fast; a kill loses no page either way."""
ASKED: dict[str, str] = {}
"""What every release asks for beside epsilon 1."""
OFTEN = 10
"""Crowds between two that are let live, to learn how long a job takes now."""
LOOKS = 20
"""How often a ledger on a server is looked at, a second apart, until it is sound."""


def attempt(directory, out, **more):
    """The exit code that a command would end with."""
    try:
        run(directory, out=out, epsilon="1", **ASKED, **more)
    except DpqrError as error:
        return error.exit_code
    except BaseException:
        return 1
    return 0


def releases(directory, jobs):
    """All jobs release at the same moment. Exit codes, counted."""
    return Counter(str(code) for code in race(jobs, lambda number: attempt(directory, f"out{number}")))


def kills(directory, count, seed, crowd):
    """Kill releases at random moments until `count` have died, `crowd` of them racing, and continue half of those that
    wait (which are killed too).

    Every fifth job meets a limit on the size of its files. A moment is uniform over the time that the slowest of a
    crowd takes which lives.
    """
    moments = random.Random(seed)
    done = {"killed": 0, "ended": Counter(), "continued": 0, "met": Counter(), "unsound": [], "crowds": 0}
    while done["killed"] < count:
        if done["crowds"] % OFTEN == 0:
            life = lived(directory, crowd, f"life{done['crowds']}")
        names = chosen(directory, crowd, moments, done)
        jobs = [start(directory, name, full=moments.random() < 0.2) for name in names]
        ends = reaped(jobs, [moments.uniform(0, life) for _ in jobs])
        for name, code in zip(names, ends, strict=True):
            done["killed"] += code == -signal.SIGKILL
            done["ended"][str(code)] += code != -signal.SIGKILL
            done["met"][stage(directory, name)] += code == -signal.SIGKILL
        done["crowds"] += 1
        if fault := lasting(directory):
            done["unsound"].append(fault)
    return done


def lasting(directory):
    """What is unsound, and stays so: a server may be away for some seconds, and no fault goes away with them."""
    for _ in range(LOOKS):
        fault = unsound(directory)
        if fault is None or SERVER not in os.environ:
            break
        time.sleep(1)
    return fault


def lived(directory, crowd, name):
    """Seconds that a crowd takes which nobody kills."""
    began = time.perf_counter()
    for job in [start(directory, f"{name}-{number}") for number in range(crowd)]:
        ended(job)
    return time.perf_counter() - began


def chosen(directory, crowd, moments, done):
    """Names of outputs: some of releases that wait to be continued, the others new."""
    waiting = sorted(
        path.name[1:].removesuffix(".transcript") for path in directory.glob(".*.transcript") if size(path)
    )
    moments.shuffle(waiting)
    again = waiting[: sum(moments.random() < 0.5 for _ in range(crowd))]
    done["continued"] += len(again)
    return again + [f"out{done['crowds']}-{number}" for number in range(crowd - len(again))]


def stage(directory, out):
    """How far a killed job had come, as its files tell."""
    path = transcript(directory, out)
    lines = len(path.read_text().splitlines()) if path.exists() else 0
    if (directory / out).exists():
        return "published, not settled" if lines else "settled"
    if lines < 2:
        return "paying" if lines else "before its transcript"
    return "drawing" if lines > 2 else "table opened"


def start(directory, out, *, full=False):
    """A job; one whose transcript waits is continued, where it is paid."""
    child = os.fork()
    if child:
        return child
    if full:
        ledger = directory / "ledger.sqlite"
        limit = (size(ledger) if ledger.exists() else 0) + 4096
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    path = transcript(directory, out)
    code = attempt(directory, out, resume=True) if path.exists() and size(path) else 2
    os._exit(attempt(directory, out) if code == 2 else code)  # it was killed before it was paid


def reaped(jobs, lives):
    """Kill each job when its time has come; how each ended, in the order of `jobs`."""
    began, codes = time.perf_counter(), {}
    for life, job in sorted(zip(lives, jobs, strict=True)):
        time.sleep(max(0.0, began + life - time.perf_counter()))
        os.kill(job, signal.SIGKILL)
        codes[job] = ended(job)
    return [codes[job] for job in jobs]


def ended(job):
    return os.waitstatus_to_exitcode(os.waitpid(job, 0)[1])


def size(path):
    return path.stat().st_size


def full(directory, rooms):
    """Releases on disks where no file grows beyond so many bytes; how each ended."""
    codes = {}
    for room in rooms:
        child = os.fork()
        if child == 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            os._exit(attempt(directory, f"out{room}"))
        codes[str(room)] = ended(child)
    return codes


def warm(directory):
    """One release that no ledger pays for, so that all is imported; then its prices serve every job."""
    source = TableSource(paths=(str(directory / "table.csv"),))
    output = OutputRequest(directory=str(directory / "warm"))
    made = release(ReleaseRequest(source=source, plan=request(directory, **ASKED), output=output), SILENT)
    shutil.rmtree(directory / "warm")
    prices = release_module.price_schedule(made.plan)
    release_module.price_schedule = lambda _: prices
    ledger_in(directory).account("survey")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["race", "kills", "full"])
    parser.add_argument("directories", type=Path, nargs="+", metavar="DIRECTORY")
    parser.add_argument("--jobs", type=int, default=24)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--crowd", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", type=int, nargs="*", default=[])
    parser.add_argument("--delta", help="of zcdp, which then proves every release")
    given = parser.parse_args()
    if given.delta:
        ASKED.update(delta=given.delta, accountant="zcdp")
    first, *_ = given.directories
    warm(first)
    if given.what == "race":
        print(json.dumps([releases(directory, given.jobs) for directory in given.directories]))
    elif given.what == "full":
        print(json.dumps(full(first, given.rooms)))
    else:
        print(json.dumps(kills(first, given.count, given.seed, given.crowd)))


if __name__ == "__main__":
    main()
