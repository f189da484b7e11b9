"""SQL: the types, NOT NULL and CHECK constraints of CREATE TABLE statements.

Only the definitions of types and tables are parsed: a dump's rows are not looked at, and no error quotes the text.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct

from dpqr.domain.form import Constraints, FieldType
from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import UsageFault
from dpqr.tables.codebooks.columns import (
    Codebook,
    CodebookColumn,
    Outline,
    beyond,
    exact,
    has_bins,
    with_bounds,
    with_labels,
)

DIALECTS = ("postgres", "mysql", "tsql", "oracle")
"""The dialects in which a definition is tried, in this order."""


def is_ddl(data: bytes) -> bool:
    """Whether a text has a CREATE TABLE statement."""
    return re.search(rb"\bcreate\s+(?:\w+\s+){0,3}table\b", data, re.IGNORECASE) is not None


def read_ddl(data: bytes, location: Location) -> tuple[Codebook, ...]:
    """One table for each CREATE TABLE.

    Raises:
        UsageFault: the package that reads SQL is not installed.
        DocumentError: there is no such statement, or none of the dialects reads it.
    """
    try:
        from sqlglot import TokenType, errors, exp
    except ImportError:
        raise UsageFault(
            f"{location.document}: SQL is read by the package sqlglot; install it by: pip install 'dpqr[codebooks]'"
        ) from None
    text = data.decode("utf-8-sig", errors="replace")
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # its warnings quote the text
    for dialect in DIALECTS:
        try:
            statements = list(_definitions(text, dialect))
        except errors.SqlglotError:
            continue
        # Name and labels of CREATE TYPE ... AS ENUM.
        enums: dict[str, tuple[str, ...]] = {}
        for tokens in (each for each in statements if isinstance(each, tuple)):
            if any(token.token_type is TokenType.ENUM for token in tokens):
                name = tokens[[token.text.upper() for token in tokens].index("AS") - 1].text.lower()
                enums[name] = tuple(token.text for token in tokens if token.token_type is TokenType.STRING)
        tables = [each for each in statements if isinstance(each, exp.Create) and isinstance(each.this, exp.Schema)]
        if tables:
            return tuple(_table(each, enums) for each in tables)
    raise location.fault(f"no CREATE TABLE statement that can be read as one of {', '.join(DIALECTS)}; correct it")


class _Fact(Struct, frozen=True):
    """One comparison of a column with constants. kind: "in", "from" (>=), "above" (>), "to" (<=) or "below" (<)."""

    column: str
    kind: str
    values: tuple[Any, ...]


def _definitions(text: str, dialect: str) -> Iterator[Any]:
    """The parsed CREATE TYPE and CREATE TABLE statements; of all others only the end is looked for."""
    from sqlglot import TokenType
    from sqlglot.dialects import Dialect

    language = Dialect.get_or_raise(dialect)
    statement: list[Any] = []
    for token in [*language.tokenize(text), None]:
        if token is not None and token.token_type is not TokenType.SEMICOLON:
            statement.append(token)
            continue
        words = [each.text.upper() for each in statement[:5]]
        if words[:2] == ["CREATE", "TYPE"]:
            yield tuple(statement)
        elif words[:1] == ["CREATE"] and "TABLE" in words:
            yield from language.parser().parse(statement, text)
        statement = []


def _table(create: Any, enums: Mapping[str, tuple[str, ...]]) -> Codebook:
    from sqlglot import exp

    schema = create.this
    columns = {
        each.name.lower(): _column(each, enums) for each in schema.expressions if isinstance(each, exp.ColumnDef)
    }
    remarks = []
    for check in schema.find_all(exp.CheckColumnConstraint):
        facts = list(_facts(check.this))
        if not facts or any(fact.column not in columns for fact in facts):
            remarks.append("a CHECK that is no comparison of a column with constants is left out")
        for fact in (each for each in facts if each.column in columns):
            column, value = columns[fact.column], fact.values[0]
            if fact.kind == "in":
                columns[fact.column] = with_labels(column, fact.values)
            elif has_bins(column.type):
                if column.type == "datetime" and isinstance(value, str):
                    value = value.replace(" ", "T", 1)
                side = "low" if fact.kind in ("from", "above") else "high"
                bound = beyond if fact.kind in ("above", "below") else with_bounds
                columns[fact.column] = bound(column, **{side: value})
    outline = Outline(fields=tuple(columns.values()))
    return Codebook(name=schema.this.name, outline=outline, remarks=tuple(dict.fromkeys(remarks)))


def _column(definition: Any, enums: Mapping[str, tuple[str, ...]]) -> CodebookColumn:
    from sqlglot import exp

    kind = definition.args.get("kind")
    labels: Sequence[str] = ()
    if kind is not None and kind.this is exp.DataType.Type.ENUM:
        labels = [each.name for each in kind.expressions]
    elif kind is not None and kind.this is exp.DataType.Type.USERDEFINED:
        labels = enums.get(kind.sql(dialect="postgres").lower().strip('"'), ())
    required = bool(definition.find(exp.NotNullColumnConstraint) or definition.find(exp.PrimaryKeyColumnConstraint))
    comment = definition.find(exp.CommentColumnConstraint)
    column = CodebookColumn(
        name=definition.name,
        type="string" if labels else _type(kind),
        constraints=Constraints(required=True if required else UNSET),
        description=comment.this.name if comment is not None else UNSET,
    )
    return with_labels(column, labels)


def _type(kind: Any) -> FieldType | Any:
    """The column's type in the domain file; UNSET where it has none."""
    from sqlglot import exp

    data = exp.DataType
    if kind is None:
        return UNSET
    if kind.this in (data.Type.DECIMAL, data.Type.BIGDECIMAL) and kind.expressions:
        scale = kind.expressions[1].this.name if len(kind.expressions) > 1 else "0"
        return "integer" if scale == "0" else "number"
    named: tuple[tuple[FieldType, set[Any]], ...] = (
        ("boolean", {data.Type.BOOLEAN, data.Type.BIT}),
        (
            "integer",
            {*data.INTEGER_TYPES, data.Type.SERIAL, data.Type.BIGSERIAL, data.Type.SMALLSERIAL, data.Type.YEAR},
        ),
        ("number", data.NUMERIC_TYPES),
        ("string", data.TEXT_TYPES),
        ("date", {data.Type.DATE, data.Type.DATE32}),
        ("datetime", {each for each in data.TEMPORAL_TYPES if each.name.startswith(("TIMESTAMP", "DATETIME"))}),
    )
    return next((name for name, kinds in named if kind.this in kinds), UNSET)


