"""Bounds: a column's declared edges or its minimum and maximum, numbers and dates alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal

from msgspec import UNSET

from dpqr.data.attribute import Bins
from dpqr.io.documents.domain_form import Field
from dpqr.io.documents.place import Place

MAX_CELLS = 2**20
"""Cells of one column."""

Kind = Literal["number", "date", "datetime"]
Reader = Callable[[Any, Place], Fraction]
"""Reads one stated bound of the column's kind; a DocumentError where it is none."""


def edge_bins(field: Field, read: Reader, kind: Kind, place: Place) -> Bins:
    """Bins between the declared edges; bounds that are stated beside them must be the outermost two."""
    cut, where = field.dpqr, place.key("dpqr").key("edges")
    stated = [] if cut.edges is UNSET else cut.edges
    edges = _increasing([read(edge, where.item(index)) for index, edge in enumerate(stated)], where)
    closed: Literal["left", "right"] = "right" if cut.closed == "right" else "left"
    bins = Bins(edges=edges, closed=closed, integral=field.type in ("integer", "date"), kind=kind)
    for index in range(bins.size if bins.integral else 0):
        low, high = bins.bounds(index)
        if low > high:
            raise where.item(index + 1).fault("the bin that ends here holds no whole value; move the edge")
    limits = field.constraints
    for side, bound, edge in (("minimum", limits.minimum, edges[0]), ("maximum", limits.maximum, edges[-1])):
        at = place.key("constraints").key(side)
        if bound is not UNSET and read(bound, at) != edge:
            raise at.fault(f"differs from the outermost edge, {bins.mark(edge)}; leave it out or make them equal")
    return bins


def _increasing(edges: Sequence[Fraction], place: Place) -> tuple[Fraction, ...]:
    if len(edges) < 2:
        raise place.fault(f"{len(edges)} edge(s) make no bin; give at least 2")
    require_few(len(edges) - 1, place)
    for index in range(1, len(edges)):
        if edges[index] == edges[index - 1]:
            raise place.item(index).fault("equals the edge before it, so a bin would be empty; remove one of them")
        if edges[index] < edges[index - 1]:
            raise place.item(index).fault("is below the edge before it, so bins would overlap; give rising edges")
    return tuple(edges)


def declared_bounds(field: Field, read: Reader, place: Place, instead: str) -> tuple[Fraction, Fraction]:
    """Minimum and maximum, both stated and in order. instead: what else the column could state."""
    where, limits = place.key("constraints"), field.constraints
    for side, stated in (("minimum", limits.minimum), ("maximum", limits.maximum)):
        if stated is UNSET:
            raise where.fault(f"the {side} is missing; state both minimum and maximum, or {instead}")
    low, high = read(limits.minimum, where.key("minimum")), read(limits.maximum, where.key("maximum"))
    if low >= high:
        raise where.key("maximum").fault("must be above the minimum")
    return low, high


def require_few(count: int, place: Place) -> None:
    """Refuse more cells than one column may have."""
    if count > MAX_CELLS:
        raise place.fault(f"makes {count} cells, more than the {MAX_CELLS} of one column; use fewer, wider bins")
