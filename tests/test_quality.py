"""Lint, format and types, by the pinned versions."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PINS = Path(__file__).with_name("quality-requirements.txt")


@pytest.mark.quality
@pytest.mark.parametrize("arguments", [("ruff", "check"), ("ruff", "format", "--check"), ("mypy",)], ids=" ".join)
def test_tool_is_content(arguments):
    finished = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr


@pytest.mark.quality
def test_the_tools_are_those_that_are_pinned():
    """Another version judges by other rules, and by other annotations."""
    pins = dict(re.findall(r"^([a-z0-9]+)\S*==(\S+)$", PINS.read_text(), re.M))
    assert {"ruff", "mypy", "numpy"} <= set(pins)
    assert {name: _installed(name) for name in pins} == pins, f"pip install -r {PINS.relative_to(ROOT)}"


def _installed(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None
