"""Lint, format and types are part of the suite, and planted faults can be planted."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from faults.planted import planted

ROOT = Path(__file__).parent.parent
TYPED = (2, 4)
"""The numpy by whose annotations the types are checked; older ones state other types for the same arrays."""


@pytest.mark.parametrize("arguments", [("ruff", "check"), ("ruff", "format", "--check"), ("mypy",)], ids=" ".join)
def test_tool_is_content(arguments):
    if importlib.util.find_spec(arguments[0]) is None:
        pytest.skip(f"{arguments[0]} is not installed (it comes with the test extra)")
    if arguments == ("mypy",) and tuple(map(int, np.__version__.split(".")[:2])) < TYPED:
        pytest.skip(f"numpy {np.__version__} annotates other types than {TYPED[0]}.{TYPED[1]}")
    finished = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_every_planted_fault_can_be_planted_and_is_another():
    faults = [each.fault() for each in planted()]
    assert len({(each.file, each.text) for each in faults}) == len(faults)
