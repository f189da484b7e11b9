"""The gaps of an outline, filled in: placeholders where only the curator knows, proposals where any value is sound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec
from msgspec import UNSET

from dpqr.io.codebooks.column import (
    CUTS,
    Column,
    Outline,
    document,
    has_labels,
    is_placeholder,
    limited,
    ordered,
    uncut,
)
from dpqr.io.documents.domains.domain import PLACEHOLDER, decode_domain
from dpqr.io.documents.domains.forms import DOMAIN_VERSION, Treatment
from dpqr.io.documents.text.decoding import Location

FIRST_BINS = 10
"""Bins proposed for a column of numbers."""
SINGLE_VALUES = 120
"""Whole values up to which a column whose bounds are known gets one bin each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A domain file, and what its curator has still to look at.

    to_fill: "labels of sex, region" and the like. proposed: "10 bins of income" and the like.
    """

    outline: Outline
    to_fill: tuple[str, ...]
    proposed: tuple[str, ...]


def filled(outline: Outline) -> Filled:
    """Fill the gaps, and check every column that has no placeholder as `dpqr check` would.

    Raises:
        DocumentError: what the sources state about a column contradicts itself.
    """
    columns = tuple(map(_proposed, outline.fields))
    whole = msgspec.structs.replace(
        outline,
        dpqr=DOMAIN_VERSION,
        malformed="drop" if outline.malformed is UNSET else outline.malformed,
        fields=tuple(map(_with_placeholders, columns)),
    )
    for column in columns:
        if not any(_needs(column)):
            _check(column)
    return Filled(
        outline=whole,
        to_fill=tuple(_grouped((" and ".join(_needs(column)), column.name) for column in columns)),
        proposed=tuple(_grouped(_proposals(outline.fields, columns))),
    )


def _grouped(needs: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Needs that are not empty, each with its columns."""
    columns: dict[str, list[str]] = defaultdict(list)
    for need, column in needs:
        columns[need].append(column)
    return (f"{need} of {', '.join(names)}" for need, names in columns.items() if need)


def _check(column: Column) -> None:
    alone = document(Outline(fields=(column,)))
    decode_domain(alone, Location(f"column {column.name!r} as its sources state it"))


def _proposals(before: tuple[Column, ...], after: tuple[Column, ...]) -> Iterator[tuple[str, str]]:
    for old, new in zip(before, after, strict=True):
        if new.dpqr.bins is not old.dpqr.bins:
            yield f"{new.dpqr.bins} bins", new.name
        if new.dpqr.every is not old.dpqr.every:
            yield f"one bin per {new.dpqr.every}", new.name


def _proposed(column: Column) -> Column:
    """With a type, a cut and rules."""
    kind = "string" if column.type is UNSET else column.type
    column = _without_single_value(msgspec.structs.replace(column, type=kind))
    cut = _cut(column)
    if all(getattr(cut, rule) is UNSET for rule in ("null", "unparsable", "nan", "infinite", "outside", "otherwise")):
        null = UNSET if column.constraints.required is True else "cell"
        cut = msgspec.structs.replace(cut, null=null)
    if cut.otherwise is UNSET:
        cut = msgspec.structs.replace(cut, otherwise="drop")
    return msgspec.structs.replace(column, dpqr=cut)


def _without_single_value(column: Column) -> Column:
    """An integer from 3 to 3 has the label 3: bounds must differ."""
    limits = column.constraints
    if column.type != "integer" or limits.minimum is UNSET or limits.minimum != limits.maximum:
        return column
    only = msgspec.structs.replace(limits, enum=(limits.minimum,), minimum=UNSET, maximum=UNSET)
    return msgspec.structs.replace(column, constraints=only, dpqr=uncut(column.dpqr))


def _cut(column: Column) -> Treatment:
    """The cut of an ordered column: as stated, else one that is proposed."""
    limits, cut = column.constraints, column.dpqr
    stated = any(getattr(cut, key) is not UNSET for key in CUTS if key != "closed")
    if stated or has_labels(column) or not ordered(column.type):
        return cut
    if column.type in ("date", "datetime"):
        return msgspec.structs.replace(cut, every="month")
    low, high = limits.minimum, limits.maximum
    if column.type == "integer" and isinstance(low, int) and isinstance(high, int) and high - low < SINGLE_VALUES:
        return cut
    return msgspec.structs.replace(cut, bins=FIRST_BINS)


def _needs(column: Column) -> Iterator[str]:
    """What no source states about a column."""
    limits, edges = column.constraints, column.dpqr.edges
    if isinstance(edges, tuple) and any(map(is_placeholder, edges)):
        yield "outermost edges"
    if isinstance(limits.enum, tuple) and any(map(is_placeholder, limits.enum)):
        yield "other labels"
    if ordered(column.type) and not has_labels(column) and edges is UNSET:
        if limits.minimum is UNSET:
            yield "minimum"
        if limits.maximum is UNSET:
            yield "maximum"
    if column.type == "string" and not has_labels(column):
        yield "labels"


def _with_placeholders(column: Column) -> Column:
    for need in _needs(column):
        if need == "labels":
            enum = msgspec.structs.replace(column.constraints, enum=(PLACEHOLDER,))
            column = msgspec.structs.replace(column, constraints=enum)
        elif need in ("minimum", "maximum"):
            column = limited(column, **{"low" if need == "minimum" else "high": PLACEHOLDER})
    return column
