"""Parts: a marginal splits into what its columns together add to its smaller marginals, for sets of its columns.

All measurements that hold a part add up, and errors of different parts are independent, so their squares add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.workload.block import QueryBlock

Part = frozenset[int | str]
"""The columns of a marginal; the name of another block, which is one part."""

Places = Mapping[Part, int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """Blocks and their parts, one entry each. blocks: their rows. parts: numbers. factors: see `Parts`."""

    blocks: IntArray
    parts: IntArray
    factors: FloatArray

    @classmethod
    def of(cls, entries: Sequence[tuple[int, int, float]]) -> Held:
        table = np.array(entries, dtype=np.float64).reshape(-1, 3)
        return cls(blocks=table[:, 0].astype(np.int64), parts=table[:, 1].astype(np.int64), factors=table[:, 2])

    def summed(self, values: FloatArray, rows: int) -> FloatArray:
        """Sums over the entries of every block, shape (rows,). values: one an entry."""
        return np.bincount(self.blocks, values, minlength=rows).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """Of the blocks that may be measured, each the largest part of itself, and of those that are asked for. Part 0: the
    number of records; part 1 + r: block r.

    alone: of every part, the share of its cells that no smaller part accounts for. measured: parts of the blocks that
    may be measured; factors: cells of the part over those of the block. asked: parts of the asked blocks; factors: how
    much of a part's error is the block's. pairs: pairs of columns of asked blocks of three columns and more. own: of
    every asked block the part that it is; 0: it is none.
    """

    alone: FloatArray
    measured: Held
    asked: Held
    pairs: Held
    own: IntArray

    @classmethod
    def of(cls, measured: Sequence[QueryBlock], asked: Sequence[QueryBlock], weights: Sequence[float]) -> Parts:
        """weights: of every asked block, part of the records that its answers hold."""
        places: dict[Part, int] = {frozenset(): 0}
        for row, block in enumerate(measured):
            places.setdefault(_key(block), 1 + row)
        return cls(
            alone=np.array([1.0, *(_alone(block, places) for block in measured)]),
            measured=Held.of([entry for row, block in enumerate(measured) for entry in _kept(row, block, places)]),
            asked=Held.of(
                [
                    (row, places[part], 1.0 if one.is_marginal or part == _key(one) else weight)
                    for row, (one, weight) in enumerate(zip(asked, weights, strict=True))
                    for part in _smaller(one, places)
                ]
            ),
            pairs=Held.of(
                [
                    (row, places.get(frozenset(pair), 0), 1.0 / math.comb(len(one.axes), 2))
                    for row, one in enumerate(asked)
                    if len(one.axes) > 2
                    for pair in combinations(one.axes, 2)
                ]
            ),
            own=np.array([places.get(_key(block), 0) for block in asked], dtype=np.int64),
        )


def _key(block: QueryBlock) -> Part:
    return frozenset(block.axes if block.is_marginal else (block.name,))


def _smaller(block: QueryBlock, places: Places) -> Iterator[Part]:
    """Its parts: all records, its columns, pairs of them, and itself, those that have a number."""
    found: list[Part] = [frozenset(), *(frozenset(axes) for ways in (1, 2) for axes in combinations(block.axes, ways))]
    return (part for part in dict.fromkeys((*found, _key(block))) if part in places)


def _kept(row: int, block: QueryBlock, places: Places) -> Iterator[tuple[int, int, float]]:
    """A marginal shows all its parts; another block itself."""
    if not block.is_marginal:
        yield row, places[_key(block)], 1.0
        return
    for part in _smaller(block, places):
        yield row, places[part], 1.0 / math.prod(size for axis, size in _sizes(block).items() if axis not in part)


def _alone(block: QueryBlock, places: Places) -> float:
    """Cells of a marginal, less those that its smaller parts account for, over all of them; 1 for another block."""
    if not block.is_marginal:
        return 1.0
    smaller = (part for part in _smaller(block, places) if part != _key(block))
    taken = sum(math.prod(size - 1 for axis, size in _sizes(block).items() if axis in part) for part in smaller)
    return max(1.0 - taken / block.cells, 0.0)


def _sizes(block: QueryBlock) -> dict[int, int]:
    return {axis: size for factor in block.factors for axis, size in zip(factor.axes, factor.sizes, strict=True)}
