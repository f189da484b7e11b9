"""TextBatch: rows of a text table, as columns of text."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress
from typing import Any


@dataclass(frozen=True, slots=True)
class TextBatch:
    """At least one column, each as long as the others. Private."""

    column_names: tuple[str, ...]
    columns: list[list[str]] = field(repr=False)

    @property
    def num_rows(self) -> int:
        return len(self.columns[0])

    def column(self, place: int) -> list[str]:
        return self.columns[place]

    def filter(self, chosen: Any) -> TextBatch:
        """The rows where `chosen`, one truth value a row in an array of NumPy's or Arrow's, is true."""
        kept = chosen.tolist()
        return TextBatch(self.column_names, [list(compress(column, kept)) for column in self.columns])
