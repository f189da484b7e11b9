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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The chain from entry `first` on, in order; `before` is the seal that its first link goes on from."""

    first: int = 0
    before: str = BEGINNING
    links: tuple[Link, ...] = ()

    @property
    def length(self) -> int:
        """Entries of the whole chain, those before the stretch too."""
        return self.first + len(self.links)

    def seal_after(self, entries: int) -> str:
        """The chain's seal after its first so many entries, from `first` on."""
        return self.links[entries - self.first - 1].seal if entries > self.first else self.before


def seal(previous: str, text: str) -> str:
    """The seal of an entry after the one sealed by `previous` (BEGINNING for the first)."""
    return digest(f"{previous}\n{text}")


def digest(text: str) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def stretch(rows: Sequence[tuple[object, object, object]], first: int = 0, before: str = BEGINNING) -> Stretch:
    """Rows (number, text, seal), as they are stored, in the order of their numbers, from entry `first` on.

    LedgerError where one is missing or was changed. That rows are missing at the end only an anchor can tell.
    """
    found: list[Link] = []
    previous = before
    for expected, (number, text, stored) in enumerate(rows, start=first):
        if number != expected:
            raise LedgerError(f"the ledger is damaged: entry {expected} is missing; restore it from a backup")
        if not isinstance(text, str) or stored != seal(previous, text):
            raise LedgerError(
                f"the ledger was edited or is damaged: entry {number} does not match its seal; restore it from a backup"
            )
        previous = stored
        found.append(Link(text=text, seal=stored))
    return Stretch(first=first, before=before, links=tuple(found))
