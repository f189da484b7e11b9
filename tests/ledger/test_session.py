"""Keys and states of one transaction, whatever database holds them."""

import pytest
from support.ledger_jobs import ledger_in, reserve, tamper, terms

from dpqr.kernel.errors import LedgerError
from dpqr.ledger.chain import Link, seal
from dpqr.ledger.session import KEY_BYTES

ENGINES = True


@pytest.fixture
def ledger(tmp_path):
    made = ledger_in(tmp_path)
    made.open(terms())
    return made


def test_a_key_is_kept_whole_and_erased(ledger):
    with ledger.writing() as session:
        session.store_key(7, bytes(range(KEY_BYTES)))
        assert session.stored_key(7) == bytes(range(KEY_BYTES))
        session.store_key(9, bytes(KEY_BYTES))
        session.require_keys([7, 9])
        session.keep_keys([9])
        session.require_keys([9])
        with pytest.raises(LedgerError, match="missing or damaged"):
            session.stored_key(7)


def test_a_damaged_key_is_another_thing_than_another_table(ledger):
    paid = reserve(ledger, 1)
    tamper(ledger.store, ("UPDATE keys SET key = ?", (bytes(40),)))
    with pytest.raises(LedgerError, match="missing or damaged"):
        ledger.key(paid)


def test_nothing_is_kept_without_a_commit(ledger):
    with ledger.writing() as session:
        session.append(2, Link(text="{}", seal=seal(session.stored_seal(2), "{}")))
        assert session.chain().length == 3
    assert len(ledger.entries()) == 2


def test_a_new_state_takes_the_place_of_the_older_one(ledger):
    with ledger.writing() as session:
        assert session.stored_state() is None
        session.store_state(4, "a")
        session.store_state(9, "b")
        assert session.stored_state() == (9, "b")


def test_a_reader_cannot_write(ledger):
    with pytest.raises(LedgerError), ledger.store.reading(1) as session:
        session.store_key(0, bytes(KEY_BYTES))
