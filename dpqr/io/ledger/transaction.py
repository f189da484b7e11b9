"""One job's transaction at the ledger. Its cost does not grow with the ledger's age.

Every job that writes needs the state of all budgets. It takes the state of the newest checkpoint, which comes every
STRIDE entries or so, and replays what came after it. The stored state must have the digest that the checkpoint's entry
holds, and from that entry on every text must have its seal. Within one process the state of the last transaction serves
as well, as long as its seal is still in the chain.

Such a transaction does not look at entries before the checkpoint, and uses nothing of them: a reservation is held
against the state. With an anchor on the chain behind it, that state, the checkpoint and all later entries are those
that honest jobs wrote, or the anchor's seal would not fit. What proves the state is the checkpoint's own entry, which
follows the entries that it stands for. So an anchor that does not cover that entry proves nothing of the state, and
then the whole chain is walked. A state that this very process has replayed is known: of an anchor that lies before it,
the chain from there on is checked. Entries before it that were edited or taken out are found by every command that
reads (`show`, `history`, `export`, `verify`, and --resume): these walk from the first entry on, and replay each
checkpoint's state. Without an anchor, whoever can write the file can rewrite all of it, by either way of reading.

In PostgreSQL only the ledger's owner writes checkpoints and states: a job that could would decide what all later jobs
take for spent. Jobs replay what has come since the owner's last transaction, before they take the lock (10,000 entries
take about 0.4 s); `dpqr budget checkpoint` makes it short again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dpqr.errors import LedgerError
from dpqr.io.ledger.chain import BEGINNING, Anchor, Link, Mark, digest, seal
from dpqr.io.ledger.entry_codec import encode_entry
from dpqr.io.ledger.ledger_state import LedgerState
from dpqr.io.ledger.record import walked
from dpqr.io.ledger.session import Session
from dpqr.io.ledger.state_codec import decode_state
from dpqr.privacy.ledger import Entry

STRIDE = 128
"""Entries between checkpoints: replaying so many takes about as long as one commit to a disk."""


@dataclass(slots=True)
class LastState:
    """The state after this process's last transaction. Taken once: a transaction that fails may have changed it."""

    state: LedgerState | None = None

    def take(self) -> LedgerState | None:
        taken, self.state = self.state, None
        return taken


@dataclass(slots=True, kw_only=True)
class Transaction:
    """The only job that may write now, and the state with what this job has added."""

    session: Session
    state: LedgerState
    clock: Callable[[], str]

    def add(self, kind: Any, *, key: bytes | None = None, **content: Any) -> Entry:
        """Admit one entry. key: of a reservation. Raises: those of `LedgerState.add`."""
        entry = Entry(number=self.state.length, kind=kind, time=self.clock(), **content)
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


def resumed(session: Session, anchor: Anchor | None, kept: LastState) -> LedgerState:
    """The state as it is now, from the latest entry that can be trusted. Raises: LedgerError, as of `walked`."""
    last, marked = kept.take(), anchor.read() if anchor else None
    if not session.is_begun():
        return walked(session, anchor).state
    fits = last and not last.moved and session.stored_seal(last.length) == last.seal
    state = last if fits else _checkpointed(session)
    if state is None:
        return walked(session, anchor).state
    first = state.length
    if marked and marked.entries <= first:
        # A stored state is proved by the entry after those that it stands for, which holds its digest.
        if state is not last:
            return walked(session, anchor).state
        first = marked.entries
    before = session.stored_seal(first)
    chain = session.chain(first, before if isinstance(before, str) else BEGINNING)
    if anchor:
        anchor.check(chain, marked)
    entries = state.replay(chain.after(state.length))
    if state is not last and not (entries and entries[0].kind == "checkpoint"):
        raise LedgerError("the ledger was edited or is damaged: its state has no checkpoint; restore it from a backup")
    return state


def _checkpointed(session: Session) -> LedgerState | None:
    """The state before the newest checkpoint's entry, whose replay proves it; None: there is no checkpoint yet, or the
    state was written when jobs could write it."""
    stored = session.stored_state()
    if stored is None or stored[1] == "":
        return None
    number, text = stored
    state, before = decode_state(text), session.stored_seal(number)
    if state.length != number or not isinstance(before, str):
        raise LedgerError("the ledger was edited or is damaged: its state is misplaced; restore it from a backup")
    return LedgerState.of(state, before)
