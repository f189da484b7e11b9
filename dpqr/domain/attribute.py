"""Attribute: one named, finite axis of the domain, and the rule for every cell that does not fit it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import Enum
from fractions import Fraction
from typing import Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from dpqr.kernel.arrays import IntArray, freeze
from dpqr.kernel.errors import DocumentError

Fault = Literal["null", "unparsable", "nan", "infinite", "outside"]
FAULTS: tuple[Fault, ...] = ("null", "unparsable", "nan", "infinite", "outside")


class Rule(Enum):
    """The treatment of a row whose cell is null, unparsable, NaN, infinite or outside the domain."""

    CELL = "cell"  # a declared cell of its own
    CLIP = "clip"  # the nearest bin (numbers outside the bounds only)
    DROP = "drop"  # the row is left out
    FAIL = "fail"  # the run fails: one bit that the guarantee does not cover


class Labels(Struct, frozen=True):
    """Categorical values, compared as exact text (integers as their decimal text).

    folded: case is ignored (boolean columns: "True" and "TRUE" are "true").
    texts: what stands for each label in a table; (): every label for itself.
    ordered: the labels rise in the order of `values`.
    """

    values: tuple[str, ...]
    folded: bool = False
    texts: tuple[tuple[str, ...], ...] = ()
    ordered: bool = False

    @property
    def size(self) -> int:
        return len(self.values)

    def titles(self) -> tuple[str, ...]:
        return self.values

    def span_title(self, first: int, last: int) -> str:
        """Return the title of the ordered labels first..last together: one label, or an interval, both ends in it."""
        return self.values[first] if first == last else f"[{self.values[first]}, {self.values[last]}]"

    def places(self) -> dict[str, int]:
        """Return the label's position for every text that stands for one; texts are folded where case is ignored."""
        texts = self.texts or tuple((value,) for value in self.values)
        return {self.form(text): place for place, several in enumerate(texts) for text in several}

    def form(self, text: str) -> str:
        """Return the text as it is compared."""
        return text.casefold() if self.folded else text


class Codes(Struct, frozen=True):
    """Integer codes 0 .. size-1 of a table that is already coded (the sizes form of a domain file).

    >>> Codes(3).titles()
    ('0', '1', '2')
    """

    size: int

    def titles(self) -> tuple[str, ...]:
        return tuple(str(code) for code in range(self.size))


