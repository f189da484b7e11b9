"""Runs tests against faults: the nearest tests first, then the folder's, then all that import the file, then all."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from architecture import mirrors
from faults.fault import ROOT, Fault

STAGES = ("its own file", "its folder", "those that import it", "any test")
TIMEOUT = 300
"""Seconds for one stage; a fault that makes a test run for ever is noticed."""
PASSED, NO_TESTS, NOTICED = 0, 5, (1, 2)
"""Exit codes of pytest; a test that fails is 1, a file that cannot be imported 2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """stage: how far away the test stood that noticed the fault; None: no test did."""

    fault: Fault
    stage: str | None


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


def require_sound(copy: Path, folders: Sequence[str]) -> None:
    """RuntimeError where a folder's tests fail without any fault: then nothing that is noticed would mean anything."""
    for folder in folders:
        if (copy / "tests" / folder).is_dir() and fails([f"tests/{folder}"], copy):
            raise RuntimeError(f"tests/{folder} fails in the copy without a fault")


def tried(fault: Fault, copy: Path, *, widest: int = len(STAGES)) -> Verdict:
    """Put the fault into the copy, run stage after stage until a test fails, and take it out again."""
    with put_into(copy, fault):
        done: set[str] = set()
        for stage, paths in zip(STAGES[:widest], _stages(fault, copy), strict=False):
            fresh = [path for path in paths if path not in done]
            if fresh and fails(fresh, copy):
                return Verdict(fault=fault, stage=stage)
            done.update(fresh)
        return Verdict(fault=fault, stage=None)


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


def _stages(fault: Fault, copy: Path) -> Iterator[Sequence[str]]:
    """Test files, from the nearest on."""
    file = Path(fault.file)
    tests = [one.relative_to(copy / "tests").as_posix() for one in (copy / "tests").rglob("test_*.py")]
    yield [f"tests/{own}" for own in mirrors(fault.file, tests)]
    yield sorted(f"tests/{one}" for one in tests if one.startswith(f"{file.parent.as_posix()}/"))
    module = ".".join(("dpqr", *file.with_suffix("").parts))
    every = sorted((copy / "tests").rglob("test_*.py"))
    yield [str(one.relative_to(copy)) for one in every if module in one.read_text()]
    yield [str(one.relative_to(copy)) for one in every if one.name not in ("test_quality.py", "test_readme.py")]


def fails(paths: Sequence[str], copy: Path, *options: str, timeout: float = TIMEOUT, late: bool = True) -> bool:
    """Whether a test of these paths fails in the copy. late: the answer where they take longer than so many seconds."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options, *paths]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return late
    if ended.returncode not in (PASSED, NO_TESTS, *NOTICED):
        raise RuntimeError(f"pytest did not run: {ended.stderr.decode()[-500:]}")
    return ended.returncode in NOTICED
