"""SQL in place of a queries document: translated over the domain's columns, and its faults placed in the SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import compress
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from dpqr.domain.domain import Domain
from dpqr.domain.text.decoding import Location
from dpqr.domain.text.documents import JsonObject, read_document
from dpqr.domain.text.faults import Faults, combine_faults
from dpqr.kernel.errors import DocumentError, DpqrError, Fault
from dpqr.kernel.values import replace
from dpqr.workload.queries_file import QueriesDocument, read_queries
from dpqr.workload.sql.aggregates import COUNT, PERSONS, Grouping, SqlAggregate, figure, grouping, stated_number
from dpqr.workload.sql.conditions import Text, all_of, true
from dpqr.workload.sql.statements import (
    SqlColumns,
    SqlText,
    name_of_node,
    parsed,
    require_one_table,
    statements,
    table_of,
)

_ENTRY = re.compile(r"\$\.queries\[(\d+)\]")
_CHARACTER = re.compile(r"at character \d+: ")
"""Of a predicate that the translation has written."""
_EMPTY = "is true for no cell"


def read_sql(
    sql: str | Mapping[str, object], domain: str | JsonObject | Domain | None, *, strict: bool = False
) -> QueriesDocument:
    """The statements as a queries document over a domain; its notes say where answers mean something else.

    Args:
        sql: a .sql file, or {"sql": its text}.
        strict: as of `read_queries`.

    Raises:
        DocumentError: they cannot be asked; each fault has the line and the column of the SQL.
        UsageFault: a file cannot be read, or the package that reads SQL is not installed.
    """
    found = translated_sql(sql, domain)
    if domain is None:
        raise DocumentError("SQL names no domain; give --domain FILE")
    return _read(found, domain, strict)


def _read(found: Translation, domain: str | JsonObject | Domain, strict: bool) -> QueriesDocument:
    try:
        read = read_queries(found.document, domain, strict=strict)
    except DocumentError as error:
        # Entries at fault that are a branch of CASE which holds no cell: SQL has no group there either.
        matches = ((_ENTRY.match(fault.path), fault) for fault in error.faults)
        empty = {int(entry[1]) for entry, fault in matches if entry and fault.message.startswith(_EMPTY)}
        empty &= found.branches
        if not empty or len(empty) == len(found.entries):
            # Each once: several entries may come from one comparison.
            faults = (_placed(fault, found, domain, strict) for fault in error.faults)
            raise combine_faults(list({str(fault): fault for fault in faults}.values())) from None
        return _read(found.without(empty), domain, strict)
    return replace(read, notes=(*found.notes, *read.notes), spoken=(*found.notes, *read.spoken))


def translated_sql(sql: str | Mapping[str, Any], domain: str | JsonObject | Domain | None = None) -> Translation:
    """The entries that statements ask for. domain: by whose columns names are understood. Raises: as `read_sql`."""
    text = sql if isinstance(sql, Mapping) else read_document(Path(sql))
    name = "SQL" if isinstance(sql, Mapping) else Path(sql).name
    columns, unread = None, None
    if isinstance(domain, Domain):
        cells = {each.name: each.own_cells for each in domain.attributes}
        nulls = frozenset(name for name, own in cells.items() if "null" in own)
        faults = {name: tuple(fault for fault in own if fault != "null") for name, own in cells.items()}
        columns = SqlColumns(domain.names, nulls, faults=faults)
    else:
        try:
            columns = SqlColumns.of(read_document(Path(domain)) if isinstance(domain, str) else domain)
        except DpqrError as error:
            unread = error
    try:
        return translate(SqlText(str(text["sql"]), name, columns))
    except DocumentError:
        if unread is None:
            raise
    raise unread  # before faults that may be none over its columns


def _placed(fault: Fault, found: Translation, domain: str | JsonObject | Domain, strict: bool) -> Fault:
    """A fault of a translated entry where the SQL has it: at the comparison that has the same fault by itself, or else
    where the entry is asked for."""
    number = _ENTRY.match(fault.path)
    if number is None:
        return fault
    entry, place = found.entries[int(number[1])], found.places[int(number[1])]
    message = _CHARACTER.sub("", fault.message)
    condition = f"{entry.get('where', '')} {entry.get('proportion', '')}"
    alone = (
        at for text, at in found.comparisons.items() if text in condition and message in _faults(text, domain, strict)
    )
    place, key = next(alone, place), fault.path[number.end() :].lstrip(".")
    message = f"{key}: {message}" if message.startswith("must ") else message
    return Fault(message=message, document=place.document, path=place.path)


def _faults(comparison: str, domain: str | JsonObject | Domain, strict: bool) -> tuple[str, ...]:
    """What is wrong with one comparison by itself."""
    try:
        read_queries({"queries": [{"where": comparison}]}, domain, strict=strict)
    except DocumentError as error:
        return tuple(_CHARACTER.sub("", fault.message) for fault in error.faults)
    return ()


# Translation: SQL as the entries of a queries document, one for each aggregate, grouping set and branch of a CASE.
#
# | SQL                                               | entry                                     |
# |---------------------------------------------------|-------------------------------------------|
# | COUNT(*) ... GROUP BY a, b                        | {"marginal": ["a", "b"]}                  |
# | COUNT(DISTINCT id) ... GROUP BY a, of the unit's id | {"persons": {"by": ["a"], "of": "id"}}  |
# | COUNT(*) ... WHERE p GROUP BY a                   | {"where": "p", "by": ["a"]}               |
# | SUM(x), AVG(x), MEDIAN(x), VAR_POP(x)             | {"sum": "x"}, mean, median, variance      |
# | PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)    | {"quantiles": "x", "at": [0.9]}           |
# | SUM(x) / SUM(y)                                   | {"ratio": {"of": "x", "to": "y"}}         |
# | AVG(CASE WHEN p THEN 1 ELSE 0 END)                | {"proportion": "p"}                       |
# | COUNT(*) GROUP BY a ORDER BY COUNT(*) DESC LIMIT k| {"top": "a", "k": k}                      |
# | AVG(LEAST(GREATEST(t, 0), 9)) FROM (SELECT a, id, SUM(x) AS t ... GROUP BY a, id) GROUP BY a |
# |                                                   | {"persons": {"by": ["a"], "mean": {...}}} |
# | SUM(LEAST(w, 40) * x)                             | {"sum": "x", "weight": {"column": "w", "maximum": 40}} |


class Translation(Struct, frozen=True, kw_only=True):
    """Entries of a queries document, each with the place in the SQL that asks for it, and what a reader must know.

    branches: places of the entries that are asked for a branch of CASE, which may hold no cell. comparisons: of their
    predicates, each where the SQL has it.
    """

    entries: tuple[JsonObject, ...]
    places: tuple[Location, ...]
    branches: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    comparisons: Mapping[str, Location] = field(default_factory=dict)

    @property
    def document(self) -> JsonObject:
        """The queries document."""
        return {"dpqr": "queries/1", "queries": list(self.entries)}

    def without(self, dropped: Collection[int]) -> Translation:
        """The same without the entries at these places."""
        kept = [place for place in range(len(self.entries)) if place not in dropped]
        return replace(
            self,
            entries=tuple(self.entries[place] for place in kept),
            places=tuple(self.places[place] for place in kept),
            branches=frozenset(new for new, place in enumerate(kept) if place in self.branches),
        )


def translate(words: SqlText) -> Translation:
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
    return Translation(
        entries=tuple(entry for entry, _ in found.entries.values()),
        places=tuple(place for _, place in found.entries.values()),
        branches=frozenset(place for place, said in enumerate(found.entries) if said in found.branches),
        notes=tuple(words.notes),
        comparisons=words.comparisons,
    )


class _Found:
    """Entries so far, by what they say. branches: of CASE. names: where each was given. table: what the first statement
    calls it."""

    def __init__(self, words: SqlText) -> None:
        self.words, self.table = words, ""
        self.entries: dict[str, tuple[JsonObject, Location]] = {}
        self.branches: set[str] = set()
        self.names: dict[str, Location] = {}

    def add(self, select: Any) -> None:
        """One statement's."""
        self.table = self.table or str(table_of(select).name)
        require_one_table(select, self.table, self.words)
        _name_bins(select, self.words)
        for entry, node, is_branch in _entries(select, self.words):
            place, said = self.words.place(node), json.dumps(entry)
            name = entry.get("name")
            if said not in self.entries and name in self.names:
                # What an earlier statement called so keeps the name; here the columns follow it.
                if by := entry.get("marginal") or entry.get("by") or entry.get("persons", {}).get("by"):
                    name = entry["name"] = f"{name} by {','.join(by)}"
                    said = json.dumps(entry)
                if said not in self.entries and name in self.names:
                    raise place.fault(f"the name {name!r} stands at {self.names[name].path} too; choose another alias")
            self.branches |= {said} if is_branch else set()
            if name is not None:
                self.names.setdefault(name, place)
            self.entries.setdefault(said, (entry, place))


