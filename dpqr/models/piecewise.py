"""PiecewiseDistribution: constant probabilities on pieces, for few measured queries on a large universe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpqr.domain.histogram import dense_marginal, marginals
from dpqr.kernel.arrays import Axes, CodeArray, FloatArray, IntArray, freeze
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.noise.public import public_generator
from dpqr.workload.block import QueryBlock
from dpqr.workload.ranges import Ends, Ranges, Term, combine_terms, running_sums

LISTED = 2**24
"""Cells of the largest domain that `weights` lists (128 MiB per array)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PiecewiseDistribution:
    """`total` records over a domain whose attributes are cut into runs of neighbouring cells.

    Why pieces: after T measured ranges the distribution of largest entropy is constant on 2 T + 1 runs, so the work of
    a round does not grow with the universe. Ranges, prefixes, rectangles and conjunctions are answered from running
    sums of the pieces, linear between them; other queries from the cells of a marginal.

    Attributes:
        edges: one array per attribute, 0 = edges[0] < .. < edges[-1] = its cells; a piece is a run of each attribute.
        masses: probability of every piece, shape = runs of each attribute, spread evenly over the piece's cells.
        total: records, at least 0. Both arrays are read-only.
        memory: state of the update rule, the warm start of its next fit; it never changes an answer.

    >>> halves = PiecewiseDistribution(edges=(np.array([0, 2, 4]),), masses=np.array([0.75, 0.25]), total=8.0)
    >>> halves.marginal((0,)).tolist()
    [3.0, 3.0, 1.0, 1.0]
    """

    edges: tuple[IntArray, ...]
    masses: FloatArray
    total: float
    memory: Any = field(default=None, repr=False)
    _cache: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)
    _sums: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of each attribute."""
        return tuple(int(edges[-1]) for edges in self.edges)

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Sum the pieces over all of these groups together and cache the sums."""
        self._sums.update(marginals(self.masses, groups))

    def marginal(self, axes: Axes) -> FloatArray:
        """Return records, shape = sizes of `axes` in that order; () for the total."""
        if axes not in self._cache:
            tensor = self._coarse(axes)
            for position, axis in enumerate(axes):
                runs = np.diff(self.edges[axis])
                if len(runs) < self.edges[axis][-1]:
                    along = [-1 if other == position else 1 for other in range(tensor.ndim)]
                    tensor = np.repeat(tensor / runs.reshape(along), runs, axis=position)
            self._cache[axes] = freeze(np.asarray(tensor * self.total))
        return self._cache[axes]

    def _coarse(self, axes: Axes) -> FloatArray:
        """Probabilities of the pieces of `axes` alone."""
        if axes not in self._sums:
            self._sums[axes] = dense_marginal(self.masses, axes) if axes else np.ones(())
        return self._sums[axes]

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        if block.is_marginal:
            return self.marginal(block.axes).reshape(-1)
        ends = block.ends if block.factors and all(len(factor.axes) == 1 for factor in block.factors) else None
        if ends is None:
            answers: FloatArray = block.answer(self)
            return answers
        coarse, edges = self._coarse(block.axes), [self.edges[axis] for axis in block.axes]
        # One attribute: running sums between the edges. Ends are looked up in ascending order, eight times faster.
        if len(ends) == 1:
            sums, matrix = np.concatenate([[0.0], np.cumsum(coarse)]), block.factors[0].matrix
            if isinstance(matrix, Ranges):
                places, starts, stops = matrix.places
                at_places = np.interp(places, edges[0], sums)
                return np.asarray(at_places.take(stops) - at_places.take(starts)) * self.total
            starts, stops = ends[0]
            return np.asarray(np.interp(stops, edges[0], sums) - np.interp(starts, edges[0], sums)) * self.total
        # Row by row: each query reads the corners of its box.
        if block.rowwise:
            terms = [_terms(own, one) for own, one in zip(edges, ends, strict=True)]
            return np.asarray(combine_terms(running_sums(coarse), terms)) * self.total
        # All combinations: one attribute after the other is summed over its ranges, shape (ranges, other axes).
        for position, (own, one) in enumerate(zip(edges, ends, strict=True)):
            front = np.moveaxis(coarse, position, 0)
            sums = np.zeros((len(own), *front.shape[1:]))
            np.cumsum(front, axis=0, out=sums[1:])
            over_ranges = np.zeros((len(one[0]), *front.shape[1:]))
            for places, times in _terms(own, one):
                over_ranges += sums[places] * np.reshape(times, (-1, *[1] * (front.ndim - 1)))
            coarse = np.moveaxis(over_ranges, 0, position)
        return coarse.reshape(-1) * self.total

    def weights(self) -> FloatArray:
        """Return records per cell, shape = domain shape; InfeasiblePlan if that is too large to list."""
        cells = int(np.prod(self.shape, dtype=object))
        if cells > LISTED:
            raise InfeasiblePlan(f"the domain has {cells} cells, and at most {LISTED} are listed; ask for rows instead")
        return self.marginal(tuple(range(len(self.edges))))

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records in random order; cell codes, shape (count, attributes).

        Pieces get their expected numbers rounded down or up, by systematic sampling along a random order; within a
        piece cells are drawn uniformly and independently.
        """
        generator = public_generator(seed)
        flat = self.masses.reshape(-1)
        order = generator.permutation(flat.size)
        reached = np.cumsum(flat[order])
        points = (np.arange(count) + generator.random()) / max(count, 1) * reached[-1]
        picked = order[np.minimum(np.searchsorted(reached, points, side="right"), flat.size - 1)]
        pieces = np.unravel_index(generator.permutation(picked), self.masses.shape)
        columns = [
            generator.integers(edges[piece], edges[piece + 1]) for edges, piece in zip(self.edges, pieces, strict=True)
        ]
        return np.stack(columns, axis=1).astype(np.int64, copy=False)


def _places(edges: IntArray, cells: IntArray) -> tuple[IntArray, FloatArray]:
    """Return for each cell boundary the run that holds it (or starts there), and its relative position in it."""
    runs = np.minimum(np.searchsorted(edges, cells, side="right") - 1, len(edges) - 2)
    return runs, (cells - edges[runs]) / (edges[runs + 1] - edges[runs])


def _terms(edges: IntArray, ends: Ends) -> Sequence[Term]:
    """The running sum at the stops less that at the starts, linear between the edges."""
    starts, stops = ends
    if len(edges) == edges[-1] + 1:
        return [(stops, 1), (starts, -1)]
    first, into_first = _places(edges, starts)
    last, into_last = _places(edges, stops)
    return [(last, 1.0 - into_last), (last + 1, into_last), (first, into_first - 1.0), (first + 1, -into_first)]
