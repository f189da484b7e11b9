"""Bytes that rot: `verify` finds each that holds anything; `tests/benchmarks/ledger.py damage` tries them all."""

import pytest
from support.ledger_jobs import draws, ledger_in, passed, reserve, terms

from dpqr.kernel.errors import LedgerError


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setattr("dpqr.ledger.chained_ledger.STRIDE", 4)
    made = ledger_in(tmp_path)
    made.open(terms())
    made.settle(reserve(made, 1), draws("1/2"), note="released")
    reserve(made, 1)
    return made


def test_a_changed_byte_is_found_or_held_nothing(ledger):
    """Most of a young ledger's file is space that SQLite has not used yet."""
    size = ledger.store.path.stat().st_size
    outcomes = [passed(ledger, position, 1 + position % 255) for position in range(0, size, 101)]
    assert set(outcomes) == {"same", 7}


def test_every_byte_of_a_key_counts(ledger):
    (paid,) = [held.runs for held in ledger.walk().state.accounts.values()]
    (run,) = paid.values()
    reservation = run.public().reservation
    at = ledger.store.path.read_bytes().index(ledger.key(reservation))
    assert {passed(ledger, position, 1) for position in range(at, at + 40)} == {7}
    sound = ledger.store.path.read_bytes()
    ledger.store.path.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
    with pytest.raises(LedgerError, match="missing or damaged"):
        ledger.key(reservation)


def test_a_schema_that_is_no_text_is_damage(ledger):
    sound = ledger.store.path.read_bytes()
    at = sound.index(b"CREATE TABLE keys")
    for change in (0x80, 0xFF, 0x20):
        ledger.store.path.write_bytes(sound[:at] + bytes([sound[at] ^ change]) + sound[at + 1 :])
        for use in (ledger.verify, ledger.accounts, lambda: reserve(ledger, 1)):
            with pytest.raises(LedgerError):
                use()
