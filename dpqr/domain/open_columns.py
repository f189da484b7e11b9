"""What the queries name of each column: constants of predicates, ends of ranges, quantiles. All of it is public."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Literal

import msgspec
from msgspec import UNSET, Struct, field

from dpqr.domain.attribute import Attribute, Bins, Labels
from dpqr.domain.columns import require_few, whole_bins
from dpqr.domain.form import Field
from dpqr.domain.predicate_cells import constant_value, label_text, range_end
from dpqr.domain.predicates import ColumnComparison, Constant, IsFault, Node, Not, Operator, parse
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError
from dpqr.kernel.values import replace


class QueriedValue(Struct, frozen=True):
    """One value that a query names of a column.

    use: the comparison's operator; `from` and `to`: the lower and the upper end of a range.
    negated: it stands under `not` or `!=`.
    """

    use: Operator | Literal["from", "to"]
    constant: Constant
    negated: bool = False


class QueriedColumns(Struct, frozen=True, kw_only=True):
    """What a queries document names of the columns.

    values: by column. listed: columns whose cells a file of coefficients lists one by one, so that nothing may be added
    to them; None: it may list those of every column.
    """

    values: Mapping[str, tuple[QueriedValue, ...]] = field(default_factory=dict)
    listed: frozenset[str] | None = frozenset()

    def of(self, column: str) -> tuple[QueriedValue, ...]:
        """The values by which cells of this column may be made; each once."""
        return () if self.listed is None or column in self.listed else self.values.get(column, ())


NO_QUERIED_COLUMNS = QueriedColumns()
"""No queries, or queries that may add nothing."""


def queried_columns(entries: Iterable[object]) -> QueriedColumns:
    """What the entries of a queries document name; one that cannot be read names nothing, and its compiler says why."""
    values: dict[str, dict[QueriedValue, None]] = {}
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
    return QueriedColumns(values={column: tuple(named) for column, named in values.items()}, listed=listed)


def asked_quantiles(entries: Iterable[object]) -> dict[str, frozenset[Fraction]]:
    """The quantiles that entries ask of each column, medians among them; what cannot be read asks none.

    >>> asked_quantiles([{"median": "age"}, {"median": 3}, {"quantiles": "pay", "at": [0.9, 2]}])
    {'age': frozenset({Fraction(1, 2)}), 'pay': frozenset({Fraction(9, 10)})}
    """
    found: dict[str, frozenset[Fraction]] = {}
    for entry in (entry for entry in entries if isinstance(entry, Mapping)):
        for name, at in ((entry.get("median"), [0.5]), (entry.get("quantiles"), entry.get("at"))):
            if isinstance(name, str) and isinstance(at, list | tuple):
                parts = {Fraction(str(part)) for part in at if isinstance(part, float | Decimal) and 0 < part < 1}
                found[name] = found.get(name, frozenset()) | parts
    return found


def _of_predicate(text: object) -> Iterator[tuple[str, QueriedValue]]:
    if isinstance(text, str):
        with suppress(DocumentError):
            yield from _leaves(parse(text, Location("queries")), negated=False)


def _leaves(node: Node, *, negated: bool) -> Iterator[tuple[str, QueriedValue]]:
    if isinstance(node, ColumnComparison):
        yield node.column, QueriedValue(node.operator, node.constant, negated)
    elif isinstance(node, Not):
        yield from _leaves(node.part, negated=not negated)
    elif not isinstance(node, IsFault):
        for part in node.parts:
            yield from _leaves(part, negated=negated)


def _of_ranges(entry: Mapping[str, object]) -> Iterator[tuple[str, QueriedValue]]:
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
                yield column, QueriedValue("from", _constant(pair[0]))
                yield column, QueriedValue("to", _constant(pair[1]))


def _constant(value: object) -> Constant:
    """An end of a range as a predicate would write it; what is no number counts as text."""
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return Constant("number" if number else "text", str(value), 0)


# Bins and labels that a domain leaves open, from the values that the queries name.
#
# Queries are public, so cells that are made from them cost nothing. No row is looked at.
#
# An end of a range that is an edge of the declared bins means what it meant before: whether the value itself belongs
# follows from the declared bins alone, never from what other queries cut.

Threshold = tuple[Fraction, bool]
"""A value, and whether the cut lies before it (strict: `<`, `>=`) or after it (`<=`, `>`)."""


def complete_field(field: Field, named: Sequence[QueriedValue], location: Location) -> Field:
    """The field with the labels, or the two outermost edges, that it leaves open and the queries give a meaning.

    Labels are open in a `string` column without an enum. Bins are open in a `number`, `date` or `datetime` column with
    both bounds and nothing else.

    Raises:
        DocumentError: a query excludes labels of a column that lists none: what is left is not known.
    """
    if field.type == "string" and field.constraints.enum is UNSET and field.categories is UNSET:
        equal = [one for one in named if one.use == "=" and one.constant.kind != "flag"]
        if not equal:
            return field
        at, excluded = location.key("constraints").key("enum"), next((one for one in equal if one.negated), None)
        if excluded is not None:
            raise at.fault(
                f"states no labels, and a query excludes {excluded.constant.text!r} by != or not: what is left is not "
                "known; list the column's labels here"
            )
        # The labels of = and in, in the queries' order. Other labels have a cell of their own unless a rule says
        # otherwise: dropping them would leave records out of every other answer.
        labels = dict.fromkeys(label_text(one.constant, at) for one in equal)
        rules = field.dpqr
        if rules.outside is UNSET and rules.otherwise is UNSET:
            rules = msgspec.structs.replace(rules, outside="cell")
        enum = msgspec.structs.replace(field.constraints, enum=tuple(labels))
        return msgspec.structs.replace(field, constraints=enum, dpqr=rules)
    bounds, stated = field.constraints, field.dpqr
    open_bins = field.type in ("number", "date", "datetime") and all(
        each is UNSET for each in (stated.bins, stated.width, stated.edges, stated.every, bounds.enum)
    )
    if not named or not open_bins or bounds.minimum is UNSET or bounds.maximum is UNSET:
        return field
    # Bins own their upper ends where every comparison of real values needs it. (Whole values need no side.)
    all_up_to = field.type != "date" and all(one.use in ("<=", ">") for one in named)
    closed = "right" if stated.closed is UNSET and all_up_to else stated.closed
    made = msgspec.structs.replace(stated, edges=(bounds.minimum, bounds.maximum), closed=closed)
    return msgspec.structs.replace(field, dpqr=made)


def add_cuts(attribute: Attribute, named: Sequence[QueriedValue], location: Location, *, opened: bool) -> Attribute:
    """The column with its bins cut. opened: its domain file left its labels, or its bins, to the queries."""
    axis = attribute.axis
    if isinstance(axis, Labels):
        return replace(attribute, declared=Labels(())) if opened else attribute
    if not isinstance(axis, Bins):
        return attribute
    made = cut(axis, attribute.name, named, location)
    return attribute if made is axis else replace(attribute, axis=made, declared=axis)


def cut(bins: Bins, name: str, named: Sequence[QueriedValue], location: Location) -> Bins:
    """`bins` cut wherever a comparison or a range would cut through one, as far as their closed side allows.

    Bins of whole values can be cut anywhere. Others are cut at a value only on their closed side: before it where they
    are closed on the left, after it on the right. What cannot be cut stays as it is, and the query's compiler says so.
    """
    wanted = {found for one in named for found in _thresholds(bins, name, one)}
    if bins.integral:
        before = [int(bins.bounds(index)[0]) for index in range(bins.size)]
        last = int(bins.bounds(bins.size - 1)[1])
        first_above = {int(-(-value // 1) if strict else value // 1 + 1) for value, strict in wanted}
        added = {start for start in first_above if before[0] < start <= last} - set(before)
        if not added:
            return bins
        require_few(bins.size + len(added), location)
        starts = sorted({*before, *added})
        made = whole_bins([*starts, last + 1], "date" if bins.kind == "date" else "number")
        if bins.closed == "left":
            return made
        marks = (starts[0], *(start - 1 for start in starts[1:]), last)
        return replace(made, closed="right", edge_titles=tuple(bins.mark(Fraction(mark)) for mark in marks))
    edges = {value for value, strict in wanted if strict == (bins.closed == "left")}
    inner = {value for value in edges if bins.edges[0] < value < bins.edges[-1]} - set(bins.edges)
    if not inner:
        return bins
    require_few(bins.size + len(inner), location)
    return replace(bins, edges=tuple(sorted({*bins.edges, *inner})))


def _thresholds(bins: Bins, name: str, named: QueriedValue) -> Iterator[Threshold]:
    """Where the bins must end for this value; nowhere, where it is none of the column."""
    with suppress(DocumentError):
        value = constant_value(named.constant, name, bins, Location("queries"))
        if named.use in ("from", "to"):
            yield value, range_end(bins, value, upper=named.use == "to")
            return
        if named.use in ("<", ">=", "="):
            yield value, True
        if named.use in ("<=", ">", "="):
            yield value, False


def describe_added_cells(attribute: Attribute) -> str | None:
    """What the queries added to the column's cells, in one sentence; None: nothing."""
    declared, axis = attribute.declared, attribute.axis
    if isinstance(declared, Labels):
        return f"labels of {attribute.name!r} taken from the queries: {_listed(axis.titles())}"
    if not isinstance(declared, Bins) or not isinstance(axis, Bins):
        return None
    before, after = {*declared.edges}, {*axis.edges}
    if axis.integral:  # of whole values, the first one above each cut
        before, after = ({bins.bounds(index)[0] for index in range(bins.size)} for bins in (declared, axis))
    cuts = _listed([axis.mark(edge) for edge in sorted(after - before)])
    sizes = f"{declared.size:,} -> {axis.size:,} cells"
    return f"bins of {attribute.name!r} cut by the queries at {cuts} ({sizes})"


SHOWN = 20


def _listed(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - SHOWN:,} more" if len(texts) > SHOWN else ""
    return ", ".join(texts[:SHOWN]) + more
