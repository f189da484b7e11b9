"""Predicates over a domain whose column names need quotes: where they are missing, the fault shows them."""

from __future__ import annotations

import json
import re

from dpqr.data.domain import Domain
from dpqr.errors import DocumentError, Fix
from dpqr.io.documents.predicates.parser import parse
from dpqr.io.documents.predicates.tree import Node
from dpqr.io.documents.text.decoding import Location

_PLAIN = re.compile(r"[^\W\d][\w.-]*")
_QUOTED = re.compile(r"""('(?:[^']|'')*'|"[^"]*"|`[^`]*`)""")


def parse_over(domain: Domain, text: str, location: Location) -> Node:
    """The predicate as a tree.

    Raises:
        DocumentError: it cannot be read. Where columns of the domain stand in it without the quotes that they need,
            the message shows them with quotes.
    """
    try:
        return parse(text, location)
    except DocumentError as error:
        bare = [name for name in sorted(domain.names, key=len, reverse=True) if _needs_quotes(name)]
        quoted = _with_quotes(text, bare)
        if quoted == text:
            raise
        raise _explained(error, text, quoted, location) from None


def _needs_quotes(name: str) -> bool:
    return bool(name) and "`" not in name and not _PLAIN.fullmatch(name)


def _with_quotes(text: str, names: list[str]) -> str:
    """The names in backticks, wherever they stand outside of quotes. Longer names come first."""
    for name in names:
        pattern = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])")
        parts = _QUOTED.split(text)
        text = "".join(part if odd % 2 else pattern.sub(f"`{name}`", part) for odd, part in enumerate(parts))
    return text


def _explained(error: DocumentError, text: str, quoted: str, location: Location) -> DocumentError:
    """The fault with the quoted form, where quotes take the reader of the predicate further."""
    (found,) = error.faults
    fix: Fix | None = location.replaced(json.dumps(quoted, ensure_ascii=False))
    try:
        parse(quoted, location)
    except DocumentError as other:
        if _character(other) == _character(error):
            return error
        fix = None
    names = " and ".join(dict.fromkeys(part for part in _QUOTED.findall(quoted) if part not in _QUOTED.findall(text)))
    return location.fault(f"{found.message}; a name with other signs than letters stands in quotes: {names}", fix=fix)


def _character(error: DocumentError) -> str:
    """Where the predicate could not be read on."""
    return error.faults[0].message.partition(":")[0]
