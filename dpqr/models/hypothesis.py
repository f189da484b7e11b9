"""Hypothesis: "any data structure on which the queries can be evaluated" (Dwork and Roth 2014, section 5.2)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import dense_marginal
from dpqr.kernel.arrays import Axes, CodeArray, FloatArray
from dpqr.kernel.noise.public import public_generator
from dpqr.kernel.values import replace
from dpqr.workload.block import QueryBlock
from dpqr.workload.matrix import Identity
from dpqr.workload.strategy_matrices import on_single_axes, query_variances
from dpqr.workload.workload import home


class Hypothesis(Protocol):
    """A public model of the histogram database."""

    @property
    def total(self) -> float:
        """Number of records that the hypothesis stands for."""
        ...

    def answer(self, block: QueryBlock) -> FloatArray:
        """Return answers in units of the block's grid (records, not fractions), shape (block.rows,)."""
        ...


@runtime_checkable
class Sampleable(Hypothesis, Protocol):
    """A hypothesis that is a distribution over cells, from which synthetic records can be drawn."""

    def weights(self) -> FloatArray:
        """Return records per cell, shape = domain shape, non-negative; InfeasiblePlan if that is too large to list."""
        ...

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records from the public `seed`; cell codes, shape (count, attributes), of any type of
        integers."""
        ...


@runtime_checkable
class Prefetching(Hypothesis, Protocol):
    """A hypothesis that answers many blocks faster if they are announced."""

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Compute and cache the marginals over these groups of attributes together."""
        ...


@runtime_checkable
class Unbiased(Hypothesis, Protocol):
    """A hypothesis whose answers are unbiased, with a known standard deviation."""

    def deviations(self, block: QueryBlock) -> FloatArray | None:
        """Return the standard deviation of every answer, in units of the block's grid, shape (block.rows,), or None."""
        ...


@runtime_checkable
class Clippable(Hypothesis, Protocol):
    """A hypothesis whose answers can lie outside the range of any database; the loop needs them unclipped."""

    def clipped(self) -> Hypothesis:
        """Return the hypothesis of the release: every answer clipped to the range of `total` records."""
        ...


def prepare(hypothesis: Hypothesis, blocks: Sequence[QueryBlock]) -> None:
    """Announce to a hypothesis the blocks that it will answer next, if it can prefetch."""
    if isinstance(hypothesis, Prefetching):
        hypothesis.prefetch([block.axes for block in blocks])


# Hypotheses with a number for every cell: `DenseDistribution`, and `SignedVector`, the state of the perceptron.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DenseDistribution:
    """A histogram of `total` records, spread over the domain by `probabilities`.

    Attributes:
        probabilities: shape = domain shape, non-negative, sum 1, read-only.
        total: records, at least 0; 0 until a public fact or a release gives it.
        potentials: parameters of the update rule, the warm start of its next fit. They never change an answer.

    >>> DenseDistribution.uniform((2, 2), total=8.0).marginal((0,)).tolist()
    [4.0, 4.0]
    """

    probabilities: FloatArray
    total: float
    potentials: Mapping[Hashable, FloatArray] = field(default_factory=dict, repr=False)
    _cache: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)

    @classmethod
    def uniform(cls, shape: tuple[int, ...], total: float) -> DenseDistribution:
        """Return the uniform distribution, which has the largest entropy."""
        cells = np.full(shape, 1.0)
        cells /= cells.size
        cells.flags.writeable = False
        return cls(probabilities=cells, total=total)

    def with_total(self, total: float) -> DenseDistribution:
        """Return the same distribution, of another number of records."""
        return replace(self, total=float(total), _cache={})

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of all attributes."""
        return self.probabilities.shape

    def marginal(self, axes: Axes) -> FloatArray:
        """Return records, shape = sizes of `axes` in that order; () for the total. Cached for later rounds."""
        if axes not in self._cache:
            tensor = dense_marginal(self.probabilities, axes) if axes else np.ones(())
            self._cache[axes] = tensor * self.total
        return self._cache[axes]

    def joint(self, axes: Axes) -> FloatArray:
        """The same."""
        return self.marginal(axes)

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def weights(self) -> FloatArray:
        """Return records per cell, shape = domain shape."""
        return self.probabilities * self.total

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records in random order; cell codes, shape (count, attributes).

        Every cell gets its expected number rounded down or up: the whole part, and the rest by systematic sampling
        along a random order of the cells. Each cell is unbiased, with less variance than under independent draws. The
        random order keeps the sampling step from aligning with the order of an attribute's codes.
        """
        generator = public_generator(seed)
        expected = self.probabilities.reshape(-1) * count
        counts = np.floor(expected).astype(np.int64)
        order = generator.permutation(expected.size)
        edges = np.cumsum((expected - counts)[order])
        short = count - int(counts.sum())
        # The edges end at `short` but for rounding: points beyond the last edge belong to the last cell.
        points = np.minimum(np.arange(short) + generator.random(), edges[-1])
        picks = np.searchsorted(edges, points, side="left")
        np.add.at(counts, order[picks], 1)
        cells = generator.permutation(np.repeat(np.arange(expected.size), counts))
        return np.stack(np.unravel_index(cells, self.probabilities.shape), axis=1).astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SignedVector:
    """`total` records times a vector D on the universe that need not be a distribution.

    Why `answer` does not clip: the perceptron's mistake bound uses |D - x/n|, so the distinguisher must see the gap
    f(x) - f(D). Clipping every round would hide overshoots that the next step should undo.

    Attributes:
        cells: D, shape = domain shape, read-only, in fractions of the records.

    >>> SignedVector(cells=np.array([0.5, -0.25]), total=8.0).marginal((0,)).tolist()
    [4.0, -2.0]
    """

    cells: FloatArray
    total: float
    _cache: dict[Axes, FloatArray] = field(default_factory=dict, repr=False)

    def marginal(self, axes: Axes) -> FloatArray:
        """Records (possibly negative), shape = sizes of `axes` in that order."""
        if axes not in self._cache:
            self._cache[axes] = dense_marginal(self.cells, axes) * self.total
        return self._cache[axes]

    def answer(self, block: QueryBlock) -> FloatArray:
        """Return unclipped answers in units of the block's grid, shape (block.rows,)."""
        answers: FloatArray = block.answer(self)
        return answers

    def clipped(self) -> ClippedVector:
        return ClippedVector(vector=self)


