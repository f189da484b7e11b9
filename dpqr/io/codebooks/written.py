"""What is written in another form, and what that form has no place for."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from dpqr.errors import UsageFault
from dpqr.io.codebooks.column import Column, Outline, is_placeholder, limited, stated
from dpqr.io.documents.domains.forms import Category, Constraints, Treatment


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A codebook in one form.

    content: a JSON object, or the text of a form that is not JSON. remarks: what it does not hold.
    """

    content: dict[str, Any] | str
    remarks: tuple[str, ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object. Raises: UsageFault for a form that is not JSON."""
        if isinstance(self.content, str):
            raise UsageFault("this form is no JSON object; take its text")
        return self.content

    @property
    def text(self) -> str:
        """The file's text."""
        if isinstance(self.content, str):
            return self.content
        return json.dumps(self.content, indent=2, ensure_ascii=False) + "\n"


def bounded(column: Column) -> Column:
    """The column with the outermost of its stated edges as bounds."""
    if not isinstance(column.dpqr.edges, tuple) or not column.dpqr.edges:
        return column
    low, high = (UNSET if is_placeholder(edge) else edge for edge in (column.dpqr.edges[0], column.dpqr.edges[-1]))
    return limited(column, low=low, high=high)


def plain(column: Column) -> Column:
    """The same in the keys of the standard alone, as far as they go: edges as bounds, and categories as an enum.

    Categories stay beside it where they have labels of their own.
    """
    column = bounded(column)
    limits = column.constraints
    if isinstance(limits.enum, tuple):
        known = tuple(label for label in limits.enum if not is_placeholder(label))
        limits = msgspec.structs.replace(limits, enum=known or UNSET)
        column = msgspec.structs.replace(column, constraints=limits)
    if not isinstance(column.categories, tuple):
        return column
    if limits.enum is UNSET:
        values = tuple(each.value if isinstance(each, Category) else each for each in column.categories)
        limits = msgspec.structs.replace(limits, enum=values)
    categories = column.categories if own_titles(column) else UNSET
    return msgspec.structs.replace(column, constraints=limits, categories=categories)


def own_titles(column: Column) -> dict[str | int, str]:
    """The labels that differ from the values which they stand for, by value."""
    stated = [each for each in column.categories or () if isinstance(each, Category)]
    return {each.value: each.label for each in stated if isinstance(each.label, str) and each.label != str(each.value)}


def ranged(outline: Outline) -> tuple[Outline, tuple[str, ...]]:
    """For forms without labels of whole numbers: with bounds in their place, and a remark where they leave a gap."""
    columns, holed = [], []
    for column in map(plain, outline.fields):
        labels = column.constraints.enum
        if column.type == "integer" and isinstance(labels, tuple):
            low, high = min(labels), max(labels)
            column = msgspec.structs.replace(
                column, constraints=msgspec.structs.replace(column.constraints, enum=UNSET)
            )
            column = limited(column, low=low, high=high)
            holed += [column.name] if high - low >= len(labels) else []
        columns.append(column)
    remarks = (f"whole numbers between the labels are allowed as well: {', '.join(holed)}",) if holed else ()
    return msgspec.structs.replace(outline, fields=tuple(columns)), remarks


def left_out(outline: Outline, held: Collection[str]) -> tuple[str, ...]:
    """One remark on all that is stated in the outline and has no place among the keys that are held.

    held: keys like "constraints.enum", "dpqr.null" or "title"; name and type are always held.
    """
    missing: dict[str, list[str]] = defaultdict(list)
    for column in outline.fields:
        for key in _keys(column):
            if key not in held:
                missing[key].append(column.name)
    parts = [f"{key} ({', '.join(names)})" for key, names in missing.items()]
    tops = {"fields", "dpqr", "name", "schema"}
    parts += [key for key, _ in stated(outline) if key not in tops and key not in held]
    return (f"left out, for the form has no place for it: {'; '.join(parts)}",) if parts else ()


def _keys(column: Column) -> Iterator[str]:
    for key, value in stated(column):
        if isinstance(value, Constraints):
            yield from (f"constraints.{part}" for part, _ in stated(value))
        elif isinstance(value, Treatment):
            yield from (f"dpqr.{part}" for part, rule in stated(value) if (part, rule) != ("otherwise", "drop"))
        elif key not in ("name", "type"):
            yield key
