"""Record: the whole ledger, every entry read, chained and replayed from the first on."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass

from dpqr.errors import LedgerError
from dpqr.io.ledger.anchor import Anchor, Mark
from dpqr.io.ledger.book import Book
from dpqr.io.ledger.chain import Stretch, digest
from dpqr.io.ledger.database import is_begun, stored_chain, stored_state
from dpqr.privacy.accountants.filters import beside_other_runs
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.ledger import Account, Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a walk over all entries found. anchored: the anchor's mark, which lies on the chain; None: none named.
    unproved: entries whose accountant is not installed here, so that their price was not derived again."""

    chain: Stretch
    entries: tuple[Entry, ...]
    book: Book
    anchored: Mark | None = None
    unproved: tuple[int, ...] = ()

    @property
    def mark(self) -> Mark:
        return Mark.of(self.chain)

    @property
    def accounts(self) -> tuple[Account, ...]:
        """All datasets, in the order in which they were opened."""
        return tuple(standing.account for standing in self.book.standings.values())

    def events(self, dataset: str) -> Composition:
        """What was charged so far, settled or reserved, with how often. UsageFault for a name without a budget.

        Of a run that counted its left-out records: what stands for it beside others (`beside_other_runs`).
        """
        self.book.account(dataset)
        charged: dict[int, Composition] = {}
        for entry in self.entries:
            if entry.dataset == dataset and entry.kind in ("reserve", "settle"):
                charged[entry.number if entry.settles is None else entry.settles] = entry.events
        total: Counter[PrivacyEvent] = Counter()
        for events in charged.values():
            for event, count in beside_other_runs(events):
                total[event] += count
        return tuple(total.items())


def walked(connection: sqlite3.Connection, anchor: Anchor | None) -> Record:
    """Walk everything. LedgerError for a chain, a rule, an anchor or a checkpoint that is broken.

    The chain is read before the anchor: from then on the transaction's lock keeps every writer from committing, so
    the anchor is that of this state or of an older one.
    """
    chain = stored_chain(connection) if is_begun(connection) else Stretch()
    marked = anchor.read() if anchor else None
    if anchor:
        anchor.check(chain, marked)
    book = Book()
    entries = book.replay(chain)
    if entries:
        _require_state(connection, book)
    return Record(chain=chain, entries=entries, book=book, anchored=marked)


def _require_state(connection: sqlite3.Connection, book: Book) -> None:
    """The state that the next job would begin from is the one of the newest checkpoint, if there is any."""
    stored, newest = stored_state(connection), book.checkpoint
    found = None if stored is None else (stored[0], digest(stored[1]))
    if found != (None if newest is None else (newest.number, newest.state)):
        raise LedgerError(
            "the ledger was edited or is damaged: its state is not that of its entries; restore it from a backup"
        )
