"""Runs tests against faults: first those near a fault, then the slow ones near it, those of its room, all others."""

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

from faults.anchored import ROOT, Fault
from faults.nearest import all_tests, nearest, of_the_room
from faults.warm import NO_TESTS, TIMED_OUT, WarmPytest

STAGES = ("killed, near", "killed, slow", "killed by the room", "killed elsewhere")
NEAR_STAGES = 2
TOO_LONG = "takes too long"
SECONDS = 900
"""For the tests of one stage. What takes longer counts as no kill: a slow machine proves nothing."""
ALWAYS = ("-x", "-q", "-p", "no:cacheprovider", "-W", "ignore:Module already imported")
PASSED, NOTICED = 0, (1, 2)
"""Exit codes of pytest; a test that fails is 1, a file that cannot be imported 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """killed: by which tests; None: it survives. seconds: by the clock."""

    fault: Fault
    killed: str | None
    too_long: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the project, to be made wrong, and a process that runs its tests."""

    path: Path
    pytest: WarmPytest

    def fails(self, paths: Sequence[str], which: str = "not slow") -> bool:
        """Whether a test of these paths fails. TimeoutError where they take longer than SECONDS."""
        ended = self.pytest.run([*ALWAYS, "-m", which, *paths], SECONDS)
        if ended == TIMED_OUT:
            raise TimeoutError
        if ended not in (PASSED, NO_TESTS, *NOTICED):
            raise RuntimeError(f"pytest did not run: exit code {ended}")
        return ended in NOTICED


def outcomes(faults: Sequence[Fault], *, workers: int, stages: int) -> Iterator[Outcome]:
    """Try every fault, each in one of as many copies as there are workers, in the order in which they end.

    Args:
        faults: made of the source as it is now, as the copies are.
        workers: copies of the project that are tried side by side.
        stages: how many of STAGES.

    Raises:
        RuntimeError: tests fail without any fault.
    """
    with ExitStack() as stack:
        copies: queue.Queue[Copy] = queue.Queue()
        for _ in range(workers):
            copies.put(stack.enter_context(copy_of_the_project()))

        def in_a_copy(work, what):
            copy = copies.get()
            try:
                return work(what, copy, stages)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(workers) as pool:
            one_each = {fault.room: fault for fault in faults}.values()
            list(pool.map(lambda fault: in_a_copy(_require_sound, fault), one_each))
            tried = [pool.submit(in_a_copy, _outcome, fault) for fault in faults]
            yield from (each.result() for each in as_completed(tried))


def _require_sound(fault: Fault, copy: Copy, stages: int) -> None:
    """The tests of a fault's room, or two that are near it where the run is of those alone, pass without it."""
    tests = nearest(fault, all_tests())[:2] if stages <= NEAR_STAGES else of_the_room(fault, all_tests())
    if copy.fails(tests):
        raise RuntimeError(f"tests of {fault.room} fail without a fault, so they prove nothing: {tests}")


def _outcome(fault: Fault, copy: Copy, stages: int) -> Outcome:
    started, killed, too_long = time.monotonic(), None, False
    tests = all_tests()
    near = nearest(fault, tests)
    room = [test for test in of_the_room(fault, tests) if test not in near]
    others = [test for test in tests if test not in (*near, *room)]
    runs = ((near, "not slow"), (near, "slow"), (room, "not slow"), (others, "not slow"))
    with put_into(copy.path, fault):
        for stage, (paths, which) in zip(STAGES[:stages], runs, strict=False):
            try:
                if paths and copy.fails(paths, which):
                    killed = stage
                    break
            except TimeoutError:
                too_long = True
                break
    return Outcome(fault=fault, killed=killed, too_long=too_long, seconds=time.monotonic() - started)


@contextmanager
def copy_of_the_project() -> Iterator[Copy]:
    """A directory with the source and the tests; the shared tables are beside it as they are here.

    Bytecode of the source is compared by content, for faults come and go faster than a clock's ticks.
    """
    with tempfile.TemporaryDirectory(prefix="faults-") as made:
        copy = Path(made) / "project"
        skipped = shutil.ignore_patterns("*.egg-info", "benchmarks")
        for name in ("dpqr", "tests", "sample_data"):
            shutil.copytree(ROOT / name, copy / name, ignore=skipped)
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / name, copy / name)
        if (ROOT.parent / "shared").is_dir():
            (Path(made) / "shared").symlink_to(ROOT.parent / "shared")
        once = [sys.executable, "-m", "compileall", "-q", "-f", "--invalidation-mode", "checked-hash", "dpqr"]
        subprocess.run(once, cwd=copy, check=True)
        with WarmPytest(copy) as pytest:
            yield Copy(copy, pytest)


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
