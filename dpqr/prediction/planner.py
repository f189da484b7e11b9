"""Planner: the prediction plan of least noise that a budget, a recipe and the accountants allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import ClassVar

import numpy as np

from dpqr.domain.histogram import Counts
from dpqr.kernel.accountants.accountant import Accountant, Portion
from dpqr.kernel.accountants.analytic import Analytic
from dpqr.kernel.arrays import AnyArray
from dpqr.kernel.budget import PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.events import Composition
from dpqr.kernel.gate import Batch
from dpqr.kernel.noise.source import NoiseSource
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.forms import (
    DIRECT,
    OBJECTIVES,
    AveragesForm,
    FunctionForm,
    Noise,
    PointsForm,
    PredictionForm,
    ProcessForm,
    RandomisedVotesForm,
    VotesForm,
    better_selection,
    selection_epsilon,
)
from dpqr.prediction.learned_functions import LearnerAtPoints
from dpqr.prediction.plan import (
    COUNT,
    MOST_POINTS,
    EnsemblePlan,
    PointsPlan,
    PredictionPlan,
    Recipe,
    count_check,
    kind_of_plan,
)
from dpqr.prediction.problem import PredictionProblem
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.tuning import tuning_parts
from dpqr.prediction.votes import Ensemble

COUNT_SHARE = Fraction(1, 20)
"""Of the budget, for a noisy count of records where nobody declares their number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerInput:
    """What a plan is made for.

    Attributes:
        problem, budget, recipe: of the run.
        accountants: that may prove it.
        asked: whether the user named the accountant.
        separate: whether points come one after the other, so that nothing is drawn for all of them at once.
    """

    problem: PredictionProblem
    budget: PrivacyBudget
    recipe: Recipe
    accountants: Sequence[Accountant]
    asked: bool = False
    separate: bool = False


def least_spread(wanted: PlannerInput) -> PredictionPlan:
    """The plan of least noise over the accountants and noise laws that go with the form.

    Raises:
        UsageFault: no accountant covers the budget.
        InfeasiblePlan: none has a plan within it.
    """
    forms = _forms(wanted)
    plans, reasons = [], []
    for accountant in wanted.accountants:
        refusal = accountant.refusal(wanted.budget)
        if refusal or (accountant.homogeneous and _extra_shares(wanted)):
            unequal = f"the {accountant.name} accountant covers equal draws only; declare --n, and leave --tune out"
            reasons.append(refusal or unequal)
            continue
        # Whether the accountant's theorem is one to plan a law by. In rho a normal pull's curvature costs too much.
        uncovered: tuple[Noise, ...] = ("gaussian", "moments", "gaussian-objective")
        if isinstance(accountant, Analytic):
            uncovered = ()
        elif accountant.concentrated:
            uncovered = ("gaussian-objective",)
        laws = ((form, noise) for form in forms for noise in form.noises if noise not in uncovered)
        plans += [_planned(wanted, form, accountant, noise) for form, noise in laws]
    if not plans:
        raise UsageFault("; ".join(dict.fromkeys(reasons)))
    covered = [plan for plan in plans if plan is not None and plan.epsilon <= wanted.budget.epsilon]
    if not covered:
        raise InfeasiblePlan("no accountant can prove a plan within this budget; raise --eps or --delta")
    return min(covered, key=lambda plan: plan.spread)


def _planned(wanted: PlannerInput, form: PredictionForm, accountant: Accountant, noise: Noise) -> PredictionPlan | None:
    """None where the accountant's theorem does not cover the draws: that is no price of 0."""
    problem, budget = wanted.problem, wanted.budget
    recipe, shares = wanted.recipe, {} if noise in DIRECT else _extra_shares(wanted)
    whole = accountant.cut(budget, [Portion(share=Fraction(1), count=1)])[0]
    if noise in OBJECTIVES and math.isinf(form.spread(whole, noise)):
        return None
    share = (1 - sum(shares.values(), Fraction(0))) / form.count
    stated = None if noise in OBJECTIVES else partial(form.event, noise=noise)
    portions = [Portion(share=share, count=form.count, event=stated)]
    prices = accountant.cut(budget, [*portions, *(Portion(share=each, count=1) for each in shares.values())])
    extra = dict(zip(shares, prices[1:], strict=True))
    counting, tuning = extra.get("counting"), extra.get("tuning")
    first = [(count_check(counting).event((COUNT,), problem.unit, counting), 1)] if counting else []
    chosen = [(VotesForm(count=1).event(tuning, better_selection(budget)), 1)] if tuning else []
    events: Composition = (*first, *chosen, (form.event(prices[0], noise), form.count))
    epsilon = accountant.epsilon(events, budget.delta)
    if epsilon is None:
        return None
    if isinstance(recipe, Aggregate):
        parts: int | None = recipe.chosen_parts(problem, selection_epsilon(prices[0], noise), noise)
    else:
        parts = recipe.stability.parts if tuning is None else tuning_parts(tuning.bounded_range)
    return kind_of_plan(form, noise)(
        problem=problem,
        budget=budget,
        recipe=recipe,
        form=form,
        noise=noise,
        accountant=accountant,
        price=prices[0],
        spread=form.spread(prices[0], noise),
        events=events,
        epsilon=epsilon,
        counting=counting,
        tuning=tuning,
        parts=parts,
        asked=wanted.asked,
    )


