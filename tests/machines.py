"""The suite under other processors' settings, Pythons and dependency sets: `python tests/machines.py [PATH ...]`.

Prints one line a setting: name, passed, failed, skipped, seconds; then what failed. Without paths the numeric tests
run, with `--only NAME` (repeatable) one setting. Tests marked quality are left out, and slow ones but for `--slow`. A
Python that is not installed is left out, and said to be.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__
from oldest import LEFT_OUT, ROOT, environment, oldest

from dpqr.cli.arithmetic import NAME

NUMERIC = tuple(
    f"tests/{name}"
    for name in (*("strategies", "models", "prediction", "mechanisms", "releases", "workload", "kernel", "audit"),)
)
PYTHONS = ("3.11", "3.12", "3.13")
ENDINGS = {pytest.ExitCode.NO_TESTS_COLLECTED: "no test ran", pytest.ExitCode.INTERRUPTED: "tests could not be read"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One machine. python: makes its interpreter; None where it is not installed."""

    name: str
    variables: dict[str, str] = field(default_factory=dict)
    python: Callable[[], Path | None] = lambda: Path(sys.executable)


def settings() -> list[Setting]:
    """Kernels of OpenBLAS, numpy without loops that depend on the processor, threads, Pythons, dependencies."""
    plain_loops = {"NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__)}
    kernels = [
        Setting(name=core.lower(), variables={"OPENBLAS_CORETYPE": core})
        for core in ("Prescott", "Nehalem", "Haswell", "SkylakeX", "Zen")
    ]
    old = {"OPENBLAS_CORETYPE": "Nehalem", "OPENBLAS_NUM_THREADS": "1"} | plain_loops
    return [
        Setting(name="plain"),
        *kernels,
        Setting(name="plain-loops", variables=plain_loops),
        Setting(name="old-processor", variables=old),
        *(Setting(name=f"threads-{count}", variables={"OPENBLAS_NUM_THREADS": count}) for count in "12"),
        *(Setting(name=f"python-{version}", python=lambda version=version: installed(version)) for version in PYTHONS),
        Setting(name="oldest", python=oldest),
    ]


def installed(version: str) -> Path | None:
    """An environment of that Python, looked for on the path and among pyenv's."""
    kept = sorted(map(str, Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))
    for found in filter(None, [shutil.which(f"python{version}"), *reversed(kept)]):
        if subprocess.run([found, "--version"], capture_output=True).returncode == 0:
            return environment(f"python-{version}", found)
    return None


def run(setting: Setting, arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The line of a setting, and the names of the tests that failed."""
    python = setting.python()
    if python is None:
        return f"{setting.name:<16}not installed", []
    with tempfile.TemporaryDirectory() as folder:
        report, began = Path(folder) / "report.xml", time.monotonic()
        command = [python, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}", *arguments]
        ended = subprocess.run(
            command, cwd=ROOT, env=os.environ | {NAME: "native"} | setting.variables, stdout=subprocess.DEVNULL
        )
        if not report.exists():
            return f"{setting.name:<16}pytest did not run", ["pytest itself"]
        cases = list(ElementTree.parse(report).iter("testcase"))
    bad = [f"{each.get('classname')}::{each.get('name')}" for each in cases if failed(each)]
    skipped, count = sum(each.find("skipped") is not None for each in cases), len(bad)
    passed, seconds = len(cases) - skipped - count, time.monotonic() - began
    if ended.returncode != (pytest.ExitCode.TESTS_FAILED if bad else pytest.ExitCode.OK):
        bad.append(f"pytest itself: {ENDINGS.get(ended.returncode, f'it ended with {ended.returncode}')}")
    return f"{setting.name:<16}{passed:>8}{count:>8}{skipped:>9}{seconds:>9.0f}", bad


def failed(case: ElementTree.Element) -> bool:
    return any(case.find(kind) is not None for kind in ("failure", "error"))


def main() -> int:
    known = {setting.name: setting for setting in settings()}
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", action="append", choices=list(known), help="one setting; repeatable")
    parser.add_argument("-n", default="auto", help="processes of pytest-xdist")
    parser.add_argument("--slow", action="store_true", help="slow tests too")
    parser.add_argument("paths", nargs="*", default=NUMERIC)
    asked = parser.parse_args()
    print(f"{'setting':<16}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}", flush=True)
    bad = []
    for name in asked.only or known:
        left_out = ("-m", "not quality") if asked.slow else LEFT_OUT
        line, names = run(known[name], ["-n", asked.n, *left_out, *asked.paths])
        print(line, *(f"  {each}" for each in names), sep="\n", flush=True)
        bad += names
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
