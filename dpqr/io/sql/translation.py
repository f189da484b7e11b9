"""Translation: SQL as the entries of a queries document, one for each aggregate, grouping set and branch of a CASE.

| SQL                                               | entry                                     |
|---------------------------------------------------|-------------------------------------------|
| COUNT(*) ... GROUP BY a, b                        | {"marginal": ["a", "b"]}                  |
| COUNT(*) ... WHERE p GROUP BY a                   | {"where": "p", "by": ["a"]}               |
| SUM(x), AVG(x), MEDIAN(x), VAR_POP(x)             | {"sum": "x"}, mean, median, variance      |
| PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)    | {"quantiles": "x", "at": [0.9]}           |
| SUM(x) / SUM(y)                                   | {"ratio": {"of": "x", "to": "y"}}         |
| AVG(CASE WHEN p THEN 1 ELSE 0 END)                | {"proportion": "p"}                       |
| COUNT(*) GROUP BY a ORDER BY COUNT(*) DESC LIMIT k| {"top": "a", "k": k}                      |
| SUM(LEAST(w, 40) * x)                             | {"sum": "x", "weight": {"column": "w", "maximum": 40}} |
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dpqr.io.documents.text.decoding import Location
from dpqr.io.documents.text.faults import Faults
from dpqr.io.sql.aggregates import COUNT, Figure, figure
from dpqr.io.sql.conditions import Text, all_of, true
from dpqr.io.sql.groups import Group, Grouping, grouping
from dpqr.io.sql.statements import parsed, require_one_table, statements, table_of
from dpqr.io.sql.words import Words, called


@dataclass(frozen=True, slots=True, kw_only=True)
class Translated:
    """Entries of a queries document, each with the place in the SQL that asks for it, and what a reader must know.

    branches: places of the entries that are asked for a branch of CASE, which may hold no cell. comparisons: of their
    predicates, each where the SQL has it.
    """

    entries: tuple[dict[str, Any], ...]
    places: tuple[Location, ...]
    branches: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    comparisons: Mapping[str, Location] = field(default_factory=dict)

    @property
    def document(self) -> dict[str, Any]:
        """The queries document."""
        return {"dpqr": "queries/1", "queries": list(self.entries)}

    def without(self, dropped: Collection[int]) -> Translated:
        """The same without the entries at these places."""
        kept = [place for place in range(len(self.entries)) if place not in dropped]
        return replace(
            self,
            entries=tuple(self.entries[place] for place in kept),
            places=tuple(self.places[place] for place in kept),
            branches=frozenset(new for new, place in enumerate(kept) if place in self.branches),
        )


def translated(words: Words) -> Translated:
    """The statements of a text as entries; what is asked twice is one entry.

    Raises:
        DocumentError: the first fault of each statement, with line and column.
        UsageFault: the package that reads SQL is not installed.
    """
    faults, found = Faults(), _Found(words)
    for statement in statements(words):
        with faults.kept():
            try:
                found.add(parsed(statement, words))
            except RecursionError:
                raise words.at(statement[0].start).fault("nested too deeply; simplify the statement") from None
    faults.finish()
    return Translated(
        entries=tuple(entry for entry, _ in found.entries.values()),
        places=tuple(place for _, place in found.entries.values()),
        branches=frozenset(place for place, said in enumerate(found.entries) if said in found.branches),
        notes=tuple(words.notes),
        comparisons=words.comparisons,
    )


class _Found:
    """Entries so far, by what they say. branches: of CASE. names: where each was given. table: what the first statement
    calls it."""

    def __init__(self, words: Words) -> None:
        self.words, self.table = words, ""
        self.entries: dict[str, tuple[dict[str, Any], Location]] = {}
        self.branches: set[str] = set()
        self.names: dict[str, Location] = {}

    def add(self, select: Any) -> None:
        """One statement's."""
        self.table = self.table or str(table_of(select).name)
        require_one_table(select, self.table, self.words)
        for entry, node, is_branch in _entries(select, self.words):
            place, said = self.words.place(node), json.dumps(entry)
            self.branches |= {said} if is_branch else set()
            name = entry.get("name")
            if said not in self.entries and name in self.names:
                raise place.fault(f"the name {name!r} stands at {self.names[name].path} too; choose another alias")
            if name is not None:
                self.names.setdefault(name, place)
            self.entries.setdefault(said, (entry, place))


