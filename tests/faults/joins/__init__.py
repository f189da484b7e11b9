"""Faults where parts meet: a sum, a bound or a check that is right by itself and wrong beside its neighbour.

One list for each room: at least one of the room's own tests must fail.
"""

from importlib import import_module
from pathlib import Path

from faults.anchored import Anchored

EQUIVALENT: tuple[tuple[str, str, str, str], ...] = (
    (
        "periods",
        "PeriodFilter.records",
        "numbers <= self.bins in place of <",
        "a row of no bin has the number -1, whatever its date; no row has the number of bins",
    ),
)
"""Faults that were tried and change nothing that is promised: room, definition, what was changed, why that is harmless.
"""


def joins() -> list[Anchored]:
    """Every fault of the lists beside this file, in the order of the files' names."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return [fault for name in names for fault in import_module(f"faults.joins.{name}").FAULTS]