class ClippedVector(Struct, frozen=True, kw_only=True, eq=False):
    """A signed vector as it is released: answers clipped to `total` times the range of a query's coefficients.

    For a query in [0, 1] that is [0, total]. Why the guarantee holds: with a public n the true answer lies in that
    interval, and the nearest point of an interval that holds the truth is no further away. If n is private, with n0 for
    n, a truth above the interval is missed by at most |n - n0|, which SOURCES section N bounds by alpha n0 / 8. A
    certificate may be tighter than that, so certified answers are then released unclipped.
    """

    vector: SignedVector

    @property
    def total(self) -> float:
        return self.vector.total

    def answer(self, block: QueryBlock) -> FloatArray:
        """Return clipped answers in units of the block's grid, shape (block.rows,)."""
        low, high = row_extremes(block)
        return np.clip(self.vector.answer(block), low * self.total, high * self.total)


def row_extremes(block: QueryBlock) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and largest coefficient of every query, each of shape (block.rows,).

    A product of factors is extreme at extremes of the factors; with negative ones at any corner.
    """
    low = high = np.ones(1, dtype=np.int64)
    for factor in block.factors:
        matrix = factor.matrix
        if isinstance(matrix, Identity):
            ones = np.ones(matrix.rows, dtype=np.int64)
            extremes = (ones if matrix.cells == 1 else np.zeros_like(ones)), ones
        else:
            rows = [matrix.row(index) for index in range(matrix.rows)]
            extremes = np.array([row.min() for row in rows]), np.array([row.max() for row in rows])
        corners = [
            left * right if block.rowwise else np.multiply.outer(left, right).reshape(-1)
            for left in (low, high)
            for right in extremes
        ]
        low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    return low.astype(np.float64), high.astype(np.float64)


# LinearEstimate: unbiased estimates of cells, group of attributes by group, negative ones included.


class GroupEstimate(Struct, frozen=True, kw_only=True, eq=False):
    """Estimated records per cell over `axes` (ascending), shape = their sizes, read-only.

    Attributes:
        strategy, deviation: the block and its noise if one measured strategy gives the whole estimate; else None.
    """

    axes: Axes
    cells: FloatArray
    strategy: QueryBlock | None = None
    deviation: float = 0.0

    def marginal(self, axes: Axes) -> FloatArray:
        """Return records, shape = sizes of `axes` in that order; all of them in the group."""
        marginal: FloatArray = dense_marginal(self.cells, tuple(self.axes.index(axis) for axis in axes))
        return marginal


class LinearEstimate(Struct, frozen=True, kw_only=True, eq=False):
    """Least-squares estimates: linear in the measurements, so each answer is unbiased.

    Why groups: attributes that no query joins need no joint estimate, which would add noise. Two overlapping groups may
    answer the same query differently, each without bias.
    Why no clipping at zero: clipping biases single cells, and the bias adds up in their sums.

    >>> cells = np.array([3.0, -1.0])
    >>> LinearEstimate(groups=(GroupEstimate(axes=(0,), cells=cells),)).total
    2.0
    """

    groups: tuple[GroupEstimate, ...]

    @property
    def total(self) -> float:
        """Estimated records, by the first group; may be negative."""
        return float(self.groups[0].cells.sum())

    def answer(self, block: QueryBlock) -> FloatArray:
        """Return answers in units of the block's grid, shape (block.rows,).

        They are NaN for a block that joins attributes of several groups: it has no linear estimate.
        """
        group = self._home(block)
        if group is None:
            return np.full(block.rows, np.nan)
        answers: FloatArray = block.answer(group)
        return answers

    def deviations(self, block: QueryBlock) -> FloatArray | None:
        """Return the standard deviation of every answer, in units of the block's grid; None without a closed form."""
        group = self._home(block)
        if group is None or group.strategy is None or not on_single_axes(block):
            return None
        deviations: FloatArray = np.sqrt(np.maximum(query_variances(group.strategy, block), 0.0)) * group.deviation
        return deviations

    def _home(self, block: QueryBlock) -> GroupEstimate | None:
        by_axes = {group.axes: group for group in self.groups}
        axes = home(block.axes, by_axes)
        return None if axes is None else by_axes[axes]
