"""PrivacyUnit: which two databases count as neighbours, and so what the guarantee protects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Neighbours(Enum):
    """The neighbour relation that every sensitivity is a function of.

    ADD_REMOVE: one record is added or removed; the number of records n is private.
    REPLACE: one record is replaced; n is public and declared.
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """The unit that one guarantee speaks of: one row of the table under a neighbour relation."""

    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @property
    def words(self) -> str:
        """The unit as plans, releases and receipts print it."""
        if self.neighbours is Neighbours.REPLACE:
            return "one row of the table replaced by another (the number of rows is public)"
        return "one row of the table added or removed (the number of rows is private)"
