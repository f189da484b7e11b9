"""FactoredDistribution: a distribution over a domain of any size, as consistent probabilities of cliques."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement, pairwise, product
from typing import Any

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Packing
from dpqr.kernel.arrays import Axes, CodeArray, FloatArray, IntArray, freeze
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.public import public_generator
from dpqr.models.junction_tree import JunctionTree, by_size
from dpqr.workload.block import QueryBlock


def sample_records(tree: JunctionTree, beliefs: tuple[FloatArray, ...], count: int, seed: int) -> CodeArray:
    """Draw `count` records in random order; codes, shape (count, attributes).

    A clique's other attributes are drawn given its separator, which is drawn with its parent. Records that agree on the
    separator share one systematic sample: every combination gets its expected number rounded down or up, unbiased and
    with less variance than under independent draws. A random order assigns combinations to records.

    Args:
        beliefs: one table for each clique of the tree, its axes in the clique's order.
        seed: public.
    """
    generator = public_generator(seed)
    codes = np.zeros((count, len(tree.shape)), dtype=Packing(tree.shape).code_type, order="F")
    for clique, cells in zip(tree.cliques, beliefs, strict=True):
        # The clique's table, shape (cells of the separator, cells of the other attributes).
        shared = [place for place in range(cells.ndim) if place not in clique.dropped]
        own = list(clique.dropped)
        table = cells.transpose([*shared, *own]).reshape(math.prod(cells.shape[place] for place in shared), -1)
        order: IntArray = generator.permutation(count)
        # The row of the table of each record.
        rows = np.zeros(count, dtype=np.int64)
        for place in shared:
            rows *= cells.shape[place]
            rows += codes[:, clique.axes[place]]
        cases = rows[order]
        # Up to 16 bits numpy sorts by radix, ten times faster, to the same order.
        arranged = np.argsort(cases.astype(np.min_scalar_type(len(table) - 1)), kind="stable")
        drawn = systematic_draws(table, cases[arranged], generator)
        picks = np.empty_like(drawn)
        picks[order[arranged]] = drawn
        for place, part in zip(own, np.unravel_index(picks, [cells.shape[place] for place in own]), strict=True):
            codes[:, clique.axes[place]] = part
    return codes


def systematic_draws(table: FloatArray, cases: IntArray, generator: Any) -> IntArray:
    """Draw one column of `table` for every case, cases ascending, by evenly spaced points on its cumulated row.

    The columns are in random order, so that the spacing does not align with the order of an attribute's codes. Row r of
    the table is cumulated to the interval [r, r + 1], and one search serves all rows.
    """
    columns: IntArray = generator.permutation(table.shape[1])
    counts = np.bincount(cases, minlength=len(table))
    ranks = np.arange(len(cases)) - (np.cumsum(counts) - counts)[cases]
    points = (ranks + generator.random(len(table))[cases]) / np.maximum(counts, 1)[cases]
    edges = np.cumsum(table[:, columns], axis=1)
    ends = edges[:, -1:]
    edges /= np.where(ends > 0, ends, 1.0)
    edges[:, -1] = 1.0
    edges += np.arange(len(table))[:, None]
    columns_hit = np.searchsorted(edges.reshape(-1), cases + points, side="right") - cases * table.shape[1]
    # A point that rounding puts on its row's end belongs to the last column of positive probability.
    last = table.shape[1] - 1 - np.argmax(table[:, columns[::-1]] > 0, axis=1)
    picked: IntArray = columns[np.clip(columns_hit, 0, last[cases])]
    return picked


LARGEST_LISTING = 2**24
"""Cells of the largest domain that `weights` lists (128 MiB)."""


MANY = 4
"""Pairs a clique above which they are computed together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactoredDistribution:
    """A histogram of `total` records with p = product over cliques of p(clique) / p(separator).

    Every distribution proportional to exp(sum of potentials on groups of attributes) has this form on a tree whose
    cliques hold the groups.

    Attributes:
        beliefs: one table per clique, shape tree.sizes(clique), sum 1, equal on the separators, read-only.
        total: records, at least 0; 0 until a public fact or a release gives it.
        potentials: parameters of the update rule, the warm start of its next fit. They never change an answer.

    >>> FactoredDistribution.uniform((2,) * 40, total=8.0).marginal((0, 39)).tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """

    tree: JunctionTree
    beliefs: tuple[FloatArray, ...]
    total: float
    potentials: Mapping[Hashable, FloatArray] = field(default_factory=dict, repr=False)
    _cache: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)
    _elimination: Elimination = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_elimination", Elimination(tree=self.tree, beliefs=self.beliefs))

    @classmethod
    def uniform(cls, shape: tuple[int, ...], total: float) -> FactoredDistribution:
        """Return the uniform distribution, which has the largest entropy."""
        tree = JunctionTree.over(shape, ())
        tables = [np.full(tree.sizes(clique), 1 / math.prod(tree.sizes(clique))) for clique in tree.cliques]
        return cls(tree=tree, beliefs=tuple(freeze(table) for table in tables), total=total)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of all attributes."""
        return self.tree.shape

    def marginal(self, axes: Axes) -> FloatArray:
        """Return records, shape = sizes of `axes` in that order; () for the total. Cached for later rounds."""
        if axes not in self._cache:
            self._cache[axes] = freeze(np.asarray(self._elimination.joint(axes) * self.total))
        return self._cache[axes]

    def joint(self, axes: Axes) -> FloatArray:
        """Return the same without caching it, in an array of its own or read-only."""
        return np.asarray(self._elimination.joint(axes) * self.total) if axes not in self._cache else self._cache[axes]

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Compute and cache the marginals of pairs of attributes together where they are many."""
        pairs = {axes for axes in groups if len(axes) == 2 and axes not in self._cache and self.tree.home(axes) is None}
        if len(pairs) > MANY * len(self.tree.cliques) and fits(self.tree):
            for axes, table in pair_tables(self.tree, self.beliefs, pairs):
                self._cache[axes] = freeze(table * self.total)

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def probabilities(self) -> FloatArray:
        """Return the probabilities of all cells, shape = domain shape. InfeasiblePlan above LARGEST_LISTING cells."""
        cells = math.prod(self.tree.shape)
        if cells > LARGEST_LISTING:
            raise InfeasiblePlan(
                f"the domain has {cells} cells, too many to list one by one (at most {LARGEST_LISTING}); "
                "ask for synthetic rows instead"
            )
        return self._elimination.joint(tuple(range(len(self.tree.shape))))

    def weights(self) -> FloatArray:
        """Return records per cell, shape = domain shape. InfeasiblePlan above LARGEST_LISTING cells."""
        return self.probabilities() * self.total

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records in random order; cell codes, shape (count, attributes)."""
        return sample_records(self.tree, self.beliefs, count, seed)


# Elimination: marginals of attributes that no single clique holds, through the smallest separators of the tree.


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


class Separation(Struct, frozen=True, kw_only=True):
    """Given `shared`, the attributes of `below` are independent of those of `above` (running intersection).

    Attributes:
        shared: the separator of an edge, empty between components.
        below, above: the other wanted attributes in their order; neither is empty.
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
        # Of every clique the wanted attributes in it and below, first seen at their entrances.
        every, inside = 0, Counter[int]()
        for axis in wanted:
            every |= 1 << axis
            entrance: int | None = self.tree.entrances[axis]
            while entrance is not None:
                inside[entrance] |= 1 << axis
                entrance = self.tree.cliques[entrance].parent
        # Cliques whose edge to the parent separates the wanted attributes; a root's leads to all other components.
        parting = {index: axes for index, axes in inside.items() if every & ~(axes | self._shared[index])}
        lower = Counter[int]()
        for index in sorted(parting, reverse=True):
            lower[index] += 1
            parent = self.tree.cliques[index].parent
            if parent is not None:
                lower[parent] += lower[index]
        half = len(parting) / 2
        index = min(parting, key=lambda one: (self._cells[one], abs(lower[one] - half), one))
        below, not_above = parting[index], parting[index] | self._shared[index]
        return Separation(
            shared=self.tree.cliques[index].separator,
            below=tuple(axis for axis in wanted if below >> axis & 1),
            above=tuple(axis for axis in wanted if not not_above >> axis & 1),
        )


