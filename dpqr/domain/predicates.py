"""The parser of predicates, by recursive descent over

either     = both { "or" both }
both       = plain { "and" plain }
plain      = "not" plain | "(" either ")" | comparison
comparison = column ( op constant | ["not"] "in" "(" constant { "," constant } ")"
           | ["not"] "between" constant "and" constant | "is" ["not"] own-cell )
op         = "=" | "!=" | "<" | "<=" | ">" | ">="        (also "==" and "<>")
own-cell   = "null" | "unparsable" | "nan" | "infinite" | "outside"
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, cast

from msgspec import Struct

from dpqr.domain.attribute import FAULTS, Fault
from dpqr.domain.domain import Domain
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError, Fix

MAX_TEXT = 20_000
"""Characters of one predicate."""

KEYWORDS = frozenset({"and", "or", "not", "in", "between", "is", "true", "false"})

Kind = Literal["keyword", "column", "text", "number", "symbol", "end"]

_PATTERN = re.compile(
    r"""(?P<space>\s+)
      | '(?P<text>(?:[^']|'')*)'
      | "(?P<double>(?:[^"]|"")+)"
      | `(?P<tick>[^`]+)`
      | (?P<date>\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}\b)
      | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<symbol><=|>=|!=|<>|==|[=<>(),])
      | (?P<word>[^\W\d][\w.-]*)""",
    re.VERBOSE,
)


class Token(Struct, frozen=True):
    """One word of a predicate; `start` counts characters from 1, as errors do."""

    kind: Kind
    text: str
    start: int

    def is_keyword(self, *words: str) -> bool:
        return self.kind == "keyword" and self.text in words


def tokens(text: str, location: Location) -> list[Token]:
    """The predicate's words, an `end` after the last. Quoted names are columns even where they spell a keyword."""
    if len(text) > MAX_TEXT:
        raise location.fault(f"longer than {MAX_TEXT} characters; split the predicate")
    found, position = [], 0
    while position < len(text):
        match = _PATTERN.match(text, position)
        if match is None:
            raise location.fault(f"at character {position + 1}: {_unreadable(text[position])}")
        group = str(match.lastgroup)
        if group == "date":
            raise location.fault(f"at character {position + 1}: a date stands in single quotes, as '2024-12-31'")
        word, start = match[group], position + 1
        if group == "word":
            is_keyword = word.lower() in KEYWORDS
            found.append(Token("keyword", word.lower(), start) if is_keyword else Token("column", word, start))
        elif group == "text":
            found.append(Token("text", word.replace("''", "'"), start))
        elif group == "double":
            found.append(Token("column", word.replace('""', '"'), start))
        elif group == "tick":
            found.append(Token("column", word, start))
        elif group == "number":
            found.append(Token("number", word, start))
        elif group != "space":
            found.append(Token("symbol", {"==": "=", "<>": "!="}.get(word, word), start))
        position = match.end()
    return [*found, Token("end", "", len(text) + 1)]


_SIGNS = {"&": "and", "|": "or", "!": "not"}
"""Signs of other languages, and the words for them."""


def _unreadable(character: str) -> str:
    if character in "'\"`":
        return f"the quote {character} is never closed; close it (double it to have it inside)"
    if character in _SIGNS:
        return f"{character!r} has no meaning here; write `{_SIGNS[character]}`, or quote column names that hold it"
    return f"{character!r} has no meaning here; quote column names that hold it"


MAX_NESTING = 50
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")


def parse(text: str, location: Location) -> Node:
    """The predicate as a tree; a DocumentError that names the character where it cannot be read."""
    parser = _Parser(tokens(text, location), location)
    node = parser.either()
    if parser.peek().kind != "end":
        raise parser.unexpected("`and`, `or` or the end")
    return node


