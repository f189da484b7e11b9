"""An exported ledger, read again: JSON lines, an entry and its seal each, as `dpqr budget export` prints them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dpqr.errors import LedgerError
from dpqr.io.ledger.chain import chain_segment
from dpqr.io.ledger.documents import entry_line
from dpqr.io.ledger.entry_codec import canonical
from dpqr.io.ledger.ledger_state import LedgerState
from dpqr.io.ledger.record import Record, require_proofs

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
        chain = chain_segment(list(_rows(text)))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise LedgerError(f"--ledger {path}: is no export of a ledger, or is damaged; export it again") from None
    state = LedgerState()
    record = Record(chain=chain, entries=state.replay(chain), state=state)
    if text != "".join(f"{entry_line(entry)}\n" for entry in record.entries):
        raise LedgerError(f"--ledger {path}: is not written as dpqr writes an export; export it again")
    return replace(record, unproved=require_proofs(record))


def _rows(text: str) -> Iterator[tuple[object, object, object]]:
    """Number, text and seal of each line."""
    for number, line in enumerate(text.splitlines()):
        found = json.loads(line)
        if "text" in found:  # an entry that was rejected
            yield number, found["text"], found["seal"]
        else:
            yield found["entry"]["number"], canonical(found["entry"]), found["seal"]
