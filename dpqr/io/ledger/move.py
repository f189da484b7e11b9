"""A ledger is moved: its chain, keys and state go to another store, and it is closed where it was.

The entry `move` closes the one before the other holds anything, so at no moment two places pay from one budget. A move
that was killed in between is finished by the same command: the entry names the place, and no other takes the ledger up.
The chain goes on there with the entry `arrive`; seals, receipts and the anchor stay what they are. A ledger may come
back to a place that it has left, where its own closed chain still lies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpqr.errors import UsageFault
from dpqr.io.ledger.chain import ChainSegment, Mark
from dpqr.io.ledger.chained_ledger import ChainedLedger
from dpqr.io.ledger.ledger_state import LedgerState
from dpqr.io.ledger.record import Record, walked
from dpqr.io.ledger.refusals import has_moved
from dpqr.io.ledger.session import Session
from dpqr.io.ledger.transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """All that a closed ledger holds. state: number and text of its newest checkpoint; keys: of its unsettled runs."""

    chain: ChainSegment
    state: tuple[int, str] | None
    keys: Mapping[int, bytes]


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
        held = walked(session, None)
        _require_free(held, moving.chain, place)
        closed = _closed(source, place)
        if held.chain.length > closed.chain.length:  # an earlier try had come to its end
            return held.mark
        return _carried_on(target, session, held, closed)


def _require_free(held: Record, moving: ChainSegment, place: str) -> None:
    """UsageFault unless the place holds nothing, what the chain has left there, or the moved chain itself."""
    both = min(held.chain.length, moving.length)
    left = not held.entries or held.state.moved or held.chain.length > moving.length
    if not left or held.chain.links[:both] != moving.links[:both]:
        raise UsageFault(f"--ledger {place}: holds another ledger; move to a place that holds none")


def _closed(source: ChainedLedger, place: str) -> Closed:
    """What the ledger holds after its last entry, which says where it goes on. LedgerError: it goes on elsewhere."""
    with source.transaction() as transaction:
        state, session = transaction.state, transaction.session
        if state.moved not in ("", place):
            raise has_moved(state.moved)
        if not state.moved:
            transaction.add("move", note=place)
        keys = {number: session.stored_key(number) for number in state.waiting}
        return Closed(chain=session.chain(), state=session.stored_state(), keys=keys)


def _carried_on(target: ChainedLedger, session: Session, held: Record, closed: Closed) -> Mark:
    """Write what is missing in the target, and that the ledger has arrived."""
    for number in range(held.chain.length, closed.chain.length):
        session.append(number, closed.chain.links[number])
    if closed.state:
        session.store_state(*closed.state)
    session.keep_keys(())
    session.disown()
    for number, key in closed.keys.items():
        session.store_key(number, key)
    state = LedgerState()
    state.replay(closed.chain)
    arrived = Transaction(session=session, state=state, clock=target.clock)
    arrived.add("arrive", note=target.store.place)
    return arrived.finish(target.anchor)
