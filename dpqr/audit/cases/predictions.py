"""Private predictions: one prediction, and released functions, evaluated at points."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from msgspec import Struct

from dpqr.audit.case import Case, Claim, Pair, PublicOutcome, records
from dpqr.audit.law import Coin, Flips, IntegerGaussian, Laws, Selection, TwoSidedGeometric
from dpqr.domain.attribute import Attribute, Bins
from dpqr.domain.domain import Domain
from dpqr.domain.histogram import Counts
from dpqr.kernel.accountants.accountant import SumFilter, require_pure
from dpqr.kernel.accountants.analytic import Analytic
from dpqr.kernel.accountants.losses import concentrated_rho
from dpqr.kernel.accountants.sums import total_rho
from dpqr.kernel.arrays import FloatArray, IntArray
from dpqr.kernel.events import Composition
from dpqr.kernel.gate import Batch, measure_together
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.prediction.ensembles.bases import RidgeBase
from dpqr.prediction.ensembles.ensemble import PartsEnsemble
from dpqr.prediction.learned_functions import (
    PREDICTION,
    GaussianWeights,
    LaplacePredictions,
    LearnerAtPoints,
    SphericalWeights,
    step,
    weights_sensitivity,
)
from dpqr.prediction.learners.examples import Examples, LossScale
from dpqr.prediction.learners.features import CellFeatures
from dpqr.prediction.learners.losses import ExactPinball, Hinge, Logistic, Sided, TaperedCorner
from dpqr.prediction.learners.moments import STEPS, MomentsLearner, NoisyMoments
from dpqr.prediction.learners.perturbed import PerturbedLearner
from dpqr.prediction.learners.stable import LipschitzLearner
from dpqr.prediction.perturbation import SENSITIVITY, GaussianPerturbedWeights, PerturbedWeights
from dpqr.prediction.planner import FitCache, OnePoint
from dpqr.prediction.votes import ExponentialVotes, PermuteAndFlipVotes, RandomisedVotes

DELTA = Fraction(1, 100)
UNITS = {each.value: PrivacyUnit(neighbours=each) for each in Neighbours}
EXAMPLES = 4
"""Records of the smaller database."""
POINTS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])


SHAPE = (2, 2)
"""Two places that a record may have, and two classes."""
PLACES = Domain((Attribute(name="place", axis=Bins(edges=(Fraction(0), Fraction(1), Fraction(2)))),))
Cells = dict[tuple[int, ...], int]
SIGNS = Examples(features=CellFeatures(domain=PLACES), axis=1, values=np.array([-1.0, 1.0]))
PLACE: FloatArray = SIGNS.features.of(np.zeros((1, 1), dtype=np.int64))
"""Features of the place of the record that changes."""


class Function(Struct, frozen=True, kw_only=True, eq=False):
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
    at_points = LearnerAtPoints(learner=learner, points=PLACE, limit=None)
    batch = LaplacePredictions(at_points=at_points, scale=Fraction(PREDICTION))
    moved = round(hinge_shift(unit) / at_points.step)
    one, two = (TwoSidedGeometric(answer=answer, scale=float(PREDICTION)) for answer in (0, moved))
    what, laws, trial = "one prediction of a stable learner", ((one,), (two,)), SingleDraw(batch=batch)
    return Case(name=f"predict-one-{relation}", what=what, pair=hinge_pair(relation), trial=trial, laws=laws)


def function_case(relation: str, unit: PrivacyUnit) -> Case:
    """A released function at three points."""
    learner = hinge(unit)
    width = learner.features.width
    weights = GaussianWeights(learner=learner, width=width, variance=Fraction(weights_sensitivity(width) ** 2))
    trial = SingleDraw(batch=Function(weights=weights), view=POINTS, delta=DELTA)
    moved = np.rint(PLACE[0] * hinge_shift(unit) / step(learner.bound)).astype(np.int64)
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
    trial, pair = SingleDraw(batch=Function(weights=weights), view=PLACE, joint=True), hinge_pair(relation)
    what = "a released function at delta 0, at the place of the record"
    return Case(name=f"predict-pure-function-{relation}", what=what, pair=pair, trial=trial)


def hinge(unit: PrivacyUnit) -> LipschitzLearner:
    """A support vector machine with so much regularisation that every record counts with its full slope."""
    declared = EXAMPLES if unit.neighbours is Neighbours.REPLACE else EXAMPLES + 1
    return LipschitzLearner(
        examples=SIGNS, loss=Hinge(), penalty=Fraction(1), scale=LossScale(unit=unit, records=declared)
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


# Learned functions whose noise is not added to a minimiser: perturbed objectives, and noisy moments.

LOGISTIC = Logistic()
QUANTILE = TaperedCorner(corner=ExactPinball(tau=Fraction(4, 5)), width=Fraction(1, 64))
CROWD = 40_000
"""Records that make the slope of one of the other class full."""


class Sums(Struct, frozen=True, kw_only=True, eq=False):
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
    learner = PerturbedLearner(examples=SIGNS, loss=Logistic(), strength=Fraction(8), unit=unit)
    closing = Fraction(weights_sensitivity(learner.width)) * 64
    weights = PerturbedWeights(learner=learner, scale=Fraction(SENSITIVITY), closing=closing)
    trial = SingleDraw(batch=Function(weights=weights), view=PLACE, joint=True)
    one: Cells = {} if relation == Neighbours.ADD_REMOVE.value else {(0, 0): 1}
    pair = records(SHAPE, one), records(SHAPE, {(0, 1): 1})
    what = "a released function by objective perturbation, at the place of the record"
    return Case(name=f"predict-objective-{relation}", what=what, pair=pair, trial=trial, work=2)


def gaussian_objective_case(relation: str, unit: PrivacyUnit, kind: str = "logistic", loss: Sided = LOGISTIC) -> Case:
    """The same with a normal pull: beside CROWD records of one target the slope of one of another is full."""
    learner = PerturbedLearner(examples=SIGNS, loss=loss, strength=64 * loss.smoothness, unit=unit)
    closing = Fraction(weights_sensitivity(learner.width)) * 4
    weights = GaussianPerturbedWeights(learner=learner, variance=Fraction(SENSITIVITY**2), closing=closing)
    trial = SingleDraw(batch=Function(weights=weights), view=PLACE, joint=True, delta=DELTA)
    left = CROWD - (relation == Neighbours.REPLACE.value)
    pair = records(SHAPE, {(0, 0): CROWD}), records(SHAPE, {(0, 0): left, (0, 1): 1})
    what = f"a released {kind} function by objective perturbation with a normal pull, at the place of the record"
    named = "gaussian" if kind == "logistic" else kind
    return Case(name=f"predict-{named}-objective-{relation}", what=what, pair=pair, trial=trial, work=2)


def moments_case(relation: str, unit: PrivacyUnit) -> Case:
    """The noisy sums that a least-squares function follows from; one record's products, worked out by hand."""
    learner = MomentsLearner(examples=SIGNS, unit=unit)
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
    trial = SingleDraw(batch=Sums(moments=moments), delta=DELTA)
    what = "the noisy moments of a least-squares function"
    return Case(name=f"predict-moments-{relation}", what=what, pair=pair, trial=trial, laws=(laws[0], laws[1]))