def _extra_shares(wanted: PlannerInput) -> dict[str, Fraction]:
    """What is bought before the form's own draws, by name."""
    recipe = wanted.recipe
    if not isinstance(recipe, StableRecipe):
        return {}
    counting = {} if wanted.problem.records is not None else {"counting": COUNT_SHARE}
    left = 1 - sum(counting.values(), Fraction(0))
    return counting if recipe.tuning is None else counting | {"tuning": recipe.tuning * left}


def _forms(wanted: PlannerInput) -> tuple[PredictionForm, ...]:
    """The ways to release that go with the recipe. Raises: UsageFault, InfeasiblePlan where there is none."""
    problem, recipe = wanted.problem, wanted.recipe
    if isinstance(recipe, Aggregate):
        if problem.points is None:
            raise UsageFault("--release function goes with a stable learner; an ensemble answers point by point")
        recipe.require(problem)
        if problem.target.numeric:
            return (AveragesForm(count=problem.points, touched=1),)
        if recipe.vote == "randomised":
            return (RandomisedVotesForm(count=problem.points, touched=1),)
        return (VotesForm(count=problem.points, noises=(recipe.vote or better_selection(wanted.budget),)),)
    recipe.require(problem)
    if problem.points is None:
        objective = recipe.perturbation(problem, wanted.budget)
        if objective is None and recipe.method == "objective":
            raise InfeasiblePlan(
                "--method objective needs floating-point numbers of 64 bits and more, which this computer lacks; use "
                "output, or rounded"
            )
        width, moments = recipe.features.width, recipe.moments(problem)
        return (FunctionForm(width=width, objective=objective, moments=moments, only=recipe.only_noise),)
    form = PointsForm(count=problem.points * recipe.releases)
    if wanted.separate or problem.points > MOST_POINTS or not recipe.exact(problem):
        return (form,)
    return form, ProcessForm(points=problem.points)


# One by one: mechanisms of single points that share what was learned once.
#
# Each point has a draw, a charge and a line in the transcript of its own, so a crash loses one point at most. Without
# sharing, a learner would be fitted, or all members of an ensemble trained, for every one of them.


@dataclass(slots=True, eq=False)
class FitCache:
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

    asked: LearnerAtPoints
    shared: FitCache
    place: int

    @property
    def bound(self) -> Fraction:
        return self.asked.learner.bound

    def fit(self, counts: Counts) -> AnyArray:
        """Shape (1,). Private."""

        def values() -> AnyArray:
            fitted, points = self.asked.learner.fit(counts), self.asked.points
            return fitted if points is None else points @ fitted

        return self.shared.of(counts, values)[self.place : self.place + 1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OnePoint:
    """An ensemble at one of several points.

    Privacy:
        As of the ensemble: a unit is in `touched` parts, and each of them has one vote, or one number, at a point.
    """

    ensemble: Ensemble
    shared: FitCache
    place: int
    predictions: ClassVar[int] = 1

    @property
    def parts(self) -> int:
        return self.ensemble.parts

    @property
    def touched(self) -> int:
        return self.ensemble.touched

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
    shared = FitCache()
    if isinstance(plan, EnsemblePlan):
        ensemble = plan.recipe.ensemble(plan.problem, plan.recipe.features.of(codes), plan.parts)
        for place in range(len(codes)):
            yield plan.voted(OnePoint(ensemble=ensemble, shared=shared, place=place))
        return
    assert isinstance(plan, PointsPlan)  # a session is planned point by point
    batch = plan.predictions(plan.learner(records), codes)
    for place in range(len(codes)):
        one = OneValue(asked=batch.asked, shared=shared, place=place)
        yield replace(batch, asked=LearnerAtPoints(learner=one, points=None, limit=batch.asked.limit, own=1))
