"""Same questions: whether blocks ask the same, in whichever order, and whether one's answers follow from another's."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct

from dpqr.domain.domain import Domain
from dpqr.kernel.arrays import AnyArray, Axes, IntArray
from dpqr.kernel.values import replace
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Dense, Identity, IntMatrix, Prefix, Sparse
from dpqr.workload.partition import BucketMatrix
from dpqr.workload.ranges import Ranges, spans
from dpqr.workload.workload import Workload

MOST_ENTRIES = 2**22
"""Entries of two matrices that are compared one by one; larger ones count as different."""


MOST_SPANNED = 2**18
"""Entries of matrices whose spans are looked at."""


def same_rows(wanted: QueryBlock, known: QueryBlock) -> IntArray | None:
    """For each query of `wanted` the row of `known` that asks the same; None where one has none.

    Blocks over the same groups of attributes with the same factors, in any order, ask the same.

    >>> from dpqr.workload.block import Factor
    >>> one, other = Factor.identity(0, 2), Factor.identity(1, 3)
    >>> known = QueryBlock(name="known", factors=(one, other))
    >>> same_rows(QueryBlock(name="wanted", factors=(other, one)), known).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    if wanted.scale != known.scale or wanted.rowwise != known.rowwise or len(wanted.factors) != len(known.factors):
        return None
    places = {factor.axes: place for place, factor in enumerate(known.factors)}
    order = [places.get(factor.axes) for factor in wanted.factors]
    if wanted.rowwise and order != list(range(len(order))):
        return None
    for factor, place in zip(wanted.factors, order, strict=True):
        if place is None or not _same(factor.matrix, known.factors[place].matrix):
            return None
    if wanted.rowwise:
        return np.arange(known.rows)
    rows = np.arange(known.rows).reshape([factor.matrix.rows for factor in known.factors])
    return rows.transpose([place for place in order if place is not None]).reshape(-1)


def follows_from(known: QueryBlock, wanted: QueryBlock) -> bool:
    """Whether every answer to `wanted` is a linear combination of answers to `known`, factor by factor.

    >>> from dpqr.workload.block import Factor
    >>> known = QueryBlock(name="known", factors=(Factor.identity(0, 2), Factor.identity(1, 3)))
    >>> follows_from(known, QueryBlock(name="wanted", factors=(Factor.identity(1, 3),)))
    True
    """
    factors = {factor.axes: factor.matrix for factor in wanted.factors}
    if known.rowwise or wanted.rowwise or not {factor.axes for factor in known.factors}.issuperset(factors):
        return False
    return all(_within(factors.get(factor.axes), factor.matrix) for factor in known.factors)


def _within(wanted: IntMatrix | None, known: IntMatrix) -> bool:
    """Whether the rows of a matrix, or the sum of all cells, lie in the span of another's rows."""
    if isinstance(known, Identity):
        return True
    if known.rows * known.cells > MOST_SPANNED or (wanted is not None and wanted.rows * wanted.cells > MOST_SPANNED):
        return False
    rows = np.ones((1, known.cells)) if wanted is None else wanted.table(0, wanted.rows).astype(np.float64)
    held = known.table(0, known.rows).astype(np.float64)
    found = np.linalg.lstsq(held.T, rows.T, rcond=None)[0]
    return bool(np.allclose(held.T @ found, rows.T, atol=1e-9))


def _same(one: IntMatrix, other: IntMatrix) -> bool:
    if (one.rows, one.cells) != (other.rows, other.cells):
        return False
    if isinstance(one, Identity | Prefix) and type(one) is type(other):
        return one == other
    if one.rows * one.cells > MOST_ENTRIES:
        return False
    return bool(np.array_equal(one.table(0, one.rows), other.table(0, other.rows)))


# Stacking: many blocks of one query each, answered together as the rows of a few blocks.

FEWEST = 32
"""Fewer blocks of a kind are not stacked."""

DENSE_ENTRIES = 2**22
"""Largest dense matrix of stacked rows, in entries (32 MB)."""


