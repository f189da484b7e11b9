"""SmartNoise SQL: the YAML metadata of tables, with types, bounds and the column that names persons.

References: https://docs.smartnoise.org/sql/metadata.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from dpqr.domain.form import Constraints, FieldType, Treatment, UnitForm
from dpqr.domain.text.decoding import Location
from dpqr.domain.text.documents import JsonObject
from dpqr.tables.codebooks.columns import Codebook, CodebookColumn, Outline, exact, has_bins, with_bounds

_TYPES: dict[str, FieldType] = {
    "int": "integer",
    "float": "number",
    "string": "string",
    "boolean": "boolean",
    "datetime": "datetime",
}
_BOUNDS = ("lower", "upper")


def is_smartnoise(tree: Any) -> bool:
    """Whether some object three levels down is a table with a typed column."""
    return any(True for _ in _tables(tree))


def read_smartnoise(tree: Any, location: Location) -> tuple[Codebook, ...]:
    """One table for each. Row counts are not taken; the column that names persons is left out."""
    found = tuple(_table(name, table) for name, table in _tables(tree))
    if not found:
        raise location.fault("SmartNoise metadata is database: schema: table: column: {type: ...}; no column is there")
    return found


def _tables(tree: Any) -> Iterator[tuple[str, JsonObject]]:
    """Name and members of every object, two levels below the top, that has a typed column."""
    for schemas in _objects(tree):
        for tables in _objects(schemas):
            for name, table in tables.items():
                if isinstance(table, dict) and any("type" in column for column in _objects(table)):
                    yield str(name), table


def _objects(value: Any) -> list[dict[Any, Any]]:
    return [member for member in value.values() if isinstance(member, dict)] if isinstance(value, dict) else []


def _table(name: str, table: dict[Any, Any]) -> Codebook:
    clamped = not _is(table.get("clamp_columns"), False)
    columns, remarks = list[CodebookColumn](), list[str]()
    unit: UnitForm | UnsetType = UNSET
    for key, stated in table.items():
        if not isinstance(stated, dict) or "type" not in stated:
            continue
        if _is(stated.get("private_id"), True):
            most = table.get("max_ids")
            unit = UnitForm(column=str(key), max_rows=most) if type(most) is int and most > 0 else UNSET
            if unit is UNSET:
                remarks.append(f"{key} says whose row it is; state how many rows of each person to use: --max-rows K")
            continue
        columns.append(_column(str(key), stated, clamped))
        if stated.get("missing_value") is not None:
            remarks.append(f"{key} has a missing_value, which is not put in for null; null has a cell or is dropped")
    return Codebook(name=name, outline=Outline(fields=tuple(columns), unit=unit), remarks=tuple(remarks))


def _column(name: str, stated: dict[Any, Any], clamped: bool) -> CodebookColumn:
    # The form has one type for dates and times: bounds that are days say which of them it is.
    kind: FieldType | Any = _TYPES.get(str(stated["type"]).lower(), UNSET)
    days = all(re.fullmatch(r"\d{4}-\d\d-\d\d", str(stated.get(side))) for side in _BOUNDS)
    kind = "date" if kind == "datetime" and days else kind
    required = _is(stated.get("nullable"), False)
    column = CodebookColumn(name=name, type=kind, constraints=Constraints(required=True if required else UNSET))
    if not has_bins(kind):
        return column
    # A number, or the text of a date or a time; UNSET for what is no bound, such as .inf.
    bounds: list[Any] = []
    for value in (stated.get(side) for side in _BOUNDS):
        if kind in ("date", "datetime"):
            bounds.append(value.replace(" ", "T", 1) if isinstance(value, str) else UNSET)
        else:
            number = None if value is None or isinstance(value, bool) else exact(str(value))
            bounds.append(UNSET if number is None else number)
    low, high = bounds
    column = with_bounds(column, low=low, high=high)
    if not clamped or low is UNSET or high is UNSET:
        return column
    return msgspec.structs.replace(
        column, dpqr=Treatment(null=UNSET if required else "cell", outside="clip", otherwise="drop")
    )


def _is(value: Any, truth: bool) -> bool:
    """Whether this is the truth value, in whatever case YAML has it."""
    return str(value).lower() == str(truth).lower()
