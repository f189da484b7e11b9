"""Prefixes: the cumulative counts of an ordered column."""

from __future__ import annotations

from dpqr.data.attribute import Bins
from dpqr.io.documents.entries.frame import Compiled, Frame, called
from dpqr.io.documents.query_form import PrefixEntry
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Prefix


def compile_prefix(entry: PrefixEntry, frame: Frame) -> Compiled:
    """One row a declared bin; own cells have no place in the order and are counted by no row."""
    place = frame.place.key("prefix")
    axis = frame.axis(entry.prefix, place)
    attribute, bins = frame.ordered(axis, place)
    matrix = Prefix(bins.size, attribute.size - bins.size)
    labels = tuple(_up_to(bins, index) for index in range(bins.size))
    factor = Factor(axes=(axis,), sizes=(attribute.size,), matrix=matrix, labels=labels)
    name = called(f"prefix({attribute.name})", entry.by)
    return Compiled(blocks=(QueryBlock(name=name, factors=(*frame.by(entry.by, (axis,)), factor)),))


def _up_to(bins: Bins, index: int) -> str:
    high = bins.bounds(index)[1]
    owned = bins.integral or bins.closed == "right" or index == bins.size - 1
    return f"{'<=' if owned else '<'} {bins.mark(high)}"
