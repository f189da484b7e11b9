"""JunctionTree: a tree of cliques of attributes with the running intersection property, found by triangulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import combinations

from msgspec import Struct

from dpqr.kernel.arrays import Axes

Neighbourhoods = list[int]
"""For every attribute a bit mask of its neighbours: attributes that share a group or a fill edge with it."""


class LogSizes(dict[int, int]):
    """Sums of the logarithms of sizes, by bit masks of attributes; each is added up once, up to `most` of them.

    They are whole multiples of 2^-32: sums do not depend on their order, and costs that are equal are found equal.
    """

    most = 2**16
    unit = 2**32

    def __init__(self, shape: Sequence[int]) -> None:
        super().__init__()
        self.each = [round(math.log(number) * self.unit) for number in shape]

    def __missing__(self, mask: int) -> int:
        if len(self) >= self.most:
            self.clear()
        found = self[mask] = sum(self.each[axis] for axis in _bits(mask))
        return found


log_sizes = lru_cache(maxsize=4)(LogSizes)
"""Kept by shape: thousands of candidate trees ask for the same sums."""


Cost = Callable[[Neighbourhoods, LogSizes, int], tuple[int, ...]]


SMALL = 2**14
"""Largest component, in cells, that is one clique: a single table is then faster than several."""


def maximal_cliques(shape: tuple[int, ...], groups: Iterable[Axes]) -> tuple[Axes, ...]:
    """Return cliques of few cells that hold every group; axes ascending, cliques in a fixed order. Public.

    Components of the dependence graph are triangulated separately.

    Args:
        shape: sizes of all attributes; one without a group becomes a clique of its own.
        groups: attributes that are measured together.
    """
    return tuple(sorted(clique for part in _components(len(shape), groups) for clique in _cheapest(shape, part)))


def within(shape: tuple[int, ...], groups: frozenset[Axes], limit: int, more: frozenset[Axes] = frozenset()) -> bool:
    """Whether `maximal_cliques` of the groups and `more` have at most `limit` cells (at least SMALL).

    Fast enough for thousands of candidates: larger eliminations are stopped early, only the components that `more`
    touches are triangulated, and nothing is where their trees have no room to grow (`_growth`).
    """
    room = max(limit, SMALL)
    touched = sum(1 << axis for axis in {axis for group in more for axis in group})
    parts = _parts(shape, groups, room)
    met = [part for part in parts if part.mask & touched]
    untouched = sum(part.used for part in parts if not part.mask & touched)
    if len(met) == 1:
        (part,) = met
        # The tree of a part that is too large itself is not known.
        if untouched + part.used > room or untouched + part.used + _growth(shape, part, more) > room:
            return False
    # Two parts that a pair joins keep their trees, beside a clique of the pair; but one of a single clique may need
    # fewer cells within a larger tree.
    one_pair = len(met) == 2 and [len(group) for group in more] == [2]
    if one_pair and untouched + sum(part.used for part in met if part.large) + cells(shape, more) > room:
        return False
    together = frozenset(tuple(sorted(group)) for group in more).union(*(part.groups for part in met))
    # What one part, or one further group, joins is connected.
    connected = len(met) == 1 or len(more) == 1
    joined = sum(_bounded(shape, one, room) for one in ([together] if connected else _components(0, together)))
    return untouched + joined <= room


def _growth(shape: tuple[int, ...], part: _Component, more: frozenset[Axes]) -> int:
    """Return a number of cells by which a component's tree grows at least, until its cliques hold all of `more`.

    Of two attributes that no clique holds together, some chordal graph on the way to the new tree is the first to join
    them (Rose, Tarjan and Lueker 1976: edges can be added one at a time). They have a common neighbour there, for the
    component is connected. Of sizes a, b and c, the new clique has c a b cells and makes at most those of c a and c b
    superfluous; no other added edge makes a tree smaller. Attributes have two values or more.
    """
    pairs = {pair for group in more for pair in combinations(group, 2)}
    apart = [shape[a] * shape[b] - shape[a] - shape[b] for a, b in pairs if not part.near.get(a, 0) >> b & 1]
    return part.smallest * max(apart) if apart else 0


class _Component(Struct, frozen=True):
    """mask: its attributes. smallest: the size of the smallest one. near: by attribute, a bit mask of those that share
    a clique of its tree with it; none where the tree has no room. large: whether that has several cliques. used: their
    cells, infinity where they have no room."""

    mask: int
    groups: frozenset[Axes]
    smallest: int
    near: dict[int, int]
    large: bool
    used: float


@lru_cache(maxsize=64)
def _parts(shape: tuple[int, ...], groups: frozenset[Axes], room: int) -> tuple[_Component, ...]:
    """Return the components."""
    return tuple(_component(shape, part, room) for part in _components(len(shape), groups))


@lru_cache(maxsize=2**10)
def _component(shape: tuple[int, ...], part: frozenset[Axes], room: int) -> _Component:
    """Cached: a further group changes one or two components, and leaves the others as they are."""
    cliques, axes = _cheapest(shape, part, room), {axis for group in part for axis in group}
    near: dict[int, int] = {}
    for clique in cliques:
        mask = sum(1 << axis for axis in clique)
        near |= {axis: near.get(axis, 0) | mask for axis in clique}
    smallest, mask = min(shape[axis] for axis in axes), sum(1 << axis for axis in axes)
    return _Component(mask, part, smallest, near, len(cliques) > 1, _bounded(shape, part, room))


def _components(attributes: int, groups: Iterable[Axes]) -> list[frozenset[Axes]]:
    """Return the connected components of the groups; an attribute of no group is a component of its own."""
    every = dict.fromkeys(
        tuple(sorted(group)) for group in (*groups, *((axis,) for axis in range(attributes))) if group
    )
    # Every attribute points to another one of its component, up to one that points to itself.
    leads = {axis: axis for group in every for axis in group}

    def leader(axis: int) -> int:
        while leads[axis] != axis:
            leads[axis] = leads[leads[axis]]
            axis = leads[axis]
        return axis

    for first, *others in every:
        for other in others:
            leads[leader(other)] = leader(first)
    parts: dict[int, list[Axes]] = {}
    for group in every:
        parts.setdefault(leader(group[0]), []).append(group)
    return [frozenset(members) for members in parts.values()]


@lru_cache(maxsize=2**12)
def _cheapest(shape: tuple[int, ...], groups: frozenset[Axes], limit: int | None = None) -> tuple[Axes, ...]:
    """Return the cliques of fewest cells among greedy eliminations, or one of all attributes up to SMALL cells.

    Empty if they exceed the limit, which is found sooner than the cliques themselves.

    Finding the best elimination is NP-hard (Arnborg, Corneil and Proskurowski 1987); greedy ones by the size of the
    clique or by the weight of the new edges are customary (Kjaerulff 1990), and neither is always better.
    """
    whole = tuple(sorted({axis for group in groups for axis in group}))
    if cells(shape, [whole]) <= SMALL:
        return (whole,)
    eliminations = [_eliminated(shape, groups, cost, limit) for cost in COSTS]
    return min(filter(None, eliminations), key=lambda cliques: (cells(shape, cliques), cliques), default=())


@lru_cache(maxsize=2**16)
def _bounded(shape: tuple[int, ...], groups: frozenset[Axes], limit: int) -> float:
    """Return the cells of `_cheapest`; infinity above the limit."""
    return cells(shape, _cheapest(shape, groups, limit)) or math.inf


def cells(shape: tuple[int, ...], cliques: Iterable[Iterable[int]]) -> int:
    """Return the number of cells of all cliques' tables."""
    return sum(math.prod(shape[axis] for axis in clique) for clique in cliques)


