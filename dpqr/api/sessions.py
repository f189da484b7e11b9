"""What sessions of questions and of predictions share in Python: a name beside the ledger that pays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from dpqr.api.checks import Path
from dpqr.api.payer import ledger_paths
from dpqr.app.requests import LedgerRequest

if TYPE_CHECKING:
    from dpqr.api.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSession:
    """A session, by its name beside the ledger that pays for it.

    table: given where it is in memory; a file is known from the opening.
    """

    name: str
    ledger: str | None = None
    anchor: str | None = None
    table: object = field(default=None, repr=False)

    @classmethod
    def paid_by(cls, ledger: Path | Ledger | None, anchor: Path | None, *, name: str, table: object) -> Self:
        """A session that was opened just now. table: None, unless it is in memory."""
        file, outside = ledger_paths(ledger, anchor)
        return cls(name=name, ledger=file, anchor=outside, table=table)

    @property
    def payer(self) -> LedgerRequest:
        """The ledger that pays; the session knows whose budget it is."""
        return session_payer(self.ledger, self.anchor)


def session_payer(ledger: Path | Ledger | None, anchor: Path | None) -> LedgerRequest:
    """The ledger of a session, which knows itself whose budget pays."""
    file, outside = ledger_paths(ledger, anchor)
    return LedgerRequest(dataset="", ledger=file, anchor=outside)
