"""RefinedDistribution: a distribution, and better tables for groups of attributes that it has no room for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import Axes, CodeArray, FloatArray, frozen
from dpqr.data.marginals import dense_marginal
from dpqr.hypotheses.dense_distribution import DenseDistribution
from dpqr.hypotheses.factored.distribution import FactoredDistribution
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RefinedDistribution:
    """Answers come from the tables where one holds all attributes of a question, and from the model elsewhere.

    tables: probabilities by attributes (in the table's order), read-only, with the model's one-way marginals.
    Rows are drawn from the model alone: a distribution over the whole domain that had all the tables for marginals
    would not fit into memory, and need not exist.
    """

    model: DenseDistribution | FactoredDistribution
    tables: Mapping[Axes, FloatArray]
    _kept: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)

    @property
    def total(self) -> float:
        return self.model.total

    @property
    def potentials(self) -> Mapping[Hashable, FloatArray]:
        return self.model.potentials

    def marginal(self, axes: Axes) -> FloatArray:
        """Records, shape = sizes of `axes` in that order; () for the total."""
        held = self._holder(axes)
        if held is None:
            return self.model.marginal(axes)
        if axes not in self._kept:
            cells = dense_marginal(self.tables[held], tuple(held.index(axis) for axis in axes))
            self._kept[axes] = frozen(np.asarray(cells * self.total))
        return self._kept[axes]

    def _holder(self, axes: Axes) -> Axes | None:
        """The attributes of the smallest table that holds all of `axes`; single ones are the model's own."""
        if len(axes) < 2:
            return None
        if axes in self.tables:
            return axes
        holders = [held for held in self.tables if set(axes) <= set(held)]
        return min(holders, key=lambda held: (self.tables[held].size, held), default=None)

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def weights(self) -> FloatArray:
        """The model's records a cell, shape = domain shape."""
        return self.model.weights()

    def rows(self, count: int, seed: int) -> CodeArray:
        """`count` synthetic records of the model."""
        return self.model.rows(count, seed)
