"""Credentials in addresses: an address is a public text, so one that holds a password is refused and never repeated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

_NAMES = r"pass(?:word|wd|phrase|key|code)?|pwd|secret|token|credentials?|(?:api|access|account|private|shared)[_-]?key"
_USER = re.compile(r"//[^?]*:[^?]*@")
"""user:password@, also with a slash or a second @ in the password."""
_ASSIGNED = re.compile(rf"(?:^|[^A-Za-z0-9])[\w.-]*(?:{_NAMES})[\w.-]*[\"']?\s*=", re.IGNORECASE)
"""password=... as an option of an address, or among keywords with values."""
_KEYWORD = re.compile(r"(?:^|[\s;])\w*(?:password|passwd|pwd)\w*\s*=", re.IGNORECASE)
_TEXTS = re.compile(r"'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$", re.DOTALL)
"""The texts of a statement in SQL; a comparison with a column that is called token stands outside of them."""
_SET = re.compile(rf"\b(?:{_NAMES})\s+'", re.IGNORECASE)
_DECODED = 5
"""Times that percent signs are decoded; who encodes an address more often hides something."""


def holds_credentials(text: str) -> bool:
    """Whether an address holds a password, in any form that a program reads one in, or looks as if it did.

    Forms: user:password@, password=... as an option or as a keyword, and each of them percent-encoded, also repeatedly.
    """
    return any(_USER.search(each) or _ASSIGNED.search(each) for each in _readings(text))


def names_password(text: str) -> bool:
    """Whether a text that shall be a path is an address by keywords, one of them a password: host=... password=..."""
    return any(_KEYWORD.search(each) for each in _readings(text))


def spells_credentials(sql: str) -> bool:
    """The same of a query: within one of its texts, or as PASSWORD '...'."""
    return bool(_SET.search(sql)) or any(holds_credentials(found[0]) for found in _TEXTS.finditer(sql))


def _readings(text: str) -> Iterator[str]:
    """The text, and what it is when it is percent-decoded, until nothing changes."""
    for _ in range(_DECODED):
        yield text
        decoded = unquote(text)
        if decoded == text:
            return
        text = decoded
    yield "password="
