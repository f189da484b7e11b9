"""Elimination: marginals of attributes that no single clique holds, through the smallest separators of the tree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.hypotheses.factored.junction_tree import JunctionTree, by_size


@dataclass(slots=True, eq=False)
class RecentTables:
    """A cache of tables of at most `room` cells together; the least recently used are dropped."""

    room: int
    _tables: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)
    _held: int = 0

    def get(self, axes: Axes, make: Callable[[], FloatArray]) -> FloatArray:
        """Return the table of these axes, from the cache or computed by `make`."""
        table = self._tables.pop(axes, None)
        if table is None:
            table = make()
            self._held += table.size
        self._tables[axes] = table
        while self._held > self.room:
            self._held -= self._tables.pop(next(iter(self._tables))).size
        return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """Given `shared`, the attributes of `below` are independent of those of `above` (running intersection).

    shared: the separator of an edge, empty between components. below, above: the other wanted attributes in their
    order; neither is empty.
    """

    shared: Axes
    below: Axes
    above: Axes


@dataclass(frozen=True, slots=True, eq=False)
class Separations:
    """The separations of a tree; sets of attributes are bit masks."""

    tree: JunctionTree
    _shared: tuple[int, ...] = field(init=False, repr=False)
    _cells: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        separators = [clique.separator for clique in self.tree.cliques]
        cells = (math.prod(self.tree.shape[axis] for axis in axes) for axes in separators)
        object.__setattr__(self, "_shared", tuple(sum(1 << axis for axis in axes) for axes in separators))
        object.__setattr__(self, "_cells", tuple(cells))

    def between(self, wanted: Axes) -> Separation:
        """Return, of all edges that separate the wanted attributes, one whose separator has fewest cells.

        Of equal ones it is the edge with most even sides, so that long chains are halved.

        Args:
            wanted: attributes that no clique holds together.
        """
        parting, lower = self._parting(wanted), Counter[int]()
        for index in sorted(parting, reverse=True):
            lower[index] += 1
            parent = self.tree.cliques[index].parent
            if parent is not None:
                lower[parent] += lower[index]
        half = len(parting) / 2
        index = min(parting, key=lambda one: (self._cells[one], abs(lower[one] - half), one))
        below, beside = parting[index], parting[index] | self._shared[index]
        return Separation(
            shared=self.tree.cliques[index].separator,
            below=tuple(axis for axis in wanted if below >> axis & 1),
            above=tuple(axis for axis in wanted if not beside >> axis & 1),
        )

    def _parting(self, wanted: Axes) -> dict[int, int]:
        """Return the cliques whose edge to the parent separates the wanted attributes, each with those below it.

        A root's edge leads to all other components.
        """
        every, below = 0, Counter[int]()
        for axis in wanted:
            every |= 1 << axis
            index: int | None = self.tree.entrances[axis]
            while index is not None:
                below[index] |= 1 << axis
                index = self.tree.cliques[index].parent
        return {index: axes for index, axes in below.items() if every & ~(axes | self._shared[index])}


LEAST_ROOM = 2**19
"""Least limit on intermediate tables, in cells (4 MiB)."""

Cut = Mapping[int, slice]
"""Attributes that are restricted to some values, and these values."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Elimination:
    """Variable elimination on a calibrated tree, through its smallest separators first.

    beliefs: every clique's probabilities, consistent on the separators.
    room: limit on the cells of an intermediate table, and of the cache; 0: the cells of the model. A wider table is
    computed for some values of a wanted attribute at a time.

    P(a, b) = sum over s of P(a, s) P(b, s) / P(s) for a separator s between a and b. Both factors are marginals again,
    computed in the same way until a clique holds them, and cached for other marginals. Messages from clique to clique
    would pass through wide separators too.
    """

    tree: JunctionTree
    beliefs: tuple[FloatArray, ...]
    room: int = 0
    _separations: Separations = field(init=False, repr=False)
    _kept: RecentTables = field(init=False, repr=False)

    def __post_init__(self) -> None:
        room = self.room or max(LEAST_ROOM, self.tree.cells)
        object.__setattr__(self, "room", room)
        object.__setattr__(self, "_separations", Separations(self.tree))
        object.__setattr__(self, "_kept", RecentTables(room))

    def joint(self, axes: Axes) -> FloatArray:
        """Return the probabilities of `axes` together, shape = their sizes in that order."""
        ordered = by_size(self.tree.shape, axes)
        table = self._joint(ordered, {})
        return np.asarray(table.transpose([ordered.index(axis) for axis in axes]), order="C")

    def _joint(self, wanted: Axes, cut: Cut) -> FloatArray:
        """Return the table of `wanted`, which ascend by size."""
        home = self.tree.home(wanted)
        if home is not None:
            return _summed(self.beliefs[home], self.tree.cliques[home].axes, wanted, cut)
        parted = self._separations.between(wanted)
        sides = [by_size(self.tree.shape, (*parted.shared, *side)) for side in (parted.below, parted.above)]
        for side in sides:
            parts = self._parts(side, wanted, cut)
            if parts:
                axis = next(iter(parts[0]))
                return np.concatenate([self._joint(wanted, {**cut, **part}) for part in parts], wanted.index(axis))
        lower, upper = (self._cached(side, cut) for side in sides)
        weights = self._cached(parted.shared, cut)
        given = lower / np.where(weights > 0, weights, 1.0).reshape(_along(parted.shared, weights, sides[0]))
        table, axes = contracted(given, sides[0], upper, sides[1], wanted)
        return table.transpose([axes.index(axis) for axis in wanted])

    def _parts(self, side: Axes, wanted: Axes, cut: Cut) -> list[Cut]:
        """Return ranges of values of the side's largest wanted attribute whose tables have room; [] if all have."""
        room, cells = max(self.room, self._cells(wanted, cut)), self._cells(side, cut)
        axis = max(set(side).intersection(wanted), key=lambda one: (self._extent(one, cut), one))
        extent = self._extent(axis, cut)
        if cells <= room or extent == 1:
            return []
        first, each = cut.get(axis, slice(0, extent)).start, max(1, extent * room // cells)
        return [{axis: slice(first + at, first + min(at + each, extent))} for at in range(0, extent, each)]

    def _extent(self, axis: int, cut: Cut) -> int:
        return cut[axis].stop - cut[axis].start if axis in cut else self.tree.shape[axis]

    def _cells(self, axes: Axes, cut: Cut) -> int:
        return math.prod(self._extent(axis, cut) for axis in axes)

    def _cached(self, axes: Axes, cut: Cut) -> FloatArray:
        """Return an intermediate table, from the cache unless it is cut."""
        if not cut.keys().isdisjoint(axes):
            return self._joint(axes, {axis: cut[axis] for axis in axes if axis in cut})
        return self._kept.get(axes, lambda: self._joint(axes, {}))


def contracted(
    left: FloatArray, left_axes: Axes, right: FloatArray, right_axes: Axes, keep: Iterable[int]
) -> tuple[FloatArray, Axes]:
    """Multiply two tables and sum over shared axes that are not in `keep`; returns the table and its axes.

    One batched matrix product: shared axes that stay are the batch, shared ones that go are summed over.

    Args:
        left, right: tables, one axis for each of `left_axes`, `right_axes`.
        keep: attributes that stay where both tables have them; those of one table alone stay in any case.

    Returns:
        The table, and the attribute of each of its axes.
    """
    kept = set(keep)
    shared = [axis for axis in left_axes if axis in right_axes]
    batch = tuple(axis for axis in shared if axis in kept)
    gone = tuple(axis for axis in shared if axis not in kept)
    lone = tuple(axis for axis in left_axes if axis not in shared)
    mine = tuple(axis for axis in right_axes if axis not in shared)
    first = _matrices(left, left_axes, batch, lone, gone)
    second = _matrices(right, right_axes, batch, gone, mine)
    sizes = dict(zip((*left_axes, *right_axes), (*left.shape, *right.shape), strict=True))
    axes = (*batch, *lone, *mine)
    return (first @ second).reshape([sizes[axis] for axis in axes]), axes


def _matrices(table: FloatArray, axes: Axes, *groups: Axes) -> FloatArray:
    """Flatten three groups of axes to three dimensions."""
    order = [axes.index(axis) for group in groups for axis in group]
    sizes = [math.prod(table.shape[axes.index(axis)] for axis in group) for group in groups]
    return table.transpose(order).reshape(sizes)


def _along(axes: Axes, table: FloatArray, others: Axes) -> list[int]:
    """Return the shape in which a table over some of the axes broadcasts along all of them; both ascend by size."""
    sizes = dict(zip(axes, table.shape, strict=True))
    return [sizes.get(axis, 1) for axis in others]


def _summed(table: FloatArray, axes: Axes, keep: Axes, cut: Cut) -> FloatArray:
    """Sum a table down to `keep`, in the table's order, at the values of the cut."""
    gone = tuple(place for place, axis in enumerate(axes) if axis not in keep)
    part = table[tuple(cut.get(axis, slice(None)) for axis in axes)]
    summed: FloatArray = part.sum(axis=gone) if gone else part
    return summed