class StackedBlocks(Struct, frozen=True, eq=False):
    """Blocks that hold the same queries in another order; order: the new position of each query, by its old number."""

    blocks: tuple[QueryBlock, ...]
    order: IntArray | None = None


@lru_cache(maxsize=4)
def stack_blocks(blocks: tuple[QueryBlock, ...]) -> StackedBlocks:
    """Join blocks of one row on the same groups of attributes to one row-by-row block.

    Integer answers are the same. Scales, weights and names are dropped: a stack is used for its answers alone.
    """
    kinds: dict[Hashable, list[int]] = {}
    for place, block in enumerate(blocks):
        if block.rows == 1 and block.factors:
            kinds.setdefault(tuple(factor.axes for factor in block.factors), []).append(place)
    stacks = [places for places in kinds.values() if len(places) >= FEWEST]
    if not stacks:
        return StackedBlocks(blocks)
    moved = {place for places in stacks for place in places}
    alone = [place for place in range(len(blocks)) if place not in moved]
    made = []
    for alike in ([blocks[place] for place in places] for places in stacks):
        factors = []
        for place, first in enumerate(alike[0].factors):
            matrix = _rows([block.factors[place].matrix for block in alike])
            factors.append(Factor(axes=first.axes, sizes=first.sizes, matrix=matrix))
        made.append(QueryBlock(name=f"stack of {alike[0].name}", factors=tuple(factors), rowwise=True))
    starts = np.cumsum([0, *(block.rows for block in blocks)])
    found = [np.arange(starts[place], starts[place + 1]) for place in alone] + [starts[places] for places in stacks]
    order = np.empty(starts[-1], dtype=np.int64)
    order[np.concatenate(found)] = np.arange(starts[-1])
    return StackedBlocks((*(blocks[place] for place in alone), *made), order)


def all_answers(blocks: tuple[QueryBlock, ...], answer: Callable[[QueryBlock], AnyArray]) -> AnyArray:
    """Return every query's answer in its own block's grid, block by block; `answer` gives those of one block."""
    arranged = stack_blocks(blocks)
    whole = np.concatenate([answer(block) for block in arranged.blocks])
    return whole if arranged.order is None else whole[arranged.order]


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


def map_to_columns(blocks: Sequence[QueryBlock], names: Sequence[str], whole: Sequence[str]) -> tuple[QueryBlock, ...]:
    """The same queries over the session's columns."""
    moved = [list(whole).index(name) for name in names]
    return tuple(
        replace(
            block,
            factors=tuple(replace(factor, axes=tuple(moved[axis] for axis in factor.axes)) for factor in block.factors),
        )
        for block in blocks
    )


# Separation: ordered columns that no query joins with another column.

CELLS = range(8, 2**18 + 1)
"""Of a column that stands apart: those that the schedule `ordered` merges."""


def separable_columns(workload: Workload, domain: Domain) -> Axes:
    """The columns that prefixes, ranges or trees are asked of, and nothing together with another column.

    Returns:
        Attributes, ascending. None where no other column is asked about, or where public facts bind the cells.

    >>> from dpqr.domain.attribute import Attribute, Codes
    >>> from dpqr.workload.block import Factor
    >>> from dpqr.workload.matrix import Prefix
    >>> domain = Domain((Attribute(name="sex", axis=Codes(2)), Attribute(name="age", axis=Codes(99))))
    >>> sex = QueryBlock(name="sex", factors=(Factor.identity(0, 2),))
    >>> ages = QueryBlock(name="ages", factors=(Factor(axes=(1,), sizes=(99,), matrix=Prefix(99)),))
    >>> separable_columns(Workload((sex, ages)), domain)
    (1,)
    """
    if domain.facts:
        return ()
    joined = {axis for block in workload.blocks if len(block.axes) > 1 for axis in block.axes}
    ordered = {
        axis
        for block in workload.blocks
        if any(
            factor.matrix.rows > 1 and not isinstance(factor.matrix, Dense | Identity | BucketMatrix)
            for factor in block.factors
        )
        for axis in block.axes
    }
    apart = tuple(sorted(axis for axis in ordered - joined if domain.shape[axis] in CELLS))
    return apart if len(apart) < len(workload.axes) else ()
