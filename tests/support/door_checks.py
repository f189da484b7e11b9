"""What tests of both doors, the command line and the Python interface, compare."""

from __future__ import annotations

VARYING = {"time", "seal", "ledger", "hash", "sha256"}


def without(document):
    """A document without what differs from run to run."""
    if isinstance(document, dict):
        return {key: without(value) for key, value in document.items() if key not in VARYING}
    return [without(each) for each in document] if isinstance(document, list) else document