def _name_bins(select: Any, words: SqlText) -> None:
    """DATE_TRUNC('month', d), shown or grouped by, is the column d where the domain bins it by month: changed there."""
    from sqlglot import exp

    every = words.columns.every if words.columns else {}
    for one in select.find_all(exp.Select):
        group = one.args.get("group")
        for each in [*one.expressions, *(group.expressions if group else [])]:
            node = each.unalias()
            of_column = isinstance(node, exp.DateTrunc) and isinstance(node.this, exp.Column) and words.knows(node.this)
            zone = node.args.get("zone")
            if of_column and not zone and every.get(words.column(node.this)) == node.text("unit").lower():
                node.replace(node.this)


def _entries(select: Any, words: SqlText) -> Iterator[tuple[JsonObject, Any, bool]]:
    """The entries of a statement, each with the expression of SELECT that asks for it; and whether for a branch."""
    from sqlglot import exp

    if isinstance(select.find(exp.From).this, exp.Subquery):
        yield from _of_totals(select, words)
        return
    where = select.args.get("where")
    condition = None if where is None else true(where.this, words)
    grouped_by = grouping(select, condition, words)
    # Expressions of SELECT that only show what is grouped by are no entries.
    items = []
    for each in select.expressions:
        node = each.unalias().unnest()
        if isinstance(node, exp.Column):
            shown = words.column(node) in (words.column(key) for key in grouped_by.keys if isinstance(key, exp.Column))
        else:
            shown = node in grouped_by.keys
        items += [] if shown else [each]
    if not items:
        raise words.fault(select, "SELECT: no aggregate is asked, and single rows are private; add COUNT(*)")
    figures = [(each, figure(each.unalias(), words)) for each in items]
    if select.args.get("limit"):
        yield _top(select, figures, grouped_by, condition, words), items[0], False
        return
    for each, found in figures:
        for group in grouped_by.groups:
            met = all_of(condition, group.where, found.where)
            kind: JsonObject = found.parts
            if found.kind == COUNT:
                kind = {"marginal": list(group.by)} if met is None else {"where": met.text}
            if found.kind == PERSONS:
                kind = {"persons": {**({"by": list(group.by)} if group.by else {}), **found.parts}}
            by = {"by": list(group.by)} if group.by and not kind.keys() & {"marginal", "persons"} else {}
            among = {} if met is None else {"where": met.text}
            weight = {} if found.weight is None else {"weight": found.weight}
            # The alias; of a branch with its label, of one of several grouping sets with its columns.
            alias = each.alias or (name_of_node(each.unalias()).lower() if group.labels else "")
            grouped = (f"by {','.join(group.by)}" if group.by else "in total") if grouped_by.sets > 1 else ""
            name = {"name": " ".join(filter(None, (alias, ", ".join(group.labels), grouped)))} if alias else {}
            yield {**kind, **among, **by, **weight, **name}, each, bool(group.labels)