# Labels by votes: of one point, and of points that come one after the other.

VOTERS = 2
VOTES_EPSILON, COIN_SCALE = Fraction(2), Fraction(1, 2)
BRIEF = 6_000
"""Runs that show votes, or a coin, whose noise is too narrow by a fifth."""


class OneByOne(Struct, frozen=True, kw_only=True, eq=False):
    """Two labels at one place, as a session draws them: each is charged and drawn by itself, the votes are counted once
    for both."""

    epsilon: Fraction

    @property
    def claim(self) -> Claim:
        return Claim.pure(tuple(event for batch in self._batches() for event in batch.events))

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        guard = SumFilter(limit=2 * self.epsilon, cost=require_pure, unit="epsilon")
        drawn = (measure_together(database, each, accountant=guard, noise=noise).value for each in self._batches())
        return (), tuple(int(label[0]) for label in drawn), ()

    def _batches(self) -> Iterator[ExponentialVotes]:
        ensemble, shared = voters(2), FitCache()
        for place in range(2):
            yield ExponentialVotes(
                ensemble=OnePoint(ensemble=ensemble, shared=shared, place=place), epsilon=self.epsilon
            )


def vote_cases() -> Iterator[Case]:
    """Both neighbour relations."""
    for relation in (each.value for each in Neighbours):
        yield votes_case(relation)
        yield flips_case(relation)
        yield randomised_case(relation)
        yield session_case(relation)


def vote_laws(kind: type[Selection], epsilon: Fraction, points: int = 1) -> tuple[Laws, Laws]:
    """Of every point's label: all votes for the first class, or one of them for the second."""
    one, two = (kind(scores=np.array(votes), rate=float(epsilon) / 2) for votes in ((VOTERS, 0.0), (VOTERS - 1, 1.0)))
    return (one,) * points, (two,) * points


