"""Same questions: whether blocks ask the same, in whichever order, and whether one's answers follow from another's."""

from __future__ import annotations

import numpy as np

from dpqr.data.arrays import IntArray
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Identity, IntMatrix, Prefix

MOST_ENTRIES = 2**22
"""Entries of two matrices that are compared one by one; larger ones count as different."""


MOST_SPANNED = 2**18
"""Entries of matrices whose spans are looked at."""


def same_rows(asked: QueryBlock, known: QueryBlock) -> IntArray | None:
    """For each query of `asked` the row of `known` that asks the same; None where some other thing is asked.

    Blocks over the same groups of attributes with the same factors, in any order, ask the same.

    >>> from dpqr.workload.block import Factor
    >>> one, other = Factor.identity(0, 2), Factor.identity(1, 3)
    >>> known = QueryBlock(name="known", factors=(one, other))
    >>> same_rows(QueryBlock(name="asked", factors=(other, one)), known).tolist()
    [0, 3, 1, 4, 2, 5]
    """
    if asked.scale != known.scale or asked.rowwise != known.rowwise or len(asked.factors) != len(known.factors):
        return None
    places = {factor.axes: place for place, factor in enumerate(known.factors)}
    order = [places.get(factor.axes) for factor in asked.factors]
    if asked.rowwise and order != list(range(len(order))):
        return None
    for factor, place in zip(asked.factors, order, strict=True):
        if place is None or not _same(factor.matrix, known.factors[place].matrix):
            return None
    if asked.rowwise:
        return np.arange(known.rows)
    rows = np.arange(known.rows).reshape([factor.matrix.rows for factor in known.factors])
    return rows.transpose([place for place in order if place is not None]).reshape(-1)


def spans(known: QueryBlock, asked: QueryBlock) -> bool:
    """Whether every answer to `asked` is a linear combination of answers to `known`, factor by factor.

    >>> from dpqr.workload.block import Factor
    >>> known = QueryBlock(name="known", factors=(Factor.identity(0, 2), Factor.identity(1, 3)))
    >>> spans(known, QueryBlock(name="asked", factors=(Factor.identity(1, 3),)))
    True
    """
    factors = {factor.axes: factor.matrix for factor in asked.factors}
    if known.rowwise or asked.rowwise or not {factor.axes for factor in known.factors}.issuperset(factors):
        return False
    return all(_within(factors.get(factor.axes), factor.matrix) for factor in known.factors)


def _within(asked: IntMatrix | None, known: IntMatrix) -> bool:
    """Whether the rows of a matrix, or the sum of all cells, lie in the span of another's rows."""
    if isinstance(known, Identity):
        return True
    if known.rows * known.cells > MOST_SPANNED or (asked is not None and asked.rows * asked.cells > MOST_SPANNED):
        return False
    rows = np.ones((1, known.cells)) if asked is None else asked.table(0, asked.rows).astype(np.float64)
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
