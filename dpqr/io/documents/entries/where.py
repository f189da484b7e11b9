"""Predicates as query blocks: a Kronecker product of one-row factors, one for each group of tied columns.

Columns are tied by `or`, by `not` and by being repeated; a group is one factor over all its cells. A `by` column that
the predicate names joins its group: the factor then has one row for each of its cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import Axes, IntArray
from dpqr.io.documents.entries.entry import Compiled, Frame, called, integer_matrix
from dpqr.io.documents.entries.forms import MAX_WORK, WhereEntry
from dpqr.io.documents.predicates.cells import Mask, evaluate
from dpqr.io.documents.predicates.names import parse_over
from dpqr.io.documents.predicates.tree import And, Node, columns, comparisons, conjuncts
from dpqr.io.documents.text.decoding import Location
from dpqr.workload.block import Factor, QueryBlock

MAX_GROUP_CELLS = 2**22
"""Cells of one group of columns that a predicate ties together."""


@dataclass(frozen=True, slots=True)
class Predicated:
    """A predicate's conjuncts by the group of columns, in domain order, that they are tied to. work: cells that its
    comparisons look at."""

    groups: dict[Axes, list[Node]]
    work: int


def predicated(text: str, frame: Frame, key: str = "where") -> Predicated:
    """The predicate of an entry, at this key. DocumentError where it cannot be read, or would take minutes."""
    location = frame.location.key(key)
    predicate = parse_over(frame.domain, text, location)
    return Predicated(_groups(predicate, frame, location), _work(predicate, frame, location))


def compile_where(entry: WhereEntry, frame: Frame) -> Compiled:
    """One block: a row for every combination of `by` cells for which the predicate can be true."""
    by = frame.axes(entry.by, frame.location.key("by"))
    asked = predicated(entry.where, frame)
    spoken = {axis for group in asked.groups for axis in group}
    plain = frame.identities(tuple(axis for axis in by if axis not in spoken))
    groups = [_group_factor(group, nodes, by, frame) for group, nodes in asked.groups.items()]
    rank = {axis: position for position, axis in enumerate(by)}
    factors = sorted((*plain, *groups), key=lambda factor: min(rank.get(axis, len(by)) for axis in factor.axes))
    name = called(f"where({' '.join(entry.where.split())})", entry.by)
    return Compiled(blocks=(QueryBlock(name=name, factors=tuple(factors)),), work=asked.work)


def _work(predicate: Node, frame: Frame, location: Location) -> int:
    """Refuses a predicate that would keep the machine busy for minutes."""
    cells = {name: frame.domain.attributes[frame.axis(name, location)].size for name in columns(predicate)}
    work = sum(cells[leaf.column] for leaf in comparisons(predicate))
    if work > MAX_WORK:
        raise location.fault(f"its comparisons look at {work} cells, more than {MAX_WORK}; shorten it, or merge cells")
    return work


def _groups(node: Node, frame: Frame, location: Location) -> dict[Axes, list[Node]]:
    """The conjuncts by the group of columns, in domain order, that they are tied to."""
    groups: list[tuple[set[int], list[Node]]] = []
    for part in conjuncts(node):
        axes = {frame.axis(name, location) for name in columns(part)}
        nodes = [part]
        for group in [group for group in groups if group[0] & axes]:
            groups.remove(group)
            axes, nodes = axes | group[0], group[1] + nodes
        groups.append((axes, nodes))
    return {tuple(sorted(axes)): nodes for axes, nodes in groups}


def _group_factor(group: Axes, nodes: Sequence[Node], by: Axes, frame: Frame) -> Factor:
    said = group, tuple(nodes), tuple(axis for axis in group if axis in by)
    if said not in frame.known:
        frame.known[said] = _made(group, nodes, by, frame)
    return frame.known[said]


def predicate_mask(group: Axes, nodes: Sequence[Node], frame: Frame, location: Location) -> Mask:
    """Where all conjuncts are true: an axis for each column of the group. DocumentError: in no cell."""
    sizes = tuple(frame.domain.attributes[axis].size for axis in group)
    if math.prod(sizes) > MAX_GROUP_CELLS:
        names = ", ".join(repr(frame.domain.attributes[axis].name) for axis in group)
        raise location.fault(
            f"ties {names} together by or, not or by: {math.prod(sizes)} cells, more than {MAX_GROUP_CELLS}; "
            "split it into entries of fewer columns"
        )
    if not nodes:
        return np.ones(sizes, dtype=np.bool_)
    mask = np.broadcast_to(evaluate(And(tuple(nodes)), frame.domain, group, location).true, sizes)
    if not mask.any():
        raise location.fault("is true for no cell of the domain, so its answer is always 0; correct it or leave it out")
    return mask


def _made(group: Axes, nodes: Sequence[Node], by: Axes, frame: Frame) -> Factor:
    mask = predicate_mask(group, nodes, frame, frame.location.key("where"))
    kept = [position for position, axis in enumerate(group) if axis in by]
    rows, labels = _rows(mask, kept, tuple(frame.domain.attributes[group[position]].name for position in kept), frame)
    cells = np.flatnonzero(mask)
    matrix = integer_matrix(rows, cells, np.ones(len(cells), dtype=np.int64), (max(len(labels), 1), mask.size))
    return Factor(axes=group, sizes=mask.shape, matrix=matrix, labels=labels)


def _rows(mask: Mask, kept: Sequence[int], names: Sequence[str], frame: Frame) -> tuple[IntArray, tuple[str, ...]]:
    """For every true cell (C order) the row that counts it, and what the rows are called."""
    codes = np.nonzero(mask)
    if not kept:
        return np.zeros(len(codes[0]), dtype=np.int64), ()
    sizes = tuple(mask.shape[position] for position in kept)
    distinct, rows = np.unique(np.ravel_multi_index(tuple(codes[p] for p in kept), sizes), return_inverse=True)
    titles = [frame.domain.attributes[frame.domain.axis(name)].titles() for name in names]
    picks = zip(*(column.tolist() for column in np.unravel_index(distinct, sizes)), strict=True)
    labels = (", ".join(f"{n}={t[c]}" for n, t, c in zip(names, titles, pick, strict=True)) for pick in picks)
    return rows, tuple(labels)
