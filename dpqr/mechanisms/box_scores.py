"""BoxScores: the errors of a hypothesis on many boxes, and `BoxSearch`, which bounds them without scoring all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import final

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import RECORDS, Counts
from dpqr.kernel.arrays import AnyArray, IntArray
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.noisy_answers import refuse_beyond
from dpqr.mechanisms.selection import queries_sensitivity
from dpqr.workload.block import QueryBlock
from dpqr.workload.box_index import BoxIndex, Family, IndexLevel
from dpqr.workload.ranges import Term, combine_terms, group_tables, with_totals

SLICE = 2**17
"""Queries per batch."""

ALLOWANCE = 2**20
"""Sums that refinement may form beyond one per query, before all queries are scored instead (8 MB)."""


class Pieces(Struct, frozen=True, kw_only=True, eq=False):
    """Nodes of one level of a family, each with the table that its comparisons select.

    ids: the nodes. tensors: sums over the cells of the attributes that are not compared yet, int64, shape (rows,
    cells); rows: the row of every node. bounds: on |sum of the cells of a box| over all boxes of those attributes.
    """

    family: int
    depth: int
    ids: IntArray
    tensors: IntArray
    rows: IntArray
    bounds: IntArray


class BoxSearch:
    """The search of `kernel.noise.selection` over the boxes of an index, scored by |sum over the box of the table|.

    table: int64, of the index's sizes; the sum of its absolute values is below 2^62.
    """

    def __init__(self, index: BoxIndex, table: IntArray) -> None:
        self._index = index
        self._tables = [
            group_tables(totals, one.cells, one.sizes) for totals in (with_totals(table),) for one in index.families
        ]
        self._sums: dict[int, IntArray] = {}
        self._left = index.queries + ALLOWANCE
        self._pieces = []
        for place, (family, tensors) in enumerate(zip(index.families, self._tables, strict=True)):
            # All nodes of the family's level `start`.
            ids = np.arange(family.levels[0].nodes)
            for depth in range(family.start):
                ids, tensors = _children(family, depth, ids, tensors)
            self._pieces.append(_bounded(place, family, family.start, ids, tensors))
        self._line_up()

    def _line_up(self) -> None:
        """Number the pieces consecutively."""
        levels = [self._level(one) for one in self._pieces]
        firsts = [level.first[one.ids] for level, one in zip(levels, self._pieces, strict=True)]
        self.bounds = np.concatenate([one.bounds for one in self._pieces])
        self.counts = np.concatenate(
            [level.first[one.ids + 1] - first for level, one, first in zip(levels, self._pieces, firsts, strict=True)]
        )
        self.known = np.concatenate(
            [np.full(len(one.ids), len(self._level(one).down) == 0, dtype=np.int64) for one in self._pieces]
        )
        self._firsts = np.concatenate(firsts)
        self._ends = np.cumsum([len(one.ids) for one in self._pieces])

    def _level(self, pieces: Pieces) -> IndexLevel:
        return self._index.families[pieces.family].levels[pieces.depth]

    def score(self, pieces: IntArray, ranks: IntArray) -> IntArray:
        scores = self.bounds[pieces]
        places = self._firsts[pieces] + ranks
        families = np.array([one.family for one in self._pieces])[np.searchsorted(self._ends, pieces, side="right")]
        families[self.known[pieces] > 0] = -1
        for family in np.unique(families[families >= 0]).tolist():
            own = np.flatnonzero(families == family)
            scores[own] = self._values(family, places[own])
        return scores

    def candidate(self, piece: int, rank: int) -> int:
        family = self._pieces[int(np.searchsorted(self._ends, piece, side="right"))].family
        return int(self._index.families[family].order[self._firsts[piece] + rank])

    def refine(self, pieces: IntArray) -> bool:
        """Replace the pieces by their children."""
        chosen = np.zeros(len(self.bounds), dtype=bool)
        chosen[pieces] = True
        parts = list(zip(self._pieces, np.split(chosen, self._ends[:-1]), strict=True))
        work = sum(self._work(one, one.ids[own]) for one, own in parts if own.any())
        if work == 0 or work > self._left:
            return False
        self._left -= work
        self._pieces = [finer for one, own in parts for finer in self._split(one, own)]
        self._line_up()
        return True

    def _work(self, pieces: Pieces, ids: IntArray) -> int:
        """Number of sums for the children of these nodes."""
        down = self._level(pieces).down
        if len(down) == 0:
            return 0
        return int((down[ids + 1] - down[ids]).sum()) * math.prod(
            self._index.families[pieces.family].sizes[pieces.depth + 1 :]
        )

    def _split(self, pieces: Pieces, own: AnyArray) -> Iterator[Pieces]:
        if not own.any():
            yield pieces
            return
        if not own.all():
            picks = np.flatnonzero(~own)
            yield Pieces(
                family=pieces.family,
                depth=pieces.depth,
                ids=pieces.ids[picks],
                tensors=pieces.tensors,
                rows=pieces.rows[picks],
                bounds=pieces.bounds[picks],
            )
        family = self._index.families[pieces.family]
        kids, tensors = _children(family, pieces.depth, pieces.ids[own], pieces.tensors[pieces.rows[own]])
        yield _bounded(pieces.family, family, pieces.depth + 1, kids, tensors)

    def evaluate(self) -> IntArray:
        """Return the scores of all candidates in their order; identical queries are scored once."""
        scores = np.empty(self._index.queries, dtype=np.int64)
        for place, family in enumerate(self._index.families):
            first = family.levels[-1].first
            for start in range(0, len(first) - 1, SLICE):
                firsts = first[start : start + SLICE + 1]
                found = np.repeat(self._values(place, firsts[:-1]), np.diff(firsts))
                scores[family.order[firsts[0] : firsts[-1]]] = found
        return scores

    def _values(self, place: int, places: IntArray) -> IntArray:
        """Scores of the queries at these positions of a family's order, from running sums of its groups' tables."""
        family = self._index.families[place]
        if place not in self._sums:
            self._sums[place] = _running(self._tables[place], family.sizes)
        group, *picks = family.picks(places)
        terms: list[list[Term]] = [[(group, 1)]]
        terms += [
            [(stops[own], 1), (starts[own], -1)] for (starts, stops), own in zip(family.intervals, picks, strict=True)
        ]
        return np.abs(combine_terms(self._sums[place], terms))


def _children(family: Family, depth: int, ids: IntArray, tensors: IntArray) -> tuple[IntArray, IntArray]:
    """The children of these nodes and the table of each: sums over the cells of its interval."""
    down = family.levels[depth].down
    counts = down[ids + 1] - down[ids]
    parents = np.repeat(np.arange(len(ids)), counts)
    kids = np.arange(len(parents)) + np.repeat(down[ids] - (np.cumsum(counts) - counts), counts)
    starts, stops = (ends[family.levels[depth + 1].kinds[kids]] for ends in family.intervals[depth])
    size = family.sizes[depth]
    running = np.zeros((len(ids), size + 1, tensors.shape[1] // size), dtype=np.int64)
    np.cumsum(tensors.reshape(len(ids), size, -1), axis=1, out=running[:, 1:])
    return kids, running[parents, stops] - running[parents, starts]


def _bounded(place: int, family: Family, depth: int, ids: IntArray, tensors: IntArray) -> Pieces:
    bounds = box_bounds(tensors, family.sizes[depth:])
    return Pieces(family=place, depth=depth, ids=ids, tensors=tensors, rows=np.arange(len(ids)), bounds=bounds)


def box_bounds(tensors: IntArray, sizes: tuple[int, ...]) -> IntArray:
    """Return for each tensor a bound on |sum over a box|, over all boxes; tensors: flat, shape (n, prod(sizes)).

    One cell: its absolute value. One attribute: the largest difference of two running sums, which some interval
    attains. More: a box's sum lies between those of all negative and of all positive cells, -N and P, and max(P, N) is
    half of (P + N) + |P - N|, the sum of absolute values and the absolute sum.
    """
    if not sizes:
        return np.abs(tensors[:, 0])
    if len(sizes) == 1:
        sums = np.zeros((len(tensors), sizes[0] + 1), dtype=np.int64)
        np.cumsum(tensors, axis=1, out=sums[:, 1:])
        rise = (sums - np.minimum.accumulate(sums, axis=1)).max(axis=1)
        fall = (np.maximum.accumulate(sums, axis=1) - sums).max(axis=1)
        highest: IntArray = np.maximum(rise, fall)
        return highest
    bounds: IntArray = (np.abs(tensors).sum(axis=1) + np.abs(tensors.sum(axis=1))) // 2
    return bounds


def _running(tables: IntArray, sizes: tuple[int, ...]) -> IntArray:
    """Running sums of every group's table along its attributes, shape (groups, size + 1, ..)."""
    sums = np.zeros((len(tables), *(size + 1 for size in sizes)), dtype=np.int64)
    inner = sums[(slice(None), *(slice(1, None) for _ in sizes))]
    inner[...] = tables.reshape(len(tables), *sizes)
    for axis in range(1, inner.ndim):
        np.cumsum(inner, axis=axis, out=inner)
    return sums


