"""Averaged learners: the mean of stable learners on disjoint parts of the table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.data.histogram import Counts, occupied
from dpqr.prediction.learners.descent import GradientDescent
from dpqr.prediction.learners.features import FeatureMap
from dpqr.prediction.learners.solver import evaluation_error
from dpqr.prediction.learners.stable import ARITHMETIC, LeastSquares, LipschitzLearner

PartLearner = LipschitzLearner | LeastSquares | GradientDescent


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Averaged:
    """(1 / r) sum_j f_j, f_j learned from part j alone: the last axis of the counts is a record's part.

    Attributes:
        learner: of a part, for a public number of its records; the real one is private (`Scale.part`).
        parts: r.

    Privacy:
        Each unit draws its part by itself, so between neighbours one part differs, given the draws of all others. Its
        function moves by at most gamma = `learner.distance` in norm, and their mean by gamma / r: Rana 2019, Lemma 2. A
        member with a bound of its own thus moves an average by less than the 2 M / r of any clipped one (`Aggregate`).
        A solver's tolerance and rounding are charged for the members of all parts, at either end, so nothing rests on
        two runs being equal to the last digit; and so are the sum over parts and `evaluation_error`.

    >>> from dpqr.data.attribute import Attribute, Codes
    >>> from dpqr.data.domain import Domain
    >>> from dpqr.data.unit import PrivacyUnit
    >>> from dpqr.prediction.learners.examples import Examples, Scale
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> features = CellFeatures(domain=Domain((Attribute(name="a", axis=Codes(2)),)))
    >>> examples = Examples(features=features, axis=1, values=np.array([-1.0, 1.0]))
    >>> scale = Scale(unit=PrivacyUnit(), records=50, part=True)
    >>> member = LeastSquares(examples=examples, penalty=Fraction(1, 10), scale=scale)
    >>> float(member.distance / Averaged(learner=member, parts=20).bound) > 19
    True
    """

    learner: PartLearner
    parts: int

    @property
    def features(self) -> FeatureMap:
        return self.learner.features

    @property
    def penalty(self) -> Fraction:
        return self.learner.penalty

    @property
    def distance(self) -> Fraction:
        return self.learner.distance / self.parts

    @property
    def bound(self) -> Fraction:
        members = self.learner.bound - self.learner.distance
        return (self.distance + members + 2 * evaluation_error(self.parts, self.learner.norm)) * ARITHMETIC

    def fit(self, counts: Counts) -> FloatArray:
        codes, records = occupied(counts)
        order = np.argsort(codes[:, -1], kind="stable")
        ends = np.cumsum(np.bincount(codes[:, -1].astype(np.int64), minlength=self.parts))[:-1]
        total = np.zeros(self.features.width)
        for mine in np.split(order, ends):
            weights = self.learner.scale.weights(records[mine])
            total += self.learner.learn(self.learner.examples.rows(codes[mine], weights))
        return total / self.parts
