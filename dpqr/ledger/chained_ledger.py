"""ChainedLedger: the one ledger, whatever database keeps its tables (`Store`).

One transaction checks the chain and the anchor, applies the rules, adds one entry and makes it durable. What holds
then, whatever is killed when: what is published was paid before.

What the chain and the anchor find: edited, missing and reordered entries; with an anchor that lies elsewhere also a
rollback to an older copy, entries cut off at the end, and another ledger in the place of this one. What they do not
find: an owner who can write both can rewrite both, and one who never names the ledger is not seen by it. Keep the
anchor where the jobs' user cannot take it back (another machine, a repository, a log) if that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from dpqr.kernel.errors import DpqrError, LedgerError, UsageFault
from dpqr.kernel.events import Composition, PrivacyEvent
from dpqr.kernel.values import replace
from dpqr.ledger.chain import BEGINNING, Anchor, Link, Mark, digest, seal
from dpqr.ledger.codec import encode_entry
from dpqr.ledger.ledger import Account, BudgetTerms, LedgerEntry, Reason, Reservation, Run, person
from dpqr.ledger.location import ANCHOR, NO_ANCHOR
from dpqr.ledger.record import Record, is_paid, lying, require_proofs, walk_ledger
from dpqr.ledger.refusals import has_moved, name_place, require_name, require_text
from dpqr.ledger.state import Charge, LedgerState, decode_state, require_printable
from dpqr.ledger.store import Before, NoLedger, Store, StoreTransaction
from dpqr.tables.policy import PolicyChange

# One job's transaction at the ledger. Its cost does not grow with the ledger's age.
#
# Every job that writes needs the state of all budgets. It takes the state of the newest checkpoint, which comes
# every STRIDE entries or so, and replays what came after it. The stored state must have the digest that the
# checkpoint's entry holds, and from that entry on every text must have its seal. Within one process the state of
# the last transaction serves as well, as long as its seal is still in the chain.
#
# Such a transaction does not look at entries before the checkpoint, and uses nothing of them: a reservation is held
# against the state. With an anchor on the chain behind it, that state, the checkpoint and all later entries are
# those that honest jobs wrote, or the anchor's seal would not fit. What proves the state is the checkpoint's own
# entry, which follows the entries that it stands for. So an anchor that does not cover that entry proves nothing of
# the state, and then the whole chain is walked. A state that this very process has replayed is known: of an anchor
# that lies before it, the chain from there on is checked. Entries before it that were edited or taken out are found
# by every command that reads (`show`, `history`, `export`, `verify`, and --resume): these walk from the first entry
# on, and replay each checkpoint's state. Without an anchor, whoever can write the file can rewrite all of it, by
# either way of reading.
#
# In PostgreSQL only the ledger's owner writes checkpoints and states: a job that could would decide what all later
# jobs take for spent. Jobs replay what has come since the owner's last transaction, before they take the lock
# (10,000 entries take about 0.4 s); `dpqr budget checkpoint` makes it short again.

STRIDE = 128
"""Entries between checkpoints: replaying so many takes about as long as one commit to a disk."""


class LastState(Struct):
    """The state after this process's last transaction. Taken once: a transaction that fails may have changed it."""

    state: LedgerState | None = None

    def take(self) -> LedgerState | None:
        taken, self.state = self.state, None
        return taken