def _top(
    select: Any, figures: list[tuple[Any, SqlAggregate]], grouping: Grouping, condition: Text | None, words: SqlText
) -> JsonObject:
    """The most frequent cells of a column: LIMIT of counts in falling order, and no other LIMIT."""
    from sqlglot import exp

    limit = select.args["limit"]
    (item, found), group = figures[0], grouping.groups[0]
    # No LIMIT 5 PERCENT, and no LIMIT 5 BY a.
    count = limit.expression if [part for part in limit.args.values() if part] == [limit.expression] else None
    # The statement is ordered by this aggregate alone, the largest first: by its place, itself or its alias.
    order = select.args["order"].expressions if select.args.get("order") else []
    falls = False
    if len(order) == 1 and order[0].args.get("desc"):
        key, place = order[0].this, str(select.expressions.index(item) + 1)
        named = isinstance(key, exp.Column) and item.alias and key.name == item.alias
        falls = key.name == place if isinstance(key, exp.Literal) else key == item.unalias() or named
    single = len(figures) == 1 and found.kind == COUNT and len(grouping.groups) == 1 and len(group.by) == 1
    if not single or group.labels or not falls or not isinstance(count, exp.Literal) or not count.is_int:
        at = words.text.upper().rfind("LIMIT", 0, limit.expression.meta.get("start", len(words.text)))
        raise words.at(max(0, at)).fault(
            "LIMIT: true answers would decide what is shown; leave it out, or ask a column's most frequent cells by "
            "SELECT a, COUNT(*) ... GROUP BY a ORDER BY COUNT(*) DESC LIMIT 5"
        )
    where = all_of(condition, found.where)
    entry = {"top": group.by[0], "k": int(count.name), **({} if where is None else {"where": where.text})}
    entry |= {} if found.weight is None else {"weight": found.weight}
    return {**entry, **({"name": item.alias} if item.alias else {})}


