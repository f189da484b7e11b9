"""Faults by hand, a file a topic: wrong scales, forgotten factors, skipped checks.

Each would breach privacy, the money that budgets are, the integrity of what a ledger or a release holds, or what a
certificate or an interval promises. None stands in faults.joins, too.
"""

from importlib import import_module
from pathlib import Path

from faults.anchored import Anchored


def planted() -> list[Anchored]:
    """Every fault of the lists beside this file, in the order of the files' names."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return [fault for name in names for fault in import_module(f"faults.planted.{name}").FAULTS]
