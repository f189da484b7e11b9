"""Conditions: WHERE, FILTER and WHEN as predicates of a queries document, with SQL's three truth values.

A predicate is true where the condition is true. `true` keeps the condition's form, for predicates have the same three
values. `untrue` is true where the condition is false or unknown, as the branches of a CASE need it.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dpqr.workload.sql.statements import SqlText, name_of_node, quoted_name

_OR, _AND, _LEAF = 0, 1, 2


class Text(Struct, frozen=True):
    """A predicate. binding: of what holds it together. known: columns that have a value wherever it is true."""

    text: str
    binding: int = _LEAF
    known: frozenset[str] = frozenset()

    def within(self, binding: int) -> str:
        return f"({self.text})" if self.binding < binding else self.text


def all_of(*parts: Text | None) -> Text | None:
    """Their conjunction; None: of no part.

    >>> all_of(Text("a = 1 or b = 2", 0), None, Text("c = 3")).text
    '(a = 1 or b = 2) and c = 3'
    """
    some = tuple(dict.fromkeys(part for part in parts if part is not None))
    if len(some) < 2:
        return some[0] if some else None
    known = frozenset().union(*(part.known for part in some))
    return Text(" and ".join(part.within(_AND) for part in some), _AND, known)


def any_of(*parts: Text) -> Text:
    """Their disjunction."""
    some = tuple(dict.fromkeys(parts))
    if len(some) == 1:
        return some[0]
    known = frozenset.intersection(*(part.known for part in some))
    return Text(" or ".join(part.within(_OR) for part in some), _OR, known)


def true(node: Any, words: SqlText) -> Text:
    """The condition itself. Raises: DocumentError for what predicates cannot say."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.And):
        return all_of(*(true(part, words) for part in node.flatten())) or Text("")
    if isinstance(node, exp.Or):
        return any_of(*(true(part, words) for part in node.flatten()))
    if not isinstance(node, exp.Not):
        return _leaf(node, words)
    inner = node.this.unnest()
    if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Boolean):
        return untrue(inner, words)
    if isinstance(inner, exp.And | exp.Or | exp.Not):
        return Text(f"not {true(inner, words).within(_LEAF)}")
    return _leaf(inner, words, negated=True)


def untrue(node: Any, words: SqlText, known: frozenset[str] = frozenset()) -> Text:
    """True where the condition is false or unknown. known: columns that have a value anyway."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.And):
        return any_of(*(untrue(part, words, known) for part in node.flatten()))
    if isinstance(node, exp.Or):
        return all_of(*(untrue(part, words, known) for part in node.flatten())) or Text("")
    if isinstance(node, exp.Not):
        return _unfalse(node.this.unnest(), words, known)
    return _or_null(_leaf(node, words, negated=True), node, words, known)


def _unfalse(node: Any, words: SqlText, known: frozenset[str]) -> Text:
    """True where the condition is true or unknown."""
    from sqlglot import exp

    if isinstance(node, exp.And):
        return all_of(*(_unfalse(part.unnest(), words, known) for part in node.flatten())) or Text("")
    if isinstance(node, exp.Or):
        return any_of(*(_unfalse(part.unnest(), words, known) for part in node.flatten()))
    if isinstance(node, exp.Not):
        return untrue(node.this, words, known)
    found = _leaf(node, words)
    return found if isinstance(node, exp.Is) else _or_null(found, node, words, known)


def _or_null(found: Text, node: Any, words: SqlText, known: frozenset[str]) -> Text:
    """A comparison of one column, or that the record lies in a cell of the column's own: there it is unknown."""
    from sqlglot import exp

    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return found
    column = words.column(node if isinstance(node, exp.Column) else next(node.find_all(exp.Column)))
    nulls = () if column in known or not words.has_null(column) else ("null",)
    faults = words.columns.faults.get(column, ()) if words.columns else ()
    return any_of(found, *(Text(f"{quoted_name(column)} is {fault}") for fault in (*nulls, *faults)))


