"""Excess risk: what a plan's predictions lose, in expectation, to the best function of a stated norm. Public facts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpqr.prediction.bounds.added_loss import added_loss, mean_share, most_noise
from dpqr.prediction.bounds.online_error import OnlineError
from dpqr.prediction.bounds.risk_bound import BALL, LARGEST, RiskBound, sign_risk
from dpqr.prediction.learners.averaged import Averaged, PartLearner
from dpqr.prediction.learners.descent import GradientDescent
from dpqr.prediction.learners.losses import Square
from dpqr.prediction.learners.online import OnlineLearner
from dpqr.prediction.learners.stable import LeastSquares
from dpqr.prediction.plan import PredictionPlan, deviation
from dpqr.prediction.recipes import StableRecipe

USUAL = Fraction(1, 2)
"""The smoothness that is taken where nobody states one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcessRisk:
    """A bound on the expected loss of a prediction, above that of the best function of norm `radius`.

    Attributes:
        assumed: whether nobody stated the radius.
        fitted: what the penalty, or the end of descent, costs on the table; online, all that is not noise.
        sample: what a function learned from the table may gain on it alone.
        noise: what the noise adds.
        smoothness: the bound is above the least loss of all functions (`RiskBound`); None: not so.
        sign: how much more often than any rule the sign errs at most, if no loss of all functions is less than that of
            the one compared with; None: not a class, or its comparison is not known.
        least_epsilon: at which noise would add as much as all else, where it is pure and lambda stays; None: elsewhere.
    """

    radius: Fraction
    assumed: bool
    fitted: float
    sample: float
    noise: float
    smoothness: Fraction | None = None
    sign: float | None = None
    least_epsilon: float | None = None

    @property
    def total(self) -> float:
        return self.fitted + self.sample + self.noise


def excess_risk(plan: PredictionPlan, records: int) -> ExcessRisk | None:
    """The bound for a plan of a stated radius or smoothness, of descent, or online (`OnlineError`, with noise of
    deviation d adding d^2); None for others.

    For m independent records, m the number that the plan is made for, and a convex loss L of Lipschitz constant G on
    the functions that are learned. Let f be the learned function and f* the best of norm R.

    - A regularised minimiser: `RiskBound`.
    - Descent: on the table F(f) <= F(f*) + R^2 / (2 s), s = steps times their length, none above 1 / smoothness (Beck
      and Teboulle 2009, Theorem 3.1); the mean of F(f) and the risk of f differ by at most G gamma, gamma = 2 s G / m
      what one replaced record may move a prediction (Bousquet and Elisseeff 2002, Lemma 7): as a penalty of 1 / (2 s).
    - Noise of mean absolute size e and deviation d adds at most min(G e, smoothness d^2 / 2), to a square d^2.

    A mean of functions has at most the mean of their risks, each for m / parts records. What solvers leave is added to
    the noise.

    References:
        Rana 2019, Corollaries 3 and 4; `best_length`.
    """
    recipe, spread = plan.recipe, deviation(plan, records)
    if not isinstance(recipe, StableRecipe):
        return None
    stated = recipe.stability.radius
    radius = Fraction(recipe.reach) if stated is None else stated
    learner = plan.learner(records)
    if isinstance(learner, OnlineLearner) and learner.column is None and spread is not None:
        error = OnlineError(steps=learner.steps, radius=float(radius), smoothness=float(recipe.smoothness or USUAL))
        return ExcessRisk(
            radius=radius,
            assumed=stated is None,
            fitted=error.after(learner.slots),
            sample=0.0,
            noise=spread**2,
            smoothness=recipe.smoothness,
        )
    member = learner.learner if isinstance(learner, Averaged) else learner
    if stated is None and recipe.smoothness is None and not recipe.descends:
        return None
    if spread is None or not isinstance(member, PartLearner):
        return None
    bound, penalty = _bound(recipe, member, radius)
    if bound.slope is None and penalty > LARGEST:
        return None
    return _summed(plan, member, bound, penalty, spread)


def _bound(recipe: StableRecipe, member: PartLearner, radius: Fraction) -> tuple[RiskBound, float]:
    """And the penalty, or what stands for it."""
    records = member.scale.records
    if isinstance(member, GradientDescent):
        given = {"radius": float(radius), "slope": float(member.slope)}
        return RiskBound(records=records, width=member.features.width, **given), float(1 / (2 * member.reached))
    return recipe.risk_bound(records), float(member.penalty)


def _summed(plan: PredictionPlan, member: PartLearner, bound: RiskBound, penalty: float, spread: float) -> ExcessRisk:
    recipe, left = plan.recipe, float(member.bound - member.distance)
    assert isinstance(recipe, StableRecipe)
    loss = Square() if isinstance(member, LeastSquares) else member.loss
    slope = float(2 * (BALL + 1)) if bound.slope is None else bound.slope
    share = mean_share(plan.noise)
    found = ExcessRisk(
        radius=Fraction(bound.radius) if recipe.stability.radius is None else recipe.stability.radius,
        assumed=recipe.stability.radius is None,
        fitted=bound.fitted(penalty),
        sample=bound.sample(penalty),
        noise=added_loss(loss, slope, spread, share) + slope * left,
        smoothness=recipe.smoothness,
    )
    room = most_noise(loss, slope, found.fitted + found.sample, share)
    return replace(
        found,
        sign=sign_risk(loss, found.total) if recipe.classifies else None,
        least_epsilon=float(plan.budget.epsilon) * spread / room if plan.noise in ("laplace", "spherical") else None,
    )
