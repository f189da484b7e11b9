"""Plant faults one at a time and print which of them a test notices.

    PYTHONPATH=tests python -m faults                       # all of them, by the tests of each one's room
    PYTHONPATH=tests python -m faults --room counters --near   # the nearest tests alone, while a list is written
    PYTHONPATH=tests python -m faults --joins               # the list of those where parts meet
    PYTHONPATH=tests python -m faults --sample 25           # so many of them, drawn by --seed
    PYTHONPATH=tests python -m faults --drawn 40            # 40 a room that cosmic-ray makes (pip install cosmic-ray)

It prints a line a fault as it is decided, the survivors, and the kill rate a room: killed out of those that are not
explained (`faults.explained`). Exit code 1 where a fault survives that nobody has explained.
"""

import argparse
import random
import sys
from collections import Counter
from collections.abc import Sequence

from faults.anchored import Anchored
from faults.drawn import drawn_faults
from faults.explained import reason
from faults.joins import EQUIVALENT, joins
from faults.planted import planted
from faults.rooms import ROOMS
from faults.runner import NEAR, ROOM, STAGES, TOO_LONG, Outcome, Trial, outcomes, trial_of

SURVIVES, EXPLAINED = "SURVIVES", "explained"


def main() -> int:
    """Parse, try every fault, print."""
    asked = _arguments()
    found = []
    for each in outcomes(_trials(asked), workers=asked.workers, widest=asked.widest, slow=asked.slow):
        found.append(each)
        trial = each.trial
        print(f"{_said(each):20} {each.seconds:5.0f} s  {trial.room:10} {trial.where}: {trial.fault.words}", flush=True)
    _table(found, asked.room)
    return int(any(_said(each) in (SURVIVES, TOO_LONG) for each in found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__.splitlines()[0])
    parser.add_argument("--room", action="append", choices=ROOMS, help="may be given again [all]")
    parser.add_argument("--joins", action="store_true", help="the faults where parts meet alone")
    parser.add_argument("--only", help="definitions whose name holds this text [all]")
    parser.add_argument("--sample", type=int, help="so many faults, drawn by --seed [all]")
    parser.add_argument("--drawn", type=int, default=0, help="faults a room that a tool makes, in place of the lists")
    parser.add_argument("--seed", type=int, default=1, help="which faults are drawn [1]")
    parser.add_argument("--near", action="store_true", help="the nearest tests of each fault alone")
    parser.add_argument("--anywhere", action="store_true", help="where a room notices nothing, all other tests")
    parser.add_argument("--slow", action="store_true", help="also tests that are marked slow")
    parser.add_argument("--workers", type=int, default=2, help="copies of the project that are tried side by side [2]")
    asked = parser.parse_args()
    asked.room = asked.room or list(ROOMS)
    widest = NEAR if asked.near else STAGES[-1] if asked.anywhere else ROOM
    asked.widest = STAGES.index(widest) + 1
    return asked


def _trials(asked: argparse.Namespace) -> Sequence[Trial]:
    listed = joins() if asked.joins else [*planted(), *joins()]
    faults = [each for each in listed if each.room in asked.room and (asked.only is None or asked.only in each.where)]
    if asked.drawn:
        return [trial for room in asked.room for trial in _drawn(room, faults, asked)]
    if asked.sample is not None:
        faults = random.Random(asked.seed).sample(faults, min(asked.sample, len(faults)))
    return [trial_of(each) for each in faults]


def _drawn(room: str, faults: Sequence[Anchored], asked: argparse.Namespace) -> list[Trial]:
    """Faults of the files that hold what the lists guard in this room."""
    files = sorted({each.match().file for each in faults if each.room == room})
    return drawn_faults(room, files, asked.drawn, asked.seed)


def _said(outcome: Outcome) -> str:
    if outcome.killed is not None:
        return outcome.killed
    if reason(outcome.trial.where, outcome.trial.fault):
        return EXPLAINED
    return TOO_LONG if outcome.too_long else SURVIVES


def _table(found: Sequence[Outcome], rooms: Sequence[str]) -> None:
    print(f"\n{'room':12} {'faults':>6} {EXPLAINED:>9} {'killed':>6} {'rate':>7}   by")
    for room in (*rooms, ""):
        of = Counter(_said(each) for each in found if room in (each.trial.room, ""))
        killed = sum(of[stage] for stage in STAGES)
        where = ", ".join(f"{of[each]} {each.removeprefix('killed').lstrip(', ')}" for each in STAGES if of[each])
        rate = killed / max(1, of.total() - of[EXPLAINED])
        print(f"{room or 'all':12} {of.total():6} {of[EXPLAINED]:9} {killed:6} {rate:7.1%}   {where}")
    for each in found:
        if each.killed is None:
            where, fault = each.trial.where, each.trial.fault
            print(f"{_said(each)}: {fault.file}: {where}: {fault.words}. {reason(where, fault) or ''}".rstrip())
    left = sum(room in rooms for room, *_ in EQUIVALENT)
    print(f"left out, as they change nothing that is promised: {left}")


if __name__ == "__main__":
    sys.exit(main())
