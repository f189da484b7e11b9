"""ProductDistribution: a distribution, and columns that are independent of it, each with a histogram of its own."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpqr.data.arrays import Axes, CodeArray, FloatArray
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.dense import DenseDistribution
from dpqr.hypotheses.factored.distribution import LARGEST_LISTING, FactoredDistribution
from dpqr.hypotheses.hypothesis import Prefetching
from dpqr.hypotheses.refined import RefinedDistribution
from dpqr.workload.block import QueryBlock

Joint = DenseDistribution | FactoredDistribution | RefinedDistribution


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProductDistribution:
    """model: over the whole domain; of its columns apart nothing is read. apart: by attribute, probabilities of its
    cells, shape (cells,), read-only.

    >>> model = DenseDistribution.uniform((2, 2), 8.0)
    >>> ProductDistribution(model=model, apart={1: np.array([0.25, 0.75])}).marginal((1, 0)).tolist()
    [[1.0, 1.0], [3.0, 3.0]]
    """

    model: Joint
    apart: Mapping[int, FloatArray]

    @property
    def total(self) -> float:
        """The model's records."""
        return self.model.total

    @property
    def potentials(self) -> Mapping[Hashable, FloatArray]:
        """The model's: the warm start of its next fit."""
        return self.model.potentials

    def marginal(self, axes: Axes) -> FloatArray:
        """Return records, shape = sizes of `axes` in that order; () for the total."""
        joint, own = self._joint(axes), [axis for axis in axes if axis in self.apart]
        table = np.asarray(self.model.marginal(joint))
        for axis in own:
            table = np.multiply.outer(table, self.apart[axis])
        order = (*joint, *own)
        return table.transpose([order.index(axis) for axis in axes])

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Announce to the model what is read of it."""
        if isinstance(self.model, Prefetching):
            self.model.prefetch([self._joint(axes) for axes in groups])

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def weights(self) -> FloatArray:
        """Return records per cell, shape = domain shape. InfeasiblePlan above LARGEST_LISTING cells."""
        tree = self.model.model if isinstance(self.model, RefinedDistribution) else self.model
        cells = math.prod(tree.shape)
        if cells > LARGEST_LISTING:
            raise InfeasiblePlan(
                f"the domain has {cells} cells, too many to list one by one (at most {LARGEST_LISTING}); "
                "ask for synthetic rows instead"
            )
        return self.marginal(tuple(range(len(tree.shape))))

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records in random order; the columns apart with the seeds after `seed`, one each."""
        codes = self.model.rows(count, seed)
        for place, (axis, probabilities) in enumerate(self.apart.items()):
            column = DenseDistribution(probabilities=probabilities, total=float(count))
            codes[:, axis] = column.rows(count, seed + 1 + place)[:, 0]
        return codes

    def _joint(self, axes: Axes) -> Axes:
        """Those that the model answers for."""
        return tuple(axis for axis in axes if axis not in self.apart)
