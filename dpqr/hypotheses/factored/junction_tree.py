"""JunctionTree: cliques of attributes, linked so that whatever two of them share lies on the whole path between.

Triangulation: cliques that hold every measured group of attributes, and whose overlaps form a tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from dpqr.data.arrays import Axes

Neighbourhoods = list[int]
"""For every attribute a bit mask of the attributes that it shares a group or a fill edge with."""

Cost = Callable[[Neighbourhoods, Sequence[float], int], tuple[float, ...]]


SMALL = 2**14
"""Cells up to which one table of everything is faster than many small ones."""


def maximal_cliques(shape: tuple[int, ...], groups: Iterable[Axes]) -> tuple[Axes, ...]:
    """Cheap cliques that hold every group; axes ascending, cliques in a fixed order. Public in, public out.

    shape: sizes of all attributes; one that is in no group becomes a clique of its own.
    Attributes that no chain of groups connects are triangulated apart from each other.
    """
    return tuple(sorted(clique for part in _components(len(shape), groups) for clique in _cheapest(shape, part)))


def within(shape: tuple[int, ...], groups: frozenset[Axes], limit: int, more: frozenset[Axes] = frozenset()) -> bool:
    """Whether `maximal_cliques` of the groups and `more` have at most `limit` cells (at least SMALL).

    Larger eliminations are broken off, and only the components that `more` touches are triangulated: thousands of
    candidates are asked about one after the other.
    """
    room = max(limit, SMALL)
    touched = sum(1 << axis for axis in {axis for group in more for axis in group})
    untouched, together = 0.0, more
    for mask, part, taken in _parts(shape, groups, room):
        if mask & touched:
            together |= part
        else:
            untouched += taken
    joined = sum(_bounded(shape, part, room) for part in _components(0, together))
    return untouched + joined <= room


@lru_cache(maxsize=64)
def _parts(
    shape: tuple[int, ...], groups: frozenset[Axes], room: int
) -> tuple[tuple[int, frozenset[Axes], float], ...]:
    """For each component its attributes as a bit mask, its groups and its cells."""
    parts = _components(len(shape), groups)
    masks = [sum(1 << axis for axis in {axis for group in part for axis in group}) for part in parts]
    return tuple((mask, part, _bounded(shape, part, room)) for mask, part in zip(masks, parts, strict=True))


def _components(attributes: int, groups: Iterable[Axes]) -> list[frozenset[Axes]]:
    """The groups, parted where they share no attribute; an attribute of no group is a part of its own."""
    parts: list[tuple[int, set[Axes]]] = []
    for group in (*groups, *((axis,) for axis in range(attributes))):
        mask, members = sum(1 << axis for axis in group), {tuple(sorted(group))}
        for other in [part for part in parts if part[0] & mask]:
            parts.remove(other)
            mask, members = mask | other[0], members | other[1]
        parts.append((mask, members))
    return [frozenset(members) for _, members in parts]


@lru_cache(maxsize=2**14)
def _cheapest(shape: tuple[int, ...], groups: frozenset[Axes]) -> tuple[Axes, ...]:
    """The cliques of fewest cells that a few greedy eliminations find, or one of all attributes up to SMALL cells.

    Finding the best elimination is NP-hard (Arnborg, Corneil and Proskurowski 1987); greedy ones by the size of the
    clique or by the weight of the new edges are customary (Kjaerulff 1990), and which of them wins depends on the
    groups.
    """
    whole = tuple(sorted({axis for group in groups for axis in group}))
    if cells(shape, [whole]) <= SMALL:
        return (whole,)
    found = [_eliminated(shape, groups, cost) for cost in COSTS]
    return min(found, key=lambda cliques: (cells(shape, cliques), cliques))


@lru_cache(maxsize=2**16)
def _bounded(shape: tuple[int, ...], groups: frozenset[Axes], limit: int) -> float:
    """Cells of `_cheapest`; infinity above the limit, found out sooner than the cliques themselves."""
    whole = cells(shape, [{axis for group in groups for axis in group}])
    if whole <= SMALL:
        return whole
    found = [_eliminated(shape, groups, cost, limit) for cost in COSTS]
    return min((cells(shape, cliques) for cliques in found if cliques), default=math.inf)


def cells(shape: tuple[int, ...], cliques: Iterable[Iterable[int]]) -> int:
    """How many cells the cliques' tables have together."""
    return sum(math.prod(shape[axis] for axis in clique) for clique in cliques)


def _one_for_all(attributes: int, groups: Iterable[Axes]) -> tuple[Axes, ...]:
    touched = tuple(sorted({axis for group in groups for axis in group}))
    whole = [touched] if touched else []
    return tuple(sorted([*whole, *((axis,) for axis in range(attributes) if axis not in touched)]))


def _neighbourhoods(attributes: int, groups: Iterable[Axes]) -> Neighbourhoods:
    """Attributes of one group are neighbours."""
    near = [0] * attributes
    for group in groups:
        mask = sum(1 << axis for axis in group)
        for axis in group:
            near[axis] |= mask & ~(1 << axis)
    return near


def _eliminated(
    shape: tuple[int, ...], groups: Iterable[Axes], cost: Cost, limit: int | None = None
) -> tuple[Axes, ...]:
    """Eliminate the groups' attribute of least cost until none is left; its neighbours become neighbours of each other.

    Only an attribute whose neighbourhood changed, or is next to a change, is costed anew. Nothing is returned where
    the cliques outgrow the limit.
    """
    near = _neighbourhoods(len(shape), groups)
    logs = [math.log(number) for number in shape]
    costs = {axis: cost(near, logs, axis) for axis in {axis for group in groups for axis in group}}
    cliques: list[int] = []
    room = math.inf if limit is None else limit
    while costs:
        axis = min(costs, key=lambda one: (costs[one], one))
        del costs[axis]
        around = near[axis]
        clique = around | 1 << axis
        if not any(clique & other == clique for other in cliques):
            cliques.append(clique)
            room -= cells(shape, [_bits(clique)])
            if room < 0:
                return ()
        touched = around
        for other in _bits(around):
            near[other] = (near[other] | around) & ~(1 << other) & ~(1 << axis)
            touched |= near[other]
        for other in _bits(touched):
            costs[other] = cost(near, logs, other)
    return tuple(sorted(_bits(clique) for clique in cliques))


def _by_size(near: Neighbourhoods, logs: Sequence[float], axis: int) -> tuple[float, ...]:
    """The cells of the clique; then the number of new edges, twice."""
    around = near[axis]
    edges = sum((around & ~near[other]).bit_count() - 1 for other in _bits(around))
    return (logs[axis] + sum(logs[other] for other in _bits(around)), edges)


def _by_edges(near: Neighbourhoods, logs: Sequence[float], axis: int) -> tuple[float, ...]:
    """The new edges, each by the product of the logarithms of what it joins; then the larger attribute."""
    around = near[axis]
    joined = (
        logs[one] * sum(logs[other] for other in _bits(around & ~near[one] & ~(1 << one))) for one in _bits(around)
    )
    return (sum(joined), -logs[axis])


COSTS = (_by_edges, _by_size)


@lru_cache(maxsize=2**16)
def _bits(mask: int) -> Axes:
    """The attributes of a bit mask, ascending."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


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
