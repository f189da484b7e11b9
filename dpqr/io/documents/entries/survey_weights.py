"""Survey weights: queries in which each record counts with its value in one column, cut to public bounds.

A weighted query is the product of the query and one row over the cells of the weight's column, which holds each cell's
weight. So it is a linear query like any other, with integer coefficients on a grid: one record moves a weighted count
by at most the largest weight, and the noise follows from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec import UNSET

from dpqr.io.documents.entries.entry import MAX_WEIGHT, Compiled, Frame, coarsest_grid
from dpqr.io.documents.entries.forms import Entry, SurveyWeight
from dpqr.io.documents.entries.ordered_columns import binning_error, decimal_text, numbers
from dpqr.io.documents.text.decoding import Location, decode, number
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.figures import Figure
from dpqr.workload.matrix import Dense


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weighing:
    """factor: one row, the weight of every cell in steps of `grid`. largest: weight of a record. error: largest one a
    weight, by its bin's midpoint."""

    column: str
    factor: Factor
    grid: Fraction
    largest: Fraction
    error: Fraction

    def of(self, block: QueryBlock, ending: str) -> QueryBlock:
        """The same queries, each record counting with its weight. ending: of the name."""
        factors, scale = (*block.factors, self.factor), block.scale * self.grid
        return replace(block, name=f"{block.name}{ending}", factors=factors, scale=scale)


def spread(form: dict[str, Any]) -> dict[str, Any]:
    """A queries document whose survey weight stands in its entries, beside what selection cares for them."""
    common = form["weight"]
    entries = [
        entry
        if isinstance(weight := entry.get("weight", UNSET), Mapping)
        else {**entry, "weight": common if weight is UNSET else {**common, "selection": weight}}
        for entry in form["queries"]
    ]
    return {key: value for key, value in form.items() if key != "weight"} | {"queries": entries}


def weighing(stated: Any, frame: Frame, location: Location) -> Weighing:
    """What a survey weight says of a domain's column.

    Raises:
        DocumentError: no such column, or not one of numbers; a maximum that is none.
    """
    form = decode(stated, SurveyWeight, location)
    axis = frame.axis(form.column, location.key("column"))
    most = number(form.maximum, location.key("maximum"))
    if not 0 < most <= MAX_WEIGHT:
        raise location.key("maximum").fault(f"must be above 0 and at most {MAX_WEIGHT}")
    attribute, bins = numbers(axis, location.key("column"), frame)
    values = [min(max(bins.midpoint(index), Fraction(0)), most) for index in range(bins.size)]
    grid = coarsest_grid(values)
    if not grid:
        raise location.key("column").fault("every cell of this column has the weight 0; use more bins")
    row = np.zeros((1, attribute.size), dtype=np.int64)  # own cells weigh nothing
    row[0, : bins.size] = [int(value / grid) for value in values]
    factor = Factor(axes=(axis,), sizes=(attribute.size,), matrix=Dense(row))
    return Weighing(column=attribute.name, factor=factor, grid=grid, largest=max(values), error=binning_error(bins))


def weighed(compiled: Compiled, entry: Entry, frame: Frame) -> Compiled:
    """An entry whose records count with their weights, where it states one: blocks, figures, and what a plan says."""
    if not isinstance(entry.weight, dict):
        return compiled
    location = frame.location.key("weight")
    found = weighing(entry.weight, frame, location)
    for block in compiled.blocks:
        if set(found.factor.axes) & set(block.axes):
            raise location.key("column").fault(
                f"{found.column!r} weighs the records, and the entry asks about it; ask about other columns, or leave "
                "the weight out"
            )
        if block.rowwise:
            raise location.fault("random conjunctions and rectangles cannot be weighted; use where")
    most = decimal_text(number(entry.weight["maximum"], location))
    ending = "" if entry.name is not UNSET else f" weighted by {found.column} up to {most}"
    error = compiled.binning_error
    return replace(
        compiled,
        blocks=tuple(found.of(block, ending) for block in compiled.blocks),
        figures=tuple(_figure(figure, found, ending) for figure in compiled.figures),
        binning_error=None if error is None else error * found.largest,
        notes=(*(f"{note}, times its weight" for note in compiled.notes), *_notes(found)),
    )


def _figure(figure: Figure, found: Weighing, ending: str) -> Figure:
    return replace(
        figure,
        name=f"{figure.name}{ending}",
        blocks=tuple(f"{name}{ending}" for name in figure.blocks),
        tested=None if figure.tested is None else found.of(figure.tested, ending),
    )


def _notes(found: Weighing) -> tuple[str, ...]:
    """What midpoints do to weights."""
    words = f"weights of {found.column!r} are midpoints of its bins, off by at most"
    return (f"{words} {decimal_text(found.error)}",) if found.error else ()
