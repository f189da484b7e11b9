"""A ledger goes to another place and back; it pays in one place at a time, whatever is killed when."""

import os
import re
from itertools import pairwise, product

import pytest
from support.ledger_jobs import SERVER, UNIT, another, draws, kept, ledger_in, reserve, restore, rows, store_of, terms

from dpqr.kernel.errors import DpqrError, LedgerError, UsageFault
from dpqr.kernel.events import ExponentialEvent
from dpqr.ledger.chain import Anchor
from dpqr.ledger.chained_ledger import ChainedLedger, move
from dpqr.ledger.state import Charge
from dpqr.ledger.store import SqliteStore, StoreTransaction

ENGINES = True
HALF = ExponentialEvent(epsilon=draws("1/2")[0][0].epsilon)
FIRST, SECOND = "1" * 64, "2" * 64


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Two stores: files, or a file and a server; and one anchor for the ledger wherever it is."""
    here, anchor = SqliteStore(tmp_path / "here.sqlite"), Anchor(path=tmp_path / "outside.anchor")
    there = store_of(tmp_path) if SERVER in os.environ else SqliteStore(tmp_path / "there.sqlite")
    return tuple(ChainedLedger(store=store, anchor=anchor) for store in (here, there))


@pytest.fixture
def lived(places, monkeypatch):
    """A ledger with a checkpoint, a settled run and one that waits after its first draw."""
    monkeypatch.setattr("dpqr.ledger.chained_ledger.STRIDE", 6)
    ledger = places[0]
    ledger.open(terms())
    ledger.settle(reserve(ledger, 1), draws("1/2"), note="released")
    paid = reserve(ledger, 1)
    ledger.begin(paid, HALF, number=0, transcript=FIRST)
    ledger.record(paid, number=0, transcript=SECOND)
    return ledger, places[1], paid


def test_the_chain_goes_on_and_a_waiting_run_with_it(lived):
    here, there, paid = lived
    before, key = rows(here.store), here.key(paid)
    move(here, there)
    assert rows(there.store)[: len(before)] == before
    assert [entry.kind for entry in there.entries()[-2:]] == ["move", "arrive"]
    assert there.key(paid) == key
    there.begin(paid, HALF, number=1, transcript=SECOND)
    there.record(paid, number=1, transcript=FIRST)
    assert there.settle(paid, draws("1/2", 2), note="released").spent == draws("3/2")[0][0].epsilon
    found = there.verify()
    assert found.anchored == found.mark


def test_what_was_left_behind_pays_for_nothing(lived):
    here, there, paid = lived
    move(here, there)
    blind = another(here, anchored=False)
    uses = (lambda ledger: reserve(ledger, 1), lambda ledger: ledger.open(terms("b")))
    for ledger, use in product((here, blind), uses):
        with pytest.raises(LedgerError, match=re.escape(f"was moved to {there.store.place} and goes on there")):
            use(ledger)
    with pytest.raises(LedgerError, match="was moved to"):
        blind.settle(paid, (), note="")
    with pytest.raises(LedgerError, match="was moved to"):
        blind.require_fit(Charge(dataset="survey", events=draws("0.1"), unit=UNIT))
    for shown in (lambda: blind.account("survey"), blind.accounts):
        with pytest.raises(LedgerError, match="was moved to"):
            shown()
    assert blind.entries()[-1].kind == "move"  # its history can still be read


def test_back_again_to_the_place_that_it_left(lived):
    here, there, paid = lived
    seals = [seal for _, _, seal in rows(here.store)]
    for one, other in pairwise((here, there, here, there)):
        move(one, other)
        reserve(other, "0.1")
    assert [seal for _, _, seal in rows(there.store)][: len(seals)] == seals
    assert there.verify().state.account("survey").reservations == 5
    assert there.key(paid)


def test_the_move_is_finished_by_the_same_command_and_by_no_other(lived, tmp_path, monkeypatch):
    here, there, _ = lived

    def fail(*_):
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(StoreTransaction, "keep_keys", fail)
        with pytest.raises(MemoryError):
            move(here, there)
    with pytest.raises(LedgerError, match="was moved to"):
        reserve(here, 1)
    elsewhere = ChainedLedger(store=SqliteStore(tmp_path / "third.sqlite"), anchor=here.anchor)
    with pytest.raises(LedgerError, match="was moved to"):
        move(here, elsewhere)
    move(here, there)
    assert reserve(there, 1)
    assert elsewhere.store.exists()
    with pytest.raises(DpqrError):
        reserve(elsewhere, 1)


def test_a_move_that_has_arrived_is_not_repeated(lived):
    here, there, _ = lived
    arrived = move(here, there)
    reserve(there, 1)
    with pytest.raises(LedgerError, match="was moved to"):
        move(here, there)
    assert move(another(here, anchored=False), another(there, anchored=False)).entries == arrived.entries + 1
    assert there.account("survey").reservations == 3


def test_an_older_copy_of_what_was_left_is_found_by_the_anchor(lived):
    here, there, _ = lived
    copy = kept(here.store)
    move(here, there)
    restore(here.store, copy)
    with pytest.raises(LedgerError, match="rolled back"):
        reserve(here, 1)


def test_a_place_that_is_taken_is_refused_and_nothing_is_closed(lived, tmp_path):
    here, there, _ = lived
    with pytest.raises(UsageFault, match="is there already"):
        move(here, here)
    other = ChainedLedger(store=there.store, unanchored=True)
    other.open(terms(epsilon="100"))
    with pytest.raises(UsageFault, match="holds another ledger"):
        move(here, there)
    assert reserve(here, 1)
    assert reserve(other, 1)


def test_a_live_copy_of_the_same_ledger_is_another_one(lived, tmp_path):
    here, _, _ = lived
    copy = SqliteStore(tmp_path / "copy.sqlite")
    copy.make()
    restore(copy, kept(here.store))
    reserve(here, 1)
    with pytest.raises(UsageFault, match="holds another ledger"):
        move(here, ChainedLedger(store=copy, anchor=here.anchor))


def test_a_ledger_that_is_not_there_cannot_be_moved(tmp_path):
    with pytest.raises(UsageFault, match="there is no ledger"):
        move(ledger_in(tmp_path), ChainedLedger(store=SqliteStore(tmp_path / "to.sqlite"), unanchored=True))
    assert not (tmp_path / "to.sqlite").exists()
