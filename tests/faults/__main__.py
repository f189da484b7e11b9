"""Plant faults one at a time and print which of them a test notices.

    PYTHONPATH=tests python -m faults                 # the list of planted faults
    PYTHONPATH=tests python -m faults --drawn 40      # and 40 a folder that cosmic-ray makes (pip install cosmic-ray)
    PYTHONPATH=tests python -m faults --folder privacy --widest 2
    PYTHONPATH=tests python -m faults --joins           # where parts meet, by the tests of each room alone
    PYTHONPATH=tests python -m faults --joins --room counters

It prints a line a fault as it is decided, the survivors, and the kill rate a folder: killed out of those that are not
explained (`faults.explained`). Exit code 1 where a fault survives that nobody has explained.
"""

import argparse
import queue
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from faults.drawn import drawn_faults
from faults.explained import reason
from faults.fault import Fault
from faults.joins import ROOMS
from faults.planted import planted
from faults.rooms import print_joins
from faults.runner import STAGES, Verdict, copy_of_the_project, require_sound, tried

SURVIVES, EXPLAINED = "SURVIVES", "explained"
FOLDERS = (
    "privacy",
    "noise",
    "mechanisms",
    "workload",
    "construction",
    "prediction",
    "strategies",
    "io/ledger",
    "io/journal",
    "io/tables/persons",
    "io/tables",
    "io/documents",
    "app",
)


def main() -> int:
    """Parse, try every fault, print."""
    asked = _arguments()
    if asked.joins:
        return int(print_joins(asked.room or list(ROOMS), workers=asked.workers, only=asked.only, near=asked.near))
    faults = [one.fault() for one in planted() if any(one.file.startswith(f"{each}/") for each in asked.folder)]
    for folder in asked.folder if asked.drawn else ():
        faults += drawn_faults(folder, asked.drawn, asked.seed)
    verdicts = []
    for verdict in _verdicts(faults, asked):
        verdicts.append(verdict)
        print(f"{_outcome(verdict):28} {verdict.fault.file}: {verdict.fault.words}", flush=True)
    _table(verdicts, asked.folder)
    return int(any(_outcome(verdict) == SURVIVES for verdict in verdicts))


def _outcome(verdict: Verdict) -> str:
    return verdict.stage or (EXPLAINED if reason(verdict.fault) else SURVIVES)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", action="append", help="below dpqr/; may be given again [all privacy-critical ones]")
    parser.add_argument("--drawn", type=int, default=0, help="faults a folder that a tool makes [0]")
    parser.add_argument("--seed", type=int, default=1, help="which of them [1]")
    parser.add_argument("--widest", type=int, default=len(STAGES), help=f"stages of tests: {', '.join(STAGES)} [all]")
    parser.add_argument("--workers", type=int, default=2, help="copies of the project that are tried side by side [2]")
    parser.add_argument("--joins", action="store_true", help="the faults at joins, by the tests of their rooms")
    parser.add_argument("--room", action="append", choices=ROOMS, help="of --joins; may be given again [all]")
    parser.add_argument("--only", help="of --joins: definitions whose name holds this text [all]")
    parser.add_argument("--near", action="store_true", help="of --joins: the nearest tests of each fault alone")
    asked = parser.parse_args()
    asked.folder = asked.folder or list(FOLDERS)
    return asked


def _verdicts(faults: Iterable[Fault], asked: argparse.Namespace) -> Iterator[Verdict]:
    """One copy of the project a worker; a fault waits for a copy that is free."""
    with ExitStack() as stack:
        copies: queue.Queue[Path] = queue.Queue()
        for _ in range(asked.workers):
            copies.put(stack.enter_context(copy_of_the_project()))
        require_sound(copies.queue[0], asked.folder)

        def judged(fault: Fault) -> Verdict:
            copy = copies.get()
            try:
                return tried(fault, copy, widest=asked.widest)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(asked.workers) as pool:
            yield from pool.map(judged, faults)


def _table(verdicts: list[Verdict], folders: list[str]) -> None:
    print(f"\n{'folder':20} {'faults':>6} {EXPLAINED:>9} {'killed':>6} {'rate':>6}   noticed by")
    for folder in (*folders, ""):
        of = [one for one in verdicts if one.fault.file.startswith(f"{folder}/" if folder else "")]
        outcomes = Counter(_outcome(one) for one in of)
        explained = outcomes[EXPLAINED]
        killed = len(of) - explained - outcomes[SURVIVES]
        where = ", ".join(f"{outcomes[stage]} {stage}" for stage in STAGES if outcomes[stage])
        rate = killed / max(len(of) - explained, 1)
        print(f"{folder or 'all':20} {len(of):6} {explained:9} {killed:6} {rate:6.1%}   {where}")
    for one in verdicts:
        if _outcome(one) in (SURVIVES, EXPLAINED):
            print(f"{_outcome(one)}: {one.fault.file}: {one.fault.words}. {reason(one.fault) or ''}")


if __name__ == "__main__":
    sys.exit(main())