LEAST_ROOM = 2**19
"""Least limit on intermediate tables, in cells (4 MiB)."""

Cut = Mapping[int, slice]
"""Attributes that are restricted to some values, and these values."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Elimination:
    """Variable elimination on a calibrated tree, through its smallest separators first.

    P(a, b) = sum over s of P(a, s) P(b, s) / P(s) for a separator s between a and b. Both factors are marginals again,
    computed in the same way until a clique holds them, and cached for other marginals. Messages from clique to clique
    would pass through wide separators too.

    Attributes:
        beliefs: every clique's probabilities, consistent on the separators.
        room: limit on the cells of an intermediate table, and of the cache; 0: the cells of the model. A wider table is
            computed for some values of a wanted attribute at a time.
    """

    tree: JunctionTree
    beliefs: tuple[FloatArray, ...]
    room: int = 0
    _separations: Separations = field(init=False, repr=False)
    _cache: RecentTables = field(init=False, repr=False)

    def __post_init__(self) -> None:
        room = self.room or max(LEAST_ROOM, self.tree.cells)
        object.__setattr__(self, "room", room)
        object.__setattr__(self, "_separations", Separations(self.tree))
        object.__setattr__(self, "_cache", RecentTables(room))

    def joint(self, axes: Axes) -> FloatArray:
        """Return the probabilities of `axes` together, shape = their sizes in that order."""
        ordered = by_size(self.tree.shape, axes)
        table = self._joint(ordered, {})
        return np.asarray(table.transpose([ordered.index(axis) for axis in axes]), order="C")

    def _joint(self, wanted: Axes, cut: Cut) -> FloatArray:
        """Return the table of `wanted`, which ascend by size."""
        home = self.tree.home(wanted)
        if home is not None:
            axes = self.tree.cliques[home].axes
            part = self.beliefs[home][tuple(cut.get(axis, slice(None)) for axis in axes)]
            gone = tuple(place for place, axis in enumerate(axes) if axis not in wanted)
            return np.asarray(part.sum(axis=gone)) if gone else part
        parted = self._separations.between(wanted)
        sides = [by_size(self.tree.shape, (*parted.shared, *side)) for side in (parted.below, parted.above)]
        for side in sides:
            parts = self._parts(side, wanted, cut)
            if parts:
                axis = next(iter(parts[0]))
                return np.concatenate([self._joint(wanted, {**cut, **part}) for part in parts], wanted.index(axis))
        lower, upper = (self._cached(side, cut) for side in sides)
        weights = self._cached(parted.shared, cut)
        # P(below | shared): the separator's table broadcasts along the lower side, whose axes ascend by size as well.
        sizes = dict(zip(parted.shared, weights.shape, strict=True))
        along = [sizes.get(axis, 1) for axis in sides[0]]
        given = lower / np.where(weights > 0, weights, 1.0).reshape(along)
        table, axes = contract_tables(given, sides[0], upper, sides[1], wanted)
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
        return self._cache.get(axes, lambda: self._joint(axes, {}))


def contract_tables(
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
    staying = set(keep)
    shared = [axis for axis in left_axes if axis in right_axes]
    batch = tuple(axis for axis in shared if axis in staying)
    gone = tuple(axis for axis in shared if axis not in staying)
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


# All pairs of attributes at once: two matrix products for all pairs that meet in one clique of the tree.

LARGEST_SEPARATOR = 2**10
MOST_VALUES = 2**11
"""Of all attributes together; its square is the largest intermediate table (32 MiB)."""
PIECE = 2**18
"""Multiplications below which the linear-algebra library keeps to one thread."""


class SubtreeConditionals(Struct, frozen=True, kw_only=True):
    """Attributes below an edge of the tree, given its separator.

    Attributes:
        axes: the attributes.
        given: P(value | separator) for the values of all of them, one attribute after the other, shape (values, cells
            of the separator).
    """

    axes: Axes
    given: FloatArray


def pair_tables(
    tree: JunctionTree, beliefs: Sequence[FloatArray], wanted: Collection[Axes]
) -> Iterator[tuple[Axes, FloatArray]]:
    """Yield the probabilities of pairs of attributes that no clique holds, in the order of each pair's axes.

    P(a, b) = sum over s, t of P(a | s) P(s, t) P(b | t), where a and b are below two separators s and t of the clique
    at which their paths to the root meet. P(a | s) is passed up the tree for all attributes of a subtree together.

    Args:
        beliefs: every clique's probabilities, consistent on the separators.
        wanted: these pairs.

    Yields:
        Each pair once, with a table of its own, shape = sizes of its axes.
    """
    pairs = frozenset(wanted)
    waiting: dict[int | None, list[tuple[Axes, SubtreeConditionals]]] = {}
    for index in reversed(range(len(tree.cliques))):
        clique, belief = tree.cliques[index], beliefs[index]
        sides = waiting.pop(index, [])
        for place in clique.dropped:
            axes = (clique.axes[place],)
            sides.append((axes, SubtreeConditionals(axes=axes, given=np.eye(tree.shape[axes[0]]))))
        yield from _meeting(tree, sides, clique.axes, belief, pairs)
        # All attributes that are below the clique's edge to its parent, given its separator.
        weights = _joint(belief, clique.axes, (), clique.separator)
        joint = {shared: _joint(belief, clique.axes, shared, clique.separator) for shared, _ in sides}
        given = [_product(side.given, joint[shared] / np.where(weights > 0, weights, 1.0)) for shared, side in sides]
        below = tuple(axis for _, side in sides for axis in side.axes)
        subtree = SubtreeConditionals(axes=below, given=np.concatenate(given))
        waiting.setdefault(clique.parent, []).append((clique.separator, subtree))
    yield from _meeting(tree, waiting.get(None, []), (), np.ones(()), pairs)


def fits(tree: JunctionTree) -> bool:
    """Whether the tables on the way are small. A function of the model's shape."""
    largest = max(math.prod(tree.shape[axis] for axis in clique.separator) for clique in tree.cliques)
    return sum(tree.shape) <= MOST_VALUES and largest <= LARGEST_SEPARATOR


