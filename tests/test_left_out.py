"""A run that names no tests leaves out the slow ones, and lint and types, and says so last; one that names them runs
them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SETTINGS = """
[tool.pytest.ini_options]
testpaths = ["tests"]
markers = ["slow: left out", "quality: left out"]
"""
TESTS = """
import pytest

def test_quick():
    pass

@pytest.mark.slow
def test_slow():
    pass

@pytest.mark.quality
@pytest.mark.parametrize("tool", "ab")
def test_tool(tool):
    pass
"""
LEFT = [
    "left out: 1 slow tests; run them with: python -m pytest -n auto -m slow",
    "left out: 2 tests of lint and types; run them with: python -m pytest -m quality",
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "passed", "last"),
    [
        (["-n", "0"], 1, LEFT),
        (["-n", "0", "tests/test_both.py"], 4, None),
        (["-n", "2"], 1, LEFT),
        (["-n", "0", "-m", "slow"], 1, None),
        (["-n", "0", "-m", "quality"], 2, None),
        (["-n", "0", "-k", "slow or quick"], 2, None),
        (["-n", "0", "tests/test_both.py::test_slow"], 1, None),
    ],
    ids=["one process", "a file", "two workers", "-m", "-m quality", "-k", "a test"],
)
def test_what_runs_and_what_is_said(tmp_path, arguments, passed, last):
    (tmp_path / "tests").mkdir()
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    (tmp_path / "tests" / "test_both.py").write_text(TESTS)
    shutil.copy(Path(__file__).parent / "conftest.py", tmp_path / "tests")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    support = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=support)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert any(line.startswith(f"{passed} passed") for line in lines)
    assert (lines[-2:] == last) if last else ("left out" not in done.stdout)


GROUPED = """
import os
from pathlib import Path

import pytest

@pytest.mark.parametrize("number", range(4))
@pytest.mark.xdist_group("one")
def test_grouped(number):
    (Path(__file__).parent / str(os.getpid())).touch()

@pytest.mark.parametrize("number", range(4))
def test_others(number):
    pass
"""


@pytest.mark.slow
def test_tests_of_one_group_run_in_one_process(tmp_path):
    """What one of them has made serves the others: a session of Spark, a run of the publishing script."""
    (tmp_path / "test_grouped.py").write_text(GROUPED)
    shutil.copy(Path(__file__).parent / "conftest.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadgroup", "."]
    support = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=support)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len([path for path in tmp_path.iterdir() if path.name.isdigit()]) == 1