class Transaction(Struct, kw_only=True):
    """The only job that may write now, and the state with what this job has added. claim: what goes to the disk of the
    job once nothing but the commit is left."""

    session: StoreTransaction
    state: LedgerState
    clock: Callable[[], str]
    claim: Callable[[], object] | None = None

    def add(self, kind: Any, *, key: bytes | None = None, **content: Any) -> LedgerEntry:
        """Admit one entry. key: of a reservation.

        Raises: those of `LedgerState.add`; of a job, those of `require_printable`. What all others would find void is
        not paid: its owner would reject it, and the run would have cost nothing.
        """
        entry = LedgerEntry(number=self.state.length, kind=kind, time=self.clock(), **content)
        if not self.session.owns:
            require_printable(entry)
        text = encode_entry(entry)
        entry = replace(entry, hash=seal(self.state.seal, text))
        self.state.add(entry)
        self.session.append(entry.number, Link(text=text, seal=entry.hash), key=key, settles=entry.settles)
        return entry

    def finish(self, anchor: Anchor | None) -> Mark:
        """Make what was added durable, and renew the anchor; where the ledger stands now."""
        self.checkpoint()
        mark = Mark(entries=self.state.length, seal=self.state.seal)
        if anchor:
            anchor.draft(mark)
        if self.claim:
            self.claim()
        self.session.commit(mark)
        if anchor:
            anchor.publish(mark)
        return mark

    def checkpoint(self, stride: int | None = None) -> None:
        """Keep the state, where enough entries have come since it was last kept, and this job may keep it.

        stride: how many are enough; None: STRIDE.
        """
        newest = self.state.checkpoint.number if self.state.checkpoint else 0
        enough = STRIDE if stride is None else stride
        if self.state.length - newest >= enough and not self.state.moved and self.session.owns:
            state = self.state.text
            self.session.store_state(self.add("checkpoint", state=digest(state)).number, state)


def resume_state(session: StoreTransaction, anchor: Anchor | None, kept: LastState) -> LedgerState:
    """The state as it is now, from the latest entry that can be trusted. Raises: LedgerError, as of `walk_ledger`."""
    last, marked = kept.take(), anchor.read() if anchor else None
    if not session.is_begun():
        return walk_ledger(session, anchor).state
    fits = last and not last.moved and session.stored_seal(last.length) == last.seal
    state = last if fits else _checkpointed(session)
    if state is None:
        return walk_ledger(session, anchor).state
    first = state.length
    if marked and marked.entries <= first:
        # A stored state is proved by the entry after those that it stands for, which holds its digest.
        if state is not last:
            return walk_ledger(session, anchor).state
        first = marked.entries
    before = session.stored_seal(first)
    chain = session.chain(first, before if isinstance(before, str) else BEGINNING)
    if anchor:
        anchor.check(chain, marked)
    entries = state.replay(chain.after(state.length))
    if state is not last and not (entries and entries[0].kind == "checkpoint"):
        raise LedgerError("the ledger was edited or is damaged: its state has no checkpoint; restore it from a backup")
    return state


def _checkpointed(session: StoreTransaction) -> LedgerState | None:
    """The state before the newest checkpoint's entry, whose replay proves it; None: there is no checkpoint yet, or the
    state was written when jobs could write it."""
    stored = session.stored_state()
    if stored is None or stored[1] == "":
        return None
    number, text = stored
    before = session.stored_seal(number)
    state = decode_state(text, before if isinstance(before, str) else BEGINNING)
    if state.length != number or not isinstance(before, str):
        raise LedgerError("the ledger was edited or is damaged: its state is misplaced; restore it from a backup")
    return state


WAIT = 90.0
"""Seconds that a job waits for other jobs: more than a server lets one hold the lock in silence (IDLE), so that a
machine that is gone stops nobody."""


