"""Decoding: a parsed JSON value into a typed form, with errors that say what to write instead."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from dpqr.errors import DocumentError
from dpqr.io.documents.place import Place, nearest

Form = TypeVar("Form")

_MESSAGE = re.compile(r"(?s)(.*?)(?: - at `(?:key in )?(\$.*)`)?")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_SHAPE = re.compile(r"(?s)Expected (.*?)(?:, got (.*))?")
_CHOICE = re.compile(r"(?s)Invalid (?:enum )?value (.*)")
_WORDS = {
    "str": "text",
    "int": "a whole number",
    "bool": "true or false",
    "float": "a number",
    "decimal.Decimal": "a decimal number",
    "decimal": "a decimal number",
    "Decimal": "a decimal number",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def decode(value: Any, form: type[Form], place: Place) -> Form:
    """`value` as a `form`; a DocumentError with the JSON path where it is not one."""
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        raise _explained(str(error), form, place) from None


def number(value: Any, place: Place) -> Fraction:
    """An exact number: JSON's decimals as they are written, never through a binary float."""
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise place.fault(f"expected a number, got {spoken(value)}")
    if isinstance(value, Decimal) and not value.is_finite():
        raise place.fault("expected a finite number")
    return Fraction(value)


def spoken(value: Any) -> str:
    """A public value as an error shows it: scalars as written, containers by their kind, long ones cut."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    shown = repr(value) if isinstance(value, str) else str(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _explained(message: str, form: type[Any], place: Place) -> DocumentError:
    found = _MESSAGE.fullmatch(message)
    text, path = (found[1], found[2] or "$") if found else (message, "$")
    where = Place(place.document, place.path + path[1:])
    here = _type_at(inspect.type_info(form), path)
    quoted = re.search(r"`([^`]*)`", text)
    if quoted and "unknown field" in text:
        known = [field.encode_name for field in here.fields] if isinstance(here, inspect.StructType) else []
        return where.fault(f"unknown key {quoted[1]!r}; {nearest(quoted[1], known)}")
    if quoted and "missing required field" in text:
        return where.fault(f"the key {quoted[1]!r} is missing; add it")
    allowed = f"; allowed: {', '.join(map(repr, here.values))}" if isinstance(here, inspect.LiteralType) else ""
    return where.fault(_reason(text) + allowed)


def _reason(text: str) -> str:
    """The decoder's words in ours: what it has none for is said in general."""
    choice, shape = _CHOICE.fullmatch(text), _SHAPE.fullmatch(text)
    if choice:
        return f"unknown value {choice[1]}"
    if shape:
        wanted, got = (
            re.sub(r"`([^`]*)`", lambda match: _WORDS.get(match[1], match[1]), each or "") for each in shape.groups()
        )
        return f"expected {wanted}, got {got}" if got else f"expected {wanted}"
    return "does not fit the form; `dpqr schema` prints it"


def _type_at(kind: inspect.Type, path: str) -> inspect.Type | None:
    """The declared type at a path, as far as it can be followed; of a union the member that has a path inside."""
    current = _options(kind)
    for name, _ in _STEP.findall(path):
        current = [option for outer in current for option in _step(outer, name)]
    return next((option for option in current if isinstance(option, inspect.StructType | inspect.LiteralType)), None)


def _options(kind: inspect.Type) -> list[inspect.Type]:
    return list(kind.types) if isinstance(kind, inspect.UnionType) else [kind]


def _step(kind: inspect.Type, name: str) -> list[inspect.Type]:
    if isinstance(kind, inspect.StructType) and name:
        return [option for field in kind.fields if field.encode_name == name for option in _options(field.type)]
    if isinstance(kind, inspect.VarTupleType) and not name:
        return _options(kind.item_type)
    return []
