"""WeightedRows: a distribution over a bounded public list of rows, for domains with too many cells to weigh each."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpqr.data.arrays import AnyArray, Axes, CodeArray, FloatArray, IntArray
from dpqr.hypotheses.hypothesis import Sampleable
from dpqr.noise.public import public_generator
from dpqr.workload.block import QueryBlock

LISTED = 2**17
"""Cells of a domain that are all listed; of larger domains so many rows are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tilt:
    """What one measured table did to the weights.

    places: of every row in the table, shape (rows,). wanted: the noisy answers, deviation: of their noise, both in
    records. logs: a row in place p has exp(logs[p]) times the weight that it would have without the table.

    >>> Tilt(places=np.array([0, 1]), wanted=np.array([3.0, 5.0]), deviation=1.0, logs=np.zeros(2)).wanted.sum()
    np.float64(8.0)
    """

    places: IntArray
    wanted: FloatArray
    deviation: float
    logs: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightedRows:
    """`total` records, spread over rows by their shares.

    codes: cells of each row, shape (rows, attributes). shares: sum 1, shape (rows,). tilts: parameters of the update
    rule, from which the shares follow; they never change an answer.

    >>> rows = WeightedRows(shape=(2, 2), codes=np.array([[0, 0], [1, 1]]), shares=np.array([0.5, 0.5]), total=8.0)
    >>> rows.marginal((1,)).tolist()
    [4.0, 4.0]
    """

    shape: tuple[int, ...]
    codes: AnyArray
    shares: FloatArray
    total: float
    tilts: tuple[Tilt, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, model: Sampleable, shape: tuple[int, ...], seed: int) -> WeightedRows:
        """List the cells of a model with their weights where there are few, else LISTED rows drawn from it.

        Args:
            seed: public.
        """
        if int(np.prod([float(size) for size in shape])) <= LISTED:
            weights = model.weights().reshape(-1)
            codes = np.stack(np.unravel_index(np.arange(weights.size), shape), axis=1)
            return cls(shape=shape, codes=_small(codes, shape), shares=_normalised(weights), total=model.total)
        codes = model.rows(LISTED, seed)
        return cls(
            shape=shape, codes=_small(codes, shape), shares=np.full(len(codes), 1 / len(codes)), total=model.total
        )

    def coefficients(self, block: QueryBlock) -> AnyArray:
        """Return what each row counts in a block of one query, shape (rows,)."""
        counted: AnyArray = np.ones(len(self.codes), dtype=np.int64)
        for factor in block.factors:
            counted = counted * np.asarray(factor.matrix.row(0))[self.places(factor.axes)]
        return counted

    def places(self, axes: Axes) -> IntArray:
        """Return each row's cell in a flat table over `axes`, shape (rows,)."""
        place = np.zeros(len(self.codes), dtype=np.int64)
        for axis in axes:
            place = place * self.shape[axis] + self.codes[:, axis]
        return place

    def marginal(self, axes: Axes) -> FloatArray:
        """Records, shape = sizes of `axes` in that order; () for the total."""
        sizes = [self.shape[axis] for axis in axes]
        counts = np.bincount(self.places(axes), weights=self.shares, minlength=int(np.prod(sizes)))
        table: FloatArray = (self.total * counts).reshape(sizes).astype(np.float64)
        return table

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records), shape (block.rows,)."""
        if block.rows == 1:
            return np.array([self.total * float(self.shares @ self.coefficients(block))])
        answers: FloatArray = block.answer(self)
        return answers

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records; cell codes, shape (count, attributes)."""
        generator = public_generator(seed)
        edges = np.cumsum(self.shares)
        points = (np.arange(count) + generator.random()) / count * edges[-1]
        drawn = np.minimum(np.searchsorted(edges, points, side="right"), len(edges) - 1)
        picked: CodeArray = self.codes[generator.permutation(drawn)].astype(np.int64)
        return picked


def _normalised(weights: FloatArray) -> FloatArray:
    whole = float(weights.sum())
    return weights / whole if whole > 0 else np.full(weights.size, 1 / weights.size)


def _small(codes: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """In the smallest type of integers that holds every code."""
    return np.ascontiguousarray(codes.astype(np.min_scalar_type(max(shape, default=1))), dtype=None)