_TOTALS = (
    "persons' totals are asked by SELECT a, AVG(LEAST(GREATEST(t, 0), 500)) FROM (SELECT a, id, SUM(x) AS t FROM data "
    "GROUP BY a, id) GROUP BY a, where id is the unit's column"
)


def _of_totals(select: Any, words: SqlText) -> Iterator[tuple[JsonObject, Any, bool]]:
    """Tables of persons, of a statement over one row a person and cell: their number (COUNT) or the mean of their
    totals (AVG), each total between two stated numbers."""
    from sqlglot import exp

    source = select.find(exp.From).this
    inner = source.this

    if select.args.get("where"):
        raise words.fault(select.args["where"], "WHERE: chooses rows, not persons' totals; put it into the subquery")

    def columns(select: Any) -> list[Any]:
        if select.args.get("limit"):
            raise words.fault(select.args["limit"], f"LIMIT: of persons' totals; leave it out; {_TOTALS}")
        group = select.args.get("group")
        if group is None:
            return []
        others = any(value for name, value in group.args.items() if name != "expressions")  # such as ROLLUP
        if others or not all(isinstance(each, exp.Column) for each in group.expressions):
            raise words.fault(group, f"GROUP BY: takes columns; {_TOTALS}")
        return list(group.expressions)

    # The person's column is the one that the subquery groups by, and the statement does not.
    by, grouped = [words.column(each) for each in columns(select)], columns(inner)
    own = [each for each in grouped if each.name.casefold() not in map(str.casefold, by)]
    if len(own) != 1 or words.knows(own[0]) or len(grouped) != len(by) + 1:
        raise words.fault(source, f"the subquery groups by the same columns and by the person's; {_TOTALS}")
    names, sums = {each.name.casefold() for each in grouped}, dict[str, str]()
    for each in inner.expressions:
        found, name = each.unalias(), each.alias_or_name.casefold()
        if isinstance(found, exp.Column) and found.name.casefold() in names:
            if name != found.name.casefold():
                raise words.fault(each, f"the subquery's columns keep their names; {_TOTALS}")
            continue
        total = figure(found, words)
        if total.kind != "sum" or total.where or total.weight or not each.alias or name in {*names, *sums}:
            raise words.fault(each, f"the subquery takes sums of a column, each with its own name; {_TOTALS}")
        sums[name] = total.parts["sum"]
    table = {**({"by": by} if by else {}), "of": str(own[0].name)}
    condition = inner.args.get("where")
    among = {} if condition is None else {"where": true(condition.this, words).text}
    shown = [each.unalias().unnest() for each in select.expressions]
    is_figure = [not (isinstance(node, exp.Column) and words.column(node) in by) for node in shown]
    if not any(is_figure):
        raise words.fault(select, f"SELECT: no aggregate is asked; {_TOTALS}")
    for each, node in compress(zip(select.expressions, shown, strict=True), is_figure):
        mean: JsonObject = {}
        if isinstance(node, exp.Avg):
            name, *within = _clipped(node.this, words)
            if name.casefold() not in sums:
                raise words.fault(node, f"{name!r} is no sum of the subquery; {_TOTALS}")
            mean = {"mean": {"sum": sums[name.casefold()], "within": within}}
        elif not (isinstance(node, exp.Count) and isinstance(node.this, exp.Star)):
            other = "is asked of persons in a queries document (topic queries)"
            advice = other if isinstance(node, exp.Median | exp.WithinGroup) else _TOTALS
            raise words.fault(node, f"{name_of_node(node)}: {advice}")
        alias = {"name": each.alias} if each.alias else {}
        yield {"persons": {**table, **mean}, **among, **alias}, each, False


def _clipped(node: Any, words: SqlText) -> tuple[str, Any, Any]:
    """The column of LEAST(GREATEST(column, least), most), in either order, and the two numbers."""
    from sqlglot import exp

    bounds: dict[Any, Any] = {}
    at = node
    while isinstance(at.unnest(), exp.Least | exp.Greatest):
        clip = at.unnest()
        parts = [part.unnest() for part in (clip.this, *clip.expressions)]
        numbers = [number for part in parts if (number := stated_number(part)) is not None]
        others = [part for part in parts if stated_number(part) is None]
        if len(numbers) != 1 or len(others) != 1 or type(clip) in bounds:
            break
        bounds[type(clip)], at = numbers[0], others[0]
    if len(bounds) != 2 or not isinstance(at.unnest(), exp.Column):
        raise words.fault(node, f"a person's total lies between two stated numbers; {_TOTALS}")
    return str(at.unnest().name), bounds[exp.Greatest], bounds[exp.Least]
