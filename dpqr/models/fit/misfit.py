"""Misfit: what noisy answers show of a finished fit's errors, beyond their own noise, and how the fit is moved by it.

A fit that leaves a small residual in each cell may leave a large one in their sum, and one that has no room for an
answer leaves all of it. Where residuals are larger than noise and sampling explain, the fit's log-odds are off by
something of a variance v, which the residuals themselves show; then they are moved as far as noise allows. A fit that
misses nothing is left as it is, so no answer loses by more than what chance shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from dpqr.kernel.arrays import Axes, FloatArray
from dpqr.models.fit.descent import Descent
from dpqr.models.fit.evidence import SMALLEST_DEVIATION, LinearMeasurement
from dpqr.models.fit.local_fits import local_fit, ridge_by_cell
from dpqr.models.fit.log_linear import LOG_ZERO, LogLinear
from dpqr.models.hypothesis import Hypothesis
from dpqr.models.junction_tree import JunctionTree, by_size


class MisfitTuning(Struct, frozen=True, kw_only=True):
    """Limits of time and precision; figures: tests/benchmarks/RESULTS.md, "Estimates beside their own draws"."""

    doubt: float = 0.05  # posterior probability that nothing is missed, below which a fit is moved
    cells: int = 2**17  # of a table that is moved to meet queries, at most
    steps: int = 200  # of its descent, at most
    tolerance: float = 0.2  # of that, in deviations of noise, as of `MaximumEntropyFit`
    least: float = 1e-12  # records, below which there is nothing to move


TUNING = MisfitTuning()
VARIANCES = np.array([0.0, *np.geomspace(1e-5, 3.0, 10)])
"""Variances v of the log-odds that a fit misses. Half of the prior is on 0, the others are alike likely."""


class MissedSums(Struct, frozen=True, kw_only=True, eq=False):
    """Noisy sums of a kind beside a fit. All of one shape.

    expected: m, what the fit has, records, 0 or more. residuals: answers less m. noise: variances s^2, more than 0.
    before: m as it was before the fit saw these answers' noise, so that large residuals do not make it large.
    """

    expected: FloatArray
    residuals: FloatArray
    noise: FloatArray
    before: FloatArray

    @property
    def missed(self) -> float:
        """v, the variance of the log-odds that the fit misses: its posterior mean; 0 where it is in doubt.

        A sum is off by N(0, s^2 + m + v m^2): noise, sampling, and what is missed.

        >>> sides, even, noise = np.where(np.arange(50) % 2, 1.0, -1.0), np.full(50, 1e3), np.full(50, 100.0)
        >>> of = lambda size: MissedSums(expected=even, residuals=size * sides, noise=noise, before=even).missed
        >>> round(of(30.0), 2), round(of(500.0), 2)
        (0.0, 0.18)
        """
        squares, before = self.residuals.reshape(-1) ** 2, self.before.reshape(-1)
        spread = self.noise.reshape(-1) + before + np.multiply.outer(VARIANCES, before**2)
        logs = -0.5 * (np.log(spread) + squares / spread).sum(axis=1)
        logs[0] += math.log(len(VARIANCES) - 1)
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        return float(weights @ VARIANCES) if weights[0] < TUNING.doubt else 0.0

    @property
    def ridge(self) -> FloatArray:
        """Residuals per unit of log-odds at which they are best moved, s^2 / (1 + v m), as `ridge_by_cell`.

        m is what is expected, or the answer beyond two deviations.
        """
        records = self.expected + np.maximum(0.0, self.residuals - 2.0 * np.sqrt(self.noise))
        ridge: FloatArray = self.noise / (1.0 + self.missed * records)
        return ridge


# Sums of neighbouring cells of one table that was measured cell by cell.


def fit_with_sums(base: FloatArray, values: FloatArray, deviation: float, *, hidden: bool) -> FloatArray:
    """The local fit of a table to its noisy cells, from a base that is moved where sums of neighbours are missed.

    Noise may hide from each cell what the base misses, and not from their sum.

    Args:
        base, values, deviation, hidden: as of `ridge_by_cell`.

    Returns:
        Records, of the shape of base.

    Privacy:
        Post-processing of released answers.

    >>> rising = np.outer(np.ones(16), np.linspace(0.0, 20.0, 16))
    >>> noise = 30.0 * (-1.0) ** np.add.outer(np.arange(16), np.arange(16))
    >>> fitted = fit_with_sums(np.full((16, 16), 10.0), rising + noise, 30.0, hidden=False)
    >>> [round(half.sum()) for half in np.split(fitted, 2, axis=1)], round(rising[:, :8].sum())
    ([1124, 1436], 597)
    """
    ridge = ridge_by_cell(base, values, deviation, hidden=hidden)
    table = local_fit(base, values, deviation, ridge)
    factors = _missed_by_sums(base, table, ridge, values, deviation)
    if factors is None:
        return table
    moved = base * factors
    again = local_fit(moved * (base.sum() / moved.sum()), values, deviation, ridge)
    # What explains sums is no further from the cells than before, or than noise; but where noise was rounded to 0.
    most = max(float(((values - table) ** 2).mean()), deviation**2)
    return again if ((values - again) ** 2).mean() <= most else table


def _missed_by_sums(
    base: FloatArray, table: FloatArray, ridge: FloatArray, values: FloatArray, deviation: float
) -> FloatArray | None:
    """Factors of the base, by which the fit meets sums of neighbouring cells; None where it misses none of them.

    A log-odds of the base moves a cell of m records by m r / (m + r) alone: where the cell's own answer is better than
    the base, hardly. So sums are of that, and of what is left of the noise. The sum of all cells is not moved.
    """
    left = ridge / (ridge + table)
    noise, residuals = (left * deviation) ** 2, values - table
    before = base * ridge / (ridge + base)
    stages = [(table * left, residuals - noise * (residuals.sum() / noise.sum()), noise, before)]
    while max(stages[-1][0].shape) > 2:
        free, residuals, noise, before = map(_halved, stages[-1])
        stages.append((free, residuals, noise, before))
    factors, found = np.ones([1] * table.ndim), False
    for free, residuals, noise, before in stages[:0:-1]:
        factors = _doubled(factors, free.shape)
        expected = free * factors
        sums = MissedSums(expected=expected, residuals=free + residuals - expected, noise=noise, before=before)
        if sums.missed > 0.0:
            found = True
            fitted = local_fit(expected, free + residuals, deviation, sums.ridge)
            some = expected > TUNING.least
            factors = factors * np.divide(fitted, expected, out=np.ones_like(fitted), where=some)
    return _doubled(factors, table.shape) if found else None


def _halved(cells: FloatArray) -> FloatArray:
    """MissedSums of two neighbours along each axis; of an odd number the last one is alone."""
    for axis, size in enumerate(cells.shape):
        if size > 1:
            cells = np.add.reduceat(cells, np.arange(0, size, 2), axis=axis)
    return cells


def _doubled(cells: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Of each cell the sum that holds it: the other way."""
    for axis, size in enumerate(shape):
        if cells.shape[axis] < size:
            cells = np.repeat(cells, 2, axis=axis).take(np.arange(size), axis=axis)
    return cells


