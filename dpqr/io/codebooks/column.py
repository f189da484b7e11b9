"""Columns as a codebook states them, which may be less than a domain file needs; and several statements joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from dpqr.errors import DocumentError
from dpqr.io.documents.domains.domain import PLACEHOLDER
from dpqr.io.documents.domains.forms import Constraints, Field, FieldType, Form, TableSchema, Treatment
from dpqr.io.documents.text.decoding import spoken

CUTS = ("bins", "width", "edges", "every", "closed")
"""Keys of the `dpqr` block that cut an ordered column."""


class Column(Field, frozen=True, kw_only=True):
    """A field of the domain file, as far as it is known: its type may be missing too."""

    type: FieldType | UnsetType = UNSET  # type: ignore[assignment]  # a field that is not finished yet


class Outline(TableSchema, frozen=True, kw_only=True):
    """A domain file that may have gaps."""

    fields: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Codebook:
    """What one codebook states about one table.

    name: of the table; empty where it has none.
    remarks: what a domain file cannot hold, or what the curator must do with it.
    """

    name: str = ""
    outline: Outline
    remarks: tuple[str, ...] = ()


def is_placeholder(value: Any) -> bool:
    """Whether a domain file has this where it waits for its curator."""
    return isinstance(value, str) and value.startswith(PLACEHOLDER)


def ordered(kind: FieldType | UnsetType) -> bool:
    """Whether columns of this type are cut into bins."""
    return kind in ("integer", "number", "date", "datetime")


def require_sound(column: Column, document: str) -> None:
    """DocumentError where a bound, an edge or a label is of another kind than the column."""
    limits, edges = column.constraints, column.dpqr.edges
    stated = (limits.minimum, limits.maximum, *(edges or ()), *(limits.enum or ()))
    for value in stated if ordered(column.type) or column.type == "string" else ():
        if not _fits(value, numbers=column.type in ("integer", "number")):
            said = f"{spoken(value)} is no value of type {column.type!r}"
            raise DocumentError(f"{document}: column {column.name!r}: {said}; correct it")


def _fits(value: Any, *, numbers: bool) -> bool:
    if value is UNSET or is_placeholder(value):
        return True
    return (
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) if numbers else isinstance(value, str)
    )


def has_labels(column: Column) -> bool:
    """Whether labels are stated."""
    return column.constraints.enum is not UNSET or column.categories is not UNSET


def limited(column: Column, *, low: Any = UNSET, high: Any = UNSET) -> Column:
    """The column with these bounds; one that is UNSET stays as it was."""
    stated = column.constraints
    bounds = msgspec.structs.replace(
        stated,
        minimum=stated.minimum if low is UNSET else low,
        maximum=stated.maximum if high is UNSET else high,
    )
    return msgspec.structs.replace(column, constraints=bounds)


def beyond(column: Column, *, low: Any = UNSET, high: Any = UNSET) -> Column:
    """The column with bounds that its values do not reach; of whole numbers the next one is a bound that they do."""
    if column.type == "integer":
        low = low + 1 if isinstance(low, int) else low
        high = high - 1 if isinstance(high, int) else high
    return limited(column, low=low, high=high)


def labelled(column: Column, values: Sequence[Any]) -> Column:
    """The column with these values: labels of texts and whole numbers, the bounds of what the domain file bins.

    Booleans have the labels that their type says.
    """
    if not values or column.type == "boolean":
        return column
    if column.type == "number" and all(isinstance(value, int) for value in values):
        column = msgspec.structs.replace(column, type="integer")
    if column.type in ("number", "date", "datetime"):
        return limited(column, low=min(values), high=max(values))
    kept = tuple(dict.fromkeys(values if column.type == "integer" else map(str, values)))
    return msgspec.structs.replace(column, constraints=msgspec.structs.replace(column.constraints, enum=kept))


def exact(text: str) -> int | Decimal | None:
    """A number that is written in decimal; None where the text is none."""
    try:
        value = Decimal(text.strip())
    except ArithmeticError:
        return None
    if not value.is_finite() or abs(value.adjusted()) > 60:
        return None
    return int(value) if value == value.to_integral_value() else value


Struct = TypeVar("Struct", bound=Form)


def stated(part: Form) -> Iterator[tuple[str, Any]]:
    """Names and values of what is stated in a part of a document: all that is not its default."""
    for field in msgspec.structs.fields(part):
        value = getattr(part, field.name)
        if value is not UNSET and value != field.default:
            yield field.name, value


def overlaid(base: Column, over: Column) -> Column:
    """Both statements about one column. Where they differ, `over` wins; what its type or cells replace is dropped."""
    if over.type is not UNSET and base.type not in (UNSET, over.type):
        base = Column(
            name=base.name, title=base.title, description=base.description, missing_values=base.missing_values
        )
    limits, cut = base.constraints, base.dpqr
    if has_labels(over):
        limits, cut = msgspec.structs.replace(limits, minimum=UNSET, maximum=UNSET), uncut(cut)
    if has_labels(over) or _bounded(over) or over.dpqr.edges is not UNSET:
        limits = msgspec.structs.replace(limits, enum=UNSET)
        base = msgspec.structs.replace(base, categories=UNSET, categories_ordered=False)
    if over.dpqr.edges is not UNSET:
        limits = msgspec.structs.replace(limits, minimum=UNSET, maximum=UNSET)
    if any(getattr(over.dpqr, key) is not UNSET for key in CUTS) or (_bounded(over) and cut.edges is not UNSET):
        cut = uncut(cut)
    return _joined(msgspec.structs.replace(base, constraints=limits, dpqr=cut), over)


def _bounded(column: Column) -> bool:
    return column.constraints.minimum is not UNSET or column.constraints.maximum is not UNSET


def uncut(cut: Treatment) -> Treatment:
    """The same rules without bins."""
    return msgspec.structs.replace(cut, **dict.fromkeys(CUTS, UNSET))


def _joined(base: Struct, over: Struct) -> Struct:
    changes = {}
    for name, value in stated(over):
        changes[name] = _joined(getattr(base, name), value) if isinstance(value, Constraints | Treatment) else value
    return msgspec.structs.replace(base, **changes)


def own_missing(outline: Outline) -> Outline:
    """The same with the table's missingValues stated by each column, as joining columns of several sources needs it."""
    if outline.missing_values == ("",):
        return outline
    return msgspec.structs.replace(
        outline,
        missing_values=("",),
        fields=tuple(
            msgspec.structs.replace(column, missing_values=outline.missing_values)
            if column.missing_values is UNSET
            else column
            for column in outline.fields
        ),
    )


def document(outline: Outline) -> dict[str, Any]:
    """The outline as a JSON object; what is not stated is absent, and numbers are written as they are.

    missingValues that all columns state alike stand once, for the table.
    """
    missing = {column.missing_values for column in outline.fields}
    if len(missing) == 1 and UNSET not in missing:
        fields = tuple(msgspec.structs.replace(column, missing_values=UNSET) for column in outline.fields)
        outline = msgspec.structs.replace(outline, fields=fields, missing_values=missing.pop())
    members = builtin(outline)
    fields = members.pop("fields", [])
    version = {"dpqr": members.pop("dpqr")} if "dpqr" in members else {}
    return {**version, **members, "fields": fields}


def builtin(value: Any) -> Any:
    """A part of a document as JSON's own types."""
    if isinstance(value, Form):
        names = {field.name: field.encode_name for field in msgspec.structs.fields(value)}
        members = ((names[name], builtin(member)) for name, member in stated(value))
        return {name: member for name, member in members if member != {}}
    if isinstance(value, tuple | list):
        return [builtin(member) for member in value]
    if isinstance(value, dict):
        return {key: builtin(member) for key, member in value.items()}
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value
