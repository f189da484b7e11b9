"""Tidy tables of texts and figures, one row an answer, and the names of their columns beside the domain's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from dpqr.kernel.arrays import AnyArray

FIGURES = ("estimate", "error", "measured", "noise_deviation", "lower", "upper")
"""The columns of answers that are numbers; all others are texts."""
NO_TEXT = -1
"""The place of no text."""
Row = dict[str, Any]
"""A row of a table by its columns, for JSON: texts, finite numbers, and None for nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """A column of texts. places: of each row's text in `titles`, or NO_TEXT, shape (rows,). Titles may repeat."""

    places: AnyArray
    titles: Sequence[str]

    def shown(self, show: Callable[[str], str], nothing: str | None) -> TextColumn:
        """Each row's text as `show` gives it, or `nothing`; each title is shown once."""
        return TextColumn(self.places, np.array([*map(show, self.titles), nothing], dtype=object))


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """Texts as somebody wants them. The last of `looked_up` stands for no text."""

    places: AnyArray
    looked_up: AnyArray

    def rows(self, chosen: slice = slice(None)) -> list[Any]:
        found: list[Any] = self.looked_up[self.places[chosen]].tolist()
        return found


Column = Texts | AnyArray
"""An array holds whole numbers, or floats of which NaN is none."""


@dataclass(frozen=True, slots=True, eq=False)
class Tidy:
    """Columns by name, in order, all as long as `rows`."""

    rows: int
    columns: Mapping[str, Column]

    def records(self) -> list[Row]:
        """Rows as plain dicts of strings, numbers and None, built column by column."""
        values = [plain_values(column) for column in self.columns.values()]
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*values, strict=True)]


def plain_values(column: Column) -> list[Any]:
    """A column as strings, numbers and None."""
    if isinstance(column, Texts):
        return column.shown(str, None).rows()
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f" and np.isnan(column).any():
        return [None if value != value else value for value in values]
    return values


def figure_texts(values: AnyArray) -> list[str]:
    """Shortest decimals, "null" for NaN: msgspec takes a tenth of the time of Python's own."""
    text = msgspec.json.encode(values.tolist()).decode()[1:-1]
    return text.split(",") if text else []


PREFIX = "column_"


def free_column_name(reserved: Sequence[str], name: str) -> str:
    """The column that attribute `name` gets in a table that also has the columns `reserved`.

    An attribute called like a reserved column is written with the prefix `column_` ("query" -> "column_query"), and
    so is one whose name is that already, so two attributes never meet. The rule looks at one name alone: an attribute
    has the same column in every release. Upper and lower case count as the same, for many readers fold them.
    """
    bare = name.casefold()
    while bare.startswith(PREFIX):
        bare = bare.removeprefix(PREFIX)
    return PREFIX + name if bare in reserved else name
