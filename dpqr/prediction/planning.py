"""Plan a prediction run: from the domain file and options to a plan, before any data."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast, get_args

from dpqr.domain.domain_file import read_domain
from dpqr.kernel.accountants.accountant import FilterAccountant
from dpqr.kernel.accountants.known import ACCOUNTANTS, PREDICTING
from dpqr.kernel.budget import PrivacyBudget, exact_decimal
from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.unit import Neighbours
from dpqr.prediction.ensembles.bases import BUILT_IN, read_base, refuse_unused_trust
from dpqr.prediction.ensembles.ensemble import TARGET_ERROR, Aggregate, read_vote
from dpqr.prediction.learners.features import BANDWIDTH, DEGREE, CellFeatures, Kernel, KernelName
from dpqr.prediction.learners.gradient_steps import THETA, Steps
from dpqr.prediction.plan import PredictionPlan, Recipe
from dpqr.prediction.planner import PlannerInput, least_spread
from dpqr.prediction.problem import REGULARISED, Method, PredictionProblem, StableName, read_target
from dpqr.prediction.recipes import Stability, StableRecipe
from dpqr.prediction.record import prediction_plan_document
from dpqr.prediction.third_party import read_third_party
from dpqr.releases.files import SingleFile, read_record
from dpqr.releases.locked_plan import (
    READING_OPTIONS,
    limits_of_plan,
    read_plan,
    save_document,
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
        asked=request.accountant is not None,
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
    for option, (field, owners) in LEARNERS_BY_OPTION.items():
        foreign = request.learner not in (*STABLE, "aggregate") and set(owners) >= set(REGULARISED)
        if getattr(request, field) is not None and request.learner not in owners and not foreign:
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


def save_prediction_plan(plan: PredictionPlan, target: SingleFile) -> str:
    """The same of predictions."""
    return save_document(prediction_plan_document(plan), plan.inputs, target)


def plans_predictions(path: str) -> bool:
    """Whether a file is a plan of predictions, as far as its first key tells."""
    with suppress(OSError, ValueError, AttributeError):
        return bool(read_record(Path(path).parent, Path(path).name).get("dpqr") == PREDICTION_PLAN_FORMAT)
    return False


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
