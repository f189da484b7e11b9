"""Decoding of a parsed JSON value into a typed form. Errors name the location and say what to write instead."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from dpqr.errors import DocumentError

_COMPARED, _LONGEST = 2000, 200
"""Words among which, and letters up to which, a nearest one is looked for."""
_PLAIN_KEY = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True, slots=True)
class Location:
    """A JSON path in a named document, `$` being its top."""

    document: str
    path: str = "$"

    def key(self, name: str) -> Location:
        step = f".{name}" if _PLAIN_KEY.fullmatch(name) else f"[{json.dumps(name)}]"
        return Location(self.document, self.path + step)

    def item(self, index: int) -> Location:
        return Location(self.document, f"{self.path}[{index}]")

    def fault(self, message: str) -> DocumentError:
        """An error that names this location."""
        return DocumentError(f"{self.document}: {self.path}: {message}")

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Give errors of types that know no document this location, inside the block."""
        try:
            yield
        except DocumentError as error:
            raise self.fault(str(error)) from None


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint after an unknown word: the nearest known one, or all of them."""
    known = tuple(known)
    near = get_close_matches(word, known, n=1) if len(known) <= _COMPARED and len(word) <= _LONGEST else []
    if near:
        return f"did you mean {near[0]!r}?"
    shown = ", ".join(map(repr, known[:20]))
    return f"known: {shown}{', ...' if len(known) > 20 else ''}" if known else "none are known"


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


def decode(value: Any, form: type[Form], location: Location) -> Form:
    """`value` as a `form`; a DocumentError with the JSON path where it is not one."""
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        raise _explained(str(error), form, location) from None


def number(value: Any, location: Location) -> Fraction:
    """An exact number: JSON's decimals as they are written, never through a binary float."""
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise location.fault(f"expected a number, got {spoken(value)}")
    if isinstance(value, Decimal) and not value.is_finite():
        raise location.fault("expected a finite number")
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


def _explained(message: str, form: type[Any], location: Location) -> DocumentError:
    found = _MESSAGE.fullmatch(message)
    text, path = (found[1], found[2] or "$") if found else (message, "$")
    where = Location(location.document, location.path + path[1:])
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
    """The decoder's reason in our words; in general words where it has none of these forms."""
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
