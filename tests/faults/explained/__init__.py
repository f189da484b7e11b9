"""Survivors that no test needs to notice, a file a folder: nothing that is promised is wrong with them.

The command prints them apart and does not count them in its rate.
"""

from functools import cache
from importlib import import_module
from pathlib import Path

from faults.fault import Explained, Fault


def reason(fault: Fault) -> str | None:
    """Why this fault is harmless; None where nobody has said so."""
    return next((one.reason for one in _all() if (one.file, one.line) == (fault.file, fault.line)), None)


@cache
def _all() -> tuple[Explained, ...]:
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return tuple(one for name in names for one in import_module(f"faults.explained.{name}").EXPLAINED)
