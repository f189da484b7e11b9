"""Proofs: what a sound chain cannot show of itself, that every entry is whole and no price is below its events'."""

from __future__ import annotations

from dpqr.errors import DpqrError, LedgerError
from dpqr.io.ledger.book import Book
from dpqr.io.ledger.entry_codec import encode_entry
from dpqr.io.ledger.record import Record
from dpqr.privacy.accountants.zcdp import converted
from dpqr.privacy.ledger import Entry, Terms


def require_proofs(record: Record) -> None:
    """LedgerError for an entry that says more than is read from it, or states less than its events cost.

    Why prices need not be equal: a theorem that is improved later makes old ones too high, and they stay paid.
    """
    for entry, link in zip(record.entries, record.chain.links, strict=True):
        if encode_entry(entry) != link.text:
            raise LedgerError(f"the ledger was forged: entry {entry.number} is not written as dpqr writes it")
        if not _paid(record.book, entry):
            raise LedgerError(f"the ledger was forged: entry {entry.number} states less than its events cost")


def _paid(book: Book, entry: Entry) -> bool:
    if entry.terms is not None:
        return _covered(entry.terms)
    if not entry.dataset or entry.kind in ("draw", "record"):
        return True  # a draw is held against its reservation by the rules of the book
    try:
        return entry.cost >= book.standings[entry.dataset].terms.currency.price(entry.events)
    except DpqrError:
        return False


def _covered(terms: Terms) -> bool:
    """Whether spending the whole limit stays within the budget."""
    if terms.currency.name == "epsilon":
        return terms.limit <= terms.budget.epsilon
    return converted(terms.limit, terms.budget.delta) <= terms.budget.epsilon
