"""BoxIndex: many boxes (conjunctions of comparisons) sorted into a tree by their comparisons.

Queries on the same attributes share a node, those that also make the same first comparison a child of it, and so on
down to identical queries. A node's queries are contiguous in the sorted order. Public: a function of the workload.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, IntArray
from dpqr.workload.block import QueryBlock
from dpqr.workload.ranges import Ends
from dpqr.workload.related_blocks import stack_blocks

LARGEST_TABLE = 2**20
"""Cells of the table that answers all queries."""

FIRST, NODES = 2**18, 2**15
"""Limits on the sums and nodes of the level of a family that is bounded before any selection."""


class IndexLevel(Struct, frozen=True, kw_only=True, eq=False):
    """Nodes that fix the same number of comparisons.

    first: position of every node's first query in the sorted order, then the number of queries, shape (nodes + 1,).
    kinds: index of the interval that the node fixes last, shape (nodes,); at the top the group of attributes.
    down: children of node i are the nodes down[i] .. down[i + 1] - 1 of the next level, shape (nodes + 1,); empty on
    the last level.
    """

    first: IntArray
    kinds: IntArray
    down: IntArray

    @property
    def nodes(self) -> int:
        return len(self.kinds)


class Family(Struct, frozen=True, kw_only=True, eq=False):
    """Boxes on groups of attributes of equal sizes.

    sizes: cells of a group's attributes. cells: indices of each group's cells in the flat table of `with_totals`, shape
    (groups, prod(sizes)). intervals: the distinct comparisons along each attribute. levels: one more than attributes;
    a node of the last one holds identical queries.
    codes: group and comparisons of every query as one integer, ascending. order: their numbers among the candidates.
    """

    sizes: tuple[int, ...]
    cells: IntArray
    intervals: tuple[Ends, ...]
    levels: tuple[IndexLevel, ...]
    codes: IntArray
    order: IntArray

    @property
    def start(self) -> int:
        """The level whose nodes are bounded before any selection: the lowest one within FIRST sums and NODES nodes."""
        widths = [level.nodes * math.prod(self.sizes[depth:]) for depth, level in enumerate(self.levels)]
        room = max(widths[0], FIRST)
        small = [depth for depth, width in enumerate(widths) if width <= room and self.levels[depth].nodes <= NODES]
        return max(small, default=0)

    def picks(self, places: IntArray) -> list[IntArray]:
        """Return, for queries by their position in the sorted order, the group and the interval of each attribute."""
        found, rest = [], self.codes[places]
        for starts, _ in self.intervals[::-1]:
            rest, pick = np.divmod(rest, len(starts))
            found.append(pick)
        return [rest, *found[::-1]]


class BoxIndex(Struct, frozen=True, kw_only=True, eq=False):
    """axes, sizes: of the table that answers all queries. families: together they hold every candidate once."""

    axes: Axes
    sizes: tuple[int, ...]
    families: tuple[Family, ...]

    @property
    def queries(self) -> int:
        return sum(len(family.codes) for family in self.families)


def box_index(blocks: Sequence[QueryBlock]) -> BoxIndex | None:
    """Index the queries of `blocks`.

    Returns:
        None if some query is no box, or if the table or the groups' tables have more cells than there are queries: a
        search would then save nothing.

    >>> from dpqr.workload.block import Factor
    >>> from dpqr.workload.ranges import Ranges
    >>> ranges = Ranges(np.array([0, 0, 0, 1, 1, 2]), np.array([1, 2, 3, 2, 3, 3]), 3)
    >>> index = box_index([QueryBlock(name="ages", factors=(Factor(axes=(0,), sizes=(3,), matrix=ranges),))])
    >>> index.queries, [family.start for family in index.families]
    (6, [1])
    """
    arranged = stack_blocks(tuple(blocks))
    sizes = {
        axis: size
        for block in arranged.blocks
        for f in block.factors
        for axis, size in zip(f.axes, f.sizes, strict=True)
    }
    axes = tuple(sorted(sizes))
    queries = sum(block.rows for block in arranged.blocks)
    shape = tuple(sizes[axis] for axis in axes)
    if math.prod(shape) > min(LARGEST_TABLE, queries):
        return None
    for block in arranged.blocks:
        single = block.rowwise or len(block.factors) <= 1
        if not single or block.ends is None or any(len(factor.axes) != 1 for factor in block.factors):
            return None
    numbers = np.arange(queries) if arranged.order is None else np.argsort(arranged.order)
    ends = np.cumsum([0, *(block.rows for block in arranged.blocks)])
    alike: dict[tuple[int, ...], list[tuple[QueryBlock, IntArray]]] = {}
    for block, (start, stop) in zip(arranged.blocks, pairwise(ends.tolist()), strict=True):
        key = tuple(factor.matrix.cells for factor in block.factors)
        alike.setdefault(key, []).append((block, numbers[start:stop]))
    families = [_family(key, members, axes, shape) for key, members in alike.items()]
    known = tuple(family for family in families if family is not None)
    if len(known) < len(families) or 2 * sum(family.cells.size for family in known) > queries:
        return None
    return BoxIndex(axes=axes, sizes=shape, families=known)


def _family(
    sizes: tuple[int, ...], members: list[tuple[QueryBlock, IntArray]], axes: Axes, shape: tuple[int, ...]
) -> Family | None:
    groups = sorted({block.axes for block, _ in members})
    named = {group: place for place, group in enumerate(groups)}
    codes = np.repeat([named[block.axes] for block, _ in members], [len(own) for _, own in members])
    every = [block.ends or () for block, _ in members]
    intervals: list[Ends] = []
    for place, size in enumerate(sizes):
        starts, stops = (np.concatenate([ends[place][side] for ends in every]) for side in (0, 1))
        distinct, picks = np.unique(starts * (size + 1) + stops, return_inverse=True)
        intervals.append((distinct // (size + 1), distinct % (size + 1)))
        codes = codes * len(distinct) + picks
    kinds = [len(starts) for starts, _ in intervals]
    if len(groups) * math.prod(kinds) >= 2**62:
        return None
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    # Cut the ascending codes wherever the comparisons fixed so far change.
    firsts, levels = [], []
    for depth in range(len(kinds) + 1):
        prefixes = codes // math.prod(kinds[depth:])
        firsts.append(np.append(np.flatnonzero(np.diff(prefixes, prepend=-1)), len(codes)))
    for depth, first in enumerate(firsts):
        fixed = codes[first[:-1]] // math.prod(kinds[depth:])
        last = depth == len(kinds)
        down = np.zeros(0, dtype=np.int64) if last else np.searchsorted(firsts[depth + 1], first)
        levels.append(IndexLevel(first=first, kinds=fixed % kinds[depth - 1] if depth else fixed, down=down))
    # Flat indices in a table of that shape: 0 along every attribute outside the group.
    strides = [math.prod(shape[place + 1 :]) for place in range(len(shape))]
    own = np.array([[strides[axes.index(axis)] for axis in group] for group in groups], dtype=np.int64)
    cells = np.zeros((len(groups), 1), dtype=np.int64)
    for position, size in enumerate(sizes):
        steps = own[:, position, None] * np.arange(size)
        cells = (cells[:, :, None] + steps[:, None, :]).reshape(len(groups), -1)
    return Family(
        sizes=sizes,
        cells=cells,
        intervals=tuple(intervals),
        levels=tuple(levels),
        codes=codes,
        order=np.concatenate([rows for _, rows in members])[order],
    )
