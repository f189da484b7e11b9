"""Sums: every record counts with the public midpoint of its bin.

**Privacy**: the midpoints, and so the largest value one record can add, come from the declared edges alone.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dpqr.data.attribute import Bins
from dpqr.io.documents.entries.frame import Compiled, Frame, called
from dpqr.io.documents.entries.rows import coarsest_grid
from dpqr.io.documents.query_form import SumEntry
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense

LARGEST = 2**62
"""Integer coefficients stay below this, so that they fit 64 bits."""


def compile_sum(entry: SumEntry, frame: Frame) -> Compiled:
    """One row a combination of `by` cells, on the coarsest grid that all midpoints share; own cells count 0."""
    place = frame.place.key("sum")
    axis = frame.axis(entry.sum, place)
    attribute, bins = frame.ordered(axis, place)
    if bins.kind != "number":
        raise place.fault(f"column {entry.sum!r} holds a {bins.kind}, which has no sum; only numbers have")
    values = [bins.midpoint(index) for index in range(bins.size)]
    grid = coarsest_grid(values)
    if not grid:
        raise place.fault("every bin has the midpoint 0, so the sum is always 0; use more bins")
    whole = [int(value / grid) for value in values]
    if max(map(abs, whole)) >= LARGEST:
        raise place.fault("the midpoints share no grid that fits 64 bits; give rounder edges")
    row = np.array([*whole, *[0] * (attribute.size - bins.size)], dtype=np.int64)
    factor = Factor(axes=(axis,), sizes=(attribute.size,), matrix=Dense(row[None, :]))
    name = called(f"sum({attribute.name})", entry.by)
    block = QueryBlock(name=name, factors=(*frame.by(entry.by, (axis,)), factor), scale=grid)
    error = binning_error(bins)
    note = (
        f"counts each record with its bin's midpoint: an error of at most {bins.mark(error)} a record within the bounds"
    )
    return Compiled(blocks=(block,), notes=(note,) if error else (), binning_error=error)


def binning_error(bins: Bins) -> Fraction:
    """Half the widest bin: how far a value within the bounds can lie from the midpoint that stands for it."""
    return max((high - low) / 2 for low, high in map(bins.bounds, range(bins.size)))
