"""Proofs: what a sound chain cannot show of itself, that every entry is whole and no price is below its events'."""

from __future__ import annotations

from dpqr.errors import DpqrError, LedgerError
from dpqr.io.ledger.entry_codec import encode_entry
from dpqr.io.ledger.record import Record
from dpqr.privacy.budget import PURE
from dpqr.privacy.ledger import Entry
from dpqr.privacy.pair_currency import is_installed


def require_proofs(record: Record) -> tuple[int, ...]:
    """LedgerError for an entry that says more than is read from it, or states less than its events cost.

    Why prices need not be equal: a theorem that is improved later makes old ones too high, and they stay paid.

    Returns:
        Numbers of the reservations whose accountant is not installed here: nobody derived their price again.
    """
    unproved = []
    for entry, link in zip(record.entries, record.chain.links, strict=True):
        if encode_entry(entry) != link.text:
            raise LedgerError(f"the ledger was forged: entry {entry.number} is not written as dpqr writes it")
        if entry.pricing and not is_installed(entry.pricing.accountant):
            unproved.append(entry.number)
        elif not _paid(record, entry):
            raise LedgerError(f"the ledger was forged: entry {entry.number} states less than its events cost")
    return tuple(unproved)


def _paid(record: Record, entry: Entry) -> bool:
    if entry.terms is not None:
        return entry.terms.currency.covers(entry.terms.budget, entry.terms.limit)
    if entry.kind not in ("reserve", "settle"):
        return True  # a draw is held against its reservation by the rules of the book
    currency = record.book.standings[entry.dataset].terms.currency
    try:
        if entry.settles is None:
            return currency.proves(entry.cost, currency.price(entry.events, entry.pricing or PURE))
        paid = record.entries[entry.settles]
        return currency.proves(entry.cost, currency.settled(paid.cost, entry.events, paid.pricing or PURE))
    except DpqrError:
        return False
