"""Where the parts of a JSON text stand, by their JSON paths."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_DEPTH = 32
"""Levels of objects and lists in a document."""
TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels; no document needs that"
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def member(path: str, key: str | int) -> str:
    """The path of a member of the object or list at `path`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{json.dumps(key)}]"


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of a value, and of the key before it (none before items and the top)."""

    value: tuple[int, int]
    key: tuple[int, int] | None = None

    @property
    def start(self) -> int:
        """The first character of key and value."""
        return (self.key or self.value)[0]


@dataclass(slots=True)
class _Open:
    """An object or a list that is not closed yet. index: of the next item; key, name: of the next member."""

    path: str
    start: int
    own: tuple[int, int] | None
    items: bool
    index: int = 0
    key: tuple[int, int] | None = None
    name: str = field(default="")

    def next_path(self) -> str:
        return member(self.path, self.index if self.items else self.name)


def spans(text: str) -> Iterator[tuple[str, Span]]:
    """Path and place of every part of a valid JSON text, the inner ones first."""
    outer: list[_Open] = []
    for match in _TOKEN.finditer(text):
        token, top = match[0], outer[-1] if outer else None
        if token in ("]", "}"):
            closed = outer.pop()
            yield closed.path, Span((closed.start, match.end()), closed.own)
        elif token == ",":
            outer[-1].index += 1
        elif top and not top.items and not top.key:
            top.key, top.name = match.span(), json.loads(token)
        elif token != ":":
            path, key = (top.next_path(), top.key) if top else ("$", None)
            if top:
                top.key = None
            if token in ("[", "{"):
                outer.append(_Open(path, match.start(), key, token == "["))
            else:
                yield path, Span(match.span(), key)


def line_of(text: str, position: int) -> int:
    """Lines are counted from 1."""
    return text.count("\n", 0, position) + 1
