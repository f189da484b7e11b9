"""Product: a fit of the columns that queries join, times a histogram for each ordered column that stands apart."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dpqr.kernel.arrays import FloatArray, freeze
from dpqr.kernel.values import replace
from dpqr.models.compound import ProductDistribution
from dpqr.models.fit.evidence import SMALLEST_DEVIATION
from dpqr.models.hypothesis import GroupEstimate, Hypothesis, LinearEstimate
from dpqr.strategies.problem import Footprint, Level, Problem
from dpqr.strategies.updates.least_squares import BucketLeastSquares, bucket_counts
from dpqr.strategies.updates.multiplicative_weights import Distribution, MultiplicativeWeights
from dpqr.strategies.updates.record_count import block_totals, bounded_total, mean_total
from dpqr.workload.block import QueryBlock
from dpqr.workload.related_blocks import separable_columns
from dpqr.workload.strategy_matrices import query_variances
from dpqr.workload.workload import Measurement

RECORDS = QueryBlock(name="number of records")


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Measurements of the columns apart are read by `columns` alone, those of other columns by `model`, counts of all
    records by both. Where no column stands apart (`separable_columns`), it is `model`.

    There is one number of records: the mean, by inverse variance, of what the measurements of the other columns say
    and of the sum that least squares gives each column apart. A column's cells are those that `columns` estimates,
    made consistent: the nearest cumulative counts, in squared distance, that never fall, lie between 0 and that number,
    and end there. Counts that can be true are a convex set, so no point of it is further from the nearest one than
    from the estimate: where that number is the table's, the squared error over all prefixes never grows.

    References:
        Barlow, Bartholomew, Bremner and Brunk 1972 (isotonic regression, by pooling adjacent violators; bounds are met
        by clipping).

    >>> Product().cumulative
    True
    """

    name: ClassVar[str] = "product"
    cumulative: ClassVar[bool] = True

    model: MultiplicativeWeights = field(default_factory=MultiplicativeWeights)
    columns: BucketLeastSquares = field(default_factory=BucketLeastSquares)

    @property
    def trust(self) -> tuple[str, ...]:
        return (
            "columns that stand apart are independent of all others in the model: no query joins them; their cells "
            "are made consistent, so no estimate is unbiased, and no deviation of noise covers what a bucket hides",
        )

    def start(self, problem: Problem) -> Distribution | ProductDistribution:
        """The uniform distribution."""
        model, shape = self.model.start(problem), problem.domain.shape
        apart = separable_columns(problem.workload, problem.domain)
        even = {axis: freeze(np.full(shape[axis], 1.0 / shape[axis])) for axis in apart}
        return ProductDistribution(model=model, apart=even) if apart else model

    def update(
        self, problem: Problem, hypothesis: Distribution | ProductDistribution, history: Sequence[Measurement]
    ) -> Distribution | ProductDistribution:
        """The fit to all of `history`; `hypothesis` is left as it was, and says which columns stand apart."""
        if not isinstance(hypothesis, ProductDistribution):
            return self.model.update(problem, hypothesis, history)
        apart = hypothesis.apart.keys()
        joined = _of_model(history, apart)
        others = [one for one in history if all(apart >= set(block.axes) for block in one.blocks)]
        # Estimated cells of every column apart that was measured.
        measured = {axis for one in others for block in one.blocks for axis in block.axes}
        empty = [
            GroupEstimate(axes=(axis,), cells=np.zeros_like(cells))
            for axis, cells in hypothesis.apart.items()
            if axis in measured
        ]
        columns = self.columns.update(problem, LinearEstimate(groups=tuple(empty)), others).groups
        # What the other columns, and each column apart, say of the number of records, with the variance of their noise.
        totals = block_totals(joined)
        for group in columns:
            own = [one for one in others if {axis for block in one.blocks for axis in block.axes} == set(group.axes)]
            if group.strategy is not None:
                variance = float(query_variances(group.strategy, RECORDS)[0]) * group.deviation**2
                totals.append((float(group.cells.sum()), max(variance, SMALLEST_DEVIATION**2)))
            elif (buckets := bucket_counts(group, own)) is not None:
                totals.append((float(buckets.counts.sum()), float(buckets.covariance.sum())))
            else:
                totals += block_totals(own)
        records = mean_total(totals)
        total = self.model.counted(problem, hypothesis.model, joined) if records is None else records
        model = hypothesis.model
        if joined:
            model = self.model.fitted(problem, model, joined, bounded_total(problem, total))
        nearest = {group.axes[0]: nearest_probabilities(group.cells, model.total) for group in columns}
        return ProductDistribution(model=model, apart={**hypothesis.apart, **nearest})

    def averaged(
        self,
        problem: Problem,
        hypothesis: Distribution | ProductDistribution,
        history: Sequence[Measurement],
        like: Hypothesis | None = None,
    ) -> Distribution | ProductDistribution:
        """The model, averaged; columns apart stay as they are."""
        if not isinstance(hypothesis, ProductDistribution):
            return self.model.averaged(problem, hypothesis, history, like)
        joined = _of_model(history, hypothesis.apart.keys())
        other = like.model if isinstance(like, ProductDistribution) else like
        return replace(hypothesis, model=self.model.averaged(problem, hypothesis.model, joined, other))

    def mistakes(self, problem: Problem, level: Level) -> int | None:
        """None: no bound is proved."""
        return None

    def footprint(self, problem: Problem) -> Footprint:
        """That of the model, which keeps columns apart too, though nothing is read of them."""
        return self.model.footprint(problem)

    def fits(self, problem: Problem, measured: Sequence[QueryBlock], candidate: Sequence[QueryBlock]) -> bool:
        """Whether the model has room for the candidate too; columns apart take none of it."""
        return self.model.fits(problem, measured, candidate)


def _of_model(history: Sequence[Measurement], apart: Set[int]) -> list[Measurement]:
    """The measurements that look at no column apart."""
    return [one for one in history if all(apart.isdisjoint(block.axes) for block in one.blocks)]


def nearest_probabilities(cells: FloatArray, total: float) -> FloatArray:
    """Probabilities of the cells whose cumulative counts are nearest to those of `cells`, shape (cells,), read-only.

    Args:
        cells: estimated records, of any sign, in their order.
        total: records, at least 0. Without any the cells are even.

    >>> nearest_probabilities(np.array([3.0, -1.0, 2.0]), 4.0).tolist()
    [0.625, 0.0, 0.375]
    """
    from scipy.optimize import isotonic_regression

    if total <= 0.0:
        return freeze(np.full(cells.size, 1.0 / cells.size))
    rising = isotonic_regression(np.cumsum(cells)[:-1]).x if cells.size > 1 else cells[:0]
    return freeze(np.diff(np.clip(rising, 0.0, total) / total, prepend=0.0, append=1.0))
