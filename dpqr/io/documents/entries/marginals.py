"""Entries of marginals: one, listed ones, or all of some number of columns."""

from __future__ import annotations

import math
from itertools import combinations

from msgspec import UNSET

from dpqr.data.arrays import Axes
from dpqr.io.documents.entries.entry import Compiled, Frame
from dpqr.io.documents.entries.forms import MAX_BLOCKS, MarginalEntry, MarginalsEntry, Ways, WhereEntry
from dpqr.io.documents.entries.where import compile_where
from dpqr.workload.block import QueryBlock


def compile_marginal(entry: MarginalEntry, frame: Frame) -> Compiled:
    """One marginal; of no columns: the number of records. With a predicate it is a `where` by these columns."""
    if entry.where is not UNSET:
        return compile_where(WhereEntry(where=entry.where, by=entry.marginal), frame)
    axes = frame.axes(entry.marginal, frame.location.key("marginal"))
    block = _block(frame, axes)
    return Compiled(blocks=(block,))


def compile_marginals(entry: MarginalsEntry, frame: Frame) -> Compiled:
    """Listed marginals, or every combination of `ways` columns; a given name is put before each block's own."""
    location = frame.location.key("marginals")
    if isinstance(entry.marginals, Ways):
        chosen = _combinations(entry.marginals, frame)
    else:
        chosen = [frame.axes(names, location.item(index)) for index, names in enumerate(entry.marginals)]
    prefix = "" if entry.name is UNSET else f"{entry.name} "
    return Compiled(blocks=tuple(_block(frame, axes, prefix) for axes in chosen))


def _combinations(wanted: Ways, frame: Frame) -> list[Axes]:
    location = frame.location.key("marginals")
    names = frame.domain.names if wanted.columns is UNSET else wanted.columns
    axes = frame.axes(names, location.key("columns"))
    if wanted.ways > len(axes):
        raise location.key("ways").fault(
            f"{wanted.ways} columns cannot be chosen from {len(axes)}; give at most {len(axes)}"
        )
    count = math.comb(len(axes), wanted.ways)
    if count > MAX_BLOCKS:
        raise location.key("ways").fault(f"makes {count} marginals, more than {MAX_BLOCKS}; list fewer columns")
    return list(combinations(axes, wanted.ways))


def _block(frame: Frame, axes: Axes, prefix: str = "") -> QueryBlock:
    names = ",".join(frame.domain.attributes[axis].name for axis in axes)
    return QueryBlock(name=f"{prefix}marginal({names})" if axes else f"{prefix}total", factors=frame.identities(axes))