def _eliminated(
    shape: tuple[int, ...], groups: Iterable[Axes], cost: Cost, limit: int | None = None
) -> tuple[Axes, ...]:
    """Eliminate the attribute of least cost until none is left; its neighbours become neighbours of each other.

    Costs are updated only next to a change. Empty if the cliques exceed the limit.
    """
    # The neighbours of every attribute: those of its groups.
    near = [0] * len(shape)
    for group in groups:
        mask = sum(1 << axis for axis in group)
        for axis in group:
            near[axis] |= mask & ~(1 << axis)
    logs = log_sizes(shape)
    costs = {axis: cost(near, logs, axis) for axis in {axis for group in groups for axis in group}}
    waiting = [(price, axis) for axis, price in costs.items()]
    heapify(waiting)
    cliques: list[int] = []
    holding: dict[int, list[int]] = {axis: [] for axis in costs}  # the cliques that hold each attribute
    room = math.inf if limit is None else limit
    while costs:
        price, axis = heappop(waiting)
        if costs.get(axis) != price:  # updated since, or gone
            continue
        del costs[axis]
        around = near[axis]
        clique = around | 1 << axis
        if not any(clique & other == clique for other in holding[axis]):
            cliques.append(clique)
            for one in _bits(clique):
                holding[one].append(clique)
            room -= cells(shape, [_bits(clique)])
            if room < 0:
                return ()
        joined = touched = 0
        for other in _bits(around):
            if around & ~near[other] & ~(1 << other):
                joined |= 1 << other
                touched |= near[other]
            near[other] = (near[other] | around) & ~(1 << other) & ~(1 << axis)
        # Costs change for the neighbours, and for attributes that are next to both ends of a new edge.
        for other in _bits((touched | around) & ~(1 << axis)):
            if around >> other & 1 or (near[other] & joined).bit_count() > 1:
                price = cost(near, logs, other)
                if price != costs[other]:
                    costs[other] = price
                    heappush(waiting, (price, other))
    return tuple(sorted(_bits(clique) for clique in cliques))


