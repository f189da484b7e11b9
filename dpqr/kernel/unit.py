"""PrivacyUnit: what one guarantee protects, and the neighbour relation that says so."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import Enum

from dpqr.kernel.errors import UsageFault


class Neighbours(Enum):
    """The neighbour relation. Every sensitivity depends on it.

    ADD_REMOVE: one record (or person) is added or removed; their number is private.
    REPLACE: one record (or person) is replaced; their number is public and declared.
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPersons:
    """The persons that a domain file states as the unit of every run over it.

    column: the table's column that identifies persons. rows: K, the most rows of one person that a run may use.
    cell_rows: m, the most of them that a table may count in one of its cells; None: as many as are used.

    >>> DeclaredPersons(column="person_id", rows=3).rows
    3
    """

    column: str
    rows: int
    cell_rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """The unit of one guarantee: one row, one person with all their rows, or one record of a histogram.

    column: the table's column that identifies persons; None: every row is its own unit.
    counted: the count column of a histogram, whose rows are many records each; None: a row is one record.
    rows: K, the largest number of rows of one person that a run uses; 1 without a column. Loaders enforce it before
    anything else reads the rows, so that neighbours differ by at most K added or removed rows, or by K replaced rows.
    cell_rows: m, the most rows of one person that a table counts in one of its cells; None: as many as are used.
    drops: whether the domain's rules may leave rows out. The number of kept rows is then private under either
    relation: a record may be replaced by one that a rule leaves out.

    >>> PrivacyUnit(column="household", rows=3).whom
    "one person (column 'household') with all their rows added or removed (the number of persons is private)"

    Raises:
        UsageFault: K is below 1, or above 1 without a column, or m is not between 1 and K, or there is both a unit
            column and a count column.

    Privacy:
        With m below K a table is no sum of a larger one: each is counted by itself from the K rows of each person. The
        K rows still bound what one person moves; m says how few of them may come together in one cell.
        A count column makes one record the unit, not one row: a row of count c is c records, so one row more or less
        is c neighbours away. The histogram of cells is the same as that of a table with a row for each record;
        sensitivities are those of one row there.
    """

    neighbours: Neighbours = Neighbours.ADD_REMOVE
    column: str | None = None
    rows: int = 1
    cell_rows: int | None = None
    counted: str | None = None
    drops: bool = False

    def __post_init__(self) -> None:
        if self.rows < 1 or (self.column is None and self.rows != 1):
            raise UsageFault("--max-rows must be at least 1, and goes with --unit COLUMN")
        if self.cell_rows is not None and not (self.column is not None and 1 <= self.cell_rows <= self.rows):
            raise UsageFault("--max-rows-per-cell must be between 1 and --max-rows, and goes with --unit COLUMN")
        if self.column is not None and self.counted is not None:
            raise UsageFault("--unit cannot go with --counts: a row that stands for several records has no one person")

    @property
    def rows_public(self) -> bool:
        """Whether the number of counted records is public. It is private for persons, who may have any number of rows,
        and where rules may leave rows out."""
        return self.neighbours is Neighbours.REPLACE and self.column is None and not self.drops

    @property
    def changes(self) -> int:
        """Number of added and removed records between neighbours; a replaced record counts twice."""
        return self.rows * (2 if self.neighbours is Neighbours.REPLACE else 1)

    @property
    def most_squared(self) -> int:
        """The largest sum of squares of what one person counts in the cells of one table.

        Counts of at most m that add up to at most K have the largest squares where as many as possible are m: moving a
        row from a cell with fewer rows to one with more raises the sum. So it is K^2 without m, and K with m = 1.

        >>> [PrivacyUnit(column="id", rows=5, cell_rows=most).most_squared for most in (None, 1, 2, 5)]
        [25, 5, 9, 25]
        """
        full, rest = divmod(self.rows, self.cell_rows or self.rows)
        return full * (self.cell_rows or self.rows) ** 2 + rest**2

    @property
    def tables_apart(self) -> bool:
        """Whether tables count different rows, so that none is a sum of another: m is below K."""
        return self.cell_rows is not None and self.cell_rows < self.rows

    @property
    def apart(self) -> bool:
        """Whether neighbours differ in kept records or in left-out records, never in both. A count of the left-out ones
        then composes in parallel with everything else (`in_parallel`).

        This holds if one row is added or removed: it is kept or left out, by its own cells alone. A row that is
        replaced may leave one part and enter the other; of a person some rows may be kept and others left out.
        """
        return self.neighbours is Neighbours.ADD_REMOVE and self.column is None

    @property
    def whom(self) -> str:
        """Who is protected, in words, without K. Costs add up over releases with the same words."""
        replaced = self.neighbours is Neighbours.REPLACE
        if self.counted is not None:
            record = f"one record counted in column {self.counted!r} {_change(replaced)}"
            return f"{record} ({_known('records', replaced)}); the table is a histogram"
        if self.column is None:
            return f"one row of the table {_change(replaced)} ({_known('rows', replaced)})"
        whole = f"one person (column {self.column!r}) with all their rows"
        return f"{whole} {_change(replaced)} ({_known('persons', replaced)})"

    @property
    def words(self) -> str:
        """The unit as plans, releases and receipts print it."""
        if self.column is None:
            hidden = self.neighbours is Neighbours.REPLACE and self.drops
            return f"{self.whom}; how many of them the domain's rules keep is private" if hidden else self.whom
        kept = "1 row of each is used" if self.rows == 1 else f"{self.rows} rows of each are used"
        in_cell = "" if self.cell_rows is None else f", at most {self.cell_rows} in one cell of a table"
        return f"{self.whom}; at most {kept}{in_cell}"


def person_column(words: str) -> str | None:
    """The column in the `words` of a unit; None: no persons are protected.

    >>> person_column(PrivacyUnit(column="owner's id", rows=2).words), person_column(PrivacyUnit().words)
    ("owner's id", None)
    """
    found = re.match(r"""one person \(column ('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\) """, words)
    return None if found is None else str(ast.literal_eval(found[1]))


def _change(replaced: bool) -> str:
    return "replaced by another" if replaced else "added or removed"


def _known(what: str, replaced: bool) -> str:
    return f"the number of {what} is {'public' if replaced else 'private'}"
