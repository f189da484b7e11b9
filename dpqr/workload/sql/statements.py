"""Statements: SQL taken apart by sqlglot; what no queries document can ask is refused by name, where it stands."""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct

from dpqr.domain.predicates import KEYWORDS
from dpqr.domain.text.decoding import Location, nearest
from dpqr.kernel.errors import DocumentError, UsageFault

LONGEST = 2**18
"""Characters of all statements together."""

_ONE_TABLE = "one table is asked, the one that is released; join or filter before the release"
_APART = "write separate statements, with ; between them"
REFUSED = {
    "HAVING": "true counts would decide which groups are shown; leave it out and filter the answers",
    "JOIN": _ONE_TABLE,
    "OVER": "a window looks at single rows, which are private; group instead",
    "WINDOW": "a window looks at single rows, which are private; group instead",
    "DISTINCT": (
        "how many values occur is no sum over records; ask for the counts, with GROUP BY; persons are counted by "
        "COUNT(DISTINCT column), of the unit's column"
    ),
    "UNION": _APART,
    "INTERSECT": _APART,
    "EXCEPT": _APART,
    "WITH": _ONE_TABLE,
    "LATERAL": _ONE_TABLE,
    "EXISTS": _ONE_TABLE,
    "LIKE": "patterns are not known of labels; list them, with IN",
    "ILIKE": "patterns are not known of labels; list them, with IN",
    "OFFSET": "true counts would decide what is shown; leave it out and cut the answers",
    "FETCH": "true counts would decide what is shown; leave it out and cut the answers",
    "INTO": "nothing is written but answers; leave it out",
    "QUALIFY": "a window looks at single rows, which are private; group instead",
}
"""Reserved words of SQL that no queries document can express, and what to do instead."""
ALLOWED = frozenset({"expressions", "from", "from_", "where", "group", "order", "limit"})
"""Parts of SELECT that are looked at further."""


Statement = Sequence[Any]
"""The words of a statement, as sqlglot tells them apart."""


def statements(words: SqlText) -> tuple[Statement, ...]:
    """The statements of a text, without their semicolons.

    Raises:
        UsageFault: the package that reads SQL is not installed.
        DocumentError: the text is too long, empty, or no words of SQL.
    """
    try:
        from sqlglot import TokenType, errors
        from sqlglot.dialects import Dialect
    except ImportError:
        raise UsageFault(f"{words.name}: SQL is read by the package sqlglot; pip install 'dpqr[sql]'") from None
    if words.text.strip().lower().endswith(".sql") and len(words.text.split()) == 1:
        raise words.at(0).fault(f"{words.text.strip()!r} is the name of a file; give it as --queries")
    if len(words.text) > LONGEST:
        raise words.at(0).fault(f"longer than {LONGEST:,} characters; split the statements over several files")
    try:
        tokens = Dialect.get_or_raise(None).tokenize(words.text)
    except errors.TokenError:
        raise words.at(0).fault("a quote or a comment is never closed; close it") from None
    parts = groupby(tokens, key=lambda token: token.token_type is TokenType.SEMICOLON)
    found = tuple(tuple(part) for ended, part in parts if not ended)
    if not found:
        raise words.at(0).fault("holds no statement; write SELECT ... FROM data")
    return found


