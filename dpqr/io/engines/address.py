"""Address: where a table lies in an engine, as it is named on the command line and registered by a budget's owner."""

from __future__ import annotations

from dataclasses import dataclass, field

QUERY = "?query="
"""How a query is shown in plans and records. No address that somebody asks with holds one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """SCHEME:PLACE?table=NAME, or SCHEME:PLACE.

    place: a file, a server, or nothing; no part of a plan. table: a name, with its schema before a dot where it needs
    one. query: one SELECT, which only the budget's owner can have registered.
    registered: whether the budget's owner registered it; only then may it name a view or hold a query.
    """

    scheme: str
    place: str = field(repr=False)
    table: str | None = None
    query: str | None = None
    registered: bool = False

    @property
    def text(self) -> str:
        """The address as one types it; of a registered query its place."""
        return f"{self.scheme}:{self.place}" + ("" if self.table is None else f"?table={self.table}")

    @property
    def public(self) -> str:
        """The part that plan and record hold."""
        if self.query is not None:
            return f"{self.scheme}:{QUERY}{self.query}"
        return f"{self.scheme}:" if self.table is None else f"{self.scheme}:?table={self.table}"


def is_query(public: str | None) -> bool:
    """Whether what a plan says of its table is a query's text (`Address.public`)."""
    return public is not None and public.partition(":")[2].startswith(QUERY)
