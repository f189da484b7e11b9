"""How a field says that its values are written: patterns of dates and times, marks of numbers, blanks."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from msgspec import UNSET

from dpqr.data.attribute import Axis, Bins, Labels, Spelling
from dpqr.io.documents.domains.forms import Field, MissingValue, MissingValues
from dpqr.io.documents.text.decoding import Location, spoken
from dpqr.io.documents.text.faults import Faults, all_of

_DIRECTIVE = re.compile(r"(?s)%(.?)")
_DAYS = ({"d", "m"}, {"d", "b"}, {"d", "B"}, {"j"})
"""What tells the day of a year."""
_TIMES = set("HIpMSfz")
_NAMES = set("aA")
_KNOWN = set("Yy") | set().union(*_DAYS) | _TIMES | _NAMES
_ONE_KIND = (("Y", "y"), ("m", "b", "B"), ("H", "I"), ("a", "A"))
"""Directives that say the same; a pattern holds one of them at most."""


def spelling(field: Field, axis: Axis, location: Location) -> Spelling:
    """How texts of the column are written. Raises: DocumentError for keys that this kind of column does not have."""
    all_of((partial(_refuse_misplaced, field, axis, location), partial(_require_marks, field, location)))
    bins = axis if isinstance(axis, Bins) else None
    decimal, group = _marks(field)
    return Spelling(
        trim=field.dpqr.trim,
        pattern=_pattern(field, bins.kind, location.key("format")) if bins else None,
        decimal=decimal,
        group=group,
        bare=field.bare_number is not False,
    )


def missing_texts(stated: MissingValues) -> tuple[str, ...]:
    """The texts that mean null."""
    return tuple(each.value if isinstance(each, MissingValue) else each for each in stated)


def _refuse_misplaced(field: Field, axis: Axis, location: Location) -> None:
    own = location.key("dpqr")
    numbers = isinstance(axis, Bins) and axis.kind == "number"
    labels = isinstance(axis, Labels)
    listed = labels and field.type != "boolean"
    keys: tuple[tuple[Location, str, Any, bool, str], ...] = (
        (location, "decimalChar", field.decimal_char, numbers and field.type == "number", "columns of type 'number'"),
        (location, "groupChar", field.group_char, numbers, "binned columns of numbers"),
        (location, "bareNumber", field.bare_number, numbers, "binned columns of numbers"),
        (location, "trueValues", field.true_values, field.type == "boolean", "columns of type 'boolean'"),
        (location, "falseValues", field.false_values, field.type == "boolean", "columns of type 'boolean'"),
        (location, "categoriesOrdered", field.categories_ordered or UNSET, field.categories is not UNSET and listed,
         "columns with categories"),
        (own, "caseSensitive", field.dpqr.case_sensitive, labels, "columns of labels"),
        (own, "aliases", field.dpqr.aliases, labels, "columns of labels"),
    )  # fmt: skip
    faults = Faults()
    for where, key, stated, fits, owners in keys:
        if stated is not UNSET and not fits:
            faults.keep(where.key(key).fault(f"only {owners} have it; leave it out"))
    faults.pass_on()


def _marks(field: Field) -> tuple[str, str | None]:
    """The decimal mark, and the mark between groups of digits."""
    decimal = "." if field.decimal_char is UNSET else field.decimal_char
    return decimal, None if field.group_char is UNSET else field.group_char


def _require_marks(field: Field, location: Location) -> None:
    decimal, group = _marks(field)
    for key, mark in (("decimalChar", decimal), ("groupChar", group or "")):
        if mark.isalnum() or (mark and mark in "+-()") or (key == "decimalChar" and mark.isspace()):
            raise location.key(key).fault(f"{spoken(mark)} cannot stand in a number; give a mark, such as ',' or '.'")
    if decimal == group:
        raise location.key("groupChar").fault(
            f"{spoken(group)} is the decimal mark too; state another decimalChar, such as ','"
        )


def _pattern(field: Field, kind: str, location: Location) -> str | None:
    """The pattern of a date or time column; None for the ISO form. Of other columns a format has no effect."""
    if kind == "number" or field.format is UNSET or field.format == "default":
        return None
    pattern = field.format.removeprefix("fmt:")
    if pattern == "any":
        raise location.fault("'any' would guess which number is the month; write the pattern, such as '%d/%m/%Y'")
    if "%" not in pattern:
        raise location.fault(f"{spoken(field.format)} is no pattern; write 'default' or one such as '%d/%m/%Y'")
    _require_day(_DIRECTIVE.findall(pattern), kind, location)
    return pattern


def _require_day(directives: list[str], kind: str, location: Location) -> None:
    """Refuse patterns that do not say one day, or that say something twice."""
    found = [each for each in directives if each != "%"]
    for each in found:
        if each not in _KNOWN:
            known = " ".join(f"%{one}" for one in sorted(_KNOWN))
            raise location.fault(f"{spoken('%' + each)} is not read; known: {known}")
    for same in (*_ONE_KIND, *((each,) for each in set(found))):
        if sum(found.count(each) for each in same) > 1:
            raise location.fault(f"{' and '.join(f'%{each}' for each in same)}: the pattern says this twice; keep one")
    if not {"Y", "y"} & set(found) or not any(needed <= set(found) for needed in _DAYS):
        raise location.fault(f"does not say the day, month and year of a {kind}, as '%d/%m/%Y' does")
    if ("I" in found) != ("p" in found):
        raise location.fault("%I and %p (AM or PM) go together; write both, or %H")
