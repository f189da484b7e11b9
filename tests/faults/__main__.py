"""Plant faults one at a time and print which of them a test notices.

    PYTHONPATH=tests python -m faults                       # all of them, until a test notices
    PYTHONPATH=tests python -m faults --room ledger --near  # the nearest tests alone, while a list is written
    PYTHONPATH=tests python -m faults --only Counter        # those of the definitions whose names hold this text
    PYTHONPATH=tests python -m faults --sample 25           # so many of them, drawn by --seed
    PYTHONPATH=tests python -m faults --drawn 40            # 40 a room that cosmic-ray makes (pip install cosmic-ray)

It prints a line a fault as it is decided, the survivors, and the kill rate a room: killed out of those that are not
explained (`explained.txt`). Exit code 1 where a fault survives that nobody has explained.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence

from faults.anchored import Fault, planted
from faults.drawn import EXPLAINED, drawn_faults
from faults.runner import NEAR_STAGES, STAGES, TOO_LONG, Outcome, outcomes

SURVIVES, HARMLESS = "SURVIVES", "explained"


def main() -> int:
    """Parse, try every fault, print."""
    asked = _arguments()
    stages = NEAR_STAGES if asked.near else len(STAGES)
    found = []
    for each in outcomes(_faults(asked), workers=asked.workers, stages=stages):
        found.append(each)
        fault = each.fault
        print(f"{_said(each):18} {each.seconds:4.0f} s  {fault.room:10} {fault.where}: {fault.words}", flush=True)
    _table(found)
    return int(any(_said(each) in (SURVIVES, TOO_LONG) for each in found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__.splitlines()[0])
    parser.add_argument("--room", action="append", help="a folder of dpqr; may be given again [all]")
    parser.add_argument("--only", default="", help="definitions whose name holds this text [all]")
    parser.add_argument("--sample", type=int, help="so many faults, drawn by --seed [all]")
    parser.add_argument("--drawn", type=int, default=0, help="faults a room that a tool makes, in place of the lists")
    parser.add_argument("--seed", type=int, default=1, help="which faults are drawn [1]")
    parser.add_argument("--near", action="store_true", help="the nearest tests of each fault alone")
    parser.add_argument("--workers", type=int, default=2, help="copies of the project that are tried side by side [2]")
    return parser.parse_args()


def _faults(asked: argparse.Namespace) -> Sequence[Fault]:
    listed = [each for each in planted() if asked.only in each.where]
    if asked.room is not None:
        listed = [each for each in listed if each.match().file.partition("/")[0] in asked.room]
    if asked.sample is not None:
        listed = random.Random(asked.seed).sample(listed, min(asked.sample, len(listed)))
    faults = [each.fault() for each in listed]
    if not asked.drawn:
        return faults
    files = {room: sorted({each.file for each in faults if each.room == room}) for room in _rooms(faults)}
    return [each for room in files for each in drawn_faults(room, files[room], asked.drawn, asked.seed)]


def _rooms(faults: Sequence[Fault]) -> list[str]:
    return sorted({fault.room for fault in faults})


def _said(outcome: Outcome) -> str:
    if outcome.killed is not None:
        return outcome.killed
    if (outcome.fault.where, outcome.fault.line) in EXPLAINED:
        return HARMLESS
    return TOO_LONG if outcome.too_long else SURVIVES


def _table(found: Sequence[Outcome]) -> None:
    print(f"\n{'room':12} {'faults':>6} {HARMLESS:>9} {'killed':>6} {'rate':>7}   by")
    for room in (*_rooms([each.fault for each in found]), ""):
        of = Counter(_said(each) for each in found if room in (each.fault.room, ""))
        killed = sum(of[stage] for stage in STAGES)
        where = ", ".join(f"{of[each]} {each.removeprefix('killed').lstrip(', ')}" for each in STAGES if of[each])
        rate = killed / max(1, of.total() - of[HARMLESS])
        print(f"{room or 'all':12} {of.total():6} {of[HARMLESS]:9} {killed:6} {rate:7.1%}   {where}")
    for each in found:
        if each.killed is None:
            why = EXPLAINED.get((each.fault.where, each.fault.line), "")
            print(f"{_said(each)}: {each.fault.file}: {each.fault.where}: {each.fault.words}. {why}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