def _facts(predicate: Any) -> Iterator[_Fact]:
    """The comparisons that a CHECK joins by AND; nothing where it holds anything else."""
    from sqlglot import exp

    comparisons = {exp.GTE: "from", exp.GT: "above", exp.LTE: "to", exp.LT: "below", exp.EQ: "in"}
    turned = {"from": "to", "to": "from", "above": "below", "below": "above", "in": "in"}
    parts = list(predicate.flatten()) if isinstance(predicate, exp.And) else [predicate]
    for part in map(_bare, parts):
        if isinstance(part, exp.Or):  # without "or it is null"
            others = [each for each in part.flatten() if not isinstance(_bare(each), exp.Is)]
            part = _bare(others[0]) if len(others) == 1 else part
        if isinstance(part, exp.And):
            yield from _facts(part)
        elif isinstance(part, exp.In) and part.expressions:
            yield from _fact("in", part.this, part.expressions)
        elif isinstance(part, exp.Between):
            yield from _fact("from", part.this, [part.args["low"]])
            yield from _fact("to", part.this, [part.args["high"]])
        elif isinstance(part, exp.EQ) and isinstance(part.expression, exp.Any):
            yield from _fact("in", part.this, _bare(part.expression.this).expressions)
        elif kind := comparisons.get(type(part)):
            swap = not isinstance(_bare(part.this), exp.Column)
            left, right = (part.expression, part.this) if swap else (part.this, part.expression)
            yield from _fact(turned[kind] if swap else kind, left, [right])


def _fact(kind: str, column: Any, constants: Sequence[Any]) -> Iterator[_Fact]:
    """Nothing where a constant is neither a text nor a number."""
    from sqlglot import exp

    values: list[Any] = []
    for part in map(_bare, constants):
        if isinstance(part, exp.Neg) and isinstance(part.this, exp.Literal):
            values.append(exact(f"-{part.this.name}"))
        elif isinstance(part, exp.Literal):
            values.append(part.name if part.is_string else exact(part.name))
        else:
            values.append(None)
    name = _bare(column)
    if isinstance(name, exp.Column) and values and None not in values:
        yield _Fact(name.name.lower(), kind, tuple(values))


def _bare(part: Any) -> Any:
    """Without parentheses and casts."""
    from sqlglot import exp

    while isinstance(part, exp.Paren | exp.Cast):
        part = part.this
    return part
