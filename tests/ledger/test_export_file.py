"""An exported ledger, read again."""

from __future__ import annotations

import pytest
from support.ledger_jobs import draws, ledger_in, reserve, terms

from dpqr.kernel.errors import LedgerError
from dpqr.ledger.record import entry_line, is_export, read_export


@pytest.fixture
def exported(tmp_path):
    ledger = ledger_in(tmp_path)
    ledger.open(terms())
    ledger.settle(reserve(ledger, 1), draws("1/2"), note="released")
    place = tmp_path / "ledger.jsonl"
    place.write_text("".join(f"{entry_line(entry)}\n" for entry in ledger.entries()))
    return ledger, place


def test_it_is_the_same_ledger(exported):
    ledger, place = exported
    assert is_export(place)
    assert not is_export(ledger.store.path)
    assert read_export(place).entries == ledger.verify().entries


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"survey", b"Survey"),
        (b'"number":1', b'"number": 1'),
        (b'"kind"', b'"kinds"'),
        (b"\n", b"\r\n"),
        (b"\n{", b"\n\n{"),
        (b"released", b"\xff"),
        (b"{", b"["),
    ],
)
def test_any_change_is_damage(exported, old, new):
    _, place = exported
    assert old in place.read_bytes()
    place.write_bytes(place.read_bytes().replace(old, new, 1))
    with pytest.raises(LedgerError):
        read_export(place)
