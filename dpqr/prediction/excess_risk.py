"""Excess risk: what a plan's predictions lose, in expectation, to the best function of a stated norm. Public facts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpqr.prediction.averaged import Averaged, PartLearner
from dpqr.prediction.descent import GradientDescent
from dpqr.prediction.forms import added_loss, mean_share
from dpqr.prediction.online import OnlineLearner
from dpqr.prediction.online_error import OnlineError
from dpqr.prediction.plan import PredictionPlan, deviation
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.stable import LeastSquares


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcessRisk:
    """A bound on the expected loss of a prediction, above that of the best function of norm `radius`.

    Attributes:
        assumed: whether nobody stated the radius.
        fitted: what the penalty, or the end of descent, costs on the table; online, all that is not noise.
        sample: what a function learned from the table may gain on it alone.
        noise: what the noise adds.
    """

    radius: Fraction
    assumed: bool
    fitted: float
    sample: float
    noise: float

    @property
    def total(self) -> float:
        return self.fitted + self.sample + self.noise


def excess_risk(plan: PredictionPlan, records: int) -> ExcessRisk | None:
    """The bound for a plan of a stated radius, of descent, or online (`OnlineError`, with noise of deviation d adding
    d^2); None for others.

    For m independent records, m the number that the plan is made for, and a convex loss L of Lipschitz constant G on
    the functions that are learned. Let f be the learned function and f* the best of norm R.

    - On the table F(f) <= F(f*) + lambda R^2 by the penalty; + R^2 / (2 s) by descent of s = steps times their length,
      none above 1 / smoothness (Beck and Teboulle 2009, Theorem 3.1).
    - The mean of F(f) and the risk of f differ by at most G gamma, gamma what one replaced record may move a prediction
      (Bousquet and Elisseeff 2002, Lemma 7): G / (lambda m), or 2 s G / m.
    - Noise of mean absolute size e and deviation d adds at most min(G e, smoothness d^2 / 2).

    A mean of functions has at most the mean of their risks, each for m / parts records. What solvers leave is added to
    the noise.

    References:
        Rana 2019, Corollaries 3 and 4; `best_length`.
    """
    recipe, spread = plan.recipe, deviation(plan, records)
    if not isinstance(recipe, StableRecipe):
        return None
    assumed = recipe.stability.radius is None
    radius = Fraction(recipe.reach) if recipe.stability.radius is None else recipe.stability.radius
    learner = plan.learner(records)
    if isinstance(learner, OnlineLearner) and learner.column is None and spread is not None:
        learned = OnlineError(steps=learner.steps, radius=float(radius)).after(learner.slots)
        return ExcessRisk(radius=radius, assumed=assumed, fitted=learned, sample=0.0, noise=spread**2)
    if assumed and not recipe.descends:
        return None
    member = learner.learner if isinstance(learner, Averaged) else learner
    if spread is None or not isinstance(member, PartLearner) or isinstance(member, LeastSquares):
        return None
    slope, fitted, moved = _parts_of(member, radius)
    left = float(member.bound - member.distance)
    return ExcessRisk(
        radius=radius,
        assumed=assumed,
        fitted=fitted,
        sample=slope * moved,
        noise=added_loss(member.loss, slope, spread, mean_share(plan.noise)) + slope * left,
    )


def _parts_of(member: PartLearner, radius: Fraction) -> tuple[float, float, float]:
    """G, lambda R^2 or R^2 / (2 s), and gamma."""
    records = member.scale.records
    if isinstance(member, GradientDescent):
        slope = member.slope
        return float(slope), float(radius**2 / (2 * member.reached)), float(2 * member.reached * slope / records)
    assert not isinstance(member, LeastSquares)
    slope, penalty = member.loss.lipschitz, member.penalty
    return float(slope), float(penalty * radius**2), float(slope / (penalty * records))
