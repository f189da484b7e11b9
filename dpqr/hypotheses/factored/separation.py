"""Separations: the narrowest place of a junction tree between attributes that are wanted together."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from dpqr.data.arrays import Axes
from dpqr.hypotheses.factored.junction_tree import JunctionTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """Given `shared`, the attributes of `below` are independent of those of `above` (running intersection).

    shared: the separator of an edge, empty between components. below, above: the other wanted attributes, in the
    order in which they are wanted; some are on either side.
    """

    shared: Axes
    below: Axes
    above: Axes


@dataclass(frozen=True, slots=True, eq=False)
class Separations:
    """Sets of attributes are kept as the bits of one integer."""

    tree: JunctionTree
    _shared: tuple[int, ...] = field(init=False, repr=False)
    _cells: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        separators = [clique.separator for clique in self.tree.cliques]
        cells = (math.prod(self.tree.shape[axis] for axis in axes) for axes in separators)
        object.__setattr__(self, "_shared", tuple(sum(1 << axis for axis in axes) for axes in separators))
        object.__setattr__(self, "_cells", tuple(cells))

    def between(self, wanted: Axes) -> Separation:
        """Of all edges that part the wanted attributes, one whose separator has fewest cells; of equal ones that
        with most even sides, so that a long chain is halved and not peeled.

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
        """The cliques whose edge to the parent parts the wanted attributes (a root's edge leads to all other
        components), with those that enter the tree at or below each."""
        every, below = 0, Counter[int]()
        for axis in wanted:
            every |= 1 << axis
            index: int | None = self.tree.entrances[axis]
            while index is not None:
                below[index] |= 1 << axis
                index = self.tree.cliques[index].parent
        return {index: axes for index, axes in below.items() if every & ~(axes | self._shared[index])}
