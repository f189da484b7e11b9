"""Neighbours: the worst neighbouring pairs of tiny databases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.data.histogram import DenseHistogram
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.evaluation.case import Pair
from dpqr.workload.block import QueryBlock


def worst_pair(blocks: Sequence[QueryBlock], shape: tuple[int, ...], unit: PrivacyUnit, power: int) -> Pair:
    """The pair that moves the blocks' answers furthest, in the sum of |change|^power; found by trying all.

    A linear answer moves by what one unit brings, whatever else is in the table: so the rest of it is left empty.
    """
    pairs = [tuple(map(DenseHistogram, pair)) for pair in _pairs(shape, unit)]

    def distance(pair: tuple[DenseHistogram, ...]) -> int:
        changes = [np.abs(block.answer(pair[0]) - block.answer(pair[1])) ** power for block in blocks]
        return sum(int(change.sum()) for change in changes)

    one, two = max(pairs, key=distance)
    return one, two


def _pairs(shape: tuple[int, ...], unit: PrivacyUnit) -> Iterator[tuple[IntArray, IntArray]]:
    """Add-remove: nobody against one unit whose rows all lie in one cell. Replace: every two such units, and one whose
    rows a rule of the domain drops."""
    cells = int(np.prod(shape))
    units = unit.rows * np.eye(cells, dtype=np.int64).reshape(cells, *shape)
    nobody = np.zeros(shape, dtype=np.int64)
    for index, one in enumerate(units):
        yield nobody, one
        if unit.neighbours is Neighbours.REPLACE:
            yield from ((other, one) for other in units[:index])


def records(shape: tuple[int, ...], counts: dict[tuple[int, ...], int]) -> DenseHistogram:
    """A database of so many records in each of these cells."""
    cells = np.zeros(shape, dtype=np.int64)
    for cell, count in counts.items():
        cells[cell] = count
    return DenseHistogram(cells)