def _meeting(
    tree: JunctionTree,
    sides: Sequence[tuple[Axes, SubtreeConditionals]],
    axes: Axes,
    belief: FloatArray,
    wanted: frozenset[Axes],
) -> Iterator[tuple[Axes, FloatArray]]:
    """The wanted pairs of attributes on different sides of a clique of these axes."""
    groups: dict[Axes, list[SubtreeConditionals]] = {}
    for shared, side in sides:
        groups.setdefault(shared, []).append(side)
    stacked = {shared: np.concatenate([side.given for side in each]) for shared, each in groups.items()}
    for (first, some), (second, others) in combinations_with_replacement(groups.items(), 2):
        if first == second and len(some) == 1:
            continue
        block = _product(_product(stacked[first], _joint(belief, axes, first, second)), stacked[second].T)
        rows, columns = _slices(tree, some), _slices(tree, others)
        parts = combinations(rows, 2) if first == second else product(rows, columns)
        for above, below in parts:
            for (one, row), (two, column) in product(above, below):
                if (one, two) in wanted:
                    yield (one, two), block[row, column].copy()
                if (two, one) in wanted:
                    yield (two, one), block[row, column].T.copy()


def _slices(tree: JunctionTree, sides: Sequence[SubtreeConditionals]) -> list[list[tuple[int, slice]]]:
    """Where each attribute of each side stands among the values of all."""
    slices, start = [], 0
    for side in sides:
        ends = np.cumsum([start, *(tree.shape[axis] for axis in side.axes)]).tolist()
        slices.append([(axis, slice(*pair)) for axis, pair in zip(side.axes, pairwise(ends), strict=True)])
        start = ends[-1]
    return slices


