"""Cuts: public bins of number columns, from bounds and a count or a width, in exact fractions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Literal

from msgspec import UNSET

from dpqr.data.attribute import Bins
from dpqr.io.documents.bounds import declared_bounds, edge_bins, require_few
from dpqr.io.documents.decoding import number
from dpqr.io.documents.domain_form import Field
from dpqr.io.documents.place import Place


def number_bins(field: Field, place: Place) -> Bins:
    """Bins of an `integer` or `number` column, as its `dpqr` block says."""
    cut = field.dpqr
    if cut.edges is not UNSET:
        return edge_bins(field, number, "number", place)
    if field.type == "integer":
        low, high = declared_bounds(field, number, place, "an enum, or dpqr.edges")
        for side, bound in (("minimum", low), ("maximum", high)):
            _whole(bound, place.key("constraints").key(side))
        if cut.bins is UNSET:
            where = place.key("constraints") if cut.width is UNSET else place.key("dpqr").key("width")
            return _runs_of_width(field, int(low), int(high), where)
        return _runs_by_count(cut.bins, cut.closed == "right", int(low), int(high), place.key("dpqr").key("bins"))
    low, high = declared_bounds(field, number, place, "dpqr.edges")
    return Bins(
        edges=_even_cuts(field, low, high, place.key("dpqr")), closed="right" if cut.closed == "right" else "left"
    )


def _even_cuts(field: Field, low: Fraction, high: Fraction, place: Place) -> tuple[Fraction, ...]:
    """Edges from `low` in equal steps; the last bin is shorter where a width does not divide."""
    if field.dpqr.width is not UNSET:
        step = _width(field, place.key("width"))
    elif field.dpqr.bins is not UNSET:
        step = (high - low) / field.dpqr.bins
    else:
        raise place.fault("says no bins; a column of type 'number' needs one of bins, width or edges")
    count = math.ceil((high - low) / step)
    require_few(count, place.key("bins" if field.dpqr.width is UNSET else "width"))
    return (*(low + index * step for index in range(count)), high)


def _runs_of_width(field: Field, low: int, high: int, place: Place) -> Bins:
    """Bins of `width` whole values each (1 where none is stated), counted from `low`; the last one has the rest."""
    width = Fraction(1) if field.dpqr.width is UNSET else _width(field, place)
    step = _whole(width, place)
    require_few(-(-(high - low + 1) // step), place)
    return whole_bins([*range(low, high + 1, step), high + 1])


def _runs_by_count(count: int, right: bool, low: int, high: int, place: Place) -> Bins:
    """`count` bins of whole values, as even as can be; the closed side has the longer ones."""
    values = high - low + 1
    require_few(count, place)
    if count > values:
        raise place.fault(f"{count} bins are more than the {values} whole values from minimum to maximum")
    up = count - 1 if right else 0
    return whole_bins([low + (index * values + up) // count for index in range(count + 1)])


def _width(field: Field, place: Place) -> Fraction:
    width = number(field.dpqr.width, place)
    if width <= 0:
        raise place.fault("must be above 0")
    return width


def _whole(value: Fraction, place: Place) -> int:
    if value.denominator != 1:
        raise place.fault("must be a whole number, for the column is of type 'integer'")
    return int(value)


def whole_bins(starts: Sequence[int], kind: Literal["number", "date"] = "number") -> Bins:
    """Bins of the whole values starts[i] .. starts[i+1]-1. Their edges lie halfway, so no value ever meets one."""
    edges = tuple(Fraction(2 * start - 1, 2) for start in starts)
    marks = (*starts[:-1], starts[-1] - 1)
    plain = Bins(edges=edges, integral=True, kind=kind)
    titles = map(str, marks) if kind == "number" else (plain.mark(Fraction(mark)) for mark in marks)
    return Bins(edges=edges, integral=True, kind=kind, edge_titles=tuple(titles))


@cache
def code_bins(size: int) -> Bins:
    """Integer codes 0 .. size-1 as bins of one value, so that codes can be compared, summed and ranged like numbers."""
    return whole_bins(range(size + 1))
