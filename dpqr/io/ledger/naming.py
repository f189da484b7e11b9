"""Naming: the texts that an entry may hold, all of them declared and public."""

from __future__ import annotations

import re

from dpqr.errors import UsageFault

LONGEST_NAME = 100
LONGEST_NOTE = 2000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def require_name(dataset: str) -> str:
    """The name itself. UsageFault for one that could be mistaken for another: two names are two budgets."""
    if len(dataset) > LONGEST_NAME or not _NAME.fullmatch(dataset):
        raise UsageFault(
            f"dataset {dataset[:LONGEST_NAME]!r}: a name is made of ASCII letters, digits, '.', '_' and '-', begins "
            f"with a letter or digit and has at most {LONGEST_NAME} characters"
        )
    return dataset


def require_text(text: str, *, what: str) -> str:
    """The text itself, fit to be recorded."""
    if len(text) > LONGEST_NOTE or not text.isprintable():
        raise UsageFault(f"{what} in the ledger is one line of at most {LONGEST_NOTE} printable characters")
    return text
