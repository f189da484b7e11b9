"""Ranges: intervals of an ordered column, and rectangles of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import UNSET

from dpqr.data.arrays import IntArray
from dpqr.data.attribute import Bins
from dpqr.io.documents.calendar_cuts import moment
from dpqr.io.documents.decoding import number
from dpqr.io.documents.entries.frame import Compiled, Frame, called
from dpqr.io.documents.intervals import edges_around, side
from dpqr.io.documents.place import Place
from dpqr.io.documents.query_form import RangesEntry
from dpqr.noise.public import public_generator
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.ranges import Ranges


def compile_ranges(entry: RangesEntry, frame: Frame) -> Compiled:
    """One row a range; several columns: row r is the rectangle of every column's range r. Own cells are in none."""
    place = frame.place.key("ranges")
    names = [entry.ranges] if isinstance(entry.ranges, str) else entry.ranges
    axes = (frame.axis(entry.ranges, place),) if isinstance(entry.ranges, str) else frame.axes(entry.ranges, place)
    columns = [frame.ordered(axis, place)[1] for axis in axes]
    if entry.by and len(axes) > 1:
        raise frame.place.key("by").fault("rectangles are not cut by further columns; leave it out, or use where")
    spans = _drawn(entry, columns, frame.place) if entry.between is UNSET else _listed(entry, columns, frame.place)
    factors = [_factor(axis, bins, span, frame) for axis, bins, span in zip(axes, columns, spans, strict=True)]
    source = "" if entry.between is not UNSET else f", {entry.random} random, seed {entry.seed}"
    name = called(f"ranges({','.join(names)}{source})", entry.by)
    rowwise = len(axes) > 1
    if rowwise:
        factors = [replace(factor, labels=_named(factor, frame)) for factor in factors]
    return Compiled(blocks=(QueryBlock(name=name, factors=(*frame.by(entry.by, axes), *factors), rowwise=rowwise),))


def _named(factor: Factor, frame: Frame) -> tuple[str, ...]:
    """Labels that say of which column they speak."""
    name = frame.domain.attributes[factor.axes[0]].name
    return tuple(f"{name} in {label}" for label in factor.labels)


def _drawn(entry: RangesEntry, columns: Sequence[Bins], place: Place) -> list[IntArray]:
    """Per column the first bin and the one after the last, shape (rows, 2): length uniform, then position uniform."""
    if entry.random is UNSET:
        raise place.fault("ranges need either 'between' (a list) or 'random' (how many) with a public 'seed'")
    if entry.seed is UNSET:
        raise place.fault("random ranges need a public 'seed' (a whole number), so that everybody can draw them again")
    generator = public_generator(entry.seed)
    spans = []
    for bins in columns:
        lengths = generator.integers(1, bins.size + 1, size=entry.random)
        starts = generator.integers(0, bins.size - lengths + 1)
        spans.append(np.stack([starts, starts + lengths], axis=1))
    return spans


def _listed(entry: RangesEntry, columns: Sequence[Bins], place: Place) -> list[IntArray]:
    for key in ("random", "seed"):
        if getattr(entry, key) is not UNSET:
            raise place.key(key).fault("contradicts 'between'; keep one of them")
    where = place.key("between")
    rows = [] if entry.between is UNSET else entry.between
    spans = np.empty((len(columns), len(rows), 2), dtype=np.int64)
    for index, row in enumerate(rows):
        at = where.item(index)
        pairs = [row] if isinstance(entry.ranges, str) else row
        if not isinstance(pairs, list) or len(pairs) != len(columns):
            raise at.fault(f"expected a list of {len(columns)} pairs [low, high], one a column")
        for column, (bins, pair) in enumerate(zip(columns, pairs, strict=True)):
            spans[column, index] = _span(bins, pair, at if isinstance(entry.ranges, str) else at.item(column))
    return list(spans)


def _span(bins: Bins, pair: Any, place: Place) -> tuple[int, int]:
    """First bin and the one after the last of [low, high].

    Both ends belong where that cuts through no bin (a bin that is one value, the outermost edges); elsewhere the ends
    are edges and belong as the bins' closed side says.
    """
    if not isinstance(pair, list) or len(pair) != 2:
        raise place.fault("expected a pair [low, high]")
    low, high = (_end(bins, value, place.item(index)) for index, value in enumerate(pair))
    if low > high:
        raise place.fault("low is above high; swap them")
    start, stop = _lower(bins, low, place.item(0)), _upper(bins, high, place.item(1))
    if start >= stop:
        raise place.fault("holds no bin, so its answer is always 0; widen it to the next edge")
    return start, stop


def _end(bins: Bins, value: Any, place: Place) -> Fraction:
    return number(value, place) if bins.kind == "number" else moment(value, bins.kind, place)


def _lower(bins: Bins, low: Fraction, place: Place) -> int:
    """How many bins lie below the range: those < low, or those <= low where `low` is an edge that closes them."""
    inclusive = side(bins, low, strict=True)
    if not inclusive.cut:
        return inclusive.below
    return _on_edge(bins, low, place, strict=False)


def _upper(bins: Bins, high: Fraction, place: Place) -> int:
    inclusive = side(bins, high, strict=False)
    if not inclusive.cut:
        return inclusive.below
    return _on_edge(bins, high, place, strict=True)


def _on_edge(bins: Bins, value: Fraction, place: Place, *, strict: bool) -> int:
    found = side(bins, value, strict=strict)
    if found.cut:
        title = bins.span_title(found.below, found.below)
        edges = " and ".join(edges_around(bins, found.below, strict=True))
        raise place.fault(f"{bins.mark(value)} cuts through the bin {title}; the nearest edges are {edges}")
    return found.below


def _factor(axis: int, bins: Bins, span: IntArray, frame: Frame) -> Factor:
    size = frame.domain.attributes[axis].size
    matrix = Ranges(span[:, 0], span[:, 1], size)
    labels = tuple(bins.span_title(int(start), int(stop) - 1) for start, stop in span)
    return Factor(axes=(axis,), sizes=(size,), matrix=matrix, labels=labels)
