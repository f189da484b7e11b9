"""RecentTables: the tables that were asked for last, up to a number of cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dpqr.data.arrays import Axes, FloatArray


@dataclass(slots=True, eq=False)
class RecentTables:
    """room: cells of all that is kept; those that nobody asked for longest make way."""

    room: int
    _tables: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)
    _held: int = 0

    def get(self, axes: Axes, make: Callable[[], FloatArray]) -> FloatArray:
        """The table of these axes; made where it is not kept."""
        table = self._tables.pop(axes, None)
        if table is None:
            table = make()
            self._held += table.size
        self._tables[axes] = table
        while self._held > self.room:
            self._held -= self._tables.pop(next(iter(self._tables))).size
        return table