def utc_now() -> str:
    """The time as entries state it. Nothing depends on it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainedLedger:
    """A ledger in a store; with an anchor, every use checks and every commit renews it.

    Every method is one transaction, durable when it returns. Methods that only look walk the whole ledger; the others
    look at its end (see `transaction`).

    Attributes:
        store: where it lies.
        anchor: finds a rollback; None: none is kept.
        unanchored: do without the anchor that the ledger says it keeps.
        wait: seconds to wait for other jobs before LedgerError.
        clock: the time of entries.

    Raises:
        LedgerError: from any method, if the ledger is locked for too long, damaged, edited or rolled back.
    """

    store: Store
    anchor: Anchor | None = None
    unanchored: bool = False
    wait: float = WAIT
    clock: Callable[[], str] = utc_now
    _last: LastState = field(default_factory=LastState, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.anchor and str(self.anchor.path) == self.store.place:
            raise UsageFault(
                f"--anchor {self.anchor.path}: is the ledger itself; give another file, best on another disk"
            )

    def open(self, terms: BudgetTerms) -> Account:
        """Give a dataset its budget, once. The ledger is made with the first dataset.

        Raises:
            BudgetRefused: the name has a budget; there is no reset.
        """
        require_name(terms.dataset)
        require_text(terms.unit, what="the words of the unit")
        if not self.store.exists():
            self._require_new()
        self.store.make()
        with self.transaction() as transaction:
            if not transaction.state.length:  # two ledgers with the same history are two different ledgers
                transaction.add("open", note=_words(2).hex(), anchored=self.anchor is not None)
            transaction.add("init", dataset=terms.dataset, terms=terms)
        return transaction.state.account(terms.dataset)

    def restrict(self, dataset: str, change: PolicyChange) -> Account:
        """Change the policy, towards stricter only. BudgetRefused for any other change."""
        with self.transaction() as transaction:
            policy = change.applied(transaction.state.account(dataset).terms.policy)
            transaction.add("policy", dataset=dataset, policy=policy)
        return transaction.state.account(dataset)

    def approve(self, dataset: str, plan: str, reason: Reason) -> None:
        """Approve one release by the plan of this hash. UsageFault unless the reason names who approves."""
        if not person(reason.by):
            raise UsageFault("--by: say who approves; the release must then be asked for by somebody else")
        with self.transaction() as transaction:
            transaction.add("approve", dataset=dataset, plan=plan, reason=reason)

    def reserve(
        self, charge: Charge, *, note: str, key: bytes | None = None, claim: Callable[[], object] | None = None
    ) -> Reservation:
        """Pay for a run, in full.

        Args:
            charge: what is paid for.
            note: the words that the entry holds.
            key: of `new_key`; None: a new one.
            claim: writes on the disk, at the last moment before it is so, that a run is paid under this key. A fault
                after it leaves open whether the run was paid; after any other nothing is.

        Raises:
            BudgetRefused: the events do not fit, the unit is not the one of the budget, the policy has changed since
                the run was resolved, or it asks for an approval that is not there.
        """
        require_text(note, what="a note")
        key = key or new_key()  # before the lock, for it brings numpy
        with self.transaction(before=charge.content) as transaction:
            content = charge.content(transaction.state)
            content["reason"] = replace(charge.reason, approved_by=transaction.state.approver(charge))
            paid = transaction.add("reserve", key=key, note=note, **content)
            transaction.claim = claim
        return transaction.state.unsettled(paid.number).public().reservation

    def require_fit(self, charge: Charge, *, after: Charge | None = None) -> Account:
        """Return the account as it is, if `reserve` would pay for the charge now; nothing is written.

        An approval is looked for only where the charge names a plan. after: is paid before it.

        Raises:
            BudgetRefused: as `reserve`.
        """
        state = self.walk().state
        if after is not None:
            state.add(LedgerEntry(number=state.length, kind="reserve", time="", **after.content(state)))
        if charge.plan:
            state.approver(charge)
        state.require_payable(LedgerEntry(number=state.length, kind="reserve", time="", **charge.content(state)))
        return state.account(charge.dataset)

    def begin(self, reservation: Reservation, event: PrivacyEvent, *, number: int, transcript: str) -> None:
        """Announce draw `number` of the run (from 0); from now on it counts as spent.

        Args:
            reservation: of the run.
            event: of the draw.
            number: of the draw.
            transcript: running hash of the transcript so far.

        Raises:
            LedgerError: the ledger holds another hash or number: another job resumed the run, or the transcript is not
                that of the run.
        """
        with self._run_transaction(reservation) as transaction:
            transaction.state.unsettled(reservation.number).require_next(number)
            paid = reservation.number
            transaction.add("draw", dataset=reservation.dataset, run=paid, events=((event, 1),), transcript=transcript)

    def record(self, reservation: Reservation, *, number: int, transcript: str) -> None:
        """Record that draw `number` is in the transcript, durably; transcript: its running hash now."""
        with self._run_transaction(reservation) as transaction:
            transaction.state.unsettled(reservation.number).require_next(number)
            transaction.add("record", dataset=reservation.dataset, run=reservation.number, transcript=transcript)

    def run(self, dataset: str, number: int, receipt: str) -> Run | None:
        """Return the run that reservation `number` pays for; None: it is settled. LedgerError: there is none."""
        record = self.walk()
        paid = record.entries[number] if 0 <= number < len(record.entries) else None
        if paid is None or (paid.kind, paid.dataset, paid.hash) != ("reserve", dataset, receipt):
            raise LedgerError(
                f"--ledger {self.store.place}: holds no reservation {number} of dataset {dataset!r} with that seal; "
                "the transcript is of another ledger or dataset, or was edited"
            )
        runs = record.state.accounts[dataset].runs
        if number in runs and not is_paid(record, paid):
            raise LedgerError(
                f"--ledger {self.store.place}: reservation {number} states less than its events cost, so it pays for "
                "nothing; `dpqr budget verify` says what the ledger's owner must run"
            )
        return runs[number].public() if number in runs else None

    @property
    def identity(self) -> str:
        """The seal of the first entry, and the role of the database that this job has, where it has roles: by which a
        transcript names its ledger and who pays there."""
        with self._reading() as session:
            return f"{session.stored_seal(1)} {session.role}"

    def claimed_run(self, dataset: str, claim: str, identity: str) -> Run | None:
        """Return the run that is paid under the key of this claim (`claim_of`) and not settled; None: there is none.

        Looked up behind the lock: a payment that its job did not live to hear of is made by then, or never.

        Raises:
            LedgerError: the claim is of another ledger, or of another role's run, whose key this job may not see.
        """
        with self.transaction() as transaction:
            session, (seal_of_first, _, role) = transaction.session, identity.partition(" ")
            if session.stored_seal(1) != seal_of_first or not (session.owns or role == session.role):
                raise LedgerError(
                    f"--ledger {self.store.place}: the release that waits there was to be paid from another ledger, or "
                    f"by another role{role and ', ' + repr(role)}; name that, or choose another --out"
                )
            held = transaction.state.accounts.get(dataset)
            runs = held.runs if held else {}
            number = session.claimed(runs, claim)
        return None if number is None else self.run(dataset, number, runs[number].paid.hash)

    def key(self, reservation: Reservation) -> bytes:
        """Return a random key of this reservation alone. It is never exported, and erased with the settlement."""
        with self._reading() as session:
            return session.stored_key(reservation.number)

    def settle(self, reservation: Reservation, events: Composition, *, note: str, drawn: str = "") -> Account:
        """Replace the reservation by the events that were charged; no events: nothing was drawn.

        A reservation is settled once and never upward; until then it is spent in full.

        Args:
            reservation: of the run.
            events: that were charged.
            note: how the run ended.
            drawn: the SHA-256 of what was drawn, as the run's record states it (`draws_digest`); empty: there is none.

        Privacy:
            `events` must be a function of the released transcript (the draws that were charged are). The sum of all
            charges then stays below the limit on every path, which is all that a filter needs. A budget in epsilon and
            delta refunds the draws of pure sums alone (`PairCurrency`). `drawn` is a function of released values.
        """
        require_text(note, what="a note")
        dataset, number = reservation.dataset, reservation.number
        with self._run_transaction(reservation) as transaction:
            cost = transaction.state.unsettled(number).settled(events)
            transaction.add("settle", dataset=dataset, cost=cost, events=events, settles=number, note=note, drawn=drawn)
        return transaction.state.account(dataset)

    def account(self, dataset: str) -> Account:
        """Return the account of a dataset. UsageFault for a name that has no budget."""
        return self._present().state.account(dataset)

    def accounts(self) -> tuple[Account, ...]:
        """All datasets, in the order in which they were opened."""
        return self._present().accounts

    def events(self, dataset: str) -> Composition:
        """Return all events charged so far, settled or reserved, with their counts."""
        return self.walk().events(dataset)

    def entries(self) -> tuple[LedgerEntry, ...]:
        """The whole record, chain and anchor checked."""
        return self.walk().entries

    def _present(self) -> Record:
        """LedgerError: the ledger goes on elsewhere, and what is left of a budget is known there only."""
        found = self.walk()
        if found.state.moved:
            raise name_place(has_moved(found.state.moved), self.store.place)
        return found

    def walk(self) -> Record:
        """Everything, from the first entry on: chain, anchor, rules, checkpoints."""
        with self._reading() as session:
            record = walk_ledger(session, self.anchor)
        self._require_anchor(record.state)
        return record

    def verify(self) -> Record:
        """Walk everything, and look at the database's structures, the price of every event and the keys too."""
        with self._reading() as session:
            session.require_integrity()
            record = walk_ledger(session, self.anchor)
            session.require_keys(record.state.waiting, may_lack=bool(record.chain.rejected))
        self._require_anchor(record.state)
        return replace(record, unproved=require_proofs(record))

    def renew_anchor(self) -> Mark:
        """Write the anchor anew, or for the first time, once the ledger as it is has been found sound.

        LedgerError where an older anchor is there and disagrees.
        """
        if not self.anchor:
            raise UsageFault("--anchor: name the file to write, best on another disk than the ledger")
        with self.writing() as session:
            record = walk_ledger(session, self.anchor if self.anchor.read() else None)
            require_proofs(record)
            if not record.entries:
                raise UsageFault(f"--ledger {self.store.place}: holds no entry yet; `dpqr budget init` anchors it too")
            made = Transaction(session=session, state=record.state, clock=self.clock)
            if not record.state.anchored:
                made.add("anchor")
            return made.finish(self.anchor)

    def checkpoint(self) -> Mark:
        """Keep the state as it is now, so that new jobs need not replay what came before; where the ledger stands."""
        with self.transaction() as transaction:
            if not transaction.session.owns:
                transaction.add("checkpoint", state=digest(transaction.state.text))  # the database says who may
            transaction.checkpoint(stride=2)  # not one after the other
        return Mark(entries=transaction.state.length, seal=transaction.state.seal)

    def reject(self) -> tuple[int, ...]:
        """Go on in spite of entries that break the rules, where jobs have appended them past dpqr.

        Only the ledger's owner can. One entry names them all, and every replay obeys it: what the rules refuse counts
        for nothing, and what they admit at a price below its events' counts as it states.

        Returns:
            Their numbers; none: there is no such entry, and nothing is written.
        """
        with self.writing() as session:
            record = walk_ledger(session, self.anchor, rejecting=True)
            self._require_anchor(record.state)
            made, numbers = Transaction(session=session, state=record.state, clock=self.clock), lying(record)
            if numbers:
                made.add("reject", rejected=numbers)
                session.keep_keys(record.state.waiting)
                made.checkpoint(stride=1)
                made.finish(self.anchor)
        return numbers

    def grant(self, role: str) -> None:
        """Let a role of the database append what jobs append.

        Tables of an older version are brought up to date first. Jobs could write the state of those, so it is made
        anew, from the first entry on; and keys of no run, which are removed.
        """
        self.store.grant(role)
        with self.transaction() as transaction:
            stored = transaction.session.stored_state()
            if stored is not None and stored[1] == "":
                transaction.session.keep_keys(transaction.state.waiting)
                transaction.checkpoint(stride=1)

    @contextmanager
    def transaction(self, before: Callable[[LedgerState], object] | None = None) -> Iterator[Transaction]:
        """One transaction: check what is needed, let the block add entries, make them durable, renew the anchor.

        Nothing is kept if the block raises.

        Args:
            before: what to work out of the state before the lock, where others would wait for it.
        """

        def catch_up(session: StoreTransaction) -> None:
            """Replay what others have added before the lock is asked for. What is wrong is found again behind it."""
            if self._last.state is None or before:
                with suppress(DpqrError):
                    state = resume_state(session, self.anchor, self._last)
                    self._last.state = state
                    if before:
                        before(state)

        with self.writing(catch_up) as session:
            state = resume_state(session, self.anchor, self._last)
            made = Transaction(session=session, state=state, clock=self.clock)
            self._require_anchor(made.state)
            yield made
            made.finish(self.anchor)
        self._last.state = made.state

    @contextmanager
    def _run_transaction(self, reservation: Reservation) -> Iterator[Transaction]:
        """The same for a run that this very ledger has paid for and not settled."""
        with self.transaction() as transaction:
            if transaction.state.unsettled(reservation.number).paid.hash != reservation.receipt:
                raise LedgerError(
                    f"entry {reservation.number} is not the reservation of this run, but another ledger's"
                )
            yield transaction

    def _require_anchor(self, state: LedgerState) -> None:
        """UsageFault where the ledger says that it keeps an anchor, and nobody named it or waived it."""
        if state.anchored and not self.anchor and not self.unanchored:
            raise UsageFault(
                f"--ledger {self.store.place}: keeps an anchor, and none is named; without it a rollback would not be "
                "found\n"
                f"name it with --anchor FILE or {ANCHOR}; --anchor {NO_ANCHOR} does without it"
            )

    @contextmanager
    def _reading(self) -> Iterator[StoreTransaction]:
        with self._there(), self.store.reading(self.wait) as session:
            yield session

    @contextmanager
    def writing(self, before: Before | None = None) -> Iterator[StoreTransaction]:
        """The one transaction that may write, before anything was read. before: see `Store.writing`."""
        with self._there(), self.store.writing(self.wait, before) as session:
            yield session

    @contextmanager
    def _there(self) -> Iterator[None]:
        """Where there is no ledger and an anchor knows of entries, it was removed."""
        try:
            yield
        except NoLedger:
            self._require_new()
            raise

    def _require_new(self) -> None:
        if self.anchor and (marked := self.anchor.read()):
            raise LedgerError(
                f"--ledger {self.store.place}: is gone, and the anchor {self.anchor.path} knows {marked.entries} "
                "entries of it; restore it, or fix the name"
            )


