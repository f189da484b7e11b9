"""FactoredDistribution: a distribution over a domain of any size, as consistent probabilities of cliques."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import Axes, CodeArray, FloatArray, frozen
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.factored.elimination import Elimination
from dpqr.hypotheses.factored.junction_tree import JunctionTree
from dpqr.hypotheses.factored.sampling import sampled
from dpqr.workload.block import QueryBlock

LARGEST_LISTING = 2**24
"""Cells of the largest domain that `weights` lists (128 MiB)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FactoredDistribution:
    """A histogram of `total` records with p = product over cliques of p(clique) / p(separator).

    Every distribution proportional to exp(sum of potentials on groups of attributes) has this form on a tree whose
    cliques hold the groups.

    beliefs: one table a clique, shape tree.sizes(clique), sum 1, equal on the separators, read-only.
    total: records, at least 0; 0 until something public or released tells it.
    potentials: the update rule's own parameters, kept so that its next fit starts where this one ended. They never
    change an answer.
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
        """Every cell alike: the distribution of largest entropy."""
        tree = JunctionTree.over(shape, ())
        tables = [np.full(tree.sizes(clique), 1 / math.prod(tree.sizes(clique))) for clique in tree.cliques]
        return cls(tree=tree, beliefs=tuple(frozen(table) for table in tables), total=total)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of all attributes."""
        return self.tree.shape

    def marginal(self, axes: Axes) -> FloatArray:
        """Records, shape = sizes of `axes` in that order; () for the total. Kept, for rounds ask for the same again."""
        if axes not in self._kept:
            self._kept[axes] = frozen(np.asarray(self._elimination.joint(axes) * self.total))
        return self._kept[axes]

    def joint(self, axes: Axes) -> FloatArray:
        """The same, not kept, and in space of its own or read-only."""
        return np.asarray(self._elimination.joint(axes) * self.total)

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def probabilities(self) -> FloatArray:
        """Of every cell, shape = domain shape. InfeasiblePlan for domains above LARGEST_LISTING cells."""
        cells = math.prod(self.tree.shape)
        if cells > LARGEST_LISTING:
            raise InfeasiblePlan(
                f"the domain has {cells} cells, too many to list one by one (at most {LARGEST_LISTING}); "
                "ask for synthetic rows instead"
            )
        return self._elimination.joint(tuple(range(len(self.tree.shape))))

    def weights(self) -> FloatArray:
        """Records a cell, shape = domain shape. InfeasiblePlan for domains above LARGEST_LISTING cells."""
        return self.probabilities() * self.total

    def rows(self, count: int, seed: int) -> CodeArray:
        """`count` synthetic records in random order; cell codes, shape (count, attributes)."""
        return sampled(self.tree, self.beliefs, count, seed)
