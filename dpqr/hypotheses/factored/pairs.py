"""All pairs of attributes at once: two matrix products for all pairs that meet in one clique of the tree."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, pairwise, product

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.hypotheses.factored.junction_tree import Clique, JunctionTree

LARGEST_SEPARATOR = 2**10
MOST_VALUES = 2**11
"""Of all attributes together; its square is the largest intermediate table (32 MiB)."""
PIECE = 2**18
"""Multiplications below which the linear-algebra library keeps to one thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Attributes below an edge of the tree, given its separator.

    axes: the attributes. given: P(value | separator) for the values of all of them, one attribute after the other,
    shape (values, cells of the separator).
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
    waiting: dict[int | None, list[tuple[Axes, Side]]] = {}
    for index in reversed(range(len(tree.cliques))):
        clique, belief = tree.cliques[index], beliefs[index]
        sides = waiting.pop(index, [])
        for place in clique.dropped:
            axes = (clique.axes[place],)
            sides.append((axes, Side(axes=axes, given=np.eye(tree.shape[axes[0]]))))
        yield from _meeting(tree, sides, clique.axes, belief, pairs)
        waiting.setdefault(clique.parent, []).append((clique.separator, _above(sides, clique, belief)))
    yield from _meeting(tree, waiting.get(None, []), (), np.ones(()), pairs)


def fits(tree: JunctionTree) -> bool:
    """Whether the tables on the way are small. A function of the model's shape."""
    largest = max(math.prod(tree.shape[axis] for axis in clique.separator) for clique in tree.cliques)
    return sum(tree.shape) <= MOST_VALUES and largest <= LARGEST_SEPARATOR


def _above(sides: Sequence[tuple[Axes, Side]], clique: Clique, belief: FloatArray) -> Side:
    """All attributes that are below the clique's edge to its parent, given its separator."""
    weights = _joint(belief, clique.axes, (), clique.separator)
    known = {shared: _joint(belief, clique.axes, shared, clique.separator) for shared, _ in sides}
    given = [_product(side.given, known[shared] / np.where(weights > 0, weights, 1.0)) for shared, side in sides]
    return Side(axes=tuple(axis for _, side in sides for axis in side.axes), given=np.concatenate(given))


def _meeting(
    tree: JunctionTree, sides: Sequence[tuple[Axes, Side]], axes: Axes, belief: FloatArray, wanted: frozenset[Axes]
) -> Iterator[tuple[Axes, FloatArray]]:
    """The wanted pairs of attributes on different sides of a clique of these axes."""
    groups: dict[Axes, list[Side]] = {}
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


def _slices(tree: JunctionTree, sides: Sequence[Side]) -> list[list[tuple[int, slice]]]:
    """Where each attribute of each side stands among the values of all."""
    found, start = [], 0
    for side in sides:
        ends = np.cumsum([start, *(tree.shape[axis] for axis in side.axes)]).tolist()
        found.append([(axis, slice(*pair)) for axis, pair in zip(side.axes, pairwise(ends), strict=True)])
        start = ends[-1]
    return found


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
    found = np.zeros([math.prod(sizes[axis] for axis in some) for some in (first, second)])
    found[_cells(first, sizes, values), _cells(second, sizes, values)] = table
    return found


def _cells(axes: Axes, sizes: dict[int, int], values: dict[int, np.ndarray]) -> np.ndarray:
    """For every cell of a table, that of its axes in mixed radix; broadcasts along the others."""
    index = np.zeros((), dtype=np.int64)
    for axis in axes:
        index = index * sizes[axis] + values[axis]
    return index