def _by_size(near: Neighbourhoods, logs: LogSizes, axis: int) -> tuple[int, ...]:
    """The logarithm of the clique's cells; then twice the number of new edges."""
    around = near[axis]
    edges = sum((around & ~near[other]).bit_count() - 1 for other in _bits(around))
    return (logs.each[axis] + logs[around], edges)


def _by_edges(near: Neighbourhoods, logs: LogSizes, axis: int) -> tuple[int, ...]:
    """The weight of the new edges, each the product of the logarithms of its ends; then the larger attribute.

    What an attribute is not joined to is all but itself and what it is joined to: of a column with a thousand
    neighbours these are few.
    """
    around, joined = near[axis], 0
    every = logs[around]
    for one in _bits(around):
        joined += logs.each[one] * (every - logs.each[one] - logs[around & near[one]])
    return (joined, -logs.each[axis])


COSTS = (_by_edges, _by_size)


@lru_cache(maxsize=2**16)
def _bits(mask: int) -> Axes:
    """The attributes of a bit mask, ascending."""
    attributes = []
    while mask:
        low = mask & -mask
        attributes.append(low.bit_length() - 1)
        mask ^= low
    return tuple(attributes)


class Clique(Struct, frozen=True, kw_only=True):
    """A clique of attributes and its edge to the parent.

    Attributes:
        axes: ascending by size, then position: sums over the long ones are contiguous in memory.
        parent: its index, smaller than this clique's own; None at the root of a component.
        separator: the axes of both, in the same order; empty at a root.
    """

    axes: Axes
    parent: int | None
    separator: Axes

    @property
    def dropped(self) -> Axes:
        """Positions of the axes outside the separator."""
        return tuple(place for place, axis in enumerate(self.axes) if axis not in self.separator)


@dataclass(frozen=True, slots=True, kw_only=True)
class JunctionTree:
    """A forest of cliques that covers all attributes; its components are independent.

    Attributes:
        shape: sizes of all attributes.
        cliques: parents before their children.
        entrances: for every attribute its first clique; all others that hold it lie below that one.

    >>> tree = JunctionTree.over((300, 300, 300), [(0, 1), (1, 2)])
    >>> [clique.axes for clique in tree.cliques], tree.cliques[1].separator
    ([(0, 1), (1, 2)], (1,))
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
        """Return a small tree in which every group lies within one clique; attributes of no group are alone."""
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
        """Return the index of the smallest clique that holds all of `group`; None if none does."""
        wanted = [self._holders[axis] for axis in group]
        holding = wanted[0].intersection(*wanted[1:]) if wanted else range(len(self.cliques))
        return min(holding, key=lambda index: (math.prod(self.sizes(self.cliques[index])), index), default=None)


def by_size(shape: tuple[int, ...], axes: Iterable[int]) -> Axes:
    """Sort axes by size, then position, ascending."""
    return tuple(sorted(axes, key=lambda axis: (shape[axis], axis)))


@lru_cache(maxsize=8)
def _linked(shape: tuple[int, ...], cliques: tuple[Axes, ...]) -> tuple[Clique, ...]:
    """Return a spanning forest of largest separators by Prim's algorithm: a junction tree (Jensen and Jensen 1994).

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