class _Parser(Struct):
    """A cursor over the tokens; each method reads one rule of the grammar."""

    words: list[Token]
    location: Location
    at: int = 0
    depth: int = 0

    def peek(self) -> Token:
        return self.words[self.at]

    def take(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, *keywords: str) -> bool:
        """Step over one of these keywords if it comes next."""
        found = self.peek().is_keyword(*keywords)
        self.at += found
        return found

    def symbol(self, text: str) -> bool:
        found = self.peek().kind == "symbol" and self.peek().text == text
        self.at += found
        return found

    def unexpected(self, wanted: str, hint: str = "") -> DocumentError:
        got = "the end" if self.peek().kind == "end" else repr(self.peek().text)
        return self.location.fault(f"at character {self.peek().start}: expected {wanted}, got {got}{hint}")

    def either(self) -> Node:
        parts = [self.both()]
        while self.accept("or"):
            parts.append(self.both())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def both(self) -> Node:
        parts = [self.plain()]
        while self.accept("and"):
            parts.append(self.plain())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def plain(self) -> Node:
        if self.depth == MAX_NESTING:
            raise self.location.fault(
                f"at character {self.peek().start}: nested deeper than {MAX_NESTING}; simplify it"
            )
        self.depth += 1
        node = self.nested()
        self.depth -= 1
        return node

    def nested(self) -> Node:
        if self.accept("not"):
            return Not(self.plain())
        if not self.symbol("("):
            return self.comparison()
        node = self.either()
        if not self.symbol(")"):
            raise self.unexpected("`)`")
        return node

    def comparison(self) -> Node:
        if self.peek().kind != "column":
            raise self.unexpected("a column name (the column comes first, text stands in single quotes)")
        column = self.take()
        if self.accept("is"):
            return self.own_cell(column)
        negated = self.accept("not")
        if self.accept("in"):
            node: Node = self.members(column)
        elif self.accept("between"):
            node = self.between(column)
        elif not negated and self.peek().kind == "symbol" and self.peek().text in OPERATORS:
            node = self.compared(column)
        else:
            wanted = "`in` or `between`" if negated else "a comparison (= != < <= > >= in between is)"
            alone = not negated and (self.peek().kind in ("end", "keyword") or self.peek().text == ")")
            raise self.unexpected(wanted, f"; of a truth value write {column.text} = true" if alone else "")
        return Not(node) if negated else node

    def compared(self, column: Token) -> Node:
        operator = self.take().text
        constant = self.constant()
        if operator == "!=":
            return Not(ColumnComparison(column.text, "=", constant, column.start))
        return ColumnComparison(column.text, cast(Operator, operator), constant, column.start)

    def members(self, column: Token) -> Node:
        if not self.symbol("("):
            raise self.unexpected("`(` and a list of constants")
        constants = [self.constant()]
        while self.symbol(","):
            constants.append(self.constant())
        if not self.symbol(")"):
            raise self.unexpected("`,` or `)`")
        return Or(tuple(ColumnComparison(column.text, "=", constant, column.start) for constant in constants))

    def between(self, column: Token) -> Node:
        low = self.constant()
        if not self.accept("and"):
            raise self.unexpected("`and` and the upper end")
        high = self.constant()
        ends = (
            ColumnComparison(column.text, ">=", low, column.start),
            ColumnComparison(column.text, "<=", high, column.start),
        )
        return And(ends)

    def own_cell(self, column: Token) -> Node:
        negated = self.accept("not")
        token = self.peek()
        faults = {str(fault): fault for fault in FAULTS}
        if token.kind != "column" or token.text.lower() not in faults:
            raise self.unexpected(f"the name of an own cell ({', '.join(FAULTS)})")
        node = IsFault(column.text, faults[self.take().text.lower()], column.start)
        return Not(node) if negated else node

    def constant(self) -> Constant:
        if self.accept("true", "false"):
            word = self.words[self.at - 1]
            return Constant("flag", word.text, word.start)
        token = self.peek()
        if token.kind == "text":
            return Constant("text", self.take().text, token.start)
        if token.kind == "number":
            return Constant("number", self.take().text, token.start)
        if token.kind == "column":
            text = "'" + token.text.replace("'", "''") + "'"
            wanted = f"a number or 'text', got a name; if it is text, write it in single quotes: {text}"
            raise self.location.fault(f"at character {token.start}: expected {wanted}")
        raise self.unexpected("a number or 'text'")


# The syntax tree of a predicate. `start`, a part's position in the text, is for errors and not compared.

Operator = Literal["=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant as written. kind: text in quotes, a number, or the words true and false (`flag`)."""

    kind: Literal["text", "number", "flag"]
    text: str
    start: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """column operator constant; `!=`, `in` and `between` are built from these."""

    column: str
    operator: Operator
    constant: Constant
    start: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class IsFault:
    """Whether the record stands in the column's own cell for `fault`."""

    column: str
    fault: Fault
    start: int = field(compare=False)


class Not(Struct, frozen=True):
    """Negation; what is unknown stays unknown."""

    part: Node


class And(Struct, frozen=True):
    """True where all parts are."""

    parts: tuple[Node, ...]


class Or(Struct, frozen=True):
    """True where some part is."""

    parts: tuple[Node, ...]


Node = ColumnComparison | IsFault | Not | And | Or


def columns(node: Node) -> set[str]:
    """The columns that a predicate speaks of."""
    if isinstance(node, ColumnComparison | IsFault):
        return {node.column}
    parts = (node.part,) if isinstance(node, Not) else node.parts
    return set().union(*(columns(part) for part in parts))


def comparisons(node: Node) -> Iterator[ColumnComparison | IsFault]:
    """The predicate's leaves."""
    if isinstance(node, ColumnComparison | IsFault):
        yield node
        return
    for part in (node.part,) if isinstance(node, Not) else node.parts:
        yield from comparisons(part)


def conjuncts(node: Node, *, negated: bool = False) -> list[Node]:
    """Predicates of which `node` (or its negation) is the conjunction, taken apart as far as De Morgan's laws go."""
    if isinstance(node, Not):
        return conjuncts(node.part, negated=not negated)
    if isinstance(node, Or if negated else And):
        return [piece for part in node.parts for piece in conjuncts(part, negated=negated)]
    return [Not(node) if negated else node]


# Predicates over a domain whose column names need quotes: where they are missing, the fault shows them.

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
        longest_first = sorted(domain.names, key=len, reverse=True)
        bare = [name for name in longest_first if name and "`" not in name and not _PLAIN.fullmatch(name)]
        # The names in backticks, wherever they stand outside of quotes. Longer names come first.
        quoted = text
        for name in bare:
            pattern = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])")
            parts = _QUOTED.split(quoted)
            quoted = "".join(part if odd % 2 else pattern.sub(f"`{name}`", part) for odd, part in enumerate(parts))
        if quoted == text:
            raise
        raise _explained(error, text, quoted, location) from None


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
