"""Runs tests against faults: of its room first those near a fault, then the room's others, then, if asked, all."""

import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from faults.anchored import Anchored
from faults.fault import ROOT, Fault
from faults.rooms import ROOMS, nearest, other_tests, room_tests

NEAR, ROOM, ELSEWHERE = "killed, near", "killed by the room", "killed elsewhere"
TOO_LONG = "takes too long"
STAGES = (NEAR, ROOM, ELSEWHERE)
SECONDS = 600
"""For the tests of one stage. What takes longer counts as no kill: a slow machine proves nothing."""
PASSED, NO_TESTS, NOTICED = 0, 5, (1, 2)
"""Exit codes of pytest; a test that fails is 1, a file that cannot be imported 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A fault to be tried. room: whose tests must notice. where: the definition it lies in."""

    room: str
    where: str
    fault: Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """killed: by which tests; None: it survives. seconds: by the clock."""

    trial: Trial
    killed: str | None
    too_long: bool
    seconds: float


def trial_of(fault: Anchored) -> Trial:
    """The fault in the source as it is now."""
    return Trial(room=fault.room, where=fault.where, fault=fault.fault())


def outcomes(trials: Sequence[Trial], *, workers: int, widest: int, slow: bool) -> Iterator[Outcome]:
    """Try every fault, each in one of as many copies as there are workers, in the order in which they end.

    Args:
        trials: made of the source as it is now, as the copies are.
        workers: copies of the project that are tried side by side.
        widest: how many of STAGES.
        slow: also run tests that are marked slow.

    Raises:
        RuntimeError: a room's tests fail without any fault.
    """
    options = () if slow else ("-m", "not slow")
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
                _require_sound(room, made, options)

        def tried(trial: Trial) -> Outcome:
            with a_copy() as made:
                return _outcome(trial, made, widest, options)

        with ThreadPoolExecutor(workers) as pool:
            if widest > STAGES.index(NEAR) + 1:
                list(pool.map(sound, dict.fromkeys(trial.room for trial in trials)))
            yield from (each.result() for each in as_completed([pool.submit(tried, trial) for trial in trials]))


def _require_sound(room: str, copy: Path, options: Sequence[str]) -> None:
    try:
        failed = fails(room_tests(ROOMS[room], copy), copy, *options)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"the tests of {room} take more than {SECONDS} seconds without a fault") from None
    if failed:
        raise RuntimeError(f"the tests of {room} fail without a fault, so they prove nothing")


def _outcome(trial: Trial, copy: Path, widest: int, options: Sequence[str]) -> Outcome:
    started, killed, too_long = time.monotonic(), None, False
    room = room_tests(ROOMS[trial.room], copy)
    near = nearest(trial.fault.file, trial.where, room, copy)
    done: set[str] = set()
    with put_into(copy, trial.fault):
        for stage, paths in zip(STAGES[:widest], (near, room, other_tests(copy)), strict=False):
            fresh = [path for path in paths if path not in done]
            done.update(fresh)
            try:
                if fresh and fails(fresh, copy, *options):
                    killed = stage
                    break
            except subprocess.TimeoutExpired:
                too_long = True
                break
    return Outcome(trial=trial, killed=killed, too_long=too_long, seconds=time.monotonic() - started)


@contextmanager
def copy_of_the_project() -> Iterator[Path]:
    """A directory with the source and the tests, to be made wrong; the shared tables are beside it as they are here."""
    with tempfile.TemporaryDirectory(prefix="faults-") as made:
        copy = Path(made) / "project"
        skipped = shutil.ignore_patterns("__pycache__", "*.egg-info", "benchmarks")
        for name in ("dpqr", "tests", "sample_data"):
            shutil.copytree(ROOT / name, copy / name, ignore=skipped)
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / name, copy / name)
        if (ROOT.parent / "shared").is_dir():
            (Path(made) / "shared").symlink_to(ROOT.parent / "shared")
        once = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "dpqr"]
        subprocess.run(once, cwd=copy, check=True)
        yield copy


@contextmanager
def put_into(copy: Path, fault: Fault) -> Iterator[None]:
    """The copy with the fault in it, until the block ends."""
    place = copy / "dpqr" / fault.file
    sound = place.read_text()
    place.write_text(fault.text)
    try:
        yield
    finally:
        place.write_text(sound)


def fails(paths: Sequence[str], copy: Path, *options: str) -> bool:
    """Whether a test of these paths fails in the copy. TimeoutExpired where they take longer than SECONDS."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options, *paths]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=SECONDS)
    if ended.returncode not in (PASSED, NO_TESTS, *NOTICED):
        raise RuntimeError(f"pytest did not run: {ended.stderr.decode()[-500:]}")
    return ended.returncode in NOTICED
