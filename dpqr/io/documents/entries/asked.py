"""What the queries name of each column: constants of predicates, and ends of ranges. All of it is public."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from dpqr.errors import DocumentError
from dpqr.io.documents.predicates.parser import parse
from dpqr.io.documents.predicates.tree import Comparison, Constant, IsFault, Node, Not, Operator
from dpqr.io.documents.text.decoding import Location


@dataclass(frozen=True, slots=True)
class Named:
    """One value that a query names of a column.

    use: the comparison's operator; `from` and `to`: the lower and the upper end of a range.
    negated: it stands under `not` or `!=`.
    """

    use: Operator | Literal["from", "to"]
    constant: Constant
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a queries document names of the columns.

    values: by column. listed: columns whose cells a file of coefficients lists one by one, so that nothing may be added
    to them; None: it may list those of every column.
    """

    values: Mapping[str, tuple[Named, ...]] = field(default_factory=dict)
    listed: frozenset[str] | None = frozenset()

    def of(self, column: str) -> tuple[Named, ...]:
        """The values by which cells of this column may be made; each once."""
        return () if self.listed is None or column in self.listed else self.values.get(column, ())


NOTHING = Asked()
"""No queries, or queries that may add nothing."""


def asked(entries: Iterable[Any]) -> Asked:
    """What the entries of a queries document name; one that cannot be read names nothing, and its compiler says why."""
    values: dict[str, dict[Named, None]] = {}
    listed: frozenset[str] | None = frozenset()
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        predicates = (*_of_predicate(entry.get("where")), *_of_predicate(entry.get("proportion")))
        for column, named in (*predicates, *_of_ranges(entry)):
            values.setdefault(column, {})[named] = None
        if "coefficients" in entry:
            columns = entry.get("columns")
            known = listed is not None and isinstance(columns, list | tuple)
            listed = (listed or frozenset()) | frozenset(map(str, columns)) if known and columns else None
    return Asked(values={column: tuple(named) for column, named in values.items()}, listed=listed)


def _of_predicate(text: Any) -> Iterator[tuple[str, Named]]:
    if isinstance(text, str):
        with suppress(DocumentError):
            yield from _leaves(parse(text, Location("queries")), negated=False)


def _leaves(node: Node, *, negated: bool) -> Iterator[tuple[str, Named]]:
    if isinstance(node, Comparison):
        yield node.column, Named(node.operator, node.constant, negated)
    elif isinstance(node, Not):
        yield from _leaves(node.part, negated=not negated)
    elif not isinstance(node, IsFault):
        for part in node.parts:
            yield from _leaves(part, negated=negated)


def _of_ranges(entry: Mapping[str, Any]) -> Iterator[tuple[str, Named]]:
    """Ends of the listed ranges; of random ones no value is named."""
    columns, rows = entry.get("ranges"), entry.get("between")
    if not isinstance(rows, list | tuple):
        return
    alone = isinstance(columns, str)
    names = [columns] if alone else columns if isinstance(columns, list | tuple) else []
    for row in rows:
        pairs = [row] if alone else row if isinstance(row, list | tuple) else []
        for column, pair in zip(names, pairs, strict=False):
            if isinstance(column, str) and isinstance(pair, list | tuple) and len(pair) == 2:
                yield column, Named("from", _constant(pair[0]))
                yield column, Named("to", _constant(pair[1]))


def _constant(value: Any) -> Constant:
    """An end of a range as a predicate would write it; what is no number counts as text."""
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return Constant("number" if number else "text", str(value), 0)