class Bins(Struct, frozen=True):
    """Ordered intervals between public edges.

    edges: strictly increasing; numbers, or for the temporal kinds days / microseconds since 1970-01-01.
    closed: the side on which an inner edge belongs to a bin; the outermost two edges always belong.
    integral: the values are whole, so a bin [3, 4) holds the one value 3.

    >>> Bins((Fraction(0), Fraction(20), Fraction(40))).titles()
    ('[0, 20)', '[20, 40]')
    """

    edges: tuple[Fraction, ...]
    closed: Literal["left", "right"] = "left"
    integral: bool = False
    kind: Literal["number", "date", "datetime"] = "number"
    edge_titles: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    def bounds(self, index: int) -> tuple[Fraction, Fraction]:
        """Return the smallest and largest value of bin `index` (for non-integral bins: its two edges)."""
        low, high = self.edges[index], self.edges[index + 1]
        if not self.integral:
            return low, high
        if self.closed == "left" and index < self.size - 1:
            return Fraction(-(-low // 1)), Fraction(-(-high // 1) - 1)
        if self.closed == "right" and index > 0:
            return Fraction(low // 1 + 1), Fraction(high // 1)
        return Fraction(-(-low // 1)), Fraction(high // 1)

    def midpoint(self, index: int) -> Fraction:
        """Return the public value of all records in bin `index`."""
        low, high = self.bounds(index)
        return (low + high) / 2

    def titles(self) -> tuple[str, ...]:
        return tuple(self.span_title(index, index) for index in range(self.size))

    def span_title(self, first: int, last: int) -> str:
        """Return the title of the bins first..last together: one value, or an interval with its closed sides."""
        low, high = self.bounds(first)[0], self.bounds(last)[1]
        if low == high:
            return self.mark(low)
        left = "[" if self.closed == "left" or first == 0 else "("
        if self.bounds(last)[0] == high:
            return f"{left}{self._edge_title(first)}, {self.mark(high)}]"
        right = "]" if self.closed == "right" or last == self.size - 1 else ")"
        return f"{left}{self._edge_title(first)}, {self._edge_title(last + 1)}{right}"

    def _edge_title(self, index: int) -> str:
        return self.edge_titles[index] if self.edge_titles else self.mark(self.edges[index])

    def mark(self, value: Fraction) -> str:
        """Write a value of this axis as text: a number, an ISO date, or an ISO time in UTC."""
        if self.kind == "date":
            return (date(1970, 1, 1) + timedelta(days=int(value // 1))).isoformat()
        if self.kind == "datetime":
            return (datetime(1970, 1, 1) + timedelta(microseconds=int(value // 1))).isoformat()
        if value.denominator == 1:
            return str(value.numerator)
        return repr(float(value))


Axis = Labels | Codes | Bins


class Spelling(Struct, frozen=True, kw_only=True):
    """How the values of a column are written in text.

    trim: blanks at both ends are no part of a text.
    pattern: of dates and times, as `strptime` reads them; None: ISO 8601.
    decimal, group: the decimal mark, and the mark between groups of digits. bare: nothing stands around a number.

    >>> Spelling(trim=True).plain, Spelling(decimal=",", group=".", bare=False).plain  # "1.234,50 EUR"
    (True, False)
    """

    trim: bool = False
    pattern: str | None = None
    decimal: str = "."
    group: str | None = None
    bare: bool = True

    @property
    def plain(self) -> bool:
        """Return whether numbers, dates and times are written as a program writes them."""
        return (self.pattern, self.decimal, self.group, self.bare) == (None, ".", None, True)


PLAIN = Spelling()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A named axis with `size` cells: the declared ones in order, then one for each fault whose rule is `cell`.

    rules: the stated ones only; missing: the texts that mean null; spelling: how its texts are written.
    declared: the axis as the domain file states it, where the queries have added edges or labels to it.
    hierarchy: the levels above the cells, where the domain file states any.
    Invariant: the cells and the rules come from the curator's domain file, never from the data.

    >>> sex = Attribute(name="sex", axis=Labels(("female", "male")), rules={"null": Rule.CELL})
    >>> sex.size, sex.titles()
    (3, ('female', 'male', '(null)'))

    Raises:
        DocumentError: no name, or no cell.
    """

    name: str
    axis: Axis
    rules: dict[Fault, Rule] = field(default_factory=dict)
    missing: tuple[str, ...] = ("",)
    declared: Axis | None = field(default=None, compare=False)
    spelling: Spelling = PLAIN
    hierarchy: Hierarchy | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.name:
            raise DocumentError("an attribute needs a name; give every field of the domain file a non-empty name")
        if self.axis.size < 1:
            raise DocumentError(f"attribute {self.name!r} has no cells; give it labels, bins or a size of at least 1")

    @property
    def ordered(self) -> bool:
        """Return whether the declared cells have an order."""
        return not isinstance(self.axis, Labels) or self.axis.ordered

    def rule(self, fault: Fault) -> Rule:
        """Return the declared rule for `fault`; `drop` if the domain file states none."""
        return self.rules.get(fault, Rule.DROP)

    @property
    def own_cells(self) -> tuple[Fault, ...]:
        """Faults that have a cell of their own, in the order of those cells."""
        return tuple(fault for fault in FAULTS if self.rule(fault) is Rule.CELL) if self.rules else ()

    def own_cell(self, fault: Fault) -> int:
        """Return the index of the cell for `fault`."""
        return self.axis.size + self.own_cells.index(fault)

    @property
    def size(self) -> int:
        return self.axis.size + len(self.own_cells)

    def titles(self) -> tuple[str, ...]:
        """Return one label per cell, as the answers print them."""
        return self.axis.titles() + tuple(f"({fault})" for fault in self.own_cells)


# Hierarchy: the declared levels above the cells of one column, such as region and country above municipality.


class HierarchyLevel(Struct, frozen=True, kw_only=True, eq=False):
    """One level: its nodes, in the order of their first cells, and the node of every cell.

    name: of the level. nodes: distinct titles. places: index of each cell's node, shape (cells,), int64. A fault cell
    is a node of its own.

    >>> import numpy as np
    >>> HierarchyLevel(name="region", nodes=("north", "south"), places=np.array([0, 0, 1])).places
    array([0, 0, 1])
    """

    name: str
    nodes: tuple[str, ...]
    places: IntArray

    def __post_init__(self) -> None:
        force_setattr(self, "places", freeze(self.places))


class Hierarchy(Struct, frozen=True, kw_only=True, eq=False):
    """levels: those above the cells, the parents of cells first. Each node lies in one node of the level above.

    Invariant: declared by the curator, never inferred from the data.

    >>> Hierarchy(levels=()).levels
    ()
    """

    levels: tuple[HierarchyLevel, ...]
