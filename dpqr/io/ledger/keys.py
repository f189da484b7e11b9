"""Keys: one random secret for each reservation that is not settled, beside the chain and never in it.

It marks the table of a run, so that the run can be continued on that table only. Whoever copies the record, as
`dpqr budget export` prints it, has no key; after the settlement nobody has it. A check beside the key tells one that is
damaged from a table that is another one.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection

from dpqr.errors import LedgerError

BYTES, CHECK = 32, 8


def store_key(connection: sqlite3.Connection, reservation: int, key: bytes) -> None:
    """Keep the key of a new reservation."""
    connection.execute("INSERT INTO keys (reservation, key) VALUES (?, ?)", (reservation, key + _check(key)))


def stored_key(connection: sqlite3.Connection, reservation: int) -> bytes:
    """LedgerError where there is none."""
    found = connection.execute("SELECT key FROM keys WHERE reservation = ?", (reservation,)).fetchone()
    if found is None or not _is_sound(found[0]):
        raise LedgerError(f"the key of reservation {reservation} is missing or damaged, so its run cannot be continued")
    return bytes(found[0][:BYTES])


def require_keys(connection: sqlite3.Connection, reservations: Collection[int]) -> None:
    """LedgerError unless each of the reservations that wait has its key, and no other key is kept."""
    found = connection.execute("SELECT reservation, key FROM keys").fetchall()
    if {number for number, _ in found} != set(reservations) or not all(_is_sound(key) for _, key in found):
        raise LedgerError("the ledger was edited or is damaged: its keys are not those of its unsettled reservations")


def erase_key(connection: sqlite3.Connection, reservation: int) -> None:
    """Overwrite and remove it (SQLite's secure_delete is on)."""
    connection.execute("DELETE FROM keys WHERE reservation = ?", (reservation,))


def _check(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()[:CHECK]


def _is_sound(stored: object) -> bool:
    return isinstance(stored, bytes) and len(stored) == BYTES + CHECK and stored[BYTES:] == _check(stored[:BYTES])
