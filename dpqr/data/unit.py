"""PrivacyUnit: which two databases count as neighbours, and so what the guarantee protects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dpqr.errors import UsageFault


class Neighbours(Enum):
    """The neighbour relation that every sensitivity is a function of.

    ADD_REMOVE: one record (or person) is added or removed; how many there are is private.
    REPLACE: one record (or person) is replaced; how many there are is public and declared.
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """The unit that one guarantee speaks of, under a neighbour relation: one row, or one person with all their rows.

    column: the table's column that says whose row it is; None: every row is its own unit.
    rows: K, the most rows of one person that a run may use; 1 without a column. Loaders keep to it before anything
    else looks at the rows, so that neighbours differ by at most K rows come or gone, or K rows in place of K others.
    Errors: UsageFault for K below 1, or above 1 without a column.
    """

    neighbours: Neighbours = Neighbours.ADD_REMOVE
    column: str | None = None
    rows: int = 1

    def __post_init__(self) -> None:
        if self.rows < 1 or (self.column is None and self.rows != 1):
            raise UsageFault("--max-rows must be at least 1, and goes with --unit COLUMN")

    @property
    def rows_public(self) -> bool:
        """Whether the number of records is public: never of persons, who may have any number of rows each."""
        return self.neighbours is Neighbours.REPLACE and self.column is None

    @property
    def whom(self) -> str:
        """Who is protected, whatever K: costs add up over releases that agree in this."""
        replaced = self.neighbours is Neighbours.REPLACE
        if self.column is None:
            return f"one row of the table {_change(replaced)} ({_known('rows', replaced)})"
        whole = f"one person (column {self.column!r}) with all their rows"
        return f"{whole} {_change(replaced)} ({_known('persons', replaced)})"

    @property
    def words(self) -> str:
        """The unit as plans, releases and receipts print it."""
        if self.column is None:
            return self.whom
        kept = "1 row of each is used" if self.rows == 1 else f"{self.rows} rows of each are used"
        return f"{self.whom}; at most {kept}"


def _change(replaced: bool) -> str:
    return "replaced by another" if replaced else "added or removed"


def _known(what: str, replaced: bool) -> str:
    return f"the number of {what} is {'public' if replaced else 'private'}"
