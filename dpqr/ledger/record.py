"""The whole ledger: every entry read, chained, replayed from the first on, and proved.

A proof shows what a sound chain cannot: that every entry is whole, and that no price is below its events'.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from dpqr.kernel.accountants.accountant import bound_across_runs, summed_cost
from dpqr.kernel.budget import NO_COST, PURE, Cost, downward_text, upward_text
from dpqr.kernel.currency import PAIR, is_installed
from dpqr.kernel.errors import DpqrError, GoalMissed, LedgerError
from dpqr.kernel.events import Composition, PrivacyEvent
from dpqr.kernel.values import replace
from dpqr.ledger.chain import Anchor, ChainSegment, Link, Mark, chain_segment, digest
from dpqr.ledger.codec import JSON, LONGEST, PERIODS_FORMAT, POLICY_FORMAT, canonical, encode_entry, encode_events
from dpqr.ledger.codec import entry_document as plain_entry
from dpqr.ledger.ledger import Account, LedgerEntry
from dpqr.ledger.periods import ALL_PERIODS
from dpqr.ledger.state import LedgerState
from dpqr.ledger.store import StoreTransaction

if TYPE_CHECKING:
    from dpqr.domain.domain import LearnedEntry


class Record(Struct, frozen=True, kw_only=True):
    """What a walk over all entries found.

    anchored: the anchor's mark, which lies on the chain; None: no anchor is named. unproved: entries whose accountant
    is not installed here, so that their price was not derived again.
    """

    chain: ChainSegment
    entries: tuple[LedgerEntry, ...]
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

        Of a run that counted its left-out records: what stands for it beside others (`bound_across_runs`).
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
        names = {name for paying, _ in read for name in paying} or {ALL_PERIODS}
        return tuple(
            _sum(events for paying, events in read if {ALL_PERIODS, name} & {*paying}) for name in sorted(names)
        )

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
        for event, count in bound_across_runs(events):
            total[event] += count
    return tuple(total.items())


def walk_ledger(session: StoreTransaction, anchor: Anchor | None, *, rejecting: bool = False) -> Record:
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


def _require_state(session: StoreTransaction, state: LedgerState) -> None:
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


def require_learned(record: Record, learned: Iterable[LearnedEntry]) -> str:
    """That the entries which a learned domain names have paid for it, in words; empty where it names none.

    Another ledger may have paid for the domain, so an entry whose seal this one does not hold is named and no fault.
    Raises: GoalMissed where an entry of this seal is of another dataset or number, or cost more than is stated.
    """
    words, seals = "", {entry.hash: entry for entry in record.entries}
    for stated in learned:
        paid = seals.get(stated.seal)
        if paid is None:
            words += f"; {stated.words}, which paid for what was learned, is of another ledger"
            continue
        cost = summed_cost(paid.events)
        if (paid.kind, paid.dataset, paid.number) != ("reserve", stated.dataset, stated.number):
            raise GoalMissed(f"{stated.words} is not the one whose seal the domain states for what was learned")
        if cost is None or cost.amount > stated.budget.epsilon or cost.delta > stated.budget.delta:
            raise GoalMissed(f"{stated.words} paid more than the domain states for what was learned")
        words += f"; {stated.words} paid for what was learned"
    return words


def lying(record: Record) -> tuple[int, ...]:
    """Numbers of the entries that jobs have appended and that are void, or that `require_proofs` refuses; not of those
    that were rejected before."""
    return tuple(
        entry.number
        for entry, link in zip(record.entries, record.chain.links, strict=True)
        if link.job and entry.number not in record.chain.rejected
        if entry.kind == "void" or encode_entry(entry) != link.text or not is_paid(record, entry)
    )


def is_paid(record: Record, entry: LedgerEntry) -> bool:
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


def _paid(record: Record, entry: LedgerEntry) -> bool:
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


# Accounts, entries and verdicts as plain JSON values. Rationals are exact text with a rounded decimal beside it.

Prices = Mapping[str, Fraction | None]
Figure = dict[str, str | None]


def account_document(account: Account, events: Composition, prices: Prices, delta: Fraction) -> JSON:
    """Terms, what is spent and left, and the epsilon of all `events` at `delta` under every accountant."""
    terms, periods = account.terms, account.terms.periods

    def figures(cost: Cost, figure: Callable[[Fraction], Figure]) -> JSON:
        if terms.currency is PAIR:
            return {"epsilon": figure(cost.amount), "delta": figure(cost.delta)}
        return {**figure(cost.amount)}

    divided: JSON = {}
    if periods is not None:  # the periods' budgets, and what each has spent
        divided["periods"] = {
            **PERIODS_FORMAT.write(periods),
            "share": figures(periods.share, _down),
            "spent": {name: figures(cost, _up) for name, cost in account.periods.items() if name != ALL_PERIODS},
            "all": figures(account.periods.get(ALL_PERIODS, NO_COST), _up),
        }
    return {
        "dataset": terms.dataset,
        "kind": terms.kind.value,
        "neighbours": terms.neighbours.value,
        "unit": terms.unit,
        "purpose": terms.reason.purpose,
        "by": terms.reason.by,
        "budget": {"epsilon": _up(terms.budget.epsilon), "delta": _up(terms.budget.delta)},
        "accountant": terms.accountant,
        "currency": terms.currency.name,
        "policy": POLICY_FORMAT.write(terms.policy),
        "limit": figures(terms.limit, _down),
        "cap": None if terms.cap is None else figures(terms.cap, _down),
        "spent": figures(account.spent, _up),
        "unsettled": {"reservations": account.unsettled, "cost": figures(account.pending, _up)},
        "left": figures(account.left, _down),
        "largest": {**figures(account.largest, _down), "options": account.request},
        "reservations": account.reservations,
        **divided,
        "prices": {
            "delta": _up(delta),
            "epsilon": {name: None if price is None else _up(price) for name, price in prices.items()},
        },
        "events": encode_events(events),
    }


def entry_document(entry: LedgerEntry) -> JSON:
    """The entry as it is hashed, and its seal."""
    return {**plain_entry(entry), "seal": entry.hash}


def entry_line(entry: LedgerEntry) -> str:
    """One line of an export: {"entry": ..., "seal": ...}.

    The seal is the SHA-256 of the seal before it, a line feed, and the canonical text of `entry`. Of an entry that was
    rejected, and is none, the line holds the stored text itself: {"text": ..., "seal": ...}.
    """
    if entry.kind == "void":
        return f'{{"text":{canonical(entry.text)},"seal":{canonical(entry.hash)}}}'
    return f'{{"entry":{encode_entry(entry)},"seal":{canonical(entry.hash)}}}'


def verdict_document(verified: Record) -> JSON:
    """How far the ledger has come, and how far the anchor knows.

    unproved: reservations whose price was not derived again, for their accountant is not installed here. rejected:
    entries of jobs that broke the rules, as the owner has found (`dpqr budget reject`).
    """
    anchored = verified.anchored
    return {
        "sound": True,
        "entries": verified.mark.entries,
        "seal": verified.mark.seal,
        "datasets": [account.terms.dataset for account in verified.accounts],
        "unproved": list(verified.unproved),
        "rejected": sorted(verified.chain.rejected),
        "anchor": None if anchored is None else {"entries": anchored.entries, "seal": anchored.seal},
    }


def _up(value: Fraction) -> Figure:
    return {"exact": _exact(value), "decimal": upward_text(value)}


def _down(value: Fraction) -> Figure:
    return {"exact": _exact(value), "decimal": downward_text(value)}


def _exact(value: Fraction) -> str | None:
    """Sums of very many different prices may take more digits than anybody reads."""
    return str(value) if max(value.numerator, value.denominator) < 10**LONGEST else None


# An exported ledger, read again: JSON lines, an entry and its seal each, as `dpqr budget export` prints them.

BEGINNING = b"{"
"""The first byte of an export, and of no SQLite file."""


def is_export(path: Path) -> bool:
    """Whether a file is one, by its first byte. OSError where it cannot be read."""
    with path.open("rb") as opened:
        return opened.read(1) == BEGINNING


def read_export(path: Path) -> Record:
    """The whole ledger, every entry chained, replayed and proved.

    Raises: LedgerError for a line that dpqr has not written there.
    """
    try:
        text = path.read_bytes().decode("ascii")
        rows: list[tuple[object, object, object]] = []
        for number, line in enumerate(text.splitlines()):
            found = json.loads(line)
            if "text" in found:  # an entry that was rejected
                rows.append((number, found["text"], found["seal"]))
            else:
                rows.append((found["entry"]["number"], canonical(found["entry"]), found["seal"]))
        chain = chain_segment(rows)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LedgerError(f"--ledger {path}: is no export of a ledger, or is damaged; export it again") from None
    state = LedgerState()
    record = Record(chain=chain, entries=state.replay(chain), state=state)
    if text != "".join(f"{entry_line(entry)}\n" for entry in record.entries):
        raise LedgerError(f"--ledger {path}: is not written as dpqr writes an export; export it again")
    return replace(record, unproved=require_proofs(record))