def _entries(select: Any, words: Words) -> Iterator[tuple[dict[str, Any], Any, bool]]:
    """The entries of a statement, each with the expression of SELECT that asks for it; and whether for a branch."""
    where = select.args.get("where")
    condition = None if where is None else true(where.this, words)
    asked = grouping(select, condition, words)
    items = [each for each in select.expressions if not _is_key(each.unalias(), asked, words)]
    if not items:
        raise words.fault(select, "SELECT: no aggregate is asked, and single rows are private; add COUNT(*)")
    figures = [(each, figure(each.unalias(), words)) for each in items]
    if select.args.get("limit"):
        yield _top(select, figures, asked, condition, words), items[0], False
        return
    for each, found in figures:
        for group in asked.groups:
            yield _entry(found, group, condition, _name(each, group, asked.sets)), each, bool(group.labels)


def _is_key(node: Any, asked: Grouping, words: Words) -> bool:
    """Whether an expression of SELECT only shows what is grouped by."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Column):
        return words.column(node) in (words.column(key) for key in asked.keys if isinstance(key, exp.Column))
    return node in asked.keys


def _entry(found: Figure, group: Group, condition: Text | None, name: str | None) -> dict[str, Any]:
    where = all_of(condition, group.where, found.where)
    kind: dict[str, Any] = found.parts
    if found.kind == COUNT:
        kind = {"marginal": list(group.by)} if where is None else {"where": where.text}
    by = {"by": list(group.by)} if group.by and "marginal" not in kind else {}
    among = {"where": where.text} if where is not None else {}
    weight = {} if found.weight is None else {"weight": found.weight}
    return {**kind, **among, **by, **weight, **({} if name is None else {"name": name})}


def _name(item: Any, group: Group, sets: int) -> str | None:
    """The alias; of a branch with its label, of one of several grouping sets with its columns."""
    alias = item.alias or (called(item.unalias()).lower() if group.labels else "")
    if not alias:
        return None
    told = (f"by {','.join(group.by)}" if group.by else "in total") if sets > 1 else ""
    return " ".join(filter(None, (alias, ", ".join(group.labels), told)))


def _top(
    select: Any, figures: list[tuple[Any, Figure]], asked: Grouping, condition: Text | None, words: Words
) -> dict[str, Any]:
    """The most frequent cells of a column: LIMIT of counts in falling order, and no other LIMIT."""
    from sqlglot import exp

    limit = select.args["limit"]
    (item, found), group = figures[0], asked.groups[0]
    count = limit.expression if isinstance(limit, exp.Limit) else None
    single = len(figures) == 1 and found.kind == COUNT and len(asked.groups) == 1 and len(group.by) == 1
    if not single or group.labels or not _falls(select, item) or not isinstance(count, exp.Literal) or count.is_string:
        at = words.text.upper().rfind("LIMIT", 0, limit.expression.meta.get("start", len(words.text)))
        raise words.at(max(0, at)).fault(
            "LIMIT: true answers would decide what is shown; leave it out, or ask a column's most frequent cells by "
            "SELECT a, COUNT(*) ... GROUP BY a ORDER BY COUNT(*) DESC LIMIT 5"
        )
    where = all_of(condition, found.where)
    entry = {"top": group.by[0], "k": int(count.name), **({} if where is None else {"where": where.text})}
    entry |= {} if found.weight is None else {"weight": found.weight}
    return {**entry, **({"name": item.alias} if item.alias else {})}


def _falls(select: Any, item: Any) -> bool:
    """Whether the statement is ordered by this aggregate alone, the largest first."""
    from sqlglot import exp

    order = select.args.get("order")
    if order is None or len(order.expressions) != 1 or not order.expressions[0].args.get("desc"):
        return False
    key = order.expressions[0].this
    if isinstance(key, exp.Literal):
        return bool(key.name == str(select.expressions.index(item) + 1))
    return bool(key == item.unalias() or (isinstance(key, exp.Column) and item.alias and key.name == item.alias))