def parsed(statement: Statement, words: SqlText) -> Any:
    """SELECT ... FROM one table, as sqlglot's tree. Raises: DocumentError for anything else."""
    from sqlglot import errors, exp
    from sqlglot.dialects import Dialect

    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # it would write on the screen
    first = statement[0].text
    if first.upper() not in ("SELECT", "FROM", "(", *REFUSED):
        raise words.at(statement[0].start).fault("only SELECT asks anything; begin with SELECT")
    # DocumentError at the first word that cannot be expressed.
    from sqlglot import TokenType

    quoted = (TokenType.IDENTIFIER, TokenType.STRING)
    texts = ["" if token.token_type in quoted else token.text.upper() for token in statement]
    for place, text in enumerate(texts):
        after = texts[place + 1] if place + 1 < len(texts) else ""
        at = words.at(statement[place].start)
        before = texts[place - 1] if place else ""
        if text == "DISTINCT" and after == "FROM" and before in ("IS", "NOT"):
            raise at.fault("DISTINCT FROM: write a <> 'x' OR a IS NULL")
        if text == "TOP" and before == "SELECT" and after.isdigit():
            raise at.fault(f"TOP: write ORDER BY COUNT(*) DESC LIMIT {after} at the end")
        if text == "`" or (text == "[" and after.isidentifier()):
            raise at.fault(f'{text}: names with blanks or signs stand in double quotes, as "pay (net)"')
        of_persons = text == "DISTINCT" and texts[max(0, place - 2) : place] == ["COUNT", "("]
        of_totals = texts[max(0, place - 2) : place] == ["FROM", "("] and texts[:place].count("SELECT") == 1
        if text in REFUSED and not of_persons and not (text == "WITH" and after in ("ROLLUP", "CUBE")):
            raise at.fault(f"{text}: {REFUSED[text]}")
        if text == "SELECT" and not of_totals and "SELECT" in texts[:place]:
            raise at.fault(f"SELECT: a subquery; {_ONE_TABLE}")
    try:
        (select,) = Dialect.get_or_raise(None).parser().parse(list(statement), words.text)
    except errors.ParseError as error:
        first = error.errors[0]
        word, lines = str(first["highlight"]), words.text.split("\n")
        # sqlglot counts the last character of the word that it cannot read.
        start = sum(len(line) + 1 for line in lines[: first["line"] - 1]) + first["col"] - len(word)
        hint = "; a name with blanks or signs stands in double quotes" if word.isidentifier() else ""
        raise words.at(max(0, start)).fault(f"cannot be read as SQL at {word!r}; correct it there{hint}") from None
    if not isinstance(select, exp.Select):
        raise words.at(statement[0].start).fault("only SELECT asks anything; begin with SELECT")
    _refuse_parts(select, statement, words)
    return select.transform(partial(_as_case, words=words))


def _as_case(node: Any, words: SqlText) -> Any:
    """IF(condition, value, other) as CASE WHEN condition THEN value ELSE other END."""
    from sqlglot import exp

    if not isinstance(node, exp.If) or isinstance(node.parent, exp.Case):
        return node
    branch = exp.If(this=node.this, true=node.args["true"])
    made = exp.Case(ifs=[branch], default=node.args.get("false"))
    made.meta["start"] = words.start(node)
    return made


def _refuse_parts(select: Any, statement: Sequence[Any], words: SqlText) -> None:
    """DocumentError for a part of SELECT that is not looked at, and for a FROM that is no plain table."""
    from sqlglot import exp

    if select.args.get("joins"):
        raise words.fault(select.args["joins"][0], f"a second table: {_ONE_TABLE}")
    table = select.find(exp.From)
    if table is None:
        raise words.at(statement[0].start).fault("FROM is missing; write SELECT ... FROM data")
    if isinstance(table.this, exp.Subquery) and isinstance(table.this.this, exp.Select):
        _refuse_parts(table.this.this, statement, words)
    elif not isinstance(table.this, exp.Table) or not isinstance(table.this.this, exp.Identifier):
        raise words.fault(table, f"FROM: {_ONE_TABLE}")
    tables = [each.this for each in select.find_all(exp.From)]
    names = {name.casefold() for each in tables for name in (each.name, each.alias) if name}
    for column in select.find_all(exp.Column):
        if column.table and column.table.casefold() not in names:
            raise words.fault(column, f"{column.table}: the table is called {(tables[-1].alias or tables[-1].name)!r}")
    for number in select.find_all(exp.Literal):
        if number.is_number and number.name.count(".") > 1:  # of ". 0.5"
            raise words.fault(number, f"cannot be read as SQL at {number.name!r}; correct it there")
    for alias in select.find_all(exp.TableAlias):
        if alias.columns:
            raise words.fault(alias.columns[0], "FROM: gives columns other names; use the domain's, without a list")
    others = [name for name, part in select.args.items() if part and name not in ALLOWED]
    parts = [part for name, part in table.this.args.items() if part and name not in ("this", "db", "catalog", "alias")]
    others += [(part[0] if isinstance(part, list) else part).key for part in parts]
    if others:
        word = others[0].strip("_").upper()
        at = next((token.start for token in statement if token.text.upper() == word), statement[0].start)
        raise words.at(at).fault(f"{word}: no queries document can ask this; leave it out")


def require_one_table(select: Any, first: str, words: SqlText) -> None:
    """Whatever the first statement calls it, it is the table that is released."""
    table = table_of(select)
    if table.name.casefold() != first.casefold():
        called = f"asks {table.name!r}, and the first statement {first!r}"
        raise words.fault(table, f"{called}: call the one table that is released by one name; join before the release")


