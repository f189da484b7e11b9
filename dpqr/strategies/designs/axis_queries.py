"""AxisQueries: what a workload asks of one attribute, for designs that answer one attribute at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.workload.matrix import Identity, IntMatrix
from dpqr.workload.ranges import group_sums, spans

SLICE = 2**21
"""Group sums of queries that are looked at together."""


class Queries(Protocol):
    """What a design needs to know of a workload over cells in a row."""

    @property
    def size(self) -> int: ...

    def gram(self, edges: IntArray) -> tuple[FloatArray, FloatArray]:
        """Sums of the Gram matrix over pairs of groups of neighbouring cells; of its diagonal over groups."""
        ...

    def energies(self, widths: tuple[int, ...]) -> FloatArray:
        """Sum of |q P|^2 over the queries, P the projection on groups of each width."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AxisQueries:
    """Queries over `size` cells, each with the weight of its squared error.

    terms: matrices with one weight a row, shape (rows,).
    """

    size: int
    terms: tuple[tuple[IntMatrix, FloatArray], ...]

    @property
    def plain(self) -> bool:
        """Whether single cells are all that is asked for."""
        return all(isinstance(matrix, Identity) for matrix, _ in self.terms)

    def gram(self, edges: IntArray) -> tuple[FloatArray, FloatArray]:
        """Sum of weight q^T q over the queries q, as far as a design that is constant on groups of cells needs it.

        edges: of the groups. Its sums over pairs of groups, shape (groups, groups); its diagonal's over groups.
        """
        groups = len(edges) - 1
        pairs, diagonal = np.zeros((groups, groups)), np.zeros(groups)
        for matrix, weights in self.terms:
            step = max(1, SLICE // max(matrix.cells, 1))
            for start in range(0, matrix.rows, step):
                share = weights[start : start + step]
                sums, squares = group_sums(matrix, edges, start, start + len(share))
                pairs += (sums * share[:, None]).T @ sums
                diagonal += share @ squares
        return pairs, diagonal

    def energies(self, widths: tuple[int, ...]) -> FloatArray:
        """For every width: sum of weight |q P|^2, P the projection on vectors that are constant on groups of so many
        neighbouring cells (the last group is filled up with cells that nobody asks for). Shape (widths,)."""
        total = np.zeros(len(widths))
        for matrix, weights in self.terms:
            known = spans(matrix)
            if known is not None:
                total += [float(weights @ _interval_energies(*known, width)) for width in widths]
            else:
                total += _table_energies(matrix, weights, widths)
        return total


def _interval_energies(starts: IntArray, stops: IntArray, width: int) -> FloatArray:
    """(1 / width) sum over groups of |overlap|^2: whole groups between the ends, and the two that the ends cut."""
    first, last = -(-starts // width), stops // width
    inside = np.maximum(last - first, 0) * float(width) ** 2
    within = starts // width == (stops - 1) // width
    head = np.where(within, 0, first * width - starts).astype(np.float64)
    tail = np.where(within, 0, stops - last * width).astype(np.float64)
    lone = np.where(within & (stops - starts < width), stops - starts, 0).astype(np.float64)
    energies: FloatArray = (inside + head**2 + tail**2 + lone**2) / width
    return energies


def _table_energies(matrix: IntMatrix, weights: FloatArray, widths: tuple[int, ...]) -> FloatArray:
    total = np.zeros(len(widths))
    step = max(1, SLICE // max(matrix.cells, 1))
    for start in range(0, matrix.rows, step):
        share = weights[start : start + step]
        table = matrix.table(start, start + len(share)).astype(np.float64)
        for level, width in enumerate(widths):
            sums = np.add.reduceat(table, np.arange(0, matrix.cells, width), axis=1)
            total[level] += float(share @ (sums**2).sum(axis=1)) / width
    return total
