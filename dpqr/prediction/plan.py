"""PredictionPlan: a prediction run on paper, before any data, and the mechanisms that it then draws from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpqr.data.arrays import FloatArray, IntArray
from dpqr.data.counts import Counts
from dpqr.errors import InfeasiblePlan, UsageFault
from dpqr.mechanisms.fitted import FINENESS, step
from dpqr.mechanisms.function_release import GaussianWeights, LaplaceWeights
from dpqr.mechanisms.noisy_predictions import Asked, GaussianPredictions, LaplacePredictions
from dpqr.mechanisms.votes import ExponentialVotes, LaplaceAverages
from dpqr.noise.discrete_gaussian import DiscreteGaussian
from dpqr.noise.discrete_laplace import DiscreteLaplace
from dpqr.noise.law import NoiseLaw
from dpqr.prediction.aggregate import Aggregate
from dpqr.prediction.forms import AveragesForm, Form, FunctionForm, Noise, PointsForm, VotesForm
from dpqr.prediction.problem import PredictionProblem
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.scale import MOST_RECORDS
from dpqr.prediction.stable import StableLearner
from dpqr.privacy.accountant import Accountant, Portion
from dpqr.privacy.budget import PrivacyBudget
from dpqr.privacy.events import Composition, DiscreteGaussianEvent, DiscreteLaplaceEvent
from dpqr.privacy.mechanism import Batch, Mechanism
from dpqr.privacy.price import Price
from dpqr.strategies.checks.gaussian import Gaussian
from dpqr.strategies.checks.laplace import Laplace
from dpqr.workload.block import QueryBlock
from dpqr.workload.measurement import Measurement

COUNT = QueryBlock(name="records")
"""The number of records: what is bought where nobody declares it."""
COUNT_SHARE = Fraction(1, 20)

Recipe = StableRecipe | Aggregate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictionPlan:
    """Public; the same inputs always give the same plan.

    counting: price of a noisy count of records, drawn first; None: the number is declared, or nothing needs it.
    price: of each draw of the form. spread: see `Form`. parts: of an ensemble.
    """

    problem: PredictionProblem
    budget: PrivacyBudget
    recipe: Recipe
    form: Form
    noise: Noise
    accountant: Accountant
    price: Price
    spread: float
    events: Composition
    epsilon: Fraction
    counting: Price | None = None
    parts: int | None = None
    asked: bool = False
    notes: tuple[str, ...] = ()

    @property
    def counter(self) -> Mechanism[Counts, Measurement]:
        """What draws the noisy count."""
        if self.counting is None:
            raise InfeasiblePlan("this plan buys no count of records")
        return _check(self.counting).mechanism((COUNT,), self.problem.unit, self.counting)

    @property
    def releases(self) -> int:
        """How often the form's points are predicted, from more and more of a stream."""
        return self.recipe.releases if isinstance(self.recipe, StableRecipe) else 1

    @property
    def ordered(self) -> bool:
        """Whether the order of the records matters."""
        return isinstance(self.recipe, StableRecipe) and self.recipe.ordered

    def learner(self, records: int, release: int | None = None) -> StableLearner:
        """The stable learner for a declared or bought number of records; a bought one is brought within bounds.
        release: see `StableRecipe.learner`; None: the last one."""
        if not isinstance(self.recipe, StableRecipe):
            raise InfeasiblePlan("an ensemble has no bound of its own")
        last = self.releases - 1
        return self.recipe.learner(self.problem, usable(records), self.spread, last if release is None else release)

    def weights(self, learner: StableLearner) -> GaussianWeights | LaplaceWeights:
        """The mechanism of a function release."""
        event, width = self.form.event(self.price, self.noise), learner.features.width
        if isinstance(event, DiscreteGaussianEvent):
            return GaussianWeights(learner=learner, width=width, variance=event.variance)
        assert isinstance(event, DiscreteLaplaceEvent)
        return LaplaceWeights(learner=learner, width=width, scale=event.scale)

    def predictions(self, learner: StableLearner, points: FloatArray) -> LaplacePredictions | GaussianPredictions:
        """The mechanism of noisy predictions of a stable learner."""
        assert isinstance(self.recipe, StableRecipe)
        asked = Asked(learner=learner, points=points, limit=self.recipe.limit)
        event = self.form.event(self.price, self.noise)
        if isinstance(event, DiscreteGaussianEvent):
            return GaussianPredictions(asked=asked, variance=event.variance)
        assert isinstance(event, DiscreteLaplaceEvent)
        return LaplacePredictions(asked=asked, scale=event.scale)

    def votes(self, points: FloatArray) -> Batch[Counts, IntArray]:
        """The mechanism of an ensemble."""
        assert isinstance(self.recipe, Aggregate)
        assert self.parts is not None
        ensemble, event = (
            self.recipe.ensemble(self.problem, points, self.parts),
            self.form.event(self.price, self.noise),
        )
        if isinstance(event, DiscreteLaplaceEvent):
            return LaplaceAverages(ensemble=ensemble, scale=event.scale)
        return ExponentialVotes(ensemble=ensemble, epsilon=self.price.bounded_range)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a plan is made for."""

    problem: PredictionProblem
    budget: PrivacyBudget
    recipe: Recipe
    accountants: Sequence[Accountant]
    asked: bool = False


def least_spread(wanted: Wanted) -> PredictionPlan:
    """The plan of least noise over the accountants and noise laws that go with the form.

    Errors: UsageFault where none of them covers the budget; InfeasiblePlan where none has a plan.
    """
    form = _form(wanted)
    plans, reasons = [], []
    for accountant in wanted.accountants:
        refusal = accountant.refusal(wanted.budget)
        if refusal or (accountant.homogeneous and _counts(wanted)):
            reasons.append(refusal or f"the {accountant.name} accountant covers equal draws only; declare --n")
            continue
        for noise in form.noises:
            if noise != "gaussian" or accountant.concentrated:
                plans.append(_planned(wanted, form, accountant, noise))
    if not plans:
        raise UsageFault("; ".join(dict.fromkeys(reasons)))
    covered = [plan for plan in plans if plan.epsilon <= wanted.budget.epsilon]
    if not covered:
        raise InfeasiblePlan("no accountant can prove a plan within this budget; raise --eps or --delta")
    return min(covered, key=lambda plan: plan.spread)


def _planned(wanted: Wanted, form: Form, accountant: Accountant, noise: Noise) -> PredictionPlan:
    problem, budget = wanted.problem, wanted.budget
    counted = _counts(wanted)
    share = (1 - COUNT_SHARE if counted else Fraction(1)) / form.count
    portions = [Portion(share=share, count=form.count, event=lambda price: form.event(price, noise))]
    if counted:
        portions.append(Portion(share=COUNT_SHARE, count=1))
    prices = accountant.cut(budget, portions)
    counting = prices[1] if counted else None
    first = [(_check(counting).event((COUNT,), problem.unit, counting), 1)] if counting else []
    events: Composition = (*first, (form.event(prices[0], noise), form.count))
    recipe = wanted.recipe
    return PredictionPlan(
        problem=problem,
        budget=budget,
        recipe=recipe,
        form=form,
        noise=noise,
        accountant=accountant,
        price=prices[0],
        spread=form.spread(prices[0], noise),
        events=events,
        epsilon=accountant.epsilon(events, budget.delta) or Fraction(0),
        counting=counting,
        parts=recipe.chosen_parts(problem, _single(prices[0], noise)) if isinstance(recipe, Aggregate) else None,
        asked=wanted.asked,
    )


def usable(records: int) -> int:
    """A number of records that learners work with: a noisy count may be any."""
    return min(max(records, 1), MOST_RECORDS)


def law(plan: PredictionPlan) -> NoiseLaw | None:
    """The noise of one released number, in grid steps; None for votes."""
    event = plan.form.event(plan.price, plan.noise)
    if isinstance(event, DiscreteGaussianEvent):
        return DiscreteGaussian(event.variance)
    return DiscreteLaplace(event.scale) if isinstance(event, DiscreteLaplaceEvent) else None


def deviation(plan: PredictionPlan, records: int | None) -> float | None:
    """Standard deviation of the noise of one prediction, on the scale of `Target`: of every prediction at most, for a
    function, whose noise at a point x is that of a weight times ||phi(x)|| <= 1. None for votes, and where the number
    of records is not known yet."""
    drawn = law(plan)
    if drawn is None:
        return None
    if isinstance(plan.form, AveragesForm):
        return drawn.deviation / (FINENESS * (plan.parts or 1))
    if records is None:
        return None
    learner = plan.learner(records)
    if isinstance(plan.form, FunctionForm):
        return drawn.deviation * step(learner.bound)
    assert isinstance(plan.recipe, StableRecipe)
    limit = plan.recipe.limit
    bound = learner.bound if limit is None else min(learner.bound, Fraction(2 * limit))
    return drawn.deviation * step(bound)


def _single(price: Price, noise: Noise) -> Fraction:
    return price.bounded_range if noise == "exponential" else price.pure


def _counts(wanted: Wanted) -> bool:
    """Whether a number of records has to be bought."""
    return isinstance(wanted.recipe, StableRecipe) and wanted.problem.records is None


def _check(price: Price) -> Laplace | Gaussian:
    return Laplace() if price.rho is None else Gaussian()


def _form(wanted: Wanted) -> Form:
    problem, recipe = wanted.problem, wanted.recipe
    if isinstance(recipe, Aggregate):
        if problem.points is None:
            raise UsageFault("--release function goes with a stable learner; an ensemble answers point by point")
        if problem.target.numeric:
            return AveragesForm(count=problem.points, touched=1)
        return VotesForm(count=problem.points)
    recipe.require(problem)
    if problem.points is None:
        return FunctionForm(width=recipe.features.width)
    return PointsForm(count=problem.points * recipe.releases)