def table_of(select: Any) -> Any:
    """What FROM names, of a subquery its own."""
    from sqlglot import exp

    found = select.find(exp.From).this
    return table_of(found.this) if isinstance(found, exp.Subquery) else found


# Words: the text of some SQL, the columns that it may name, and refusals that say line and column.

_PLAIN = re.compile(r"[^\W\d][\w.-]*")
_SIGNS = {"add": "+", "sub": "-", "neg": "-", "mul": "*", "div": "/", "intdiv": "//", "mod": "%", "dpipe": "||"}


_NUMERIC, _TEMPORAL = ("unparsable", "nan", "infinite"), ("unparsable",)
_FAULTS = {"integer": _NUMERIC, "number": _NUMERIC, "date": _TEMPORAL, "datetime": _TEMPORAL}
"""Of columns without labels, beside null and outside (`possible_faults`)."""


class SqlColumns(Struct, frozen=True):
    """The columns of a domain. nulls: those with a cell of their own for null. every: of dates, the period of a bin.
    faults: other cells of their own, by column.

    >>> SqlColumns.of({"fields": [{"name": "sex", "type": "string", "dpqr": {"null": "cell"}}]})
    SqlColumns(names=('sex',), nulls=frozenset({'sex'}), every={}, faults={'sex': ()})
    """

    names: tuple[str, ...]
    nulls: frozenset[str] = frozenset()
    every: Mapping[str, str] = msgspec.field(default_factory=dict)
    faults: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, domain: Any) -> SqlColumns | None:
        """Of a domain document as it is written; None where it is none, which its reader will say."""
        if not isinstance(domain, Mapping):
            return None
        fields = domain.get("fields")
        if not isinstance(fields, list | tuple):
            return cls(tuple(map(str, domain)))
        named = {str(each["name"]): each for each in fields if isinstance(each, Mapping) and "name" in each}
        rules = {name: each.get("dpqr") for name, each in named.items()}
        stated = {name: rule for name, rule in rules.items() if isinstance(rule, Mapping)}
        nulls = (name for name, rule in stated.items() if rule.get("null", rule.get("otherwise")) == "cell")
        every = {name: str(rule["every"]) for name, rule in stated.items() if "every" in rule}
        faults: dict[str, tuple[str, ...]] = {}
        for name, rule in stated.items():
            column, constraints = named[name], named[name].get("constraints")
            listed = "categories" in column or (isinstance(constraints, Mapping) and "enum" in constraints)
            kinds = () if listed else _FAULTS.get(str(column.get("type")), ())
            own = (kind for kind in ("outside", *kinds) if rule.get(kind, rule.get("otherwise")) == "cell")
            faults[name] = tuple(own)
        return cls(tuple(named), frozenset(nulls), every, faults)


@dataclass(frozen=True, slots=True)
class SqlText:
    """Some SQL. name: of its file, or SQL. columns: of the domain; None: not known, every name is taken as written.

    notes: what a reader must know of the translation. comparisons: where the SQL has each comparison of its predicates.
    """

    text: str
    name: str = "SQL"
    columns: SqlColumns | None = None
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
        own = re.compile(rf"(?<!\w){re.escape(name_of_node(node))}{opening}", re.IGNORECASE)
        for one in reversed(list(own.finditer(self.text, 0, start))):
            # A parenthesis that is opened there is still open at `start`.
            if self.text.count(")", one.end(), start) <= self.text.count("(", one.end(), start):
                return int(one.start())
        return int(start)

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


def quoted_name(column: str) -> str:
    """A column's name as a predicate writes it.

    >>> quoted_name("age"), quoted_name("pay (net)"), quoted_name("in")
    ('age', '"pay (net)"', '"in"')
    """
    if _PLAIN.fullmatch(column) and column.lower() not in KEYWORDS:
        return column
    return '"' + column.replace('"', '""') + '"'


def name_of_node(node: Any) -> str:
    """What a part of a statement is called in SQL."""
    from sqlglot import exp

    if isinstance(node, exp.Anonymous):
        return str(node.name).upper()
    if node.key in _SIGNS:
        return _SIGNS[node.key]
    return str(node.sql_name() if isinstance(node, exp.Func) else node.key.upper())
