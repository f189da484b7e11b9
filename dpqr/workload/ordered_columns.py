"""Entries about ordered columns: cumulative counts (prefix), intervals and rectangles (ranges), sums of midpoints.

The scale of a column is its bins, or its labels where they are ordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import UNSET

from dpqr.domain.attribute import Attribute, Bins, Labels
from dpqr.domain.columns import code_bins, moment, scale_of
from dpqr.domain.predicate_cells import edges_around, range_end, side
from dpqr.domain.text.decoding import Location, describe_value, nearest, number
from dpqr.domain.text.faults import Faults
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.noise.public import public_generator
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.conditions import condition, restrict_factors
from dpqr.workload.entry import CompiledEntry, EntryContext, coarsest_grid, default_name
from dpqr.workload.form import PrefixEntry, RangesEntry, SumEntry
from dpqr.workload.matrix import Dense, Prefix
from dpqr.workload.ranges import Ranges


def compile_prefix(entry: PrefixEntry, frame: EntryContext) -> CompiledEntry:
    """One row a declared cell; own cells have no place in the order and are counted by no row."""
    location = frame.location.key("prefix")
    axis = frame.axis(entry.prefix, location)
    attribute, scale = frame.ordered(axis, location)
    found = restrict_factors((*frame.by(entry.by, (axis,)), prefix_factor(axis, attribute, scale)), entry.where, frame)
    name = default_name(f"prefix({attribute.name}){condition(entry.where)}", entry.by)
    return CompiledEntry(blocks=(QueryBlock(name=name, factors=found.factors),), work=found.work)


def prefix_factor(axis: int, attribute: Attribute, scale: Bins | Labels) -> Factor:
    """Cumulative counts of a column."""
    labels = []
    for index in range(scale.size):
        if isinstance(scale, Labels):
            labels.append(f"<= {scale.values[index]}")
        else:
            owned = scale.integral or scale.closed == "right" or index == scale.size - 1
            labels.append(f"{'<=' if owned else '<'} {scale.mark(scale.bounds(index)[1])}")
    matrix = Prefix(scale.size, attribute.size - scale.size)
    return Factor(axes=(axis,), sizes=(attribute.size,), matrix=matrix, labels=tuple(labels))


def compile_ranges(entry: RangesEntry, frame: EntryContext) -> CompiledEntry:
    """One row a range; several columns: row r is the rectangle of every column's range r. Own cells are in none."""
    location = frame.location.key("ranges")
    names = [entry.ranges] if isinstance(entry.ranges, str) else entry.ranges
    axes = (
        (frame.axis(entry.ranges, location),) if isinstance(entry.ranges, str) else frame.axes(entry.ranges, location)
    )
    columns = [_Ends(*frame.ordered(axis, location)) for axis in axes]
    if entry.by and len(axes) > 1:
        raise frame.location.key("by").fault("rectangles are not cut by further columns; leave it out, or use where")
    spans = (
        _drawn(entry, columns, frame.location) if entry.between is UNSET else _listed(entry, columns, frame.location)
    )
    rowwise = len(axes) > 1
    factors = []
    for axis, column, span in zip(axes, columns, spans, strict=True):
        size = frame.domain.attributes[axis].size
        labels = tuple(column.scale.span_title(int(start), int(stop) - 1) for start, stop in span)
        if rowwise:  # labels say of which column they speak
            labels = tuple(f"{frame.domain.attributes[axis].name} in {label}" for label in labels)
        matrix = Ranges(span[:, 0], span[:, 1], size)
        factors.append(Factor(axes=(axis,), sizes=(size,), matrix=matrix, labels=labels))
    source = "" if entry.between is not UNSET else f", {entry.random} random, seed {entry.seed}"
    name = default_name(f"ranges({','.join(names)}{source})", entry.by)
    return CompiledEntry(
        blocks=(QueryBlock(name=name, factors=(*frame.by(entry.by, axes), *factors), rowwise=rowwise),)
    )


def _drawn(entry: RangesEntry, columns: Sequence[_Ends], location: Location) -> list[IntArray]:
    """Per column the first cell and the one after the last, shape (rows, 2): length uniform, then position uniform."""
    if entry.random is UNSET:
        raise location.fault("ranges need either 'between' (a list) or 'random' (how many) with a public 'seed'")
    if entry.seed is UNSET:
        raise location.fault(
            "random ranges need a public 'seed' (a whole number), so that everybody can draw them again"
        )
    generator = public_generator(entry.seed)
    spans = []
    for column in columns:
        size = column.scale.size
        lengths = generator.integers(1, size + 1, size=entry.random)
        starts = generator.integers(0, size - lengths + 1)
        spans.append(np.stack([starts, starts + lengths], axis=1))
    return spans


def _listed(entry: RangesEntry, columns: Sequence[_Ends], location: Location) -> list[IntArray]:
    for key in ("random", "seed"):
        if getattr(entry, key) is not UNSET:
            raise location.key(key).fault("contradicts 'between'; keep one of them")
    where = location.key("between")
    rows = [] if entry.between is UNSET else entry.between
    spans = np.empty((len(columns), len(rows), 2), dtype=np.int64)
    faults = Faults()
    for index, row in enumerate(rows):
        at = where.item(index)
        pairs = [row] if isinstance(entry.ranges, str) else row
        if not isinstance(pairs, list) or len(pairs) != len(columns):
            raise at.fault(f"expected a list of {len(columns)} pairs [low, high], one a column")
        for nth, (column, pair) in enumerate(zip(columns, pairs, strict=True)):
            with faults.kept():
                spans[nth, index] = column.span(pair, at if isinstance(entry.ranges, str) else at.item(nth))
        if faults.full:
            break
    faults.pass_on()
    return list(spans)


