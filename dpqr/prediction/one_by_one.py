"""One by one: mechanisms of single points that share what was learned once.

Each point has a draw, a charge and a line in the transcript of its own, so a crash loses one point at most. Without
sharing, a learner would be fitted, or all members of an ensemble trained, for every one of them.

>>> from dpqr.data.histogram import DenseHistogram
>>> class Members:
...     parts, touched = 2, 1
...     def votes(self, counts, noise):
...         return np.array([[2, 0], [1, 1]])
>>> table, shared = DenseHistogram(np.array([1, 2])), Shared()
>>> points = [OnePoint(ensemble=Members(), shared=shared, place=place) for place in range(2)]
>>> [point.votes(table, None).tolist() for point in points]
[[[2, 0]], [[1, 1]]]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import AnyArray
from dpqr.data.histogram import Counts
from dpqr.mechanisms.learned_functions import Asked
from dpqr.mechanisms.votes import Ensemble
from dpqr.noise.source import NoiseSource
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.plan import PredictionPlan
from dpqr.privacy.gate import Batch


@dataclass(slots=True, eq=False)
class Shared:
    """What is learned from a table for all points. Private: mechanisms alone use it, inside the gate."""

    _table: Counts | None = None
    _learned: AnyArray = field(default_factory=lambda: np.zeros(0), repr=False)

    def of(self, table: Counts, learn: Callable[[], AnyArray]) -> AnyArray:
        """One row a point; `learn` is called once a table."""
        if self._table is not table:
            self._learned, self._table = learn(), table
        return self._learned


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OneValue:
    """A learner's value at one of several points, as a learner with a point of its own.

    Privacy:
        A value at a point moves by at most the learner's bound, whichever other points are asked about.
    """

    asked: Asked
    shared: Shared
    place: int

    @property
    def bound(self) -> Fraction:
        return self.asked.learner.bound

    def fit(self, counts: Counts) -> AnyArray:
        """Shape (1,). Private."""
        return self.shared.of(counts, lambda: self._values(counts))[self.place : self.place + 1]

    def _values(self, counts: Counts) -> AnyArray:
        fitted, points = self.asked.learner.fit(counts), self.asked.points
        return fitted if points is None else points @ fitted


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnePoint:
    """An ensemble at one of several points.

    Privacy:
        As of the ensemble: a unit is in `touched` parts, and each of them has one vote, or one number, at a point.
    """

    ensemble: Ensemble
    shared: Shared
    place: int

    @property
    def parts(self) -> int:
        return self.ensemble.parts

    @property
    def touched(self) -> int:
        return self.ensemble.touched

    @property
    def predictions(self) -> int:
        return 1

    def votes(self, counts: Counts, noise: NoiseSource) -> AnyArray:
        return self.shared.of(counts, lambda: self.ensemble.votes(counts, noise))[self.place : self.place + 1]

    def sums(self, counts: Counts, noise: NoiseSource) -> AnyArray:
        return self.shared.of(counts, lambda: self.ensemble.sums(counts, noise))[self.place : self.place + 1]


def one_by_one(plan: PredictionPlan, records: int, codes: AnyArray) -> Iterator[Batch[Counts, AnyArray]]:
    """The mechanism of each point, in their order, each of one draw.

    Args:
        records: declared or bought; an ensemble needs none.
        codes: of the points, shape (points, columns).

    Privacy:
        Points may be chosen after earlier predictions were seen: price and noise of a draw are those of the plan,
        whatever the point. Each is differentially private by itself, with the parts and the persons' rows that it was
        drawn from, so sums of epsilon, rho or mu^2 cover all of them, also where parts are drawn anew in between.
        Points of one call share their parts, as those of `PredictionPlan.votes` do.
    """
    shared = Shared()
    if isinstance(plan.recipe, Aggregate):
        assert plan.parts is not None
        ensemble = plan.recipe.ensemble(plan.problem, plan.recipe.features.of(codes), plan.parts)
        for place in range(len(codes)):
            yield plan.voted(OnePoint(ensemble=ensemble, shared=shared, place=place))
        return
    batch = plan.predictions(plan.learner(records), codes)
    for place in range(len(codes)):
        one = OneValue(asked=batch.asked, shared=shared, place=place)
        yield replace(batch, asked=Asked(learner=one, points=None, limit=batch.asked.limit, own=1))
