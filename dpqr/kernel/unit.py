"""PrivacyUnit: what one guarantee protects, and the neighbour relation that says so."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from enum import Enum
from typing import Literal, cast

from msgspec import Struct

from dpqr.kernel.errors import UsageFault

Every = Literal["day", "week", "month", "quarter", "year"]
"""Kinds of calendar periods."""


class Neighbours(Enum):
    """The neighbour relation. Every sensitivity depends on it.

    ADD_REMOVE: one record (or person) is added or removed; their number is private.
    REPLACE: one record (or person) is replaced; their number is public and declared.
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


class DeclaredPersons(Struct, frozen=True, kw_only=True):
    """The persons that a domain file states as the unit of every run over it.

    columns, per: as of `PrivacyUnit`. rows: K, the most rows of one unit that a run may use. cell_rows: m, the most of
    them that a table may count in one of its cells; None: as many as are used.

    >>> DeclaredPersons(columns=("person_id",), rows=3).rows
    3

    Raises:
        UsageFault: the columns name no unit.
    """

    columns: tuple[str, ...]
    rows: int
    cell_rows: int | None = None
    per: Every | None = None

    def __post_init__(self) -> None:
        _require_unit(self.columns, self.per)


class PrivacyUnit(Struct, frozen=True, kw_only=True):
    """The unit of one guarantee: one row, one person with all their rows, one person's rows of one day, say, or one
    record of a histogram.

    columns: the table's columns whose values together say whose a row is, that of persons first; none: every row is
    its own unit. per: the last of them is a date, and stands for the day, week, month, quarter or year that holds it.
    counted: the count column of a histogram, whose rows are many records each; None: a row is one record.
    rows: K, the largest number of rows of one person (one unit) that a run uses; 1 without a column. Loaders
    enforce it before anything else reads the rows, so that neighbours differ by at most K added or removed rows, or by
    K replaced rows.
    cell_rows: m, the most rows of one person that a table counts in one of its cells; None: as many as are used.
    drops: whether the domain's rules may leave rows out. The number of kept rows is then private under either
    relation: a record may be replaced by one that a rule leaves out.

    >>> PrivacyUnit(columns=("household",), rows=3).whom
    "one person (column 'household') with all their rows added or removed (the number of persons is private)"

    Raises:
        UsageFault: K is below 1, or above 1 without a column; m is not between 1 and K; there is both a unit column and
            a count column; or the columns name no unit.

    Privacy:
        With m below K a table is no sum of a larger one: each is counted by itself from the K rows of each person. The
        K rows still bound what one person moves; m says how few of them may come together in one cell.
        Several columns make a smaller unit than one: a person's rows of one day. Their rows of d days are d units, so
        that the person as a whole is d steps away, and protected d times less (`group_privacy`).
        A count column makes one record the unit, not one row: a row of count c is c records, so one row more or less
        is c neighbours away. The histogram of cells is the same as that of a table with a row for each record;
        sensitivities are those of one row there.
    """

    neighbours: Neighbours = Neighbours.ADD_REMOVE
    columns: tuple[str, ...] = ()
    per: Every | None = None
    rows: int = 1
    cell_rows: int | None = None
    counted: str | None = None
    drops: bool = False

    def __post_init__(self) -> None:
        if self.rows < 1 or (not self.columns and self.rows != 1):
            raise UsageFault("--max-rows must be at least 1, and goes with --unit COLUMN")
        if self.cell_rows is not None and not (self.columns and 1 <= self.cell_rows <= self.rows):
            raise UsageFault("--max-rows-per-cell must be between 1 and --max-rows, and goes with --unit COLUMN")
        if self.columns and self.counted is not None:
            raise UsageFault("--unit cannot go with --counts: a row that stands for several records has no one person")
        if self.columns or self.per:
            _require_unit(self.columns, self.per)

    @property
    def rows_public(self) -> bool:
        """Whether the number of counted records is public. It is private for persons, who may have any number of rows,
        and where rules may leave rows out."""
        return self.neighbours is Neighbours.REPLACE and not self.columns and not self.drops

    @property
    def changes(self) -> int:
        """Number of added and removed records between neighbours; a replaced record counts twice."""
        return self.rows * (2 if self.neighbours is Neighbours.REPLACE else 1)

    @property
    def most_squared(self) -> int:
        """The largest sum of squares of what one person counts in the cells of one table.

        Counts of at most m that add up to at most K have the largest squares where as many as possible are m: moving a
        row from a cell with fewer rows to one with more raises the sum. So it is K^2 without m, and K with m = 1.

        >>> [PrivacyUnit(columns=("id",), rows=5, cell_rows=most).most_squared for most in (None, 1, 2, 5)]
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
        return self.neighbours is Neighbours.ADD_REMOVE and not self.columns

    @property
    def whom(self) -> str:
        """Who is protected, in words, without K. Costs add up over releases with the same words."""
        replaced = self.neighbours is Neighbours.REPLACE
        if self.counted is not None:
            record = f"one record counted in column {self.counted!r} {_change(replaced)}"
            return f"{record} ({_known('records', replaced)}); the table is a histogram"
        if not self.columns:
            return f"one row of the table {_change(replaced)} ({_known('rows', replaced)})"
        person, *others = map(repr, self.columns)
        if not others:
            whole = f"one person (column {person}) with all their rows"
            return f"{whole} {_change(replaced)} ({_known('persons', replaced)})"
        date = f" in one {self.per} (by the date in column {others.pop()})" if self.per else ""
        values = f" at one value of column {others[0]}" if len(others) == 1 else ""
        if len(others) > 1:
            values = f" at one value each of columns {', '.join(others[:-1])} and {others[-1]}"
        there = f"{values}{date}, with all their rows there"
        return f"one person (column {person}){there} {_change(replaced)} ({_known('such units', replaced)})"

    @property
    def words(self) -> str:
        """The unit as plans, releases and receipts print it."""
        if not self.columns:
            hidden = self.neighbours is Neighbours.REPLACE and self.drops
            return f"{self.whom}; how many of them the domain's rules keep is private" if hidden else self.whom
        kept = "1 row of each is used" if self.rows == 1 else f"{self.rows} rows of each are used"
        in_cell = "" if self.cell_rows is None else f", at most {self.cell_rows} in one cell of a table"
        whole = "; not protected as a whole: one person in several such units" if len(self.columns) > 1 else ""
        return f"{self.whom}; at most {kept}{in_cell}{whole}"

    @property
    def noun(self) -> str:
        """One of those protected, in a word: a row, a person, or a unit that is a part of what a person has."""
        return "row" if not self.columns else "person" if len(self.columns) == 1 else "unit"

    @property
    def named(self) -> str:
        """One of those protected, by the columns that say whose a row is."""
        key = whose(self.columns, self.per) if self.columns else ""
        return {"row": "row", "person": f"person (column {key})", "unit": key}[self.noun]

    @property
    def group_privacy(self) -> str:
        """What the guarantee says of a person who has several units; empty where nobody has.

        Theorem (group privacy). Tables that differ in d units are joined by a chain of d neighbours. With P_i the law
        of the outcome on the i-th table, P_i(S) <= e^eps P_(i+1)(S) + delta for each step, so by induction
        P_0(S) <= e^(d eps) P_d(S) + delta (1 + e^eps + ... + e^((d - 1) eps)). (Dwork and Roth 2014, theorem 2.2, is
        the case delta = 0.)
        """
        if len(self.columns) < 2:
            return ""
        return (
            f"a person (column {self.columns[0]!r}) with d such units in the table is protected as a whole by at most "
            "d times epsilon, with a delta by delta times 1 + e^epsilon + ... + e^((d - 1) epsilon); nothing bounds d"
        )


def unit_columns(stated: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns of a unit, of which one may be stated by its name alone."""
    return () if stated is None else (stated,) if isinstance(stated, str) else tuple(stated)


