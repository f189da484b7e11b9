"""Planner: from the domain file and options to the plan of least noise, before any data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import ClassVar, cast, get_args

import numpy as np
from msgspec import Struct

from dpqr.domain.domain_file import read_domain
from dpqr.domain.histogram import Counts
from dpqr.kernel.accountants.accountant import Accountant, FilterAccountant, Portion
from dpqr.kernel.accountants.analytic import Analytic
from dpqr.kernel.accountants.known import ACCOUNTANTS, PREDICTING
from dpqr.kernel.arrays import AnyArray
from dpqr.kernel.budget import PrivacyBudget, exact_decimal
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.events import Composition
from dpqr.kernel.gate import Batch
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.unit import Neighbours
from dpqr.kernel.values import replace
from dpqr.prediction.ensembles.bases import BUILT_IN, read_base, refuse_unused_trust
from dpqr.prediction.ensembles.ensemble import TARGET_ERROR, Aggregate, read_vote
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
from dpqr.prediction.learners.features import BANDWIDTH, DEGREE, CellFeatures, Kernel, KernelName
from dpqr.prediction.learners.gradient_steps import THETA, Steps
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
from dpqr.prediction.problem import REGULARISED, Method, PredictionProblem, StableName, read_target
from dpqr.prediction.recipes import Stability, StableRecipe
from dpqr.prediction.third_party import read_third_party
from dpqr.prediction.tuning import tuning_parts
from dpqr.prediction.votes import Ensemble
from dpqr.releases.locked_plan import (
    READING_OPTIONS,
    limits_of_plan,
    read_plan,
    source_of_plan,
    unusual_fields,
)
from dpqr.releases.planning import budget_warnings, failing_notes, require_explicit_rules, unit_notes, unit_of
from dpqr.releases.reading import parse_prediction_request
from dpqr.releases.record.parts import PREDICTION_PLAN_FORMAT
from dpqr.releases.requests import PredictionPlanRequest, PredictionRequest
from dpqr.strategies.known import ACCOUNTANTS as OFFERED
from dpqr.tables.source import TableSource
from dpqr.tables.wanted import refuse_published_unit

COUNT_SHARE = Fraction(1, 20)
"""Of the budget, for a noisy count of records where nobody declares their number."""


class PlannerInput(Struct, frozen=True, kw_only=True):
    """What a plan is made for.

    Attributes:
        problem, budget, recipe: of the run.
        accountants: that may prove it.
        accountant_named: whether the user named the accountant.
        separate: whether points come one after the other, so that nothing is drawn for all of them at once.
    """

    problem: PredictionProblem
    budget: PrivacyBudget
    recipe: Recipe
    accountants: Sequence[Accountant]
    accountant_named: bool = False
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
        accountant_named=wanted.accountant_named,
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
        if recipe.method == "moments" and not wanted.budget.delta:
            raise UsageFault("--method moments has normal noise, which needs a delta; add --delta 1e-9, or use output")
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


class OneValue(Struct, frozen=True, kw_only=True, eq=False):
    """A learner's value at one of several points, as a learner with a point of its own.

    Privacy:
        A value at a point moves by at most the learner's bound, whichever other points are asked about.
    """

    at_points: LearnerAtPoints
    shared: FitCache
    place: int

    @property
    def bound(self) -> Fraction:
        return self.at_points.learner.bound

    def fit(self, counts: Counts) -> AnyArray:
        """Shape (1,). Private."""

        def values() -> AnyArray:
            fitted, points = self.at_points.learner.fit(counts), self.at_points.points
            return fitted if points is None else points @ fitted

        return self.shared.of(counts, values)[self.place : self.place + 1]


class OnePoint(Struct, frozen=True, kw_only=True, eq=False):
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
        one = OneValue(at_points=batch.at_points, shared=shared, place=place)
        yield replace(batch, at_points=LearnerAtPoints(learner=one, points=None, limit=batch.at_points.limit, own=1))


# From documents and options to what a plan is made for.

STABLE = get_args(StableName)
LEARNING = 5
"""Records a part, on average, below which a plan warns."""

LEARNERS_BY_OPTION = {
    "--lambda": ("penalty", REGULARISED),
    "--smoothness": ("smoothness", (*REGULARISED, "online")),
    "--radius": ("radius", (*REGULARISED, "online")),
    "--decay": ("decay", ("least-squares",)),
    "--tune": ("tune", REGULARISED),
    "--theta": ("theta", ("online",)),
    "--t0": ("t0", ("online",)),
    "--slots": ("slots", ("online",)),
    "--releases": ("releases", ("online",)),
    "--tau": ("tau", ("quantile",)),
    "--kernel": ("kernel", STABLE),
    "--bandwidth": ("bandwidth", STABLE),
    "--degree": ("degree", STABLE),
    "--features": ("features", STABLE),
    "--method": ("method", STABLE),
    "--base": ("base", ("aggregate",)),
    "--parts": ("parts", ("aggregate", *REGULARISED)),
    "--target-error": ("target_error", ("aggregate",)),
    "--vote": ("vote", ("aggregate",)),
}
"""Options that belong to some learners. With another one they are refused: ignored, they would mislead."""
KERNEL_OPTIONS: dict[str, tuple[Callable[[PredictionPlanRequest], object], tuple[str, ...]]] = {
    "--bandwidth": (lambda request: request.bandwidth, ("gaussian",)),
    "--degree": (lambda request: request.degree, ("polynomial",)),
    "--features": (lambda request: request.features, ("gaussian", "polynomial")),
}


def plan_prediction(wanted: PlannerInput) -> PredictionPlan:
    """The plan of least noise, with what its reader must know."""
    plan = least_spread(wanted)
    known, notes = plan.problem.records, list(plan.notes)
    if plan.parts and known is not None and known < LEARNING * plan.parts:
        notes.append(
            f"warning: {plan.parts:,} parts of {known:,} records have {known / plan.parts:.2g} each on average, from "
            f"which they learn next to nothing; state --parts {max(1, known // LEARNING):,} or fewer, or raise --eps"
        )
    notes += plan.recipe.notes
    notes += budget_warnings(plan.budget, known)
    notes += failing_notes(wanted.problem.domain)
    notes += unit_notes(plan.problem.unit, wanted.problem.domain.names)
    return replace(plan, notes=tuple(notes))


def planner_input(request: PredictionPlanRequest) -> PlannerInput:
    """What a plan is made for. Raises: UsageFault, DocumentError, InfeasiblePlan."""
    budget = PrivacyBudget.parse(request.epsilon, request.delta)
    if request.domain is None:
        raise UsageFault("--domain FILE is needed: bounds and labels come from it, never from the data")
    domain = read_domain(request.domain)
    unit = unit_of(request.neighbours, request.unit, request.max_rows, request.counts, domain.unit, request.per)
    if unit.cell_rows is not None:
        raise InfeasiblePlan(
            "the domain file bounds a person's rows in one cell of a table, and a learner reads no tables; leave "
            '"max_rows_per_cell" out of it'
        )
    require_explicit_rules(domain, unit)
    refuse_published_unit(domain, unit)
    target = read_target(domain, request.target, request.positive)
    # The column of slots, which also says how many records there are.
    slots = None if request.slots is None else domain.axis(request.slots)
    if slots == target.axis:
        raise UsageFault(f"--slots {request.slots!r} is the target; name another column of the domain")
    records = request.n or (None if slots is None else domain.attributes[slots].axis.size)
    if unit.neighbours is Neighbours.REPLACE and request.n is None:
        raise UsageFault("--neighbours replace makes n public, so it must be declared: add --n N")
    points = None
    if request.form != "function":
        points = request.predictions
        if points is None:
            raise UsageFault("--points FILE says what to predict (with --dry-run, --predictions COUNT does)")
        if points < 1:
            raise UsageFault("--points holds no rows, so there is nothing to predict")
    problem = PredictionProblem(
        domain=domain, target=target, unit=unit, records=records, points=points, seed=request.seed
    )
    recipe = _recipe(request, problem, slots)
    known = ACCOUNTANTS if request.learner == "aggregate" else PREDICTING
    if request.accountant is None:
        accountants = tuple(one for name, one in known.items() if name not in OFFERED.on_request)
    elif request.accountant not in known:
        raise UsageFault(f"--accountant {request.accountant}: there is {', '.join(known)}")
    else:
        accountants = (known[request.accountant],)
    wanted = PlannerInput(
        problem=problem,
        budget=budget,
        recipe=recipe,
        accountants=accountants,
        accountant_named=request.accountant is not None,
    )
    return _within_a_session(wanted) if request.session else wanted


def _within_a_session(wanted: PlannerInput) -> PlannerInput:
    """What a session may be planned with: theorems that hold however its points follow from earlier predictions, and
    that give back what was not drawn. UsageFault: there is none, or it is no plan for points."""
    accountants = [each for each in wanted.accountants if isinstance(each, FilterAccountant)]
    if not accountants:
        raise UsageFault(f"--accountant {wanted.accountants[0].name}: a session needs basic, zcdp or gdp")
    if wanted.problem.points is None:
        raise UsageFault("open: a function answers all points; release it with `dpqr predict --release function`")
    if wanted.recipe.releases > 1:
        raise UsageFault("--releases: a session predicts each point once; leave it out")
    return replace(wanted, accountants=accountants, separate=True)


def _recipe(request: PredictionPlanRequest, problem: PredictionProblem, slots: int | None) -> Recipe:
    for option, (name, owners) in LEARNERS_BY_OPTION.items():
        foreign = request.learner not in (*STABLE, "aggregate") and set(owners) >= set(REGULARISED)
        if getattr(request, name) is not None and request.learner not in owners and not foreign:
            raise UsageFault(f"{option} goes with --learner {', '.join(owners)}, not with {request.learner}")
    if len(problem.domain.attributes) < 2:
        raise InfeasiblePlan("the domain has no column but the target; add the columns to predict it from")
    if request.learner == "aggregate":
        return Aggregate(
            features=CellFeatures(domain=problem.features),
            base=read_base(request.base or BUILT_IN, request.trust),
            parts=request.parts,
            error=_positive(request.target_error, "--target-error") or TARGET_ERROR,
            vote=read_vote(request.vote),
        )
    # A loss or learner of another package.
    own = None if request.learner in STABLE else read_third_party(request.learner, request.trust)
    if own is None and request.learner not in STABLE:
        raise UsageFault(f"--learner {request.learner}: there is {', '.join((*STABLE, 'aggregate'))}")
    kernel = _kernel(request)
    # Theta, where nobody states it: by the theory 2 r / (2 r + 1), which is best for r from 1 / 2 to 1; or THETA.
    smoothness, theta = _positive(request.smoothness, "--smoothness"), _positive(request.theta, "--theta")
    if theta is not None and smoothness is not None and request.learner == "online":
        raise UsageFault("--theta and --smoothness both choose the steps of online; leave one out")
    if theta is None and smoothness is not None:
        useful = min(max(smoothness, Fraction(26, 50)), Fraction(1))
        theta = (2 * useful / (2 * useful + 1)).limit_denominator(1000)
    if request.method is not None and request.method not in get_args(Method):
        raise UsageFault(f"--method {request.method}: there is {', '.join(get_args(Method))}")
    refuse_unused_trust(request.trust, () if own is None else (own.name,))
    return StableRecipe(
        name=request.learner,
        own=own,
        features=kernel.of(problem.features),
        kernel=kernel,
        penalty=_positive(request.penalty, "--lambda"),
        smoothness=smoothness,
        tuning=_positive(request.tune, "--tune"),
        tau=_positive(request.tau, "--tau") or Fraction(1, 2),
        steps=Steps(theta=theta or THETA, offset=request.t0),
        releases=request.releases or 1,
        slots=slots,
        method=cast("Method | None", request.method),
        stability=Stability(
            radius=_positive(request.radius, "--radius"),
            parts=request.parts,
            decay=_positive(request.decay, "--decay"),
        ),
    )


def _kernel(request: PredictionPlanRequest) -> Kernel:
    name = request.kernel or "linear"
    for option, (stated, owners) in KERNEL_OPTIONS.items():
        if stated(request) is not None and name not in owners:
            raise UsageFault(f"{option} goes with --kernel {' or '.join(owners)}, not with {name}")
    for known in get_args(KernelName):
        if known == name:
            return Kernel(
                name=known,
                bandwidth=_positive(request.bandwidth, "--bandwidth") or BANDWIDTH,
                degree=request.degree or DEGREE,
                features=request.features,
                seed=request.seed,
            )
    raise UsageFault(f"--kernel {name}: there is {', '.join(get_args(KernelName))}")


def _positive(text: str | None, option: str) -> Fraction | None:
    if text is None:
        return None
    value = exact_decimal(text, option=option)
    if value <= 0:
        raise UsageFault(f"{option} must be above 0")
    return value


def following_prediction(request: PredictionRequest, path: str, *, opened: bool = True) -> PredictionRequest:
    """The same of predictions. Where points are read, their number is compared with the plan's."""
    locked = read_plan(path, PREDICTION_PLAN_FORMAT)
    base = parse_prediction_request(locked.document["request"], request.table)
    given = unusual_fields(request.plan, PredictionPlanRequest(target="", epsilon="", domain=None))
    table = source_of_plan(request.table, base.table, paid=request.payer is not None, opened=opened)
    limits = limits_of_plan(request.limits, base.limits, paid=request.payer is not None)
    plan, points = replace(base.plan, **given), request.points
    if points is not None and points.paths:
        written = unusual_fields(base.table, TableSource.unnamed(), READING_OPTIONS[:2])
        points = replace(points, **written | unusual_fields(points, TableSource.unnamed(), READING_OPTIONS[:2]))
    return replace(request, plan=plan, table=table, points=points, limits=limits, notes=base.notes, locked=locked)
