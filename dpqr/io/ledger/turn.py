"""Turn: one job's transaction at the ledger, whose cost does not grow with the ledger's age.

Every job that writes needs the standings of all budgets. It takes them from the newest checkpoint, every STRIDE
entries or so, and replays only what came after it: the state that is stored there must have the digest that the
checkpoint's entry holds, and from that entry on every text must have its seal. Within one process the book of the last
turn serves as well, as long as its seal is still in the chain.

What such a turn does not look at are the entries before the checkpoint. Nothing of them is used: what a reservation is
held against is the state, and with an anchor on the chain behind it that state, the checkpoint and all later entries
are the ones that honest jobs have written, or the anchor's seal would not fit. An anchor that lies before the
checkpoint says nothing of it, so then the whole chain is walked. Entries before it that were edited or taken out are
found by every command that reads (`show`, `history`, `export`, `verify`, and --resume): these walk from the first
entry on, and replay each checkpoint's state. Without an anchor, whoever can write the file can rewrite all of it, by
either way of reading.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dpqr.errors import LedgerError
from dpqr.io.ledger.anchor import Anchor, Mark
from dpqr.io.ledger.book import Book
from dpqr.io.ledger.chain import Link, digest, seal
from dpqr.io.ledger.database import (
    append,
    commit,
    is_begun,
    store_state,
    stored_chain,
    stored_seal,
    stored_state,
)
from dpqr.io.ledger.entry_codec import encode_entry
from dpqr.io.ledger.record import walked
from dpqr.io.ledger.state_codec import decode_state
from dpqr.privacy.ledger import Entry

STRIDE = 128
"""Entries between checkpoints: replaying so many takes about as long as one commit to a disk."""


@dataclass(slots=True)
class Last:
    """The book of this process's last turn. One that is taken is not kept: a transaction that fails may change it."""

    book: Book | None = None

    def take(self) -> Book | None:
        taken, self.book = self.book, None
        return taken


@dataclass(slots=True, kw_only=True)
class Turn:
    """The only job that may write now, and the book as it stands with what this job has added."""

    connection: sqlite3.Connection
    book: Book
    clock: Callable[[], str]

    def add(self, kind: Any, **content: Any) -> Entry:
        """Admit one entry. Errors: those of `Book.add`."""
        entry = Entry(number=self.book.length, kind=kind, time=self.clock(), **content)
        text = encode_entry(entry)
        entry = replace(entry, hash=seal(self.book.seal, text))
        self.book.add(entry)
        append(self.connection, entry.number, Link(text=text, seal=entry.hash))
        return entry

    def finish(self, anchor: Anchor | None) -> Mark:
        """Make what was added durable, and renew the anchor; where the ledger stands now."""
        self.checkpoint()
        mark = Mark(entries=self.book.length, seal=self.book.seal)
        if anchor:
            anchor.draft(mark)
        commit(self.connection)
        if anchor:
            anchor.publish()
        return mark

    def checkpoint(self) -> None:
        """Keep the state, where enough entries have come since it was last kept."""
        newest = self.book.checkpoint.number if self.book.checkpoint else 0
        if self.book.length - newest >= STRIDE:
            state = self.book.state
            store_state(self.connection, self.add("checkpoint", state=digest(state)).number, state)


def resumed(connection: sqlite3.Connection, anchor: Anchor | None, kept: Last) -> Book:
    """The book as it is now, from the latest place that can be trusted. Errors: LedgerError, as of `walked`."""
    last = kept.take()
    if not is_begun(connection):
        return walked(connection, anchor).book
    book = last if last and stored_seal(connection, last.length) == last.seal else _checkpointed(connection)
    marked = anchor.read() if anchor else None
    if book is None or (marked and marked.entries < book.length):
        return walked(connection, anchor).book
    chain = stored_chain(connection, book.length, book.seal)
    if anchor:
        anchor.check(chain, marked)
    entries = book.replay(chain)
    if book is not last and not (entries and entries[0].kind == "checkpoint"):
        raise LedgerError("the ledger was edited or is damaged: its state has no checkpoint; restore it from a backup")
    return book


def _checkpointed(connection: sqlite3.Connection) -> Book | None:
    """The book before the newest checkpoint's entry, whose replay proves it; None: there is no checkpoint yet."""
    stored = stored_state(connection)
    if stored is None:
        return None
    number, text = stored
    state, before = decode_state(text), stored_seal(connection, number)
    if state.length != number or not isinstance(before, str):
        raise LedgerError("the ledger was edited or is damaged: its state is misplaced; restore it from a backup")
    return Book.of(state, before)
