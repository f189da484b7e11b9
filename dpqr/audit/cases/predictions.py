"""Private predictions: one prediction, and released functions, evaluated at points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.audit.case import Case, Pair, records
from dpqr.audit.cases.once import PLACES, SHAPE, Cells, Once
from dpqr.audit.law import IntegerGaussian, TwoSidedGeometric
from dpqr.data.arrays import IntArray
from dpqr.data.histogram import Counts
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.learned_functions import (
    PREDICTION,
    Asked,
    GaussianWeights,
    LaplacePredictions,
    SphericalWeights,
    step,
    weights_sensitivity,
)
from dpqr.mechanisms.perturbed_functions import GaussianPerturbedWeights, PerturbedWeights
from dpqr.noise.source import NoiseSource
from dpqr.prediction.learners.examples import Examples, Scale
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.learners.losses import Hinge
from dpqr.prediction.learners.stable import LipschitzLearner
from dpqr.privacy.events import Composition

DELTA = Fraction(1, 100)
UNITS = {each.value: PrivacyUnit(neighbours=each) for each in Neighbours}
EXAMPLES = 4
"""Records of the smaller database."""
POINTS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Function:
    """A function release as a batch of one draw."""

    weights: GaussianWeights | SphericalWeights | PerturbedWeights | GaussianPerturbedWeights

    @property
    def events(self) -> Composition:
        return ((self.weights.event, 1),)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        return self.weights.sample(value, noise)


def predict_cases() -> Iterator[Case]:
    """Both neighbour relations; the learner is the hinge's, whose bound is attained."""
    for relation, unit in UNITS.items():
        yield prediction_case(relation, unit)
        yield function_case(relation, unit)
        yield pure_function_case(relation, unit)


def prediction_case(relation: str, unit: PrivacyUnit) -> Case:
    """One noisy prediction at the place of the record that changes."""
    learner = hinge(unit)
    asked = Asked(learner=learner, points=learner.features.of(np.zeros((1, 1), dtype=np.int64)), limit=None)
    batch = LaplacePredictions(asked=asked, scale=Fraction(PREDICTION))
    moved = round(hinge_shift(unit) / asked.step)
    one, two = (TwoSidedGeometric(answer=answer, scale=float(PREDICTION)) for answer in (0, moved))
    what, laws, trial = "one prediction of a stable learner", ((one,), (two,)), Once(batch=batch)
    return Case(name=f"predict-one-{relation}", what=what, pair=hinge_pair(relation), trial=trial, laws=laws)


def function_case(relation: str, unit: PrivacyUnit) -> Case:
    """A released function at three points."""
    learner = hinge(unit)
    width = learner.features.width
    weights = GaussianWeights(learner=learner, width=width, variance=Fraction(weights_sensitivity(width) ** 2))
    trial = Once(batch=Function(weights=weights), view=POINTS, delta=DELTA)
    direction = learner.features.of(np.zeros((1, 1), dtype=np.int64))[0]
    moved = np.rint(direction * hinge_shift(unit) / step(learner.bound)).astype(np.int64)
    one, two = (
        tuple(IntegerGaussian(answer=int(answer), variance=float(weights.variance)) for answer in answers)
        for answers in (0 * moved, moved)
    )
    what, pair = "a released function, at three points", hinge_pair(relation)
    return Case(name=f"predict-function-{relation}", what=what, pair=pair, trial=trial, laws=(one, two))


def pure_function_case(relation: str, unit: PrivacyUnit) -> Case:
    """The same at delta 0. The noise of one weight depends on that of the other, so no law of single numbers exists."""
    learner = hinge(unit)
    width = learner.features.width
    weights = SphericalWeights(learner=learner, width=width, scale=Fraction(weights_sensitivity(width)))
    place = learner.features.of(np.zeros((1, 1), dtype=np.int64))
    trial, pair = Once(batch=Function(weights=weights), view=place, joint=True), hinge_pair(relation)
    what = "a released function at delta 0, at the place of the record"
    return Case(name=f"predict-pure-function-{relation}", what=what, pair=pair, trial=trial)


def hinge(unit: PrivacyUnit) -> LipschitzLearner:
    """A support vector machine with so much regularisation that every record counts with its full slope."""
    examples = Examples(features=CellFeatures(domain=PLACES), axis=1, values=np.array([-1.0, 1.0]))
    declared = EXAMPLES if unit.neighbours is Neighbours.REPLACE else EXAMPLES + 1
    return LipschitzLearner(
        examples=examples, loss=Hinge(), penalty=Fraction(1), scale=Scale(unit=unit, records=declared)
    )


def hinge_shift(unit: PrivacyUnit) -> float:
    """How far the function moves between the two databases, worked out by hand: from 0, for there the classes balance.

    Every record pulls by its full slope, 1 / (2 lambda m0), lambda being 1: one record that comes, or two slopes where
    one takes the place of another.
    """
    return 2 / (2 * EXAMPLES) if unit.neighbours is Neighbours.REPLACE else 1 / (2 * (EXAMPLES + 1))


def hinge_pair(relation: str) -> Pair:
    """A record of one class comes, or takes the place of one of the other."""
    one: Cells = {(0, 0): EXAMPLES // 2, (0, 1): EXAMPLES // 2}
    left = one[0, 0] - (relation == Neighbours.REPLACE.value)
    return records(SHAPE, one), records(SHAPE, {(0, 0): left, (0, 1): one[0, 1] + 1})
