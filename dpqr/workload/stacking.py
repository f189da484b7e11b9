"""Stacking: many blocks of one query each, answered together as the rows of a few blocks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, IntMatrix, Sparse
from dpqr.workload.ranges import Ranges, spans

FEWEST = 32
"""Fewer blocks of a kind are not stacked."""

DENSE_ENTRIES = 2**22
"""Largest dense matrix of stacked rows, in entries (32 MB)."""


@dataclass(frozen=True, slots=True, eq=False)
class Stacked:
    """Blocks that hold the same queries in another order; order: the new position of each query, by its old number."""

    blocks: tuple[QueryBlock, ...]
    order: IntArray | None = None


@lru_cache(maxsize=4)
def stacked(blocks: tuple[QueryBlock, ...]) -> Stacked:
    """Join blocks of one row on the same groups of attributes to one row-by-row block.

    Integer answers are the same. Scales, weights and names are dropped: a stack is used for its answers alone.
    """
    kinds: dict[Hashable, list[int]] = {}
    for place, block in enumerate(blocks):
        if block.rows == 1 and block.factors:
            kinds.setdefault(tuple(factor.axes for factor in block.factors), []).append(place)
    stacks = [places for places in kinds.values() if len(places) >= FEWEST]
    if not stacks:
        return Stacked(blocks)
    moved = {place for places in stacks for place in places}
    alone = [place for place in range(len(blocks)) if place not in moved]
    made = tuple(_stack([blocks[place] for place in places]) for places in stacks)
    starts = np.cumsum([0, *(block.rows for block in blocks)])
    found = [np.arange(starts[place], starts[place + 1]) for place in alone] + [starts[places] for places in stacks]
    order = np.empty(starts[-1], dtype=np.int64)
    order[np.concatenate(found)] = np.arange(starts[-1])
    return Stacked((*(blocks[place] for place in alone), *made), order)


def all_answers(blocks: tuple[QueryBlock, ...], answer: Callable[[QueryBlock], AnyArray]) -> AnyArray:
    """Return every query's answer in its own block's grid, block by block; `answer` gives those of one block."""
    arranged = stacked(blocks)
    whole = np.concatenate([answer(block) for block in arranged.blocks])
    return whole if arranged.order is None else whole[arranged.order]


def _stack(blocks: Sequence[QueryBlock]) -> QueryBlock:
    factors = tuple(
        Factor(axes=first.axes, sizes=first.sizes, matrix=_rows([block.factors[place].matrix for block in blocks]))
        for place, first in enumerate(blocks[0].factors)
    )
    return QueryBlock(name=f"stack of {blocks[0].name}", factors=factors, rowwise=True)


def _rows(matrices: Sequence[IntMatrix]) -> IntMatrix:
    """Join matrices of one row each: intervals if all are, else dense or sparse by its size."""
    known = [spans(matrix) for matrix in matrices]
    cells = matrices[0].cells
    intervals = [ends for ends in known if ends is not None]
    if len(intervals) == len(known):
        starts, stops = (np.concatenate(ends) for ends in zip(*intervals, strict=True))
        return Ranges(starts, stops, cells)
    if len(matrices) * cells <= DENSE_ENTRIES:
        return Dense(np.concatenate([matrix.table(0, 1) for matrix in matrices]))
    from scipy.sparse import csr_array, vstack

    rows = [matrix.csr if isinstance(matrix, Sparse) else csr_array(matrix.table(0, 1)) for matrix in matrices]
    return Sparse(csr_array(vstack(rows, format="csr")))


def placed(blocks: Sequence[QueryBlock], names: Sequence[str], whole: Sequence[str]) -> tuple[QueryBlock, ...]:
    """The same queries over the session's columns."""
    moved = [list(whole).index(name) for name in names]
    return tuple(
        replace(
            block,
            factors=tuple(replace(factor, axes=tuple(moved[axis] for axis in factor.axes)) for factor in block.factors),
        )
        for block in blocks
    )
