"""Hierarchy: the declared levels above the cells of one column, such as region and country above municipality."""

from __future__ import annotations

from dataclasses import dataclass

from dpqr.data.arrays import IntArray, frozen


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Level:
    """One level: its nodes, in the order of their first cells, and the node of every cell.

    name: of the level. nodes: distinct titles. places: index of each cell's node, shape (cells,), int64. A fault cell
    is a node of its own.

    >>> import numpy as np
    >>> Level(name="region", nodes=("north", "south"), places=np.array([0, 0, 1])).places
    array([0, 0, 1])
    """

    name: str
    nodes: tuple[str, ...]
    places: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", frozen(self.places))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hierarchy:
    """levels: those above the cells, the parents of cells first. Each node lies in one node of the level above.

    Invariant: declared by the curator, never inferred from the data.

    >>> Hierarchy(levels=()).levels
    ()
    """

    levels: tuple[Level, ...]
