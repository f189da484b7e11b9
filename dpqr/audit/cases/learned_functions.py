"""Learned functions whose noise is not added to a minimiser: perturbed objectives, and noisy moments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.audit.case import Case, records
from dpqr.audit.cases.once import PLACES, SHAPE, Cells, Once
from dpqr.audit.cases.predictions import DELTA, UNITS, Function
from dpqr.audit.law import IntegerGaussian
from dpqr.data.arrays import IntArray
from dpqr.data.histogram import Counts
from dpqr.data.unit import Neighbours, PrivacyUnit
from dpqr.mechanisms.learned_functions import weights_sensitivity
from dpqr.mechanisms.noisy_moments import STEPS, NoisyMoments
from dpqr.mechanisms.perturbed_functions import SENSITIVITY, GaussianPerturbedWeights, PerturbedWeights
from dpqr.noise.source import NoiseSource
from dpqr.prediction.learners.examples import Examples
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.learners.losses import ExactPinball, Logistic, Sided
from dpqr.prediction.learners.moments import MomentsLearner
from dpqr.prediction.learners.perturbed import PerturbedLearner
from dpqr.prediction.learners.tapered import TaperedCorner
from dpqr.privacy.events import Composition

LOGISTIC = Logistic()
QUANTILE = TaperedCorner(corner=ExactPinball(tau=Fraction(4, 5)), width=Fraction(1, 64))
CROWD = 40_000
"""Records that make the slope of one of the other class full."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sums:
    """Noisy moments as a batch of one draw; the function that follows from them is post-processing."""

    moments: NoisyMoments

    @property
    def events(self) -> Composition:
        return ((self.moments.event, 1),)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        return self.moments.noisy(value, noise)


def function_cases() -> Iterator[Case]:
    """Both neighbour relations."""
    for relation, unit in UNITS.items():
        yield objective_case(relation, unit)
        yield gaussian_objective_case(relation, unit)
        yield gaussian_objective_case(relation, unit, "quantile", QUANTILE)
        yield moments_case(relation, unit)


def objective_case(relation: str, unit: PrivacyUnit) -> Case:
    """A function by objective perturbation, from nobody or from records of one class, whose gradients nearly add up.

    The curvature is small, so the pull pays for most of epsilon.
    """
    examples = Examples(features=CellFeatures(domain=PLACES), axis=1, values=np.array([-1.0, 1.0]))
    learner = PerturbedLearner(examples=examples, loss=Logistic(), strength=Fraction(8), unit=unit)
    closing = Fraction(weights_sensitivity(learner.width)) * 64
    weights = PerturbedWeights(learner=learner, scale=Fraction(SENSITIVITY), closing=closing)
    place = examples.features.of(np.zeros((1, 1), dtype=np.int64))
    trial = Once(batch=Function(weights=weights), view=place, joint=True)
    one: Cells = {} if relation == Neighbours.ADD_REMOVE.value else {(0, 0): 1}
    pair = records(SHAPE, one), records(SHAPE, {(0, 1): 1})
    what = "a released function by objective perturbation, at the place of the record"
    return Case(name=f"predict-objective-{relation}", what=what, pair=pair, trial=trial, work=2)


def gaussian_objective_case(relation: str, unit: PrivacyUnit, kind: str = "logistic", loss: Sided = LOGISTIC) -> Case:
    """The same with a normal pull: beside CROWD records of one target the slope of one of another is full."""
    examples = Examples(features=CellFeatures(domain=PLACES), axis=1, values=np.array([-1.0, 1.0]))
    learner = PerturbedLearner(examples=examples, loss=loss, strength=64 * loss.smoothness, unit=unit)
    closing = Fraction(weights_sensitivity(learner.width)) * 4
    weights = GaussianPerturbedWeights(learner=learner, variance=Fraction(SENSITIVITY**2), closing=closing)
    place = examples.features.of(np.zeros((1, 1), dtype=np.int64))
    trial = Once(batch=Function(weights=weights), view=place, joint=True, delta=DELTA)
    left = CROWD - (relation == Neighbours.REPLACE.value)
    pair = records(SHAPE, {(0, 0): CROWD}), records(SHAPE, {(0, 0): left, (0, 1): 1})
    what = f"a released {kind} function by objective perturbation with a normal pull, at the place of the record"
    named = "gaussian" if kind == "logistic" else kind
    return Case(name=f"predict-{named}-objective-{relation}", what=what, pair=pair, trial=trial, work=2)


def moments_case(relation: str, unit: PrivacyUnit) -> Case:
    """The noisy sums that a least-squares function follows from; one record's products, worked out by hand."""
    examples = Examples(features=CellFeatures(domain=PLACES), axis=1, values=np.array([-1.0, 1.0]))
    learner = MomentsLearner(examples=examples, unit=unit)
    moments = NoisyMoments(learner=learner, variance=Fraction(learner.squared_sensitivity))
    low, high = int(STEPS * 0.2**0.5), int(STEPS * 0.8**0.5)
    there = np.array([low**2, -low * high, high**2, -low * STEPS, high * STEPS])
    here = np.array([*there[:3], *-there[3:]]) if relation == Neighbours.REPLACE.value else 0 * there
    laws = tuple(
        tuple(IntegerGaussian(answer=int(answer), variance=float(moments.variance)) for answer in answers)
        for answers in (here, there)
    )
    one: Cells = {(0, 0): 1} if relation == Neighbours.REPLACE.value else {}
    pair = records(SHAPE, one), records(SHAPE, {(0, 1): 1})
    trial = Once(batch=Sums(moments=moments), delta=DELTA)
    what = "the noisy moments of a least-squares function"
    return Case(name=f"predict-moments-{relation}", what=what, pair=pair, trial=trial, laws=(laws[0], laws[1]))
