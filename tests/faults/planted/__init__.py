"""Faults by hand, a file a folder: wrong scales, forgotten factors, skipped checks.

Each would breach privacy, a promise of accuracy, or what a ledger holds.
"""

from importlib import import_module
from pathlib import Path

from faults.fault import Planted


def planted() -> list[Planted]:
    """Every fault of the lists beside this file, in the order of the files' names."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return [fault for name in names for fault in import_module(f"faults.planted.{name}").FAULTS]