def new_key() -> bytes:
    """Return the random key of a new reservation."""
    return _words(4)


def _words(count: int) -> bytes:
    from dpqr.kernel.noise.source import SystemNoise  # brings numpy, which looking at a ledger does not need

    return SystemNoise().words(count).tobytes()


# A ledger is moved: its chain, keys and state go to another store, and it is closed where it was.
#
# The entry `move` closes the one before the other holds anything, so at no moment two places pay from one budget. A
# move that was killed in between is finished by the same command: the entry names the place, and no other takes the
# ledger up. The chain goes on there with the entry `arrive`; seals, receipts and the anchor stay what they are. A
# ledger may come back to a place that it has left, where its own closed chain still lies.


def move(source: ChainedLedger, target: ChainedLedger) -> Mark:
    """Carry `source` on in `target`; where the chain stands there.

    Args:
        target: with the anchor of `source`, which goes with the chain.

    Raises:
        LedgerError: `source` was moved elsewhere, or is damaged.
        UsageFault: `target` is the same place, or holds another ledger.
    """
    place = target.store.place
    if place == source.store.place:
        raise UsageFault(f"--ledger {place}: the ledger is there already; name another place to move it to")
    moving = source.walk()
    target.store.make()
    with target.writing() as session:
        held = walk_ledger(session, None)
        # The place holds nothing, what the chain has left there, or the moved chain itself.
        both = min(held.chain.length, moving.chain.length)
        left = not held.entries or held.state.moved or held.chain.length > moving.chain.length
        if not left or held.chain.links[:both] != moving.chain.links[:both]:
            raise UsageFault(f"--ledger {place}: holds another ledger; move to a place that holds none")
        # What the source holds after its last entry, which says where it goes on.
        with source.transaction() as closing:
            if closing.state.moved not in ("", place):
                raise has_moved(closing.state.moved)
            if not closing.state.moved:
                closing.add("move", note=place)
            keys = {number: closing.session.stored_key(number) for number in closing.state.waiting}
            chain, stored = closing.session.chain(), closing.session.stored_state()
        if held.chain.length > chain.length:  # an earlier try had come to its end
            return held.mark
        # What is missing in the target, and that the ledger has arrived.
        for number in range(held.chain.length, chain.length):
            session.append(number, chain.links[number])
        if stored:
            session.store_state(*stored)
        session.keep_keys(())
        session.disown()
        for number, key in keys.items():
            session.store_key(number, key)
        state = LedgerState()
        state.replay(chain)
        arrived = Transaction(session=session, state=state, clock=target.clock)
        arrived.add("arrive", note=place)
        return arrived.finish(target.anchor)
