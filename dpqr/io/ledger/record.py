"""The whole ledger: every entry read, chained, replayed from the first on, and proved.

A proof shows what a sound chain cannot: that every entry is whole, and that no price is below its events'.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from dpqr.errors import DpqrError, LedgerError
from dpqr.io.ledger.chain import Anchor, ChainSegment, Link, Mark, digest
from dpqr.io.ledger.entry_codec import encode_entry
from dpqr.io.ledger.ledger_state import LedgerState
from dpqr.io.ledger.session import Session
from dpqr.privacy.accountants.filters import beside_other_runs
from dpqr.privacy.budget import PURE
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.ledger import Account, Entry
from dpqr.privacy.pair_currency import is_installed
from dpqr.privacy.periods import WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a walk over all entries found.

    anchored: the anchor's mark, which lies on the chain; None: no anchor is named. unproved: entries whose accountant
    is not installed here, so that their price was not derived again.
    """

    chain: ChainSegment
    entries: tuple[Entry, ...]
    state: LedgerState
    anchored: Mark | None = None
    unproved: tuple[int, ...] = ()

    @property
    def mark(self) -> Mark:
        return Mark.of(self.chain)

    @property
    def accounts(self) -> tuple[Account, ...]:
        """All datasets, in the order in which they were opened."""
        return tuple(held.account for held in self.state.accounts.values())

    @property
    def replayed(self) -> int:
        """Entries since the newest checkpoint: a new job replays them."""
        newest = self.state.checkpoint
        return self.chain.length - (newest.number if newest else 0)

    def events(self, dataset: str) -> Composition:
        """What was charged so far, settled or reserved, with how often. UsageFault for a name without a budget.

        Of a run that counted its left-out records: what stands for it beside others (`beside_other_runs`).
        """
        self.state.account(dataset)
        return _sum(events for _, events in self._charged(dataset))

    def histories(self, dataset: str) -> tuple[Composition, ...]:
        """What one unit may have met, each by itself: all that was charged; where it is a row in one of several
        periods, for each period what read its rows. None where there are layers (`Layer`): of their releases a unit
        pays a part each, by its rows, which is no composition of whole releases."""
        if any(entry.layer is not None for entry in self.entries if entry.dataset == dataset):
            return ()
        periods, charged = self.state.account(dataset).terms.periods, self._charged(dataset)
        if periods is None or not periods.parallel:
            return (_sum(events for _, events in charged),)
        read = [(periods.paying(name), events) for name, events in charged]
        names = {name for paying, _ in read for name in paying} or {WHOLE}
        return tuple(_sum(events for paying, events in read if {WHOLE, name} & {*paying}) for name in sorted(names))

    def _charged(self, dataset: str) -> tuple[tuple[str, Composition], ...]:
        """The events of every run, with its period."""
        charged: dict[int, tuple[str, Composition]] = {}
        for entry in self.entries:
            if entry.dataset == dataset and entry.kind == "reserve":
                charged[entry.number] = entry.period, entry.events
            elif entry.dataset == dataset and entry.settles is not None:
                charged[entry.settles] = charged[entry.settles][0], entry.events
        return tuple(charged.values())


def _sum(runs: Iterable[Composition]) -> Composition:
    total: Counter[PrivacyEvent] = Counter()
    for events in runs:
        for event, count in beside_other_runs(events):
            total[event] += count
    return tuple(total.items())


def walked(session: Session, anchor: Anchor | None, *, rejecting: bool = False) -> Record:
    """Walk everything. LedgerError for a chain, a rule, an anchor or a checkpoint that is broken.

    rejecting: entries that jobs have appended, and that break the rules, are void.

    The anchor is read before the session's first look at the ledger, so it is that of this state or of an older one,
    whether or not the session keeps others from committing. One that was not there is looked for once more: the
    ledger's first job may have written it in between.
    """
    marked = anchor.read() if anchor else None
    chain = session.chain() if session.is_begun() else ChainSegment()
    if anchor:
        marked = marked or anchor.read()
        anchor.check(chain, marked)
    state = LedgerState()
    entries = state.replay(chain, chain.of_jobs if rejecting else ())
    if entries:
        _require_state(session, state)
    return Record(chain=chain, entries=entries, state=state, anchored=marked)


def _require_state(session: Session, state: LedgerState) -> None:
    """The state that the next job would begin from is the one of the newest checkpoint, if there is any.

    An empty text is the state of nobody: the next job walks.
    """
    stored, newest = session.stored_state(), state.checkpoint
    if stored is not None and stored[1] == "":
        return
    found = None if stored is None else (stored[0], digest(stored[1]))
    if found != (None if newest is None else (newest.number, newest.state)):
        raise LedgerError(
            "the ledger was edited or is damaged: its state is not that of its entries; restore it from a backup"
        )


def require_proofs(record: Record) -> tuple[int, ...]:
    """LedgerError for an entry that says more than is read from it, or states less than its events cost.

    Why prices need not be equal: a theorem that is improved later makes old ones too high, and they stay paid.

    Returns:
        Numbers of the reservations whose accountant is not installed here: nobody derived their price again.
    """
    unproved, rejected = [], record.chain.rejected
    for entry, link in zip(record.entries, record.chain.links, strict=True):
        if entry.number in rejected:
            continue
        if encode_entry(entry) != link.text:
            raise _lies(link, f"entry {entry.number} is not written as dpqr writes it")
        if entry.pricing and not is_installed(entry.pricing.accountant):
            unproved.append(entry.number)
        elif not _paid(record, entry):
            raise _lies(link, f"entry {entry.number} states less than its events cost")
    return tuple(unproved)


def lying(record: Record) -> tuple[int, ...]:
    """Numbers of the entries that jobs have appended and that are void, or that `require_proofs` refuses; not of those
    that were rejected before."""
    return tuple(
        entry.number
        for entry, link in zip(record.entries, record.chain.links, strict=True)
        if link.job and entry.number not in record.chain.rejected
        if entry.kind == "void" or encode_entry(entry) != link.text or not is_paid(record, entry)
    )


def is_paid(record: Record, entry: Entry) -> bool:
    """Whether an entry states no less than its events cost; True where its accountant is not installed here."""
    return (entry.pricing is not None and not is_installed(entry.pricing.accountant)) or _paid(record, entry)


def _lies(link: Link, what: str) -> LedgerError:
    """An entry that says more than is read from it, or less than is true."""
    if not link.job:
        return LedgerError(f"the ledger was forged: {what}")
    return LedgerError(
        f"the ledger was forged: {what}; role {link.job!r} has appended it past dpqr\n"
        f"the owner runs `dpqr budget reject` and, if {link.job} is not to pay any more, `dpqr budget revoke "
        f"{link.job}`"
    )


def _paid(record: Record, entry: Entry) -> bool:
    if entry.terms is not None:
        return entry.terms.currency.covers(entry.terms.budget, entry.terms.limit)
    if entry.kind not in ("reserve", "settle"):
        return True  # a draw is held against its reservation by `LedgerState`
    currency = record.state.accounts[entry.dataset].terms.currency
    try:
        if entry.settles is None:
            return currency.proves(entry.cost, currency.price(entry.events, entry.pricing or PURE))
        paid = record.entries[entry.settles]
        return currency.proves(entry.cost, currency.settled(paid.cost, entry.events, paid.pricing or PURE))
    except DpqrError:
        return False