@final
class BoxScores(Struct, frozen=True, kw_only=True, eq=False):
    """Every box of the index is a candidate: score = |sum over its cells of (2^bits count - expected)|.

    blocks: the boxes of the workload, of equal weight. expected: the hypothesis' table in units of 2^-bits records,
    int64, of the index's sizes, public. Hypothesis and counts are compared cell by cell in exact integers, so a bound
    on the scores of many boxes is a sum of cells.

    Raises:
        InfeasiblePlan: a score could reach 2^62.

    Privacy:
        Expected cells are public, so a score moves by at most 2^bits |f(x) - f(x')|, f the box's count: *add-remove:*
        2^bits, *replace:* 2^bits too, for a box holds both cells or one of them; for persons that times their rows.
        That is 2^bits times the sensitivity of `QueryScores`, whose scores these are on a finer grid.

    >>> from dpqr.domain.histogram import DenseHistogram
    >>> from dpqr.workload.block import Factor
    >>> from dpqr.workload.box_index import box_index
    >>> from dpqr.workload.ranges import Ranges
    >>> ranges = Ranges(np.array([0, 0, 0, 1, 1, 2]), np.array([1, 2, 3, 2, 3, 3]), 3)
    >>> ages = QueryBlock(name="ages", factors=(Factor(axes=(0,), sizes=(3,), matrix=ranges),))
    >>> scores = BoxScores(blocks=(ages,), index=box_index((ages,)), expected=np.array([2, 2, 2]), bits=0)
    >>> scores.evaluate(DenseHistogram(np.array([5, 0, 1])))
    array([3, 1, 0, 2, 3, 1])
    """

    blocks: tuple[QueryBlock, ...]
    index: BoxIndex
    expected: IntArray
    bits: int
    records: int = RECORDS

    def __post_init__(self) -> None:
        largest = (self.records << self.bits) + int(np.abs(self.expected).sum())
        refuse_beyond(largest, self.blocks[0].name, self.records)

    def __len__(self) -> int:
        return self.index.queries

    def sensitivity(self, unit: PrivacyUnit) -> int:
        return queries_sensitivity(self.blocks, (1,) * len(self.blocks), unit) << self.bits

    def search(self, counts: Counts) -> BoxSearch:
        """Return the search by which a draw computes few scores; private."""
        table = (counts.marginal(self.index.axes) << self.bits) - self.expected
        return BoxSearch(self.index, table)

    def evaluate(self, counts: Counts) -> IntArray:
        return self.search(counts).evaluate()
