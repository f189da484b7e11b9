"""SqliteLedger: the embedded ledger.

One transaction reads all entries, checks their chain and the anchor, applies the rules, adds one entry and makes it
durable. What holds then, whatever is killed when: what is published was paid before.

What the chain and the anchor find: edited, missing and reordered entries; with an anchor that lies elsewhere also a
rollback to an older copy, entries cut off at the end, and another ledger in the place of this one. What they do not
find: an owner who can write both files can rewrite both, and one who never names the ledger is not seen by it. Keep
the anchor where the jobs' user cannot take it back (another machine, a repository, a log) if that matters.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpqr.data.unit import PrivacyUnit
from dpqr.errors import LedgerError, UsageFault
from dpqr.io.ledger.anchor import Anchor, Mark
from dpqr.io.ledger.book import Book
from dpqr.io.ledger.chain import BEGINNING, Link, seal
from dpqr.io.ledger.database import append, commit, reading, require_integrity, stored_links, writing
from dpqr.io.ledger.entry_codec import encode_entry
from dpqr.io.ledger.keys import erase_key, store_key, stored_key
from dpqr.io.ledger.naming import require_name, require_text
from dpqr.io.ledger.place import create, require_place
from dpqr.io.ledger.proofs import require_proofs
from dpqr.io.ledger.refusals import require_unit
from dpqr.io.ledger.replays import Replays
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.ledger import Account, Entry, Reservation, Run, Terms

WAIT = 30.0
"""Seconds that a job waits for its turn."""


def utc_now() -> str:
    """The time as entries state it. Nothing depends on it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What a walk over the whole ledger found: the newest mark, and the anchor's, which may lag."""

    mark: Mark
    anchored: Mark | None
    accounts: tuple[Account, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteLedger:
    """A ledger in the file `path`; with an anchor, every use checks and every commit renews it.

    wait: seconds to wait for other jobs before LedgerError.
    """

    path: Path
    anchor: Anchor | None = None
    wait: float = WAIT
    clock: Callable[[], str] = utc_now
    _replays: Replays = field(default_factory=Replays, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.anchor and self.anchor.path == self.path:
            raise UsageFault(f"--anchor {self.path}: is the ledger itself; give another file, best on another disk")

    def open(self, terms: Terms) -> Account:
        """See `Ledger.open`. The file is made with the first dataset."""
        require_name(terms.dataset)
        require_text(terms.unit, what="the words of the unit")
        self._make()
        _, book = self._add(lambda book: self._entry(book, kind="init", dataset=terms.dataset, terms=terms))
        return book.account(terms.dataset)

    def reserve(self, dataset: str, events: Composition, *, unit: PrivacyUnit, note: str) -> Reservation:
        """See `Ledger.reserve`."""
        require_text(note, what="a note")

        def paid(book: Book) -> Entry:
            terms = book.account(dataset).terms
            require_unit(terms, unit)
            cost = terms.currency.price(events)
            return self._entry(book, kind="reserve", dataset=dataset, cost=cost, events=events, note=note)

        entry, book = self._add(paid, lambda connection, entry: store_key(connection, entry.number, _words(4)))
        return book.unsettled(entry.number).public(book.account(dataset).terms.accountant).reservation

    def begin(self, reservation: Reservation, event: PrivacyEvent, *, number: int, transcript: str) -> None:
        """See `Ledger.begin`."""
        self._draw(reservation, number, kind="draw", events=((event, 1),), transcript=transcript)

    def record(self, reservation: Reservation, *, number: int, transcript: str) -> None:
        """See `Ledger.record`."""
        self._draw(reservation, number, kind="record", transcript=transcript)

    def run(self, dataset: str, number: int, receipt: str) -> Run | None:
        """See `Ledger.run`."""
        book = self._read()
        paid = book.entries[number] if 0 <= number < len(book.entries) else None
        if paid is None or (paid.kind, paid.dataset, paid.hash) != ("reserve", dataset, receipt):
            raise LedgerError(
                f"--ledger {self.path}: holds no reservation {number} of dataset {dataset!r} with that seal; the "
                "transcript is of another ledger or dataset, or was edited"
            )
        standing = book.standings[dataset]
        return standing.runs[number].public(standing.terms.accountant) if number in standing.runs else None

    def key(self, reservation: Reservation) -> bytes:
        """See `Ledger.key`."""
        self._require_file()
        with reading(self.path, self.wait) as connection:
            return stored_key(connection, reservation.number)

    def settle(self, reservation: Reservation, events: Composition, *, note: str) -> Account:
        """See `Ledger.settle`."""
        require_text(note, what="a note")
        dataset, number = reservation.dataset, reservation.number

        def settled(book: Book) -> Entry:
            _require_own(book, reservation)
            cost = book.account(dataset).terms.currency.price(events)
            return self._entry(
                book, kind="settle", dataset=dataset, cost=cost, events=events, settles=number, note=note
            )

        _, book = self._add(settled, lambda connection, _: erase_key(connection, number))
        return book.account(dataset)

    def account(self, dataset: str) -> Account:
        """See `Ledger.account`."""
        return self._read().account(dataset)

    def accounts(self) -> tuple[Account, ...]:
        """All datasets, in the order in which they were opened."""
        return tuple(standing.account for standing in self._read().standings.values())

    def entries(self) -> tuple[Entry, ...]:
        """The whole record, chain and anchor checked."""
        return tuple(self._read().entries)

    def verify(self) -> Verified:
        """Walk everything: SQLite's structures, chain, anchor, rules, and the price of every event."""
        self._require_file()
        with reading(self.path, self.wait) as connection:
            require_integrity(connection)
            chain, marked = self._checked(connection)
        book = _replayed(chain)
        require_proofs(book, chain)
        accounts = tuple(standing.account for standing in book.standings.values())
        return Verified(mark=Mark.of(chain), anchored=marked, accounts=accounts)

    def renew_anchor(self) -> Mark:
        """Write the anchor anew, or for the first time, once the ledger as it is has been found sound.

        LedgerError where an older anchor is there and disagrees.
        """
        if not self.anchor:
            raise UsageFault("--anchor: name the file to write, best on another disk than the ledger")
        self._require_file()
        with writing(self.path, self.wait) as connection:
            chain = stored_links(connection)
            if marked := self.anchor.read():
                self.anchor.check(chain, marked)
            require_proofs(_replayed(chain), chain)
            mark = Mark.of(chain)
            if not mark.entries:
                raise UsageFault(f"--ledger {self.path}: holds no entry yet; `dpqr budget init` writes the anchor too")
            self.anchor.draft(mark)
            self.anchor.publish()
        return mark

    def _draw(self, reservation: Reservation, number: int, **content: Any) -> None:
        def continued(book: Book) -> Entry:
            _require_own(book, reservation)
            book.unsettled(reservation.number).require_next(number)
            return self._entry(book, dataset=reservation.dataset, run=reservation.number, **content)

        self._add(continued)

    def _add(
        self,
        make: Callable[[Book], Entry],
        beside: Callable[[sqlite3.Connection, Entry], None] = lambda _, __: None,
    ) -> tuple[Entry, Book]:
        """One transaction: check everything, admit one entry and what goes beside it, make it durable, renew the
        anchor."""
        self._require_file()
        with writing(self.path, self.wait) as connection:
            chain, _ = self._checked(connection)
            book = self._replays.take(chain)
            if not chain:
                chain = (*chain, self._append(connection, chain, book, self._beginning()))
            entry = make(book)
            chain = (*chain, self._append(connection, chain, book, entry))
            beside(connection, entry)
            if self.anchor:
                self.anchor.draft(Mark.of(chain))
            commit(connection)
            if self.anchor:
                self.anchor.publish()
        self._replays.keep(chain, book)
        return book.entries[-1], book

    def _append(self, connection: sqlite3.Connection, chain: tuple[Link, ...], book: Book, entry: Entry) -> Link:
        text = encode_entry(entry)
        link = Link(text=text, seal=seal(chain[-1].seal if chain else BEGINNING, text))
        book.add(replace(entry, hash=link.seal))
        append(connection, len(chain), link)
        return link

    def _read(self) -> Book:
        self._require_file()
        with reading(self.path, self.wait) as connection:
            chain, _ = self._checked(connection)
        return _replayed(chain)

    def _checked(self, connection: sqlite3.Connection) -> tuple[tuple[Link, ...], Mark | None]:
        """The chain, and the anchor's mark on it.

        The chain is read first: from then on this transaction's lock keeps every writer from committing, so the
        anchor is that of this state or of an older one.
        """
        chain = stored_links(connection)
        if not self.anchor:
            return chain, None
        marked = self.anchor.read()
        self.anchor.check(chain, marked)
        return chain, marked

    def _make(self) -> None:
        """An empty file where there is none; where an anchor knows of entries, the file was removed."""
        if not require_place(self.path):
            self._require_new()
            create(self.path)

    def _require_file(self) -> None:
        if not require_place(self.path):
            self._require_new()
            raise UsageFault(f"--ledger {self.path}: there is no ledger; `dpqr budget init` makes one")

    def _require_new(self) -> None:
        if self.anchor and (marked := self.anchor.read()):
            raise LedgerError(
                f"--ledger {self.path}: is gone, and the anchor {self.anchor.path} knows {marked.entries} entries "
                "of it; restore it, or mend the path"
            )

    def _beginning(self) -> Entry:
        """The first entry makes two ledgers with the same history two different ledgers."""
        return Entry(number=0, kind="open", time=self.clock(), note=_words(2).hex())

    def _entry(self, book: Book, **content: Any) -> Entry:
        return Entry(number=len(book.entries), time=self.clock(), **content)


def _replayed(chain: tuple[Link, ...]) -> Book:
    return Replays().take(chain)


def _require_own(book: Book, reservation: Reservation) -> None:
    if book.unsettled(reservation.number).paid.hash != reservation.receipt:
        raise LedgerError(f"entry {reservation.number} is not the reservation of this run, but another ledger's")


def _words(count: int) -> bytes:
    from dpqr.noise.source import SystemNoise  # brings numpy, which looking at a ledger does not need

    return SystemNoise().words(count).tobytes()
