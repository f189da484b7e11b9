"""Reported: everything public that a page about a release is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpqr.construction.answers.answered import AnsweredBlock
from dpqr.privacy.budget import Cost
from dpqr.privacy.ledger import Account

UNKNOWN = "not stated in the record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """A release that a budget has paid for. number: of its entry. own: it is the release that the page is about."""

    number: int
    date: str
    cost: Cost
    own: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """A dataset's budget, and what it was charged for, oldest first."""

    account: Account
    charges: Sequence[Charge]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The first synthetic rows, as texts."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reported:
    """A release.

    record: release.json; an older one may lack parts. place: its directory, as commands name it. spending: None where
    no ledger was given. preview: None where there are no synthetic rows. hashes: SHA-256 of its files, by name.
    figures: rows of their table. unverified: why record and files may have been changed; empty: their hashes fit.
    """

    record: dict[str, Any]
    blocks: Sequence[AnsweredBlock]
    place: str
    spending: Spending | None = None
    preview: Preview | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    figures: Sequence[dict[str, Any]] = ()
    unverified: str = ""

    @property
    def plan(self) -> dict[str, Any]:
        return dict(self.record.get("plan") or {})

    @property
    def bounds(self) -> dict[str, float]:
        """The proved bound on each block's L1 error, in records, by its name; empty where none was bought."""
        blocks = (self.record.get("bounds") or {}).get("blocks") or ()
        return {each["name"]: float(each["records"]) for each in blocks}

    def stated(self, name: str) -> str | None:
        """A text of the record, or None."""
        found = self.record.get(name)
        return found if isinstance(found, str) and found else None

    def document(self, name: str) -> dict[str, Any] | None:
        """The domain or the queries file as the record keeps it, or None."""
        found = (self.plan.get("request") or {}).get(name)
        return found if isinstance(found, dict) else None
