"""Pytest many times over in one directory: a process that has imported what costs time forks for every run.

`python -m faults.warm` reads a line of JSON, seconds and arguments, forks, and answers with the exit code of pytest.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

NO_TESTS, TIMED_OUT = 5, -1
IMPORTED = (
    "hypothesis",
    "numpy",
    "pandas",
    "pyarrow.csv",
    "pyarrow.parquet",
    "pytest",
    "scipy.sparse.linalg",
    "scipy.stats",
)
"""Of the packages that most tests need, none of ours."""


class WarmPytest:
    """The process. run: as `pytest ARGUMENTS` in the directory; TIMED_OUT where it takes longer than the seconds."""

    def __init__(self, directory: Path) -> None:
        paths = f"{directory}{os.pathsep}{directory / 'tests'}"
        environment = {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "faults.warm"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, arguments: Sequence[str], seconds: int) -> int:
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps([seconds, *arguments]), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())


def _run(seconds: int, arguments: list[str]) -> int:
    child = os.fork()
    if not child:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        import pytest

        os._exit(pytest.main(arguments))
    ends = time.monotonic() + seconds
    ended, status = 0, 0
    while not ended and time.monotonic() < ends:
        time.sleep(0.01)
        ended, status = os.waitpid(child, os.WNOHANG)
    with suppress(ProcessLookupError):  # and what it has left behind
        os.killpg(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if ended else TIMED_OUT


def main() -> None:
    """Import, then run until the input ends."""
    for name in IMPORTED:
        importlib.import_module(name)
    for line in sys.stdin:
        seconds, *arguments = json.loads(line)
        print(_run(seconds, arguments), flush=True)


if __name__ == "__main__":
    main()
