"""Triangulation: cliques that hold every measured group of attributes, and whose overlaps form a tree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
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


def _linked(attributes: int, groups: Iterable[Axes]) -> Neighbourhoods:
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
    near = _linked(len(shape), groups)
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
