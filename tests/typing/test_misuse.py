"""mypy --strict must refuse every line of misuse.py and uses.py that is marked, and no other."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FILES = {name: (HERE / name).read_text(encoding="utf-8").splitlines() for name in ("misuse.py", "uses.py")}
MARK = "  # wrong"


@pytest.fixture(scope="module")
def answer():
    """What the type checker says of both files."""
    paths = [str(HERE / name) for name in FILES]
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache"), *paths]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 1, found.stderr or found.stdout
    return found.stdout


@pytest.mark.quality
@pytest.mark.parametrize("name", FILES)
def test_the_type_checker_refuses_the_marked_lines_and_no_others(name, answer):
    lines = FILES[name]
    marked = {number for number, line in enumerate(lines, start=1) if line.endswith(MARK)}
    refused = {int(found) for found in re.findall(rf"{re.escape(name)}:(\d+): error", answer)}
    assert len(marked) > 15
    assert {lines[number - 1].strip() for number in marked - refused} == set(), "these lines type-check"
    assert {lines[number - 1].strip() for number in refused - marked} == set(), answer
