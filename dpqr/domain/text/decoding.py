"""Decoding of a parsed JSON value into a typed form. Errors name the location and say what to write instead."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import FieldInfo, fields

from dpqr.domain.text.faults import Faults, FollowUp, member
from dpqr.kernel.errors import DocumentError, Fault, Fix

_COMPARED, _LONGEST = 2000, 200
"""Words among which, and letters up to which, a nearest one is looked for."""
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,29})(\.\d{1,29})?")
"""Texts that are short JSON numbers."""


class Location(Struct, frozen=True):
    """A JSON path in a named document, `$` being its top. file: where the document stands, if it is a file."""

    document: str
    path: str = "$"
    file: Path | None = None

    def key(self, name: str) -> Location:
        return Location(self.document, member(self.path, name), self.file)

    def item(self, index: int) -> Location:
        return Location(self.document, member(self.path, index), self.file)

    def fault(self, message: str, *, place: str = "", fix: Fix | None = None) -> DocumentError:
        """An error that names this location. place: the path of the part at fault, where that is a part of it."""
        fault = Fault(message=message, document=self.document, path=self.path, place=place, file=self.file, fix=fix)
        return DocumentError(str(fault), (fault,))

    def replaced(self, text: str) -> Fix:
        """The fix that writes this JSON text for the value here."""
        return Fix(path=self.path, text=text)

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Give errors of types that know no document this location, inside the block."""
        try:
            yield
        except FollowUp:
            raise
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


def obvious(word: object, known: Iterable[str]) -> str | None:
    """The one known word that a misspelt one of at least three letters can only mean.

    It differs in capitals, hyphens and underscores, or in one letter: left out, added, changed, or swapped with the
    next one. Another digit is another word.
    """
    if not isinstance(word, str) or not 3 <= len(word) <= _LONGEST:
        return None
    near = []
    for other in known:
        first, second = other, word
        while first and second and first[0] == second[0]:
            first, second = first[1:], second[1:]
        while first and second and first[-1] == second[-1]:
            first, second = first[:-1], second[:-1]
        swapped = len(first) == 2 and first == second[::-1]
        digits = any(sign.isdigit() for sign in first + second)
        one_edit = not digits and (swapped or max(len(first), len(second)) == 1)
        if one_edit or _folded(other) == _folded(word):
            near.append(other)
    return near[0] if len(near) == 1 else None


def _folded(word: str) -> str:
    return word.replace("-", "").replace("_", "").lower()


def number(value: object, location: Location) -> Fraction:
    """An exact number: JSON's decimals as they are written, never through a binary float."""
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        fix = location.replaced(value)
        raise location.fault(f"expected a number, got {describe_value(value)}; write it without quotes", fix=fix)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise location.fault(f"expected a number, got {describe_value(value)}")
    if isinstance(value, Decimal) and not value.is_finite():
        raise location.fault("expected a finite number")
    return Fraction(value)


def quote_fix(value: object, kind: str, location: Location) -> Fix | None:
    """The fix of a label of text that lacks its quotes, or of a whole number that has some."""
    if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
        return location.replaced(f'"{value}"')
    if kind == "integer" and isinstance(value, str) and _NUMBER.fullmatch(value) and "." not in value:
        return location.replaced(value)
    return None


def describe_value(value: object) -> str:
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


Form = TypeVar("Form")

_SHAPE = re.compile(r"(?s)Expected (.*?)(?:, got (.*?))?(?: - at .*)?")
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
_SYNONYMS = {
    "int": "integer",
    "float": "number",
    "double": "number",
    "str": "string",
    "text": "string",
    "bool": "boolean",
    "timestamp": "datetime",
}
"""Types of columns by the names that other programs give them."""


def decode(value: object, form: type[Form], location: Location) -> Form:
    """`value` as a `form`; a DocumentError of every fault of its shape where it is not one."""
    faults = Faults()
    fix_shape(value, form, location, faults)
    faults.finish()
    return msgspec.convert(value, form)


def fitting(value: object, form: type[Form]) -> Form | None:
    """`value` as a `form`; None where it is not one."""
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError:
        return None


Members = dict[str, FieldInfo]


