"""Chain: every entry is sealed by the SHA-256 of its text and of the seal before it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from dpqr.errors import LedgerError

BEGINNING = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One stored entry: its canonical text, and the seal of the chain up to it (64 hexadecimal digits)."""

    text: str
    seal: str


def seal(previous: str, text: str) -> str:
    """The seal of an entry after the one sealed by `previous` (BEGINNING for the first)."""
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def links(rows: Sequence[tuple[object, object, object]]) -> tuple[Link, ...]:
    """Rows (number, text, seal), as they are stored, in the order of their numbers.

    LedgerError where one is missing or was changed. That rows are missing at the end only an anchor can tell.
    """
    found: list[Link] = []
    previous = BEGINNING
    for expected, (number, text, stored) in enumerate(rows):
        if number != expected:
            raise LedgerError(f"the ledger is damaged: entry {expected} is missing; restore it from a backup")
        if not isinstance(text, str) or stored != seal(previous, text):
            raise LedgerError(
                f"the ledger was edited or is damaged: entry {number} does not match its seal; restore it from a backup"
            )
        previous = stored
        found.append(Link(text=text, seal=stored))
    return tuple(found)
