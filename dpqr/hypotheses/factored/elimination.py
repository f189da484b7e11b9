"""Elimination: marginals of attributes that no single clique holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.hypotheses.factored.junction_tree import JunctionTree, by_size

LARGEST_TABLE = 2**24
"""Cells of the largest table on the way (128 MiB); a marginal that would need more is made slice by slice."""

KEPT_CELLS = 2**23
"""Cells of all messages that are kept for the next marginal (64 MiB)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The part of a tree that some wanted attributes need.

    below: for each clique on the way, the wanted attributes that enter the tree (seen from the root) at it or
    further down. heirs: its children on the way. fixed: attributes that stand for one value each, and these values.
    """

    wanted: Axes
    below: Mapping[int, Axes]
    heirs: Mapping[int, tuple[int, ...]]
    fixed: Mapping[int, int]

    @classmethod
    def through(cls, tree: JunctionTree, wanted: Axes, fixed: Mapping[int, int]) -> Route:
        below: dict[int, Axes] = {}
        for axis in wanted:
            index: int | None = tree.entrances[axis]
            while index is not None:
                below[index] = (*below.get(index, ()), axis)
                index = tree.cliques[index].parent
        heirs: dict[int, tuple[int, ...]] = {}
        for index in sorted(below):
            parent = tree.cliques[index].parent
            if parent is not None:
                heirs[parent] = (*heirs.get(parent, ()), index)
        return cls(wanted=wanted, below=below, heirs=heirs, fixed=fixed)

    def heads(self, tree: JunctionTree) -> list[int]:
        """In each component the lowest clique that has all of its wanted attributes at or below it."""
        found = []
        for root in (index for index in sorted(self.below) if tree.cliques[index].parent is None):
            head = root
            while (heirs := self.heirs.get(head)) and len(self.below[heirs[0]]) == len(self.below[head]):
                head = heirs[0]
            found.append(head)
        return found

    def size(self, tree: JunctionTree, axes: Iterable[int]) -> int:
        return math.prod(1 if axis in self.fixed else tree.shape[axis] for axis in axes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Elimination:
    """Variable elimination on a calibrated tree, along its own edges.

    beliefs: every clique's probabilities, consistent on the separators.
    largest: cells a table may have; above it the wanted attribute of most cells is fixed to each of its values in
    turn, so that memory is bounded and only time is lost.

    A clique's message for the wanted attributes below it is their conditional distribution given the separator. It
    does not depend on what else is wanted, so marginals that share an attribute share it.
    """

    tree: JunctionTree
    beliefs: tuple[FloatArray, ...]
    largest: int = LARGEST_TABLE
    _kept: dict[tuple[int, Axes], FloatArray] = field(default_factory=dict, repr=False)

    def joint(self, axes: Axes) -> FloatArray:
        """Probabilities of `axes` together, shape = their sizes in that order."""
        ordered = by_size(self.tree.shape, axes)
        home = self.tree.home(axes)
        if home is None:
            table = self._sliced(ordered, {})
        else:
            table = _cut(self.beliefs[home], self.tree.cliques[home].axes, ordered, {})
        return np.asarray(table.transpose([ordered.index(axis) for axis in axes]), order="C")

    def _sliced(self, wanted: Axes, fixed: Mapping[int, int]) -> FloatArray:
        """The joint table of `wanted`; a fixed attribute keeps an axis of length 1."""
        route = Route.through(self.tree, wanted, fixed)
        free = [axis for axis in wanted if axis not in fixed]
        if free and self._widest(route) > self.largest:
            last = free[-1]
            slices = [self._sliced(wanted, {**fixed, last: value}) for value in range(self.tree.shape[last])]
            return np.concatenate(slices, axis=wanted.index(last))
        found: FloatArray = np.ones(())
        axes: Axes = ()
        for head in route.heads(self.tree):
            found = np.multiply.outer(found, self._table(head, route, keep=()))
            axes = (*axes, *route.below[head])
        return found.transpose([axes.index(axis) for axis in wanted])

    def _widest(self, route: Route) -> int:
        """Cells of the largest table that carries wanted attributes from clique to clique."""
        cliques = self.tree.cliques
        return max(route.size(self.tree, {*cliques[index].separator, *axes}) for index, axes in route.below.items())

    def _table(self, index: int, route: Route, keep: Axes) -> FloatArray:
        """Joint probabilities of `keep` (the separator, or nothing) and then the wanted, summed over all else."""
        clique, wanted, heirs = self.tree.cliques[index], route.below[index], route.heirs.get(index, ())
        shared = [self.tree.cliques[heir].separator for heir in heirs]
        needed = {*keep, *wanted}.union(*shared)
        axes = tuple(axis for axis in clique.axes if axis in needed)
        table = _cut(self.beliefs[index], clique.axes, axes, route.fixed)
        for place, heir in enumerate(heirs):
            told = self._message(heir, route)
            later = {*keep, *wanted}.union(*shared[place + 1 :])
            table, axes = contracted(table, axes, told, (*shared[place], *route.below[heir]), later)
        return table.transpose([axes.index(axis) for axis in (*keep, *wanted)])

    def _message(self, index: int, route: Route) -> FloatArray:
        """Probabilities of the wanted at and below a clique, given its separator, whose axes come first."""
        clique, wanted = self.tree.cliques[index], route.below[index]
        if not route.fixed and (index, wanted) in self._kept:
            return self._kept[index, wanted]
        joint = self._table(index, route, keep=clique.separator)
        weights = _cut(self.beliefs[index], clique.axes, clique.separator, route.fixed)
        told: FloatArray = joint / np.where(weights > 0, weights, 1.0).reshape(weights.shape + (1,) * len(wanted))
        if not route.fixed and told.size + sum(kept.size for kept in self._kept.values()) <= KEPT_CELLS:
            self._kept[index, wanted] = told
        return told


def contracted(
    left: FloatArray, left_axes: Axes, right: FloatArray, right_axes: Axes, keep: Iterable[int]
) -> tuple[FloatArray, Axes]:
    """The product of two tables, summed over shared axes that are not in `keep`; and its axes.

    One batched matrix product: shared axes that stay are the batch, shared ones that go are summed over.
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
    """The table with three groups of axes flattened to three dimensions."""
    order = [axes.index(axis) for group in groups for axis in group]
    sizes = [math.prod(table.shape[axes.index(axis)] for axis in group) for group in groups]
    return table.transpose(order).reshape(sizes)


def _cut(table: FloatArray, axes: Axes, keep: Axes, fixed: Mapping[int, int]) -> FloatArray:
    """The sum down to `keep`, in the table's order; a fixed attribute that is kept is cut to its value."""
    values = [fixed.get(axis) if axis in keep else None for axis in axes]
    cut = tuple(slice(None) if value is None else slice(value, value + 1) for value in values)
    gone = tuple(place for place, axis in enumerate(axes) if axis not in keep)
    summed: FloatArray = table[cut].sum(axis=gone) if gone else table[cut]
    return summed