@dataclass(frozen=True, slots=True)
class _Ends:
    """Where ends of ranges stand among the cells of one column; each is looked up once.

    bins: the scale; of labels, their places.
    """

    column: Attribute
    scale: Bins | Labels
    bins: Bins = field(init=False)
    known: dict[tuple[Fraction, bool], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        places = code_bins(self.scale.size) if isinstance(self.scale, Labels) else self.scale
        object.__setattr__(self, "bins", places)

    def span(self, pair: Any, location: Location) -> tuple[int, int]:
        """First cell and the one after the last of [low, high], whose ends belong as `range_end` says."""
        if not isinstance(pair, list) or len(pair) != 2:
            raise location.fault("expected a pair [low, high]")
        ends = []
        for index, value in enumerate(pair):
            at = location.item(index)
            if isinstance(self.scale, Labels):
                # Of an integer column's label, its number will do.
                text, labels = value if isinstance(value, str) else str(value), self.scale.values
                if text not in labels:
                    raise at.fault(f"{describe_value(value)} is no label of the column; {nearest(text, labels)}")
                ends.append(Fraction(labels.index(text)))
            elif self.scale.kind == "number":
                ends.append(number(value, at))
            else:
                ends.append(moment(value, self.scale.kind, at))
        low, high = ends
        if low > high:
            raise location.fault("low is above high; swap them")
        start, stop = (self._below(end, location.item(nth), upper=nth == 1) for nth, end in enumerate((low, high)))
        if start >= stop:
            raise location.fault("holds no bin, so its answer is always 0; widen it to the next edge")
        return start, stop

    def _below(self, value: Fraction, location: Location, *, upper: bool) -> int:
        """How many bins lie below this end."""
        if (value, upper) not in self.known:
            declared = self.column.declared if isinstance(self.column.declared, Bins) else self.bins
            found = side(self.bins, value, strict=range_end(declared, value, upper=upper))
            if found.cut:
                title = self.bins.span_title(found.below, found.below)
                edges = " and ".join(edges_around(self.bins, found.below, strict=True))
                raise location.fault(
                    f"{self.bins.mark(value)} cuts through the bin {title}; the nearest edges are {edges}"
                )
            self.known[value, upper] = found.below
        return self.known[value, upper]


LARGEST = 2**62
"""Integer coefficients stay below this, so that they fit 64 bits."""


def compile_sum(entry: SumEntry, frame: EntryContext) -> CompiledEntry:
    """One row a combination of `by` cells, on the coarsest grid that all midpoints share; own cells count 0."""
    location = frame.location.key("sum")
    axis = frame.axis(entry.sum, location)
    factor, grid, error = sum_factor(axis, location, frame)
    found = restrict_factors((*frame.by(entry.by, (axis,)), factor), entry.where, frame)
    name = default_name(f"sum({frame.domain.names[axis]}){condition(entry.where)}", entry.by)
    block = QueryBlock(name=name, factors=found.factors, scale=grid)
    return CompiledEntry(blocks=(block,), notes=midpoint_notes(error), binning_error=error, work=found.work)


def sum_factor(axis: int, location: Location, frame: EntryContext) -> tuple[Factor, Fraction, Fraction]:
    """One row of midpoints on their coarsest grid, that grid, and the largest error a record by its binning."""
    attribute, bins = numbers(axis, location, frame)
    values = [bins.midpoint(index) for index in range(bins.size)]
    grid = coarsest_grid(values)
    if not grid:
        raise location.fault("every bin has the midpoint 0, so the sum is always 0; use more bins")
    whole = [int(value / grid) for value in values]
    if max(map(abs, whole)) >= LARGEST:
        raise location.fault("the midpoints share no grid that fits 64 bits; give rounder edges")
    row = np.array([*whole, *[0] * (attribute.size - bins.size)], dtype=np.int64)
    return Factor(axes=(axis,), sizes=(attribute.size,), matrix=Dense(row[None, :])), grid, binning_error(bins)


def numbers(axis: int, location: Location, frame: EntryContext) -> tuple[Attribute, Bins]:
    """A column of numbers and its bins; one of labels or dates is refused."""
    attribute = frame.domain.attributes[axis]
    bins = scale_of(attribute.axis)
    if isinstance(bins, Labels) or bins.kind != "number":
        held = "labels" if isinstance(bins, Labels) else f"a {bins.kind}, which has no sum"
        refusal = f"column {attribute.name!r} holds {held}; name a column of numbers"
        if isinstance(bins, Labels) and bins.values == ("false", "true"):
            share = f'{{"proportion": "{attribute.name}"}}, in SQL AVG(CASE WHEN {attribute.name} THEN 1 ELSE 0 END)'
            refusal = f"column {attribute.name!r} holds true and false, not numbers; the share that is true is {share}"
        raise location.fault(refusal)
    return attribute, bins


WITHIN = "a record within the bounds"
"""How a note of midpoints ends."""


def midpoint_notes(error: Fraction) -> tuple[str, ...]:
    """What a plan says of an error a record by binning."""
    words = "counts each record with its bin's midpoint: an error of at most"
    return (f"{words} {decimal_text(error)} {WITHIN}",) if error else ()


def decimal_text(value: Fraction) -> str:
    """A number as notes and labels print it."""
    return str(value.numerator) if value.denominator == 1 else repr(float(value))


def binning_error(bins: Bins) -> Fraction:
    """Half the widest bin: how far a value within the bounds can lie from the midpoint that stands for it."""
    return max((high - low) / 2 for low, high in map(bins.bounds, range(bins.size)))
