"""Frictionless: a Table Schema, or a Data Package with one in each resource. A domain file is a Table Schema too.

References: https://datapackage.org/standard/table-schema/ and https://datapackage.org/standard/data-package/.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import UNSET

from dpqr.domain.form import Constraints, DocumentPart, FieldType
from dpqr.domain.text.decoding import Location, decode, describe_value
from dpqr.domain.text.documents import JsonObject, document_root, read_document
from dpqr.kernel.errors import UsageFault
from dpqr.tables.codebooks.columns import (
    Codebook,
    CodebookColumn,
    Outline,
    beyond,
    exact,
    is_placeholder,
    with_bounds,
    with_labels,
)

TYPES: dict[str, FieldType] = {
    "string": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "date": "date",
    "datetime": "datetime",
    "year": "integer",
}
"""The types of the standard that a domain file can hold; columns of any other are left open."""

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def is_frictionless(tree: Any) -> bool:
    """Whether this is a Table Schema or a Data Package."""
    return isinstance(tree, dict) and (isinstance(tree.get("fields"), list) or isinstance(tree.get("resources"), list))


def read_frictionless(tree: Any, location: Location) -> tuple[Codebook, ...]:
    """The schema's table, or one table for each resource whose schema stands in the package or in a file beside it."""
    if not isinstance(tree, dict) or not is_frictionless(tree):
        raise location.fault("a Table Schema has 'fields', a Data Package has 'resources'; one of them is missing")
    if isinstance(tree.get("fields"), list):
        return (_table(tree, str(tree.get("name", "")), location),)
    found = []
    for index, resource in enumerate(tree["resources"]):
        schema = resource.get("schema") if isinstance(resource, dict) else None
        where = location.key("resources").item(index).key("schema")
        if isinstance(schema, str):
            # A schema in a file of its own, by its path relative to the package.
            path = PurePosixPath(schema)
            if "://" in schema or not path.name or path.is_absolute() or ".." in path.parts:
                raise where.fault(
                    f"{describe_value(schema)} is no relative path; save the schema beside the package and name its "
                    "file, for nothing is fetched"
                )
            file = (where.file.parent if where.file else Path()) / path
            try:
                schema, where = read_document(file), document_root(file)
            except UsageFault as error:
                raise where.fault(str(error)) from None
        if isinstance(schema, dict):
            found.append(_table(schema, str(resource.get("name", index)), where))
    if not found:
        raise location.key("resources").fault("no resource has its schema here; give the file of the schema itself")
    return tuple(found)


def _table(tree: JsonObject, name: str, location: Location) -> Codebook:
    if not is_frictionless(tree) or "fields" not in tree:
        raise location.fault("a Table Schema has a list of 'fields'; it is missing")
    ours = "dpqr" in tree
    remarks: list[str] = []
    columns = []
    for index, field in enumerate(tree["fields"]):
        columns.append(_column(field, ours, location.key("fields").item(index), remarks.append))
    outline = decode(_known(tree, Outline, ("fields", "$schema")), Outline, location)
    return Codebook(name=name, outline=msgspec.structs.replace(outline, fields=tuple(columns)), remarks=tuple(remarks))


def _column(field: Any, ours: bool, location: Location, remark: Callable[[str], None]) -> CodebookColumn:
    """One field. Keys that a domain file lacks are left out; those of a `dpqr` block must all be known."""
    if not isinstance(field, dict):
        raise location.fault("a field is an object with a 'name'")
    field = without_placeholders(field)
    stated = field.get("constraints")
    limits = stated if isinstance(stated, dict) else {}
    kind = field.get("type", "any")
    if not isinstance(kind, str) or kind not in TYPES:
        remark(f"{field.get('name')} is of type {kind!r}, which a domain file lacks; give it another by --types")
    known = {
        **_known(field, CodebookColumn, ("type", "constraints")),
        "constraints": _known(limits, Constraints, ("enum", "minimum", "maximum")),
    }
    if kind not in ("date", "datetime"):
        known.pop("format", None)
    elif known.get("format") == "any":
        known.pop("format")
        remark(f"{known.get('name')} has the format 'any', which would guess; state it by --types, as format=%d/%m/%Y")
    column = decode(known, CodebookColumn, location)
    column = msgspec.structs.replace(column, type=TYPES.get(kind, UNSET) if isinstance(kind, str) else UNSET)
    if ours and column.dpqr.otherwise is UNSET:
        column = msgspec.structs.replace(column, dpqr=msgspec.structs.replace(column.dpqr, otherwise="drop"))
    where = location.key("constraints")
    enum = limits.get("enum")
    if enum is not None and not isinstance(enum, list):
        raise where.key("enum").fault("expected a list of values")
    # Of columns of numbers the values are numbers, of others texts.
    listed = [_value(value, kind, where.key("enum").item(index)) for index, value in enumerate(enum or ())]
    column = with_labels(column, listed)
    bounds = {key: _value(limits[key], kind, where.key(key)) for key in _BOUNDS if key in limits}
    low, high, above, below = (bounds.get(key, UNSET) for key in _BOUNDS)
    return beyond(with_bounds(column, low=low, high=high), low=above, high=below)


def _known(members: JsonObject, form: type[DocumentPart], apart: tuple[str, ...]) -> JsonObject:
    names = {field.encode_name for field in msgspec.structs.fields(form)} - set(apart)
    return {key: value for key, value in members.items() if key in names}


def _value(value: Any, kind: Any, location: Location) -> Any:
    """A value or a bound; the standard lets numbers be written as texts."""
    if isinstance(value, dict | list) or value is None:
        raise location.fault(f"expected a text or a number, got {describe_value(value)}")
    if kind not in ("integer", "number", "year") or isinstance(value, bool) or is_placeholder(value):
        return str(value)
    number = exact(str(value))
    if number is None:
        raise location.fault(f"expected a number, got {describe_value(value)}")
    return number


def without_placeholders(value: Any) -> Any:
    """The same without what a skeleton left to fill in; lists that are filled in partly stay."""
    if isinstance(value, dict):
        kept = {key: without_placeholders(member) for key, member in value.items()}
        return {key: member for key, member in kept.items() if member is not None}
    if isinstance(value, list):
        return None if value and all(map(is_placeholder, value)) else value
    return None if is_placeholder(value) else value
