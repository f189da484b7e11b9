"""FactoredDistribution: a distribution over a domain of any size, as consistent probabilities of cliques."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpqr.data.arrays import Axes, CodeArray, FloatArray, IntArray, frozen
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.factored.elimination import Elimination
from dpqr.hypotheses.factored.junction_tree import Clique, JunctionTree
from dpqr.hypotheses.factored.pairs import fits, pair_tables
from dpqr.noise.public import public_generator
from dpqr.workload.block import QueryBlock


def sampled(tree: JunctionTree, beliefs: tuple[FloatArray, ...], count: int, seed: int) -> CodeArray:
    """Draw `count` records in random order; codes, shape (count, attributes).

    A clique's other attributes are drawn given its separator, which is drawn with its parent. Records that agree on the
    separator share one systematic sample: every combination gets its expected number rounded down or up, unbiased and
    with less variance than under independent draws. A random order assigns combinations to records.

    Args:
        beliefs: one table for each clique of the tree, its axes in the clique's order.
        seed: public.
    """
    generator = public_generator(seed)
    codes: CodeArray = np.zeros((count, len(tree.shape)), dtype=np.int64, order="F")
    for clique, cells in zip(tree.cliques, beliefs, strict=True):
        _fill(codes, clique, cells, generator)
    return codes


def _fill(codes: CodeArray, clique: Clique, cells: FloatArray, generator: Any) -> None:
    """Draw the clique's attributes outside its separator for all records."""
    shared = [place for place in range(cells.ndim) if place not in clique.dropped]
    own = list(clique.dropped)
    table = cells.transpose([*shared, *own]).reshape(math.prod(cells.shape[place] for place in shared), -1)
    order: IntArray = generator.permutation(len(codes))
    cases = _cases(codes, [clique.axes[place] for place in shared], [cells.shape[place] for place in shared])[order]
    # Up to 16 bits numpy sorts by radix, ten times faster, to the same order.
    arranged = np.argsort(cases.astype(np.min_scalar_type(len(table) - 1)), kind="stable")
    drawn = _systematic(table, cases[arranged], generator)
    picks = np.empty_like(drawn)
    picks[order[arranged]] = drawn
    parts = np.unravel_index(picks, [cells.shape[place] for place in own])
    for place, part in zip(own, parts, strict=True):
        codes[:, clique.axes[place]] = part


def _cases(codes: CodeArray, axes: list[int], sizes: list[int]) -> IntArray:
    """Return the row of the clique's table of each record."""
    case = np.zeros(len(codes), dtype=np.int64)
    for axis, size in zip(axes, sizes, strict=True):
        case *= size
        case += codes[:, axis]
    return case


def _systematic(table: FloatArray, cases: IntArray, generator: Any) -> IntArray:
    """Draw one column of `table` for every case, cases ascending, by evenly spaced points on its cumulated row.

    The columns are in random order, so that the spacing does not align with the order of an attribute's codes. Row r of
    the table is cumulated to the interval [r, r + 1], and one search serves all rows.
    """
    columns: IntArray = generator.permutation(table.shape[1])
    counts = np.bincount(cases, minlength=len(table))
    ranks = np.arange(len(cases)) - (np.cumsum(counts) - counts)[cases]
    points = (ranks + generator.random(len(table))[cases]) / np.maximum(counts, 1)[cases]
    edges = np.cumsum(table[:, columns], axis=1)
    ends = edges[:, -1:]
    edges /= np.where(ends > 0, ends, 1.0)
    edges[:, -1] = 1.0
    edges += np.arange(len(table))[:, None]
    found = np.searchsorted(edges.reshape(-1), cases + points, side="right") - cases * table.shape[1]
    # A point that rounding puts on its row's end belongs to the last column of positive probability.
    last = table.shape[1] - 1 - np.argmax(table[:, columns[::-1]] > 0, axis=1)
    picked: IntArray = columns[np.clip(found, 0, last[cases])]
    return picked


LARGEST_LISTING = 2**24
"""Cells of the largest domain that `weights` lists (128 MiB)."""


MANY = 4
"""Pairs a clique above which they are computed together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactoredDistribution:
    """A histogram of `total` records with p = product over cliques of p(clique) / p(separator).

    Every distribution proportional to exp(sum of potentials on groups of attributes) has this form on a tree whose
    cliques hold the groups.

    beliefs: one table per clique, shape tree.sizes(clique), sum 1, equal on the separators, read-only.
    total: records, at least 0; 0 until a public fact or a release gives it.
    potentials: parameters of the update rule, the warm start of its next fit. They never change an answer.

    >>> FactoredDistribution.uniform((2,) * 40, total=8.0).marginal((0, 39)).tolist()
    [[2.0, 2.0], [2.0, 2.0]]
    """

    tree: JunctionTree
    beliefs: tuple[FloatArray, ...]
    total: float
    potentials: Mapping[Hashable, FloatArray] = field(default_factory=dict, repr=False)
    _kept: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)
    _elimination: Elimination = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_elimination", Elimination(tree=self.tree, beliefs=self.beliefs))

    @classmethod
    def uniform(cls, shape: tuple[int, ...], total: float) -> FactoredDistribution:
        """Return the uniform distribution, which has the largest entropy."""
        tree = JunctionTree.over(shape, ())
        tables = [np.full(tree.sizes(clique), 1 / math.prod(tree.sizes(clique))) for clique in tree.cliques]
        return cls(tree=tree, beliefs=tuple(frozen(table) for table in tables), total=total)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of all attributes."""
        return self.tree.shape

    def marginal(self, axes: Axes) -> FloatArray:
        """Return records, shape = sizes of `axes` in that order; () for the total. Cached for later rounds."""
        if axes not in self._kept:
            self._kept[axes] = frozen(np.asarray(self._elimination.joint(axes) * self.total))
        return self._kept[axes]

    def joint(self, axes: Axes) -> FloatArray:
        """Return the same without caching it, in an array of its own or read-only."""
        return np.asarray(self._elimination.joint(axes) * self.total) if axes not in self._kept else self._kept[axes]

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Compute and cache the marginals of pairs of attributes together where they are many."""
        pairs = {axes for axes in groups if len(axes) == 2 and axes not in self._kept and self.tree.home(axes) is None}
        if len(pairs) > MANY * len(self.tree.cliques) and fits(self.tree):
            for axes, table in pair_tables(self.tree, self.beliefs, pairs):
                self._kept[axes] = frozen(table * self.total)

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def probabilities(self) -> FloatArray:
        """Return the probabilities of all cells, shape = domain shape. InfeasiblePlan above LARGEST_LISTING cells."""
        cells = math.prod(self.tree.shape)
        if cells > LARGEST_LISTING:
            raise InfeasiblePlan(
                f"the domain has {cells} cells, too many to list one by one (at most {LARGEST_LISTING}); "
                "ask for synthetic rows instead"
            )
        return self._elimination.joint(tuple(range(len(self.tree.shape))))

    def weights(self) -> FloatArray:
        """Return records per cell, shape = domain shape. InfeasiblePlan above LARGEST_LISTING cells."""
        return self.probabilities() * self.total

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records in random order; cell codes, shape (count, attributes)."""
        return sampled(self.tree, self.beliefs, count, seed)