_SIGNS = {"eq": "=", "neq": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _leaf(node: Any, words: SqlText, *, negated: bool = False) -> Text:
    """One comparison of one column."""
    from sqlglot import exp

    no = "not " if negated else ""
    if not node.find(exp.Column):
        raise words.fault(node, f"{node.sql()}: a condition that asks about no column; leave it out")
    if isinstance(node, exp.Column):
        return _compared(node, "=", "true", words, negated)
    if node.key in _SIGNS:
        from sqlglot import exp

        sign, left, right = _SIGNS[node.key], node.this.unnest(), node.expression.unnest()
        if not left.find(exp.Column):
            sign, left, right = _TURNED[sign], right, left
        if right.find(exp.Column):
            quoted = any(name.quoted and not words.knows(name) for name in right.find_all(exp.Identifier))
            hint = "a text stands in 'single quotes'" if quoted else "compare a column with a constant"
            raise words.fault(node, f"compares two columns; {hint}")
        return _compared(left, sign, constant(right, words), words, negated)
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean):
        found = _compared(node.this, "=", constant(node.expression, words), words, negated)
        (column,) = found.known
        if negated or not node.find_ancestor(exp.Not) or not words.has_null(column):
            return found
        # Of NULL it is false, not unknown: inside of a NOT that counts.
        return all_of(found, Text(f"{quoted_name(column)} is not null")) or found
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        found = _of_column(node.this, "is not null" if negated else "is null", words)
        (column,) = found.known
        if not words.has_null(column):
            without = f"the domain has no cell for null in {column!r}: such records are left out"
            raise words.fault(node, f'{without}; declare "null": "cell" in the domain, or leave this out')
        return found if negated else Text(found.text)
    if isinstance(node, exp.In) and node.expressions:
        listed = ", ".join(constant(each, words) for each in node.expressions)
        return _of_column(node.this, f"{no}in ({listed})", words)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low, high = (constant(node.args[end], words) for end in ("low", "high"))
        return _of_column(node.this, f"{no}between {low} and {high}", words)
    raise words.fault(
        node, f"{name_of_node(node)}: a condition compares a column with constants; write it by comparisons"
    )


def _compared(column: Any, sign: str, value: str, words: SqlText, negated: bool) -> Text:
    return _of_column(column, f"{_OPPOSITE[sign] if negated else sign} {value}", words)


def _of_column(node: Any, rest: str, words: SqlText) -> Text:
    from sqlglot import exp

    node = node.unnest()
    words.refuse_unquoted(node)
    if not isinstance(node, exp.Column):
        raise words.fault(
            node,
            f"{name_of_node(node)}: a condition compares a column with constants, not a function of it; write the "
            "values that it stands for, as x >= 1 AND x < 2",
        )
    column = words.column(node)
    text = f"{quoted_name(column)} {rest}"
    words.comparisons.setdefault(text, words.place(node))
    return Text(text, known=frozenset({column}))


def constant(node: Any, words: SqlText) -> str:
    """A constant as a predicate writes it; sums of numbers, and of dates and intervals, are worked out."""
    from sqlglot import exp

    node = node.unnest()
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div) and not node.find(exp.Column, exp.AggFunc):
        from sqlglot.optimizer.simplify import simplify

        return _literal(simplify(node.copy()).unnest(), node, words)
    return _literal(node, node, words)


def _literal(node: Any, written: Any, words: SqlText) -> str:
    from sqlglot import exp

    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return f"-{node.this.name}"
    if isinstance(node, exp.Cast) and node.to.key and node.to.is_type(*exp.DataType.TEMPORAL_TYPES):
        return _literal(node.this, written, words).replace(" ", "T")
    if isinstance(node, exp.Literal):
        return "'" + node.name.replace("'", "''") + "'" if node.is_string else str(node.name)
    if isinstance(node, exp.Null):
        raise words.fault(written, "NULL: a comparison with NULL is never true; write IS NULL")
    raise words.fault(
        written, f"{name_of_node(node)}: is no constant; write a number, 'text', DATE 'text', TRUE or FALSE"
    )
