"""Ledgers of every version since 0.1.0, exported by it: each entry is read, and written again byte for byte.

Each was paid from by releases, sealed policies and approvals, as far as its version had them.
"""

import json
from pathlib import Path

import pytest
from support.cases import thinned

from dpqr.ledger.codec import ENTRY_FORMATS, decode_entry, encode_entry
from dpqr.ledger.record import entry_line, read_export
from dpqr.ledger.state import LedgerState, decode_state

LEDGERS = sorted((Path(__file__).parent.parent / "old_ledgers").glob("*.jsonl"))
NOT_THERE = {"anchor", "move", "arrive", "reject", "void"}
"""Kinds that a ledger of one place and one owner does not come to hold."""

of_each = pytest.mark.parametrize("path", LEDGERS, ids=lambda path: path.stem)


def texts(path):
    """The sealed text of each entry, as it stands in the export."""
    for line in path.read_text().splitlines():
        yield line.removeprefix('{"entry":').rsplit(',"seal":', 1)[0]


@of_each
def test_every_entry_is_written_as_it_was_read(path):
    for text in texts(path):
        entry = decode_entry(text, "seal")
        assert encode_entry(entry) == text
        assert decode_entry(encode_entry(entry), "seal") == entry


@pytest.mark.parametrize("path", thinned(LEDGERS, 4), ids=lambda path: path.stem)
def test_the_record_is_sound_and_every_state_of_it_comes_back(path):
    record = read_export(path)
    assert "".join(f"{entry_line(entry)}\n" for entry in record.entries) == path.read_text()
    assert not record.unproved
    state = LedgerState()
    for entry in record.entries:
        state.add(entry)
        assert decode_state(state.text, state.seal).text == state.text


def test_every_kind_of_entry_and_every_version_is_among_them():
    assert len(LEDGERS) == 10
    kinds = {json.loads(text)["entry"] for path in LEDGERS for text in texts(path)}
    assert kinds == {*ENTRY_FORMATS} - NOT_THERE
