"""Group tables: all marginals of a table that a family of queries needs, gathered at once."""

from __future__ import annotations

import math

import numpy as np

from dpqr.data.arrays import AnyArray, IntArray


def with_totals(table: AnyArray) -> AnyArray:
    """The table with the sum over all cells in the place of the first one, attribute by attribute; a new array.

    Exact for integers whose absolute sum fits their type.
    """
    totals = np.array(table)
    for axis in range(totals.ndim):
        cells = np.moveaxis(totals, axis, 0)
        cells[0] = cells.sum(axis=0, dtype=totals.dtype)
    return totals


def group_tables(totals: AnyArray, places: IntArray, sizes: tuple[int, ...]) -> AnyArray:
    """Marginals over groups of attributes of these sizes, shape (groups, prod(sizes)).

    totals: of `with_totals`; places: flat, 0 along every attribute that is not the group's, so that its total is met.
    A group's own first cell is what the others leave of the total.
    """
    tables = totals.reshape(-1).take(places)
    for position, size in enumerate(sizes):
        cells = tables.reshape(len(places) * math.prod(sizes[:position]), size, -1)
        cells[:, 0] -= cells[:, 1:].sum(axis=1, dtype=tables.dtype)
    return tables
