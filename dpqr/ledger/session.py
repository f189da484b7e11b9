"""One transaction at a ledger's three tables, and the place that they lie in, whatever database holds them.

entries: the chain. state: one row, the newest checkpoint and the state whose digest it holds. keys: one random secret
for each reservation that is not settled, beside the chain and never in it. It marks the table of a run, so that the run
can be continued on that table only. An export of the record shows no key; after the settlement the key is gone. A check
beside each key distinguishes a damaged key from another table.

Whoever can write a file can write all three. In PostgreSQL roles differ: a job appends entries, with the key of a new
reservation, and nothing else.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Any, Protocol

from dpqr.kernel.errors import LedgerError, UsageFault
from dpqr.ledger.chain import BEGINNING, ChainSegment, Link, Mark, chain_segment

KEY_BYTES, CHECK_BYTES = 32, 8


class NoLedger(UsageFault):
    """There is no ledger in that place."""


class StoreTransaction(ABC):
    """One transaction. Nothing that it has changed is kept unless `commit` returns."""

    @property
    def prefix(self) -> str:
        """What stands before the name of each table: its schema, where the database has schemas."""
        return ""

    @property
    def owns(self) -> bool:
        """Whether this job may store states, and see all keys: it has the rights of the ledger's owner."""
        return True

    @abstractmethod
    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run one statement, with `?` for each value; the rows that it gives."""

    @abstractmethod
    def is_begun(self) -> bool:
        """Whether the tables are there; False: the place is still empty. LedgerError: it holds something else."""

    @abstractmethod
    def commit(self, mark: Mark) -> None:
        """Make the transaction durable: when this returns, no loss of power undoes it.

        Args:
            mark: where the chain stands then, by which a commit whose answer was lost is looked up.
        """

    @abstractmethod
    def prepare(self) -> None:
        """Make what a new ledger needs before its first entry."""

    @abstractmethod
    def require_integrity(self) -> None:
        """LedgerError where the database finds its own structures damaged."""

    def chain(self, first: int = 0, before: str = BEGINNING) -> ChainSegment:
        """The entries from `first` on, their chain checked. LedgerError where it is broken."""
        return chain_segment(self.entry_rows(first), first, before)

    def entry_rows(self, first: int) -> list[tuple[Any, ...]]:
        """Number, text and seal of the entries from `first` on, and the role of jobs that has appended it, if any."""
        return self.rows(
            f"SELECT number, entry, seal FROM {self.prefix}entries WHERE number >= ? ORDER BY number", first
        )

    def stored_seal(self, entries: int) -> object:
        """The seal that is stored for the chain of so many entries; BEGINNING for none, None where it is missing."""
        if not entries:
            return BEGINNING
        found = self.rows(f"SELECT seal FROM {self.prefix}entries WHERE number = ?", entries - 1)
        return found[0][0] if found else None

    def append(self, number: int, link: Link, *, key: bytes | None = None, settles: int | None = None) -> None:
        """Add one entry. A number that is there already is refused by the database.

        Args:
            key: of a new reservation, to be kept.
            settles: the reservation whose key is erased.
        """
        if number == 0:
            self.prepare()
        self.rows(
            f"INSERT INTO {self.prefix}entries (number, entry, seal) VALUES (?, ?, ?)", number, link.text, link.seal
        )
        if key is not None:
            self.store_key(number, key)
        if settles is not None:
            self.rows(f"DELETE FROM {self.prefix}keys WHERE reservation = ?", settles)

    def stored_state(self) -> tuple[int, str] | None:
        """Number and text of the newest checkpoint; None before the first. LedgerError for anything else.

        The text is "" where jobs of an older version could have written it: see `transaction`.
        """
        found = self.rows(f"SELECT number, text FROM {self.prefix}state")
        if not found:
            return None
        if len(found) > 1 or not isinstance(found[0][1], str):
            raise LedgerError(
                "the ledger was edited or is damaged: its state is not one text; restore it from a backup"
            )
        number, text = found[0]
        return number, text

    def store_state(self, number: int, text: str) -> None:
        """Keep the state of a new checkpoint in the place of the older one."""
        self.rows(f"DELETE FROM {self.prefix}state")
        self.rows(f"INSERT INTO {self.prefix}state (number, text) VALUES (?, ?)", number, text)

    def store_key(self, reservation: int, key: bytes) -> None:
        """Keep the key of a new reservation."""
        self.rows(f"INSERT INTO {self.prefix}keys (reservation, key) VALUES (?, ?)", reservation, sealed_key(key))

    def stored_key(self, reservation: int) -> bytes:
        """LedgerError where there is none."""
        found = self.key_rows(reservation)
        if not found or not _is_sound(found[0][0]):
            raise LedgerError(
                f"the key of reservation {reservation} is missing or damaged, so its run cannot be continued"
            )
        return bytes(found[0][0][:KEY_BYTES])

    def key_rows(self, reservation: int) -> list[tuple[Any, ...]]:
        """The stored key of a reservation, with its check; no row, or NULL: there is none for this job."""
        return self.rows(f"SELECT key FROM {self.prefix}keys WHERE reservation = ?", reservation)

    def require_keys(self, reservations: Collection[int], *, spoilt: bool = False) -> None:
        """LedgerError unless each of the reservations that wait has its key, and no other key is kept.

        Nothing is looked at by a job that may not see the keys of others.

        Args:
            spoilt: a key may be missing, for a job has appended a settlement that was rejected.
        """
        if not self.owns:
            return
        found = self.rows(f"SELECT reservation, key FROM {self.prefix}keys")
        missing = set(reservations) - {number for number, _ in found}
        known = len(found) + len(missing) == len(reservations)
        if not known or (missing and not spoilt) or not all(_is_sound(key) for _, key in found):
            raise LedgerError(
                "the ledger was edited or is damaged: its keys are not those of its unsettled reservations"
            )

    @abstractmethod
    def disown(self) -> None:
        """Forget which role has appended each entry: those that were carried here, no role of this database has."""

    def keep_keys(self, reservations: Collection[int]) -> None:
        """Remove every key but those of the reservations that wait."""
        for (number,) in self.rows(f"SELECT reservation FROM {self.prefix}keys"):
            if number not in reservations:
                self.rows(f"DELETE FROM {self.prefix}keys WHERE reservation = ?", number)


Before = Callable[[StoreTransaction], object]


class Store(Protocol):
    """Where a ledger lies.

    Raises:
        LedgerError: it is locked for too long, damaged, or its database fails.
        NoLedger: there is none.
        UsageFault: it is no place for a ledger.
    """

    @property
    def place(self) -> str:
        """The path or address, as messages and entries name it; no secret is in it."""
        ...

    def exists(self) -> bool: ...

    def make(self) -> None:
        """Make an empty ledger where there is none, and bring older tables to the newest version."""
        ...

    def grant(self, role: str) -> None:
        """Let a role of the database append what jobs append. UsageFault where a ledger has no roles."""
        ...

    def revoke(self, role: str) -> None:
        """Take that back. UsageFault where a ledger has no roles."""
        ...

    def reading(self, wait: float) -> AbstractContextManager[StoreTransaction]:
        """A transaction that sees one state of the ledger and changes nothing."""
        ...

    def writing(self, wait: float, before: Before | None = None) -> AbstractContextManager[StoreTransaction]:
        """A transaction that holds the only right to write from its first look at the ledger on.

        It is rolled back unless the block calls `commit`.

        Args:
            wait: seconds to wait for other jobs.
            before: what may be done without that right, so that nobody waits for it meanwhile; called with a
                transaction that only reads. A file's lock is never long: nothing is done there.
        """
        ...


def sealed_key(key: bytes) -> bytes:
    """The key as it is stored: with its check."""
    return key + _check(key)


def _check(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()[:CHECK_BYTES]


def _is_sound(stored: object) -> bool:
    return (
        isinstance(stored, bytes)
        and len(stored) == KEY_BYTES + CHECK_BYTES
        and stored[KEY_BYTES:] == _check(stored[:KEY_BYTES])
    )
