"""Who pays, from what callers name: a dataset, and the ledger that keeps its budget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpqr.api.ledger import Ledger

if TYPE_CHECKING:
    from dpqr.api.checks import Path
    from dpqr.app.requests import LedgerRequest


def payer(
    dataset: str | None, ledger: Path | Ledger | None, anchor: Path | None, resume: bool = False
) -> LedgerRequest | None:
    """Who pays; None: no ledger is named or configured."""
    from dpqr.app.paying.paid_run import ledger_request

    return ledger_request(dataset, *ledger_paths(ledger, anchor), resume)


def ledger_paths(ledger: Path | Ledger | None, anchor: Path | None) -> tuple[str | None, str | None]:
    """The files of a ledger and of its anchor; None: as configured."""
    held = ledger if isinstance(ledger, Ledger) else Ledger(ledger, anchor)
    return held.path, held.anchor
