"""Words: the text of some SQL, the columns that it may name, and refusals that say line and column."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpqr.errors import DocumentError
from dpqr.io.documents.predicates.parser import KEYWORDS
from dpqr.io.documents.text.decoding import Location, nearest

_PLAIN = re.compile(r"[^\W\d][\w.-]*")
_SIGNS = {"add": "+", "sub": "-", "neg": "-", "mul": "*", "div": "/", "intdiv": "//", "mod": "%", "dpipe": "||"}


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a domain. nulls: those with a cell of their own for null.

    >>> Columns.of({"fields": [{"name": "sex", "type": "string", "dpqr": {"null": "cell"}}]})
    Columns(names=('sex',), nulls=frozenset({'sex'}))
    """

    names: tuple[str, ...]
    nulls: frozenset[str] = frozenset()

    @classmethod
    def of(cls, domain: Any) -> Columns | None:
        """Of a domain document as it is written; None where it is none, which its reader will say."""
        if not isinstance(domain, Mapping):
            return None
        fields = domain.get("fields")
        if not isinstance(fields, list | tuple):
            return cls(tuple(map(str, domain)))
        named = {str(each["name"]): each for each in fields if isinstance(each, Mapping) and "name" in each}
        return cls(tuple(named), frozenset(name for name, each in named.items() if _has_null(each.get("dpqr"))))


def _has_null(treatment: Any) -> bool:
    return isinstance(treatment, Mapping) and treatment.get("null", treatment.get("otherwise")) == "cell"


@dataclass(frozen=True, slots=True)
class Words:
    """Some SQL. name: of its file, or SQL. columns: of the domain; None: not known, every name is taken as written.

    notes: what a reader must know of the translation. comparisons: where the SQL has each comparison of its predicates.
    """

    text: str
    name: str = "SQL"
    columns: Columns | None = None
    notes: list[str] = field(default_factory=list)
    comparisons: dict[str, Location] = field(default_factory=dict)
    _lines: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_lines", [0, *(found.end() for found in re.finditer("\n", self.text))])

    def at(self, start: int) -> Location:
        """Where the character with this number stands."""
        line = bisect_right(self._lines, start)
        return Location(self.name, f"line {line}, column {start - self._lines[line - 1] + 1}")

    def place(self, node: Any) -> Location:
        """Where a part of a parsed statement begins."""
        return self.at(self.start(node))

    def start(self, node: Any) -> int:
        """Its first character. sqlglot places names and most functions only; other words are looked for in the text."""
        from sqlglot import exp

        start = min((part.meta["start"] for part in node.walk() if "start" in part.meta), default=None)
        if start is None and node.parent:
            around = self.start(node.parent)
            word = re.compile(rf"(?<!\w){re.escape(node.sql())}(?!\w)", re.IGNORECASE).search(self.text, around)
            return word.start() if word else around
        if start is None or "start" in node.meta or not isinstance(node, exp.Func):
            return start or 0
        opening = r"\s" if isinstance(node, exp.Case) else r"\s*\("
        own = re.compile(rf"(?<!\w){re.escape(called(node))}{opening}", re.IGNORECASE)
        opened = [one.start() for one in own.finditer(self.text, 0, start) if self._holds(one.end(), start)]
        return opened[-1] if opened else start

    def _holds(self, opened: int, start: int) -> bool:
        """Whether a parenthesis opened there is still open here."""
        return self.text.count(")", opened, start) <= self.text.count("(", opened, start)

    def fault(self, node: Any, message: str) -> DocumentError:
        return self.place(node).fault(message)

    def note(self, node: Any, message: str) -> None:
        self.notes.append(f"{self.place(node).path}: {message}")

    def column(self, node: Any) -> str:
        """The domain's name of a column. As in SQL, capitals of a name without quotes do not count."""
        name = str(node.name)
        if self.columns is None or name in self.columns.names:
            return name
        same = [known for known in self.columns.names if known.casefold() == name.casefold()]
        if len(same) == 1 and not node.this.quoted:
            return same[0]
        raise self.fault(node, f"the domain has no column {name!r}; {nearest(name, self.columns.names)}")

    def refuse_unquoted(self, node: Any) -> None:
        """DocumentError for an expression that reads like a column's name, such as hours-per-week."""
        name = node.sql().replace(" ", "")
        if self.columns is not None and node.key != "column" and name in self.columns.names:
            raise self.fault(node, f'the name {name} stands in double quotes: "{name}"')

    def knows(self, node: Any) -> bool:
        """Whether the domain is known and has a column of this name."""
        return self.columns is not None and str(node.name).casefold() in map(str.casefold, self.columns.names)

    def has_null(self, column: str) -> bool:
        """Whether records without a value of the column have a cell; where that is not known, they have."""
        return self.columns is None or column in self.columns.nulls


def named(column: str) -> str:
    """A column's name as a predicate writes it.

    >>> named("age"), named("pay (net)"), named("in")
    ('age', '"pay (net)"', '"in"')
    """
    if _PLAIN.fullmatch(column) and column.lower() not in KEYWORDS:
        return column
    return '"' + column.replace('"', '""') + '"'


def called(node: Any) -> str:
    """What a part of a statement is called in SQL."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return str(node.name).upper()
    if node.key in _SIGNS:
        return _SIGNS[node.key]
    return str(node.sql_name() if isinstance(node, exp.Func) else node.key.upper())
