"""Tokens of a predicate."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from dpqr.io.documents.place import Place

MAX_TEXT = 20_000
"""Characters of one predicate."""

KEYWORDS = frozenset({"and", "or", "not", "in", "between", "is", "true", "false"})

Kind = Literal["keyword", "column", "text", "number", "symbol", "end"]

_PATTERN = re.compile(
    r"""(?P<space>\s+)
      | '(?P<text>(?:[^']|'')*)'
      | "(?P<double>(?:[^"]|"")+)"
      | `(?P<tick>[^`]+)`
      | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<symbol><=|>=|!=|<>|==|[=<>(),])
      | (?P<word>[^\W\d][\w.-]*)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word of a predicate; `start` counts characters from 1, as errors do."""

    kind: Kind
    text: str
    start: int

    def is_keyword(self, *words: str) -> bool:
        return self.kind == "keyword" and self.text in words


def tokens(text: str, place: Place) -> list[Token]:
    """The predicate's words, an `end` after the last. Quoted names are columns even where they spell a keyword."""
    if len(text) > MAX_TEXT:
        raise place.fault(f"longer than {MAX_TEXT} characters; split the predicate")
    found, position = [], 0
    while position < len(text):
        match = _PATTERN.match(text, position)
        if match is None:
            raise place.fault(f"at character {position + 1}: {_unreadable(text[position])}")
        group = str(match.lastgroup)
        if group != "space":
            found.append(_token(group, match[group], position + 1))
        position = match.end()
    return [*found, Token("end", "", len(text) + 1)]


def _token(group: str, text: str, start: int) -> Token:
    if group == "word":
        lowered = text.lower()
        return Token("keyword", lowered, start) if lowered in KEYWORDS else Token("column", text, start)
    if group == "text":
        return Token("text", text.replace("''", "'"), start)
    if group == "double":
        return Token("column", text.replace('""', '"'), start)
    if group == "tick":
        return Token("column", text, start)
    if group == "number":
        return Token("number", text, start)
    return Token("symbol", {"==": "=", "<>": "!="}.get(text, text), start)


def _unreadable(character: str) -> str:
    if character in "'\"`":
        return f"the quote {character} is never closed; close it (double it to have it inside)"
    return f"{character!r} has no meaning here; quote column names that hold it"