# Queries that are no cells, of a model that answers them from tables.


class MissedQueries(Struct, frozen=True, kw_only=True, eq=False):
    """Tables of a model, moved to meet measured queries that are no cells, where it misses some of these.

    A table T over a question's attributes is the maximum-entropy fit, on the model's own table, to all measured queries
    of these attributes, with the ridges r of `missed_ridge`: it minimises sum (M T - y)^2 / (2 r) + KL(T || base).

    Attributes:
        shape: cells of each attribute.
        total: N, records, more than 0.
        queries: measured ones.
        ridges: r of each.
        missed: attributes of those that the model misses.

    Privacy:
        Post-processing of released answers and public sizes.

    >>> from dpqr.models.hypothesis import DenseDistribution
    >>> MissedQueries.of([], DenseDistribution.uniform((2, 2), 8.0), (2, 2)) is None
    True
    """

    shape: tuple[int, ...]
    total: float
    queries: tuple[LinearMeasurement, ...]
    ridges: tuple[FloatArray, ...]
    missed: frozenset[Axes]

    @classmethod
    def of(
        cls, evidence: Sequence[LinearMeasurement], model: Hypothesis, shape: tuple[int, ...]
    ) -> MissedQueries | None:
        """None: the model misses none of what was measured. Its total is more than 0."""
        queries, sums = [], []
        for seen in evidence:
            if seen.block is not None and math.prod(shape[axis] for axis in seen.axes) <= TUNING.cells:
                expected = np.maximum(model.answer(seen.block), 0.0)
                noise = np.full(expected.shape, seen.deviation**2)
                queries.append(seen)
                sums.append(
                    MissedSums(expected=expected, residuals=seen.values - expected, noise=noise, before=expected)
                )
        missed = frozenset(seen.axes for seen, each in zip(queries, sums, strict=True) if each.missed > 0.0)
        if not missed:
            return None
        ridges = tuple(each.ridge for each in sums)
        return cls(shape=shape, total=model.total, queries=tuple(queries), ridges=ridges, missed=missed)

    def touches(self, axes: Axes) -> bool:
        """Whether a missed query is of these attributes, or of some of them."""
        held = any(set(one) <= set(axes) for one in self.missed)
        return held and math.prod(self.shape[axis] for axis in axes) <= TUNING.cells

    def holder(self, axes: Axes) -> Axes | None:
        """None: each question has a table of its own."""
        return None

    def refined(self, groups: Sequence[Axes], bases: Sequence[FloatArray]) -> list[FloatArray]:
        """Fitted tables, in records.

        Args:
            groups: attributes of each table, ascending.
            bases: the model's own tables over them, in records.
        """
        tables = []
        for axes, base in zip(groups, bases, strict=True):
            inside = [place for place, seen in enumerate(self.queries) if set(seen.axes) <= set(axes)]
            evidence = [self.queries[place] for place in inside]
            shape = tuple(size if axis in axes else 1 for axis, size in enumerate(self.shape))
            ordered = by_size(self.shape, axes)
            turn = [axes.index(axis) for axis in ordered]
            with np.errstate(divide="ignore"):
                logs = np.maximum(np.log(base.transpose(turn) / base.sum()), LOG_ZERO)
            tree = JunctionTree.over(shape, [ordered])
            strengths = [
                self.ridges[place] / max(self.queries[place].deviation, SMALLEST_DEVIATION) for place in inside
            ]
            model = LogLinear.of(evidence, tree, [(ordered, logs)], self.total, strengths)
            start = np.zeros(model.targets.size)
            descent = Descent(tolerance=model.tolerances(TUNING.tolerance), steps=TUNING.steps)
            end = descent.run(model.objective, start, model.inverse)
            home = tree.home(ordered)
            assert home is not None, "the tree is over these attributes"
            cells = model.beliefs(end)[home]
            kept = [axis for axis in tree.cliques[home].axes if axis in axes]
            cells = cells.reshape([self.shape[axis] for axis in kept]).transpose([kept.index(axis) for axis in axes])
            tables.append(np.asarray(cells * base.sum()))
        return tables
