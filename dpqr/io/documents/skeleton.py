"""Skeletons: a domain file to be filled in, from column names and types alone.

Why from types alone: a bound or a label that is read from the private table is a release nobody paid for. A Parquet
footer's statistics and dictionaries are private for the same reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpqr.io.documents.domain import PLACEHOLDER
from dpqr.io.documents.domain_form import VERSION

FIRST_BINS = 10
"""Bins proposed for a column of numbers."""


def skeleton_from_schema(columns: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """A domain file that `read_domain` refuses until every placeholder is replaced.

    columns: (name, type) pairs; types are those of the domain file (integer, number, string, boolean, date,
    datetime), anything else is taken for text.
    """
    return {"dpqr": VERSION, "malformed": "drop", "fields": [_field(name, kind) for name, kind in columns]}


def _field(name: str, kind: str) -> dict[str, Any]:
    field: dict[str, Any] = {"name": name, "type": kind}
    bounds = {"minimum": PLACEHOLDER, "maximum": PLACEHOLDER}
    rules = {"null": "cell", "otherwise": "drop"}
    if kind in ("integer", "number"):
        return field | {"constraints": bounds, "dpqr": {"bins": FIRST_BINS} | rules}
    if kind in ("date", "datetime"):
        return field | {"constraints": bounds, "dpqr": {"every": "month"} | rules}
    if kind == "boolean":
        return field | {"dpqr": rules}
    return field | {"type": "string", "constraints": {"enum": [PLACEHOLDER]}, "dpqr": rules}
