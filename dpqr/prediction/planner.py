"""Planner: the prediction plan of least noise that a budget, a recipe and the accountants allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from dpqr.errors import InfeasiblePlan, UsageFault
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.forms import (
    DIRECT,
    OBJECTIVES,
    AveragesForm,
    Form,
    FunctionForm,
    Noise,
    PointsForm,
    RandomisedVotesForm,
    VotesForm,
    better_selection,
    selection_epsilon,
)
from dpqr.prediction.kernel_process import MOST_POINTS, ProcessForm
from dpqr.prediction.plan import COUNT, PredictionPlan, Recipe, count_check
from dpqr.prediction.problem import PredictionProblem
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.tuning import tuning_parts
from dpqr.privacy.accountant import Accountant, Portion
from dpqr.privacy.accountants.analytic import Analytic
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import Composition

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

    >>> from dpqr.data.attribute import Attribute, Labels
    >>> from dpqr.data.domain import Domain
    >>> from dpqr.data.unit import PrivacyUnit
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> from dpqr.prediction.problem import read_target, without
    >>> from dpqr.privacy.accountants.basic import Basic
    >>> domain = Domain(tuple(Attribute(name=name, axis=Labels(("no", "yes"))) for name in ("smokes", "ill")))
    >>> target = read_target(domain, "ill", None)
    >>> problem = PredictionProblem(domain=domain, target=target, unit=PrivacyUnit(), records=1000)
    >>> recipe = StableRecipe(name="logistic", features=CellFeatures(domain=without(domain, target)))
    >>> budget = PrivacyBudget(epsilon=Fraction(1), delta=Fraction(0))
    >>> plan = least_spread(PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=[Basic()]))
    >>> plan.noise, plan.epsilon
    ('objective', Fraction(1, 1))
    """
    forms = _forms(wanted)
    plans, reasons = [], []
    for accountant in wanted.accountants:
        refusal = accountant.refusal(wanted.budget)
        if refusal or (accountant.homogeneous and _extra_shares(wanted)):
            unequal = f"the {accountant.name} accountant covers equal draws only; declare --n, and leave --tune out"
            reasons.append(refusal or unequal)
            continue
        laws = ((form, noise) for form in forms for noise in form.noises if _covers(accountant, noise))
        plans += [_planned(wanted, form, accountant, noise) for form, noise in laws]
    if not plans:
        raise UsageFault("; ".join(dict.fromkeys(reasons)))
    covered = [plan for plan in plans if plan is not None and plan.epsilon <= wanted.budget.epsilon]
    if not covered:
        raise InfeasiblePlan("no accountant can prove a plan within this budget; raise --eps or --delta")
    return min(covered, key=lambda plan: plan.spread)


def _covers(accountant: Accountant, noise: Noise) -> bool:
    """Whether the accountant's theorem is one to plan this law by. In rho a normal pull's curvature costs too much."""
    if isinstance(accountant, Analytic):
        return True
    return noise not in ("gaussian", "moments", "gaussian-objective") or (
        accountant.concentrated and noise != "gaussian-objective"
    )


def _planned(wanted: PlannerInput, form: Form, accountant: Accountant, noise: Noise) -> PredictionPlan | None:
    """None where the accountant's theorem does not cover the draws: that is no price of 0."""
    problem, budget = wanted.problem, wanted.budget
    recipe, shares = wanted.recipe, {} if noise in DIRECT else _extra_shares(wanted)
    if noise in OBJECTIVES and math.isinf(form.spread(_alone(accountant, budget), noise)):
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
        epsilon=epsilon,
        counting=counting,
        tuning=tuning,
        parts=_parts(wanted, prices[0], noise, tuning),
        asked=wanted.asked,
    )


def _alone(accountant: Accountant, budget: PrivacyBudget) -> Price:
    """What one draw may cost that has the whole budget."""
    return accountant.cut(budget, [Portion(share=Fraction(1), count=1)])[0]


def _extra_shares(wanted: PlannerInput) -> dict[str, Fraction]:
    """What is bought before the form's own draws, by name."""
    recipe = wanted.recipe
    if not isinstance(recipe, StableRecipe):
        return {}
    counting = {} if wanted.problem.records is not None else {"counting": COUNT_SHARE}
    left = 1 - sum(counting.values(), Fraction(0))
    return counting if recipe.tuning is None else counting | {"tuning": recipe.tuning * left}


def _parts(wanted: PlannerInput, price: Price, noise: Noise, tuning: Price | None) -> int | None:
    if isinstance(wanted.recipe, Aggregate):
        return wanted.recipe.chosen_parts(wanted.problem, selection_epsilon(price, noise), noise)
    return wanted.recipe.stability.parts if tuning is None else tuning_parts(tuning.bounded_range)


def _forms(wanted: PlannerInput) -> tuple[Form, ...]:
    """The ways to release that go with the recipe."""
    form, problem, recipe = _form(wanted), wanted.problem, wanted.recipe
    points = None if wanted.separate else problem.points
    if points is None or points > MOST_POINTS or isinstance(recipe, Aggregate) or not recipe.exact(problem):
        return (form,)
    return form, ProcessForm(points=points)


def _form(wanted: PlannerInput) -> Form:
    problem, recipe = wanted.problem, wanted.recipe
    if isinstance(recipe, Aggregate):
        if problem.points is None:
            raise UsageFault("--release function goes with a stable learner; an ensemble answers point by point")
        recipe.require(problem)
        if problem.target.numeric:
            return AveragesForm(count=problem.points, touched=1)
        if recipe.vote == "randomised":
            return RandomisedVotesForm(count=problem.points, touched=1)
        return VotesForm(count=problem.points, noises=(recipe.vote or better_selection(wanted.budget),))
    recipe.require(problem)
    if problem.points is None:
        objective = recipe.perturbation(problem, wanted.budget)
        if objective is None and recipe.method == "objective":
            raise InfeasiblePlan(
                "--method objective needs floating-point numbers of 64 bits and more, which this computer lacks; use "
                "output, or rounded"
            )
        return FunctionForm(
            width=recipe.features.width,
            objective=objective,
            moments=recipe.moments(problem),
            only=recipe.only_noise,
        )
    return PointsForm(count=problem.points * recipe.releases)
