"""DenseDistribution: a probability for every cell of the domain, and a number of records."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from dpqr.data.arrays import Axes, CodeArray, FloatArray
from dpqr.data.marginals import dense_marginal
from dpqr.noise.public import public_generator
from dpqr.workload.block import QueryBlock


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DenseDistribution:
    """A histogram of `total` records, spread over the domain by `probabilities`.

    probabilities: shape = domain shape, non-negative, sum 1, read-only.
    total: records, at least 0; 0 until something public or released tells it.
    potentials: the update rule's own parameters, kept so that its next fit starts where this one ended. They never
    change an answer.
    """

    probabilities: FloatArray
    total: float
    potentials: Mapping[Hashable, FloatArray] = field(default_factory=dict, repr=False)
    _kept: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)

    @classmethod
    def uniform(cls, shape: tuple[int, ...], total: float) -> DenseDistribution:
        """Every cell alike: the distribution of largest entropy."""
        cells = np.full(shape, 1.0)
        cells /= cells.size
        cells.flags.writeable = False
        return cls(probabilities=cells, total=total)

    def with_total(self, total: float) -> DenseDistribution:
        """The same distribution, of another number of records."""
        return replace(self, total=float(total), _kept={})

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of all attributes."""
        return self.probabilities.shape

    def marginal(self, axes: Axes) -> FloatArray:
        """Records, shape = sizes of `axes` in that order; () for the total. Kept, for rounds ask for the same again."""
        if axes not in self._kept:
            tensor = dense_marginal(self.probabilities, axes) if axes else np.ones(())
            self._kept[axes] = tensor * self.total
        return self._kept[axes]

    def joint(self, axes: Axes) -> FloatArray:
        """The same."""
        return self.marginal(axes)

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def weights(self) -> FloatArray:
        """Records a cell, shape = domain shape."""
        return self.probabilities * self.total

    def rows(self, count: int, seed: int) -> CodeArray:
        """`count` synthetic records in random order; cell codes, shape (count, attributes).

        Every cell gets its expected number rounded down or up: the whole part for sure, the rest by systematic
        sampling along a random order of the cells. Why: each cell stays unbiased, so queries that nobody measured
        keep the model's answers, with less spread than independent draws would have; and the random order keeps the
        sampling step from falling in with the order of an attribute's codes.
        """
        generator = public_generator(seed)
        expected = self.probabilities.reshape(-1) * count
        counts = np.floor(expected).astype(np.int64)
        order = generator.permutation(expected.size)
        edges = np.cumsum((expected - counts)[order])
        short = count - int(counts.sum())
        # The edges end at `short` but for rounding; points beyond the last edge belong to the last cell.
        points = np.minimum(np.arange(short) + generator.random(), edges[-1])
        picks = np.searchsorted(edges, points, side="left")
        np.add.at(counts, order[picks], 1)
        cells = generator.permutation(np.repeat(np.arange(expected.size), counts))
        return np.stack(np.unravel_index(cells, self.probabilities.shape), axis=1).astype(np.int64, copy=False)
