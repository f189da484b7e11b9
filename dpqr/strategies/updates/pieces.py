"""Pieces: where a measured query's coefficients change along each attribute, and its coefficients between."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.strategies.updates.single_query import on_domain
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.ranges import Ranges

Edges = tuple[IntArray, ...]
"""One rising array an attribute, from 0 to its number of cells."""


def refined(edges: Edges, block: QueryBlock) -> Edges:
    """The edges with those at which the coefficients of a block change."""
    found = list(edges)
    for factor in block.factors:
        for position, axis in enumerate(factor.axes):
            if len(found[axis]) <= factor.sizes[position]:
                found[axis] = np.union1d(found[axis], _breaks(factor, position))
    return tuple(found)


def _breaks(factor: Factor, position: int) -> IntArray:
    """Where neighbouring cells of one of the factor's attributes have unlike coefficients."""
    if isinstance(factor.matrix, Ranges) and len(factor.axes) == 1:
        return np.concatenate([factor.matrix.starts, factor.matrix.stops])
    rows = factor.matrix.table(0, factor.matrix.rows).reshape(-1, *factor.sizes)
    steps = np.diff(rows, axis=position + 1) != 0
    others = tuple(axis for axis in range(rows.ndim) if axis != position + 1)
    return np.flatnonzero(steps.any(axis=others)) + 1


def coefficients(block: QueryBlock, edges: Edges) -> FloatArray:
    """A one-row block's coefficient of every piece, flat, in the order of the pieces; constant on each of them."""
    whole = np.ones([1] * len(edges))
    for factor in block.factors:
        firsts = [edges[axis][:-1] for axis in factor.axes]
        whole = whole * on_domain(_at(factor, firsts), factor.axes, len(edges))
    return np.broadcast_to(whole, [len(own) - 1 for own in edges]).reshape(-1)


def _at(factor: Factor, firsts: Sequence[IntArray]) -> FloatArray:
    """Coefficients at the first cell of every run."""
    matrix = factor.matrix
    if isinstance(matrix, Ranges) and len(firsts) == 1:
        inside: FloatArray = ((firsts[0] >= matrix.starts[0]) & (firsts[0] < matrix.stops[0])).astype(np.float64)
        return inside
    row: FloatArray = matrix.row(0).reshape(factor.sizes)[np.ix_(*firsts)].astype(np.float64)
    return row


def volumes(edges: Edges) -> FloatArray:
    """Each piece's share of all cells, flat."""
    whole = np.ones(1)
    for own in edges:
        whole = np.multiply.outer(whole, np.diff(own) / own[-1]).reshape(-1)
    return whole


def parents(coarse: Edges, fine: Edges) -> IntArray:
    """For every piece of `fine` the piece of `coarse` that holds it, flat indices."""
    index = np.zeros(1, dtype=np.int64)
    for old, new in zip(coarse, fine, strict=True):
        own = np.searchsorted(old, new[:-1], side="right") - 1
        index = (index[:, None] * (len(old) - 1) + own).reshape(-1)
    return index


def count(edges: Edges) -> int:
    """How many pieces."""
    return math.prod(len(own) - 1 for own in edges)
