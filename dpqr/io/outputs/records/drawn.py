"""The digest of what was drawn, by which the entry that settles a run names the one record that belongs to it.

Two runs of one plan have the same plan, price and reason, so only their draws tell them apart. The digest is made of
parts of the record alone, so anybody who has the record makes it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from dpqr.io.ledger.entry_codec import canonical

DRAWN = ("transcript", "dropped", "errors", "questions", "counted", "factor", "draws", "weights")
"""Keys of a record that hold draws: of a release; of predictions and functions."""


def drawn_digest(record: Mapping[str, Any]) -> str:
    """The SHA-256 of the canonical JSON of what a record, or its parts of DRAWN, says was drawn.

    Of predictions of one batch, which state no draws, of the SHA-256 of their file.

    Privacy:
        A function of released values only: everything in a record is released.
    """
    parts = {name: record[name] for name in DRAWN if name in record}
    if not parts.keys() & {"transcript", "draws", "weights"}:
        parts["files"] = sorted(record.get("hashes", {}).values())
    return hashlib.sha256(canonical(parts).encode()).hexdigest()
