"""Spread: what independent noise on the cells of a marginal, and what a fit misses of them, come to in a block's
answers."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.workload.block import QueryBlock
from dpqr.workload.tree import Tree


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spread:
    """Of one block over even records. All figures are sums over its answers, in units of the most that one record
    changes one of them.

    Why not the answers' size times the noise of all cells: the noise of the cells that a prefix adds up is independent,
    so a prefix of k cells holds sqrt(k) times the noise of one.

    >>> from dpqr.workload.block import Factor
    >>> from dpqr.workload.matrix import Prefix
    >>> prefixes = QueryBlock(name="up to", factors=(Factor(axes=(0,), sizes=(4,), matrix=Prefix(4)),))
    >>> round(Spread(block=prefixes).even, 2), round(Spread(block=prefixes).noise((0,)), 2)
    (2.5, 6.15)
    """

    block: QueryBlock
    _shares: tuple[FloatArray, ...] = field(init=False, repr=False)
    _squares: tuple[FloatArray, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """_shares, _squares: of every factor's rows, their sums over the cells as a part of them, and their squared
        norms; a marginal needs none."""
        matrices = [] if self.block.is_marginal else [factor.matrix for factor in self.block.factors]
        shares = (one.apply(np.full((one.cells, 1), 1.0 / one.cells))[:, 0] for one in matrices)
        squares = (Tree(one.cells, (1,), (1,)).variances(one) for one in matrices)
        object.__setattr__(self, "_shares", tuple(shares))
        object.__setattr__(self, "_squares", tuple(squares))

    @property
    def even(self) -> float:
        """Part of the records that the answers hold."""
        if self.block.is_marginal:
            return 1.0
        return max(self._summed([np.abs(share) for share in self._shares]), 1.0 / self.block.cells)

    def noise(self, axes: Collection[int]) -> float:
        """Of all answers together, where every cell of the marginal of these columns has noise of deviation 1."""
        if self.block.is_marginal:
            sizes = [pair for factor in self.block.factors for pair in zip(factor.axes, factor.sizes, strict=True)]
            return float(math.prod(size for axis, size in sizes if axis in axes))
        parts = []
        for factor, share, square in zip(self.block.factors, self._shares, self._squares, strict=True):
            shown = [size for axis, size in zip(factor.axes, factor.sizes, strict=True) if axis in axes]
            alike = np.abs(share) * math.sqrt(math.prod(shown))
            parts.append(np.sqrt(square) if len(shown) == len(factor.axes) else alike)
        return self._summed(parts)

    def missed(self, ways: int) -> float:
        """L1 error of all answers over that of the cells, where a fit misses what so many columns together show.

        Deviations of cells are taken for independent but for their sums over each column, which are 0: the part of a
        query that is alike in all cells of a column misses nothing. Mean over all sets of so many factors.
        """
        if self.block.is_marginal:
            return 1.0
        factors = range(len(self.block.factors))
        found = [self._missed(chosen) for chosen in combinations(factors, min(ways, len(factors)))]
        return float(np.mean(found))

    def _missed(self, chosen: Collection[int]) -> float:
        parts = []
        for place, factor in enumerate(self.block.factors):
            cells, share = factor.matrix.cells, self._shares[place]
            apart = np.sqrt(np.maximum(self._squares[place] - cells * share**2, 0.0))
            parts.append(apart / math.sqrt(cells * max(cells - 1, 1)) if place in chosen else np.abs(share))
        return self._summed(parts)

    def _summed(self, parts: list[FloatArray]) -> float:
        """Over the answers; parts: of every factor, one figure a row."""
        alone = math.prod(float(part.sum()) for part in parts)
        rowwise = self.block.rowwise and len(parts) > 1
        found = float(reduce(np.multiply, parts).sum()) if rowwise else alone
        return found / max(self.block.largest_coefficient, 1)
