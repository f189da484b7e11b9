"""A domain document whose open edges and labels are filled in from a queries document, for its curator to complete."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any

from dpqr.domain.attribute import Bins
from dpqr.domain.columns import DAY, EPOCH, is_date, is_time
from dpqr.domain.domain_file import PLACEHOLDER
from dpqr.domain.open_columns import QueriedValue, cut, queried_columns
from dpqr.domain.text.decoding import Location
from dpqr.domain.text.documents import MAX_DIGITS, JsonObject

_FIRST, _LAST = ((day - EPOCH).days for day in (date.min, date.max))
_EXTENT = 10 ** (MAX_DIGITS + 1)
_EXTENTS: dict[str, tuple[int, int]] = {
    "integer": (-_EXTENT, _EXTENT),
    "number": (-_EXTENT, _EXTENT),
    "date": (_FIRST, _LAST),
    "datetime": (_FIRST * DAY, (_LAST + 1) * DAY),
}
"""Beyond whatever a query can name, by type."""


def fill_placeholders(domain: Mapping[str, object], queries: Mapping[str, Any]) -> JsonObject:
    """The domain document with what the queries name in place of placeholders; what it states already stays.

    A column that is compared with < and the like gets edges, and a number's or a date's type where it was text. One
    that is compared with = gets labels, and a cell for every other value. Outermost edges stay placeholders, and so do
    the labels that a query excludes by != or not: both are for the curator, from public knowledge.

    Args:
        domain: a Table Schema, or a skeleton of one.
        queries: a queries document.
    """
    fields = domain.get("fields")
    if not isinstance(fields, list):
        return dict(domain)
    known = queried_columns(queries.get("queries", ()))
    filled = []
    for field in fields:
        named = known.of(str(field.get("name")))
        if named and _is_open(field):
            kind = str(field.get("type", "string"))
            kind = _kind(named) if kind == "string" else kind
            stated = field.get("constraints", {})
            if kind == "string":
                labels = list(dict.fromkeys(one.constant.text for one in named if one.use == "="))
                if any(one.negated for one in named):
                    labels.append(f"{PLACEHOLDER}: the other labels")
                rules = {**field.get("dpqr", {})}
                rules.setdefault("outside", "cell")
                field = {**field, "constraints": {**stated, "enum": labels}, "dpqr": rules}
            else:
                field = _edged(field, stated, kind, named)
        filled.append(field)
    return {**domain, "fields": filled}


def _is_open(field: Mapping[str, Any]) -> bool:
    """Whether the field lacks labels, or bounds, or bins between its bounds."""
    stated, rules = field.get("constraints", {}), field.get("dpqr", {})
    if field.get("type", "string") == "string":
        return _unknown(stated.get("enum"))
    if field["type"] not in _EXTENTS or "enum" in stated:
        return False
    if "edges" in rules:
        return _unknown(rules["edges"])
    binned = field["type"] == "integer" or not {"bins", "width", "every"}.isdisjoint(rules)
    return not binned or _unknown(stated.get("minimum")) or _unknown(stated.get("maximum"))


def _unknown(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_unknown, value)) or not value
    return value is None or (isinstance(value, str) and value.startswith(PLACEHOLDER))


def _kind(named: Sequence[QueriedValue]) -> str:
    """The type of a column that is text so far: of labels where it is compared with = alone, else as its constants are.

    Whole numbers are needed where a value is cut on both sides.
    """
    constants = [one.constant for one in named]
    if all(one.use == "=" for one in named):
        return "string"
    if all(constant.kind == "number" for constant in constants):
        below, up_to = (any(one.use in uses for one in named) for uses in (("<", ">="), ("<=", ">")))
        return "integer" if (below and up_to) or any(one.use in ("=", "from", "to") for one in named) else "number"
    texts = [constant.text for constant in constants if constant.kind == "text"]
    if len(texts) < len(constants):
        return "string"
    return "date" if all(map(is_date, texts)) else "datetime" if all(map(is_time, texts)) else "string"


def _edged(field: JsonObject, stated: Mapping[str, Any], kind: str, named: Sequence[QueriedValue]) -> JsonObject:
    """With the cuts as inner edges; bounds become the outermost ones."""
    rules = {key: rule for key, rule in field.get("dpqr", {}).items() if key not in ("bins", "width", "every", "edges")}
    if kind in ("number", "datetime") and all(one.use in ("<=", ">") for one in named):
        rules.setdefault("closed", "right")
    # Cuts of one bin that reaches beyond whatever is named.
    name = str(field.get("name"))
    right = rules.get("closed") == "right"
    whole = Bins(
        edges=tuple(map(Fraction, _EXTENTS[kind])),
        closed="right" if right else "left",
        integral=kind in ("integer", "date"),
        kind="date" if kind == "date" else "datetime" if kind == "datetime" else "number",
    )
    bins = cut(whole, name, named, Location("queries"))
    starts = [bins.bounds(cell)[0] for cell in range(1, bins.size)]
    inner: list[int | float | str] = []
    for edge in (start - 1 if whole.integral and right else start for start in starts):
        if kind in ("date", "datetime"):
            inner.append(bins.mark(edge))
        else:
            inner.append(int(edge) if edge.denominator == 1 else float(edge))
    if not inner:
        return field
    ends = [f"{PLACEHOLDER}: {side}" if _unknown(stated.get(side)) else stated[side] for side in ("minimum", "maximum")]
    kept = {key: value for key, value in stated.items() if key not in ("enum", "minimum", "maximum")}
    made = {key: value for key, value in field.items() if key != "constraints"} | {"type": kind}
    constraints = {"constraints": kept} if kept else {}
    return {**made, **constraints, "dpqr": {"edges": [ends[0], *inner, ends[1]], **rules}}


# Columns that are named like identifiers of persons. Names alone are looked at, never a value.

LAST_WORDS = frozenset({"id", "uuid", "guid", "ssn", "email", "mail", "phone", "passport", "iban"})
"""A name whose last word is one of these is named like an identifier: `person_id`, `PatientID`, `home.phone`."""
NAMES = frozenset({"name", "first name", "last name", "full name", "surname", "forename", "username", "person"})
"""So is a name that consists of just these words."""

_WORD = re.compile(r"[^\W\d_]+")
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def named_like_identifier(column: str) -> bool:
    """Whether the name's words, of any case, are those of an identifier.

    >>> [named_like_identifier(name) for name in ("person_id", "patientID", "E-Mail", "Name", "paid", "street_name")]
    [True, True, True, True, False, False]
    """
    words = _WORD.findall(_INNER_CAPITAL.sub(" ", column).lower())
    return bool(words) and (words[-1] in LAST_WORDS or " ".join(words) in NAMES)


TYPES_BY_WORD: dict[str, tuple[str, int | None, int | None]] = {
    "age": ("integer", 0, 120),
    "month": ("integer", 1, 12),
    "hour": ("integer", 0, 23),
    **dict.fromkeys(("year", "children", "rooms", "visits", "quantity"), ("integer", None, None)),
    **dict.fromkeys(("income", "salary", "wage", "pay", "paid", "price", "cost", "amount"), ("number", None, None)),
    **dict.fromkeys(("weight", "height", "temperature", "score", "percent"), ("number", None, None)),
    **dict.fromkeys(("date", "birthday", "dob"), ("date", None, None)),
    **dict.fromkeys(("datetime", "timestamp", "at"), ("datetime", None, None)),
}
"""Type and bounds of a column whose name ends in a word: bounds that hold whatever the table, or none."""


def type_by_name(column: str) -> tuple[str, int | None, int | None] | None:
    """Type, and bounds where any are known, that the words of a name suggest; None where they suggest none.

    >>> [type_by_name(name) for name in ("Age", "visit_date", "is_member", "region")]
    [('integer', 0, 120), ('date', None, None), ('boolean', None, None), None]

    Privacy:
        Looks at the name alone, which is public.
    """
    words = _WORD.findall(_INNER_CAPITAL.sub(" ", column).lower())
    if not words or named_like_identifier(column):
        return None
    if words[1:] and words[0] in ("is", "has"):
        return "boolean", None, None
    return TYPES_BY_WORD.get(words[-1]) or (TYPES_BY_WORD.get(words[0]) if words[1:2] == ["of"] else None)


def identifier_hint(columns: Iterable[str]) -> str | None:
    """What to consider where no unit is stated; None where no column is named like an identifier."""
    found = [column for column in columns if named_like_identifier(column)]
    if not found:
        return None
    names = ", ".join(map(repr, found))
    named = (
        f"columns {names} are named like identifiers" if found[1:] else f"column {names} is named like an identifier"
    )
    return (
        f"{named}; if one says whose row each is, consider protecting persons: --unit {shlex.quote(found[0])} "
        '--max-rows K, or "unit" in the domain file, and no field of that name'
    )
