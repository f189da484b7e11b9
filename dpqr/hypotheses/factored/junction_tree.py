"""JunctionTree: cliques of attributes, linked so that whatever two of them share lies on the whole path between."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from dpqr.data.arrays import Axes
from dpqr.hypotheses.factored.triangulation import cells, maximal_cliques


@dataclass(frozen=True, slots=True, kw_only=True)
class Clique:
    """axes: ascending by size, then position: sums over the long ones run through memory in a row.

    parent: its index, smaller than this clique's own; None at the root of a component. separator: the axes that both
    hold, in the same order; empty at a root.
    """

    axes: Axes
    parent: int | None
    separator: Axes

    @property
    def dropped(self) -> Axes:
        """Positions of the axes that the parent has not."""
        return tuple(place for place, axis in enumerate(self.axes) if axis not in self.separator)


@dataclass(frozen=True, slots=True, kw_only=True)
class JunctionTree:
    """Every attribute of `shape` is in some clique. A forest where the groups fall apart: components are independent.

    shape: sizes of all attributes. cliques: parents before their children. entrances: for every attribute the first
    clique that has it; all others that have it lie below that one.
    """

    shape: tuple[int, ...]
    cliques: tuple[Clique, ...]
    entrances: tuple[int, ...] = field(init=False, repr=False)
    _holders: tuple[frozenset[int], ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        holders: list[set[int]] = [set() for _ in self.shape]
        for index, clique in enumerate(self.cliques):
            for axis in clique.axes:
                holders[axis].add(index)
        object.__setattr__(self, "entrances", tuple(min(cliques) for cliques in holders))
        object.__setattr__(self, "_holders", tuple(map(frozenset, holders)))

    @classmethod
    def over(cls, shape: tuple[int, ...], groups: Iterable[Axes]) -> JunctionTree:
        """A small tree in which every group lies within one clique; attributes of no group stand alone."""
        cliques = maximal_cliques(shape, groups)
        return cls(shape=shape, cliques=_linked(shape, cliques))

    @property
    def cells(self) -> int:
        """Cells of all tables."""
        return cells(self.shape, (clique.axes for clique in self.cliques))

    def sizes(self, clique: Clique) -> tuple[int, ...]:
        """Shape of the clique's table."""
        return tuple(self.shape[axis] for axis in clique.axes)

    def home(self, group: Iterable[int]) -> int | None:
        """The smallest clique that holds all of `group`; None if none does."""
        wanted = [self._holders[axis] for axis in group]
        holding = wanted[0].intersection(*wanted[1:]) if wanted else range(len(self.cliques))
        return min(holding, key=lambda index: (math.prod(self.sizes(self.cliques[index])), index), default=None)


def by_size(shape: tuple[int, ...], axes: Iterable[int]) -> Axes:
    """Ascending by size, then position."""
    return tuple(sorted(axes, key=lambda axis: (shape[axis], axis)))


def _linked(shape: tuple[int, ...], cliques: tuple[Axes, ...]) -> tuple[Clique, ...]:
    """A spanning forest that shares most attributes (it is a junction tree: Jensen and Jensen 1994), by Prim's steps.

    Every component starts at its largest clique. Ties: the separator of fewest cells, then the order of the cliques.
    """
    masks = [sum(1 << axis for axis in axes) for axes in cliques]
    left = sorted(range(len(cliques)), key=lambda index: (-math.prod(shape[axis] for axis in cliques[index]), index))
    best: dict[int, tuple[tuple[int, ...], int]] = {}
    placed: list[Clique] = []
    while left:
        index = max(best, key=lambda one: best[one][0]) if best else left[0]
        link = best.pop(index, None)
        left.remove(index)
        parent = None if link is None else link[1]
        shared = () if parent is None else set(cliques[index]) & set(placed[parent].axes)
        placed.append(Clique(axes=by_size(shape, cliques[index]), parent=parent, separator=by_size(shape, shared)))
        for other in left:
            common = masks[index] & masks[other]
            if common:
                size = math.prod(shape[axis] for axis in cliques[other] if common >> axis & 1)
                rank = (common.bit_count(), -size, -other)
                if other not in best or rank > best[other][0]:
                    best[other] = (rank, len(placed) - 1)
    return tuple(placed)