def votes_case(relation: str) -> Case:
    """One label by votes that all are for the first class, of which one changes sides: that of an empty part, which
    gets a record of the other class, or that of a part whose record is replaced by one of it."""
    trial = SingleDraw(batch=ExponentialVotes(ensemble=voters(), epsilon=VOTES_EPSILON))
    what, laws, pair = "a label by votes", vote_laws(Selection, VOTES_EPSILON), voters_pair(relation)
    return Case(name=f"predict-votes-{relation}", what=what, pair=pair, trial=trial, brief=BRIEF, laws=laws)


def flips_case(relation: str) -> Case:
    """The same votes, the label by permute-and-flip: the second label's probability rises from exp(-epsilon) / 2 to
    1 / 2, so all of epsilon is used."""
    trial = SingleDraw(batch=PermuteAndFlipVotes(ensemble=voters(), epsilon=VOTES_EPSILON))
    what, laws, pair = "a label by permute-and-flip of votes", vote_laws(Flips, VOTES_EPSILON), voters_pair(relation)
    return Case(name=f"predict-flips-{relation}", what=what, pair=pair, trial=trial, brief=BRIEF, laws=laws)


def randomised_case(relation: str) -> Case:
    """The same votes, the label by a coin: with none for the second label its probability is q / 2, with one 1 / 2."""
    trial = SingleDraw(batch=RandomisedVotes(ensemble=voters(), scale=COIN_SCALE))
    one, two = (Coin(votes=votes, parts=VOTERS, scale=float(COIN_SCALE)) for votes in (0, 1))
    what, laws, pair = "a label by randomised votes", ((one,), (two,)), voters_pair(relation)
    return Case(name=f"predict-randomised-{relation}", what=what, pair=pair, trial=trial, brief=BRIEF, laws=laws)


def session_case(relation: str) -> Case:
    """The votes of `votes_case` for two points of a session, at half of its epsilon each."""
    epsilon = VOTES_EPSILON / 2
    laws, trial = vote_laws(Selection, epsilon, points=2), OneByOne(epsilon=epsilon)
    what, pair = "labels by votes, one point after the other", voters_pair(relation)
    return Case(name=f"predict-session-{relation}", what=what, pair=pair, trial=trial, laws=laws)


def voters(points: int = 1) -> PartsEnsemble:
    """At one place."""
    return PartsEnsemble(
        features=CellFeatures(domain=PLACES),
        base=RidgeBase(),
        axis=1,
        labels=2,
        values=None,
        points=CellFeatures(domain=PLACES).of(np.zeros((points, 1), dtype=np.int64)),
        parts=VOTERS,
    )


def voters_pair(relation: str) -> Pair:
    """Of their parts, the first holds nothing, or a record of the first class, and then one of the second."""
    others: Cells = {(0, 0, part): 1 for part in range(1, VOTERS)}
    one = others if relation == Neighbours.ADD_REMOVE.value else {(0, 0, 0): 1, **others}
    return records((*SHAPE, VOTERS), one), records((*SHAPE, VOTERS), {(0, 1, 0): 1, **others})


# Once: a mechanism whose one outcome is looked at.


class SingleDraw(Struct, frozen=True, kw_only=True, eq=False):
    """A mechanism whose one outcome is a list of integers.

    Attributes:
        view: what an attacker makes of the outcome beside it, such as a function's values at points.
        joint: whether the numbers' noise is not independent, so that they are looked at together only.
        delta: of normal noise, whose exact curve is claimed there, and its rho beside it; 0: of pure draws.
    """

    batch: Batch[Counts, IntArray]
    view: FloatArray | None = None
    joint: bool = False
    delta: Fraction = Fraction(0)

    @property
    def claim(self) -> Claim:
        if not self.delta:
            return Claim.pure(self.batch.events)
        claim = Claim.proved(Analytic(), self.batch.events, self.delta)
        return replace(claim, rho=total_rho(self.batch.events))

    def run(self, database: Private[Counts], noise: NoiseSource) -> PublicOutcome:
        cost = concentrated_rho if self.delta else require_pure
        limit = sum((cost(event) * count for event, count in self.batch.events), Fraction(0))
        guard = SumFilter(limit=limit, cost=cost, unit="rho" if self.delta else "epsilon")
        drawn = measure_together(database, self.batch, accountant=guard, noise=noise).value
        seen = () if self.view is None else tuple(np.rint(self.view @ drawn).astype(np.int64).tolist())
        numbers = tuple(drawn.tolist())
        return ((), (), (*numbers, *seen)) if self.joint else ((), numbers, seen)
