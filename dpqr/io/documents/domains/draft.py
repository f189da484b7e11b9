"""A domain of which some columns are at fault: queries are checked against the others."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.data.domain import Domain
from dpqr.io.documents.text.faults import FollowUp

UNREADABLE = ""
"""Stands for a column whose name is not known: any unknown name may be meant for it."""


@dataclass(frozen=True, slots=True)
class DomainDraft(Domain):
    """The sound columns, and the names of those at fault. It never leaves the checks of documents.

    A question about a column at fault raises FollowUp: its fault is kept already.
    """

    broken: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Those at fault come last."""
        return (*(attribute.name for attribute in self.attributes), *self.broken)

    def axis(self, name: str) -> int:
        if all(attribute.name != name for attribute in self.attributes) and (
            name in self.broken or UNREADABLE in self.broken
        ):
            raise FollowUp(f"the column {name!r} is at fault")
        return Domain.axis(self, name)
