"""Columns as they are stated on the command line: COLUMN=TYPE[:VALUES][:KEY=VALUE]..., separated by commas.

VALUES are LOW..HIGH, or labels joined by |. The keys are those of a field and of its `dpqr` block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, get_args

import msgspec

from dpqr.errors import DocumentError, UsageFault
from dpqr.io.codebooks.column import Codebook, Column, Outline, exact, labelled, limited, ordered
from dpqr.io.documents.domains.forms import FieldType, Treatment
from dpqr.io.documents.text.decoding import Location, decode

_COLUMNS = re.compile(r",(?=[^,=:|]+=)")
"""A comma before the next column's name; labels and marks may hold others."""
_PART = re.compile(r":(?!\d)|(?<!\d):")
"""A colon that is not one of a time."""
EXAMPLE = "--types 'age=integer:0..99,sex=string:female|male,income=number:0..250000:bins=50'"


def read_types(texts: Sequence[str]) -> Codebook:
    """The columns that the options state.

    Raises:
        UsageFault: a text is not of this form; the message shows one that is.
    """
    columns: dict[str, Column] = {}
    for each in (part for text in texts for part in _COLUMNS.split(text)):
        name, sign, stated = each.strip().partition("=")
        if not (name and sign and stated):
            raise UsageFault(f"--types {each!r}: expected COLUMN=TYPE...; for example: {EXAMPLE}")
        if name in columns:
            raise UsageFault(f"--types: the column {name!r} stands twice; keep one")
        columns[name] = _column(name, stated)
    return Codebook(outline=Outline(fields=tuple(columns.values())))


def _column(name: str, stated: str) -> Column:
    kind, *parts = _PART.split(stated)
    if kind not in get_args(FieldType):
        near = get_close_matches(kind, get_args(FieldType), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"types: {', '.join(get_args(FieldType))}"
        raise UsageFault(f"--types {name}: unknown type {kind!r}; {hint}")
    keys = dict(part.split("=", 1) for part in parts if "=" in part)
    try:
        column = decode({"name": name, "type": kind, **_nested(keys)}, Column, Location("--types", name))
    except DocumentError as error:
        raise UsageFault(str(error)) from None
    for part in parts:
        if "=" not in part:
            column = _with_values(column, part)
    return column


def _with_values(column: Column, part: str) -> Column:
    """LOW..HIGH, either of which may be left out, or labels."""
    low, sign, high = part.partition("..")
    if sign and ordered(column.type):
        sides = {side: _value(text) for side, text in (("low", low), ("high", high)) if text}
        return limited(column, **sides)
    if ordered(column.type) and column.type != "integer":
        raise UsageFault(f"--types {column.name}: {part!r} is no range; write LOW..HIGH; for example: {EXAMPLE}")
    return labelled(column, [_value(each) if column.type == "integer" else each for each in part.split("|")])


def _nested(keys: dict[str, str]) -> dict[str, Any]:
    """A field's keys, those of its `dpqr` block in it."""
    inner = {field.encode_name for field in msgspec.structs.fields(Treatment)}
    values = {key: _member(key, text) for key, text in keys.items()}
    ours = {key: value for key, value in values.items() if key in inner}
    return {**{key: value for key, value in values.items() if key not in inner}, "dpqr": ours}


def _member(key: str, text: str) -> Any:
    """A key's value in the type that it has: a list, a truth value, a text, or else a number where it is one."""
    if key in ("edges", "categories"):
        return [_value(each) for each in text.split("|")]
    if key in ("trueValues", "falseValues", "missingValues"):
        return text.split("|")
    if text in ("true", "false"):
        return text == "true"
    return _value(text) if key in ("bins", "width") else text


def _value(text: str) -> Any:
    """A number, where it is one."""
    number = exact(text)
    return text if number is None else number