def fix_shape(value: object, form: object, location: Location, faults: Faults, outer: Members | None = None) -> object:
    """`value` with the obvious fixes of its shape. Every fault is kept, those that are fixed too.

    outer: the members of the object that it stands in, where a misplaced key may belong.
    """
    try:
        msgspec.convert(value, form)
        return value
    except msgspec.ValidationError as error:
        message = str(error)
    found = len(faults.found)
    for option in _options(form):
        if isinstance(value, dict) and isinstance(option, type) and issubclass(option, msgspec.Struct):
            known = {field.encode_name: field for field in fields(option)}
            made: dict[str, object] = {}
            for key, part in _renamed(value, known, location, faults, outer or {}):
                made[key] = fix_shape(part, known[key].type, location.key(key), faults, known)
            misspelt = {nearest(key, known) for key in value if key not in known}
            for key, field in known.items():
                if field.required and key not in made and f"did you mean {key!r}?" not in misspelt:
                    faults.keep(location.fault(f"the key {key!r} is missing; add it", place=location.key(key).path))
            value = made
        elif isinstance(value, list) and get_origin(option) is tuple and get_args(option)[-1] is ...:
            item = get_args(option)[0]
            value = [fix_shape(one, item, location.item(index), faults) for index, one in enumerate(value)]
        elif isinstance(value, dict) and get_origin(option) is dict:
            part = get_args(option)[1]
            value = {key: fix_shape(one, part, location.key(key), faults) for key, one in value.items()}
    if len(faults.found) > found or faults.full:
        return value
    fixed = _fixed(value, form)
    # The decoder's reason in our words; in general words where it has none of these forms.
    choices, shape = _choices(form), _SHAPE.fullmatch(message)
    hint = "" if fixed is None else f"; did you mean {json.dumps(fixed)}?"
    fix = None if fixed is None else location.replaced(json.dumps(fixed))
    if choices:
        reason = f"unknown value {describe_value(value)}; allowed: {', '.join(map(repr, sorted(choices)))}"
    elif shape:
        wanted, got = (
            re.sub(r"`([^`]*)`", lambda match: _WORDS.get(match[1], match[1]), each or "") for each in shape.groups()
        )
        reason = f"expected {wanted}, got {got}" if got else f"expected {wanted}"
        reason += '; write it in braces, as in {"key": "value"}' if (wanted, got) == ("an object", "text") else ""
    else:
        reason = "does not fit the form; `dpqr schema` prints it"
    faults.keep(location.fault(reason + hint, fix=fix))
    return value if fixed is None else fixed


def _renamed(
    value: dict[str, object], known: Members, location: Location, faults: Faults, outer: Members
) -> Iterator[tuple[str, object]]:
    """The members under known keys; a misspelt key counts as the one that it can only mean."""
    for key, part in value.items():
        if key in known:
            yield key, part
            continue
        meant = obvious(key, known)
        meant = None if meant in value else meant
        place = location.key(key).path
        further_out = "it belongs one level further out" if key in outer else None
        belongs = _inner(key, known) or _inner(key, outer) or further_out
        hint = f"did you mean {meant!r}?" if meant else belongs or nearest(key, known)
        fix = Fix(path=place, text=json.dumps(meant), key=True) if meant else None
        faults.keep(location.fault(f"unknown key {key!r}; {hint}", place=place, fix=fix))
        if meant:
            yield meant, part


def _inner(key: str, known: Members) -> str | None:
    """Where the key belongs, if a part of this object has it."""
    for name, field in known.items():
        parts = (one for one in _options(field.type) if isinstance(one, type) and issubclass(one, msgspec.Struct))
        if any(key == inner.encode_name for part in parts for inner in fields(part)):
            return f"it belongs in {name!r}"
    return None


def _options(form: object) -> list[object]:
    """The types that a value may have, without what annotates them."""
    if get_origin(form) is Annotated:
        return _options(get_args(form)[0])
    if get_origin(form) in (Union, UnionType):
        return [option for part in get_args(form) for option in _options(part)]
    return [form]


def _choices(form: object) -> tuple[Any, ...]:
    return next((get_args(option) for option in _options(form) if get_origin(option) is Literal), ())


def _fixed(value: Any, form: Any) -> object:
    """What a faulty value can only mean; None where that is not obvious."""
    if not isinstance(value, str):
        return None
    choices = _choices(form)
    meant = obvious(value, choices) or (_SYNONYMS.get(value.lower()) if "integer" in choices else None)
    whole = int(value) if _NUMBER.fullmatch(value) and "." not in value else None
    lists = [option for option in _options(form) if get_origin(option) is tuple]
    texts = [value] if any(str in _options(get_args(option)[0]) for option in lists) else None
    return next((one for one in (meant, whole, texts) if one is not None and fitting(one, form) is not None), None)