def _product(left: FloatArray, right: FloatArray) -> FloatArray:
    """The matrix product, in pieces that the linear-algebra library keeps to one thread: over several, whose
    synchronisation costs more than it gains, it takes four times the processor time."""
    rows = max(1, PIECE // max(1, right.size))
    return np.concatenate([left[start : start + rows] @ right for start in range(0, len(left), rows)])


def _joint(belief: FloatArray, axes: Axes, first: Axes, second: Axes) -> FloatArray:
    """P(first, second) of a clique, shape (cells of first, cells of second); 0 where shared attributes differ."""
    union = tuple(axis for axis in axes if axis in first or axis in second)
    table = belief.sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in union))
    sizes = dict(zip(union, table.shape, strict=True))
    values: dict[int, np.ndarray] = dict(zip(union, np.indices(table.shape, dtype=np.int64, sparse=True), strict=True))
    matrix = np.zeros([math.prod(sizes[axis] for axis in some) for some in (first, second)])
    matrix[_cells(first, sizes, values), _cells(second, sizes, values)] = table
    return matrix


def _cells(axes: Axes, sizes: dict[int, int], values: dict[int, np.ndarray]) -> np.ndarray:
    """For every cell of a table, that of its axes in mixed radix; broadcasts along the others."""
    index = np.zeros((), dtype=np.int64)
    for axis in axes:
        index = index * sizes[axis] + values[axis]
    return index
