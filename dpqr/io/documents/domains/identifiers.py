"""Columns that are named like identifiers of persons. Names alone are looked at, never a value."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
        f"{named}; if one says whose row each is, consider protecting persons: --unit {found[0]} --max-rows K, or "
        '"unit" in the domain file, and no field of that name'
    )