def whose(columns: Sequence[str], per: str | None = None) -> str:
    """What says whose a row is, in short: a column, or several together.

    >>> whose(["user"]), whose(["user", "country", "seen"], "month")
    ("'user'", "combination of 'user', 'country' and month of 'seen'")
    """
    *others, last = map(repr, columns)
    last = f"{per} of {last}" if per else last
    return f"combination of {', '.join(others)} and {last}" if others else last


_NAME = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_WORDS = re.compile(
    rf"one person \(column {_NAME}\)(?: with all their rows "
    rf"|(?: at one value (?:of column {_NAME}|each of columns {_NAME}(?:, {_NAME})* and {_NAME}))?"
    rf"(?: in one (?P<per>[a-z]+) \(by the date in column {_NAME}\))?, with all their rows there )"
)


def named_unit(words: str) -> tuple[tuple[str, ...], Every | None]:
    """The columns in the `words` of a unit, and the period that the last of them stands for; none: a unit is a row.

    >>> named_unit(PrivacyUnit(columns=("owner's id", "seen"), per="week").words), named_unit(PrivacyUnit().words)
    ((("owner's id", 'seen'), 'week'), ((), None))
    """
    found = _WORDS.match(words)
    if found is None:
        return (), None
    names = tuple(str(ast.literal_eval(each[0])) for each in re.finditer(_NAME, found[0]))
    return names, cast("Every | None", found["per"])


def _require_unit(columns: Sequence[str], per: str | None) -> None:
    if not all(columns) or len(set(columns)) < len(columns):
        raise UsageFault("--unit: a unit's columns have different names, none of them empty; name each of them once")
    if per and len(columns) < 2:
        raise UsageFault(
            f"--per {per}: a unit per {per} needs the column of persons and then that of dates: --unit PERSON,DATE"
        )


def _change(replaced: bool) -> str:
    return "replaced by another" if replaced else "added or removed"


def _known(what: str, replaced: bool) -> str:
    return f"the number of {what} is {'public' if replaced else 'private'}"
