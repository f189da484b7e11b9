"""Replays: the book of a chain, without replaying again what this process has replayed already.

A run adds two entries a draw, and each of them is checked against the whole book. What is kept is found again by the
seal of its last entry, which no other chain has.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.io.ledger.book import Book
from dpqr.io.ledger.chain import BEGINNING, Link
from dpqr.io.ledger.entry_codec import decode_entry


@dataclass(slots=True)
class Replays:
    """The last book, and the length and seal of its chain.

    A book that is taken is not kept any more: a transaction that fails may have changed it.
    """

    _book: Book | None = None
    _length: int = 0
    _seal: str = BEGINNING

    def take(self, chain: tuple[Link, ...]) -> Book:
        """The book of `chain`. LedgerError for an entry that no ledger would have admitted."""
        book, self._book = self._book, None
        length = self._length
        if book is None or not 0 < length <= len(chain) or chain[length - 1].seal != self._seal:
            book, length = Book(), 0
        book.replay(decode_entry(link.text, link.seal) for link in chain[length:])
        return book

    def keep(self, chain: tuple[Link, ...], book: Book) -> None:
        """Keep the book of `chain` for the next use; its taker must not change it any more."""
        self._book, self._length, self._seal = book, len(chain), chain[-1].seal
