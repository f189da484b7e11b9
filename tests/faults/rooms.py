"""Plants the faults at joins one at a time, and runs the tests of the room that each one lies in, and no others."""

import queue
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from faults.anchored import Anchored, room_tests
from faults.fault import Fault
from faults.joins import EQUIVALENT, ROOMS, joins
from faults.runner import copy_of_the_project, fails, put_into

NEAR, ROOM = "killed, near", "killed by the room"
PLAIN = ("-m", "not slow")
"""Tests marked slow are not run: what kills a fault is what every run of the tests runs."""
SECONDS = 600
"""For the tests of one fault. One that takes longer counts as a survivor: a slow machine proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """killed: by which tests; None: it survives. seconds: by the clock."""

    fault: Anchored
    killed: str | None
    seconds: float


def print_joins(rooms: Iterable[str], *, workers: int, only: str | None = None, near: bool = False) -> bool:
    """Try every fault of these rooms and print it; a table at the end. True: one survives.

    Args:
        workers: copies of the project that are tried side by side.
        only: part of the definition's name; None: all faults.
        near: run the nearest tests of each fault alone, while a list is written.
    """
    faults = [fault for fault in joins(tuple(rooms)) if only is None or only in fault.where]
    outcomes = []
    for found in _outcomes(faults, workers, near):
        outcomes.append(found)
        words = f"{found.fault.where}: {found.fault.words}"
        print(f"{found.killed or 'SURVIVES':20} {found.seconds:5.0f} s  {found.fault.room:10} {words}", flush=True)
    print(f"\n{'room':12} {'faults':>6} {'killed':>6} {'rate':>7}")
    for room in (*rooms, ""):
        of = [each for each in outcomes if room in (each.fault.room, "")]
        killed = sum(each.killed is not None for each in of)
        print(f"{room or 'all':12} {len(of):6} {killed:6} {killed / max(1, len(of)):7.1%}")
    for each in outcomes:
        if each.killed is None:
            fault = each.fault
            print(f"SURVIVES: {fault.room}: {fault.where}: {fault.words}: {fault.before!r} -> {fault.after!r}")
    left = sum(room in rooms for room, *_ in EQUIVALENT)
    print(f"left out, as they change nothing that is promised: {left}")
    return any(each.killed is None for each in outcomes)


def _outcomes(faults: list[Anchored], workers: int, near: bool) -> Iterator[Outcome]:
    """One copy a worker. RuntimeError where a room's tests fail without any fault."""
    planted = [(fault, fault.fault()) for fault in faults]  # of the source as it is now, as the copies are
    with ExitStack() as stack:
        copies: queue.Queue[Path] = queue.Queue()
        for _ in range(workers):
            copies.put(stack.enter_context(copy_of_the_project()))

        @contextmanager
        def a_copy() -> Iterator[Path]:
            made = copies.get()
            try:
                yield made
            finally:
                copies.put(made)

        def sound(room: str) -> None:
            with a_copy() as made:
                _require_sound(room, made)

        def with_a_copy(fault: Anchored, planted: Fault) -> Outcome:
            with a_copy() as made:
                return _outcome(fault, planted, made, near=near)

        with ThreadPoolExecutor(workers) as pool:
            if not near:
                list(pool.map(sound, dict.fromkeys(fault.room for fault in faults)))
            tried = [pool.submit(with_a_copy, fault, made) for fault, made in planted]
            yield from (each.result() for each in as_completed(tried))


def _require_sound(room: str, copy: Path) -> None:
    if fails(room_tests(ROOMS[room], copy), copy, *PLAIN, timeout=SECONDS):
        raise RuntimeError(f"the tests of {room} fail without a fault, so they prove nothing")


def _outcome(fault: Anchored, planted: Fault, copy: Path, *, near: bool) -> Outcome:
    started, killed = time.monotonic(), None
    nearest = room_tests(fault.tests, copy) if fault.tests else []
    others = [] if near else [path for path in room_tests(ROOMS[fault.room], copy) if path not in nearest]
    with put_into(copy, planted):
        for words, paths in ((NEAR, nearest), (ROOM, others)):
            if killed is None and paths and fails(paths, copy, *PLAIN, timeout=SECONDS, late=False):
                killed = words
    return Outcome(fault=fault, killed=killed, seconds=time.monotonic() - started)
