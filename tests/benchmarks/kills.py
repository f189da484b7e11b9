"""Paid releases under kills, races and full disks: figures of what must hold in every repeat.

python tests/benchmarks/kills.py [race] [kills] [full] [--repeats 20] [--jobs 24] [--count 200] [--crowd 4]

race: 24 jobs want a budget of 5 releases at the same moment. kills: kill -9 at random moments of 40 jobs on the disk
and 120 in memory (/dev/shm, where syncs take no time and most kills meet the code), always four racing, each fifth
with a limit on the size of its files, some of them jobs that continue a killed one. full: the same for 40 more on a
small file system of its own (tmpfs, where mounting is allowed) that is filled up to its last 0 to 48 KiB.

Bars: in all repeats exactly 5 jobs win, and ledger and directories agree. After every crowd all that was published had
been paid, no file is half and no lock stale. In the end every run that waits is continued to its release, paid once.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.concurrent_releases import MEMORY, command
from support.paid_releases import document, lay, run, transcript, unsound

from dpqr.kernel.errors import UsageFault

PARTS = ("race", "kills", "full")
SHARE = 5
"""One of so many kills is on the disk, one on the full file system."""
SMALL = "16m"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    for name, default in {"--repeats": 20, "--jobs": 24, "--count": 200, "--crowd": 4, "--seed": 0}.items():
        parser.add_argument(name, type=int, default=default)
    given = parser.parse_args()
    began, few = time.perf_counter(), given.count // SHARE
    for part in given.parts or PARTS:
        if part == "race":
            race(given.repeats, given.jobs)
        elif part == "kills":
            for count, place in ((few, None), (given.count - 2 * few, MEMORY if MEMORY.is_dir() else None)):
                with tempfile.TemporaryDirectory(dir=place) as name:
                    print(f"in {Path(name).parent}:")
                    kills(Path(name), count, given.crowd, given.seed)
        else:
            full(few, given.crowd, given.seed)
    print(f"all together {time.perf_counter() - began:.0f} s")


def race(repeats: int, jobs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        places = [Path(name) / str(number) for number in range(repeats)]
        for place in places:
            place.mkdir()
        ledgers = [lay(place, epsilon="5") for place in places]
        began = time.perf_counter()
        codes = command("race", *places, "--jobs", jobs)
        seconds = time.perf_counter() - began
        right = 0
        for place, ledger, each in zip(places, ledgers, codes, strict=True):
            published, spent = len(list(place.glob("out*/release.json"))), ledger.account("survey").spent.amount
            good = each == {"0": 5, "4": jobs - 5} and published == spent == 5 and not unsound(place)
            right += good
            if not good:
                print(f"BAD: exit codes {each}, published {published}, spent {spent}, {unsound(place)}")
        print(f"race of {jobs} for 5: {right} of {repeats} repeats good, {seconds / repeats:.1f} s each", flush=True)


def kills(place: Path, count: int, crowd: int, seed: int, *more: str) -> None:
    ledger = lay(place, epsilon="10000")
    began = time.perf_counter()
    done = command("kills", place, "--count", count, "--crowd", crowd, "--seed", seed, *more)
    print(
        f"killed {done['killed']} in {done['crowds']} crowds of {crowd}, {done['continued']} of the jobs continued one"
    )
    print(f"    killed when: {told(done['met'])}; ended before, by exit code: {told(done['ended'])}")
    print(f"    unsound after a crowd: {done['unsound'] or 'never'}; {time.perf_counter() - began:.0f} s", flush=True)
    reservations = ledger.account("survey").reservations
    waiting = [path for path in place.glob(".*.transcript") if path.stat().st_size]
    right = sum(map(continued, waiting))
    account, published = ledger.account("survey"), len(list(place.glob("[!.]*/release.json")))
    once = account.reservations == reservations
    print(f"    {right} of {len(waiting)} waiting runs continued to their release, no new reservation: {once}")
    print(
        f"    reserved {reservations}, published {published}, died before their transcript {account.unsettled};", end=""
    )
    print(f" unsound now: {unsound(place) or 'no'}; {ledger.verify().mark.entries} entries")
    left = Counter(path.suffix.removeprefix(".") for path in place.glob(".*"))
    print(f"    left over, by kind: {told(left)}", flush=True)


def continued(path: Path) -> bool:
    """Whether --resume ends with the release that the transcript's reservation has paid for, or finds it finished."""
    place, out = path.parent, path.name[1:].removesuffix(".transcript")
    receipt = path.read_text().partition("\n")[0]
    try:
        run(place, out=out, resume=True)
    except UsageFault as error:
        if "was finished" not in str(error):
            return False
    return document(place, out)["ledger"]["seal"] in receipt and not transcript(place, out).exists()


def full(count: int, crowd: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as name, small(Path(name)) as mounted:
        if not mounted:
            print("full: SKIPPED, this user may not mount a tmpfs; limits on file sizes stand in for it above")
            return
        print(f"on a tmpfs of {SMALL} that is filled up:")
        kills(Path(name), count, crowd, seed, "--tight")


@contextmanager
def small(place: Path) -> Iterator[bool]:
    """A file system of its own at `place`, where that is allowed."""
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "dpqr", str(place)]
    mounted = os.name == "posix" and subprocess.run(mounting, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)


def told(counts: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()) if count) or "none"


if __name__ == "__main__":
    main()
