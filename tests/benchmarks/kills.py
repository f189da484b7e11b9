"""Paid releases under kills, races and full disks: figures of what must hold in every repeat.

python tests/benchmarks/kills.py kills [--count 200] [--crowd 4]
python tests/benchmarks/kills.py race [--repeats 20] [--jobs 24]

Bars: after every kill -9, also while racing, while continuing and on a full disk, everything that was published had
been paid, no file is half and no lock stale; every run that waits can be continued. In all repeats exactly 5 of 24
jobs win a budget of 5 releases, and ledger and directories agree.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from releases import command, lay, run, unsound


def main() -> None:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    for job, options in ((kills, {"--count": 200, "--crowd": 4, "--seed": 0}), (race, {"--repeats": 20, "--jobs": 24})):
        command_line = commands.add_parser(job.__name__)
        for name, default in options.items():
            command_line.add_argument(name, type=int, default=default)
        command_line.set_defaults(run=job)
    given = vars(parser.parse_args())
    given.pop("run")(**given)


def kills(count: int, crowd: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        ledger = lay(place, epsilon="10000")
        began = time.perf_counter()
        done = command("kills", name, "--count", count, "--crowd", crowd, "--seed", seed)
        print(f"killed {done['killed']}, continued {done['continued']}, ended {done['ended']}")
        print(f"unsound {done['unsound']}, {time.perf_counter() - began:.0f} s")
        waiting = [path for path in place.glob(".*.transcript") if path.stat().st_size]
        for path in waiting:
            run(place, out=path.name[1:].removesuffix(".transcript"), resume=True)
        account, published = ledger.account("survey"), len(list(place.glob("out*/release.json")))
        print(f"{len(waiting)} runs that waited were continued to their end; now unsound: {unsound(place)}")
        print(f"reserved {account.reservations}, published {published}, never settled {account.unsettled}")
        print(f"{ledger.verify().mark.entries} entries; left over: {sorted(path.name for path in place.glob('.*'))}")


def race(repeats: int, jobs: int) -> None:
    right, seconds = 0, []
    for repeat in range(repeats):
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            ledger = lay(place, epsilon="5")
            began = time.perf_counter()
            codes = command("race", name, "--jobs", jobs)
            seconds.append(time.perf_counter() - began)
            published, spent = len(list(place.glob("out*/release.json"))), ledger.account("survey").spent
            good = codes == {"0": 5, "4": jobs - 5} and published == spent == 5 and not unsound(place)
            right += good
            print(f"repeat {repeat + 1}: exit codes {codes}, published {published}, spent {spent}, good {good}")
    print(f"{right} of {repeats} repeats good; median {statistics.median(seconds):.1f} s")


if __name__ == "__main__":
    main()
