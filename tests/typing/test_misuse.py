"""mypy --strict must refuse every line of misuse.py that is marked, and no other."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MISUSE = Path(__file__).parent / "misuse.py"
MARK = "  # wrong"


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed here; it comes with the test extra")
def test_the_type_checker_refuses_the_marked_lines_and_no_others():
    lines = MISUSE.read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, start=1) if line.endswith(MARK)}
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), str(MISUSE)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 1, answer.stderr or answer.stdout
    refused = {int(found) for found in re.findall(rf"{MISUSE.name}:(\d+): error", answer.stdout)}
    assert len(marked) > 30
    assert {lines[number - 1].strip() for number in marked - refused} == set(), "these lines type-check"
    assert {lines[number - 1].strip() for number in refused - marked} == set(), answer.stdout
