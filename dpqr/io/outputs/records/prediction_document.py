"""The record of a prediction run, and the model file: public or released figures only, versioned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from dpqr import __version__
from dpqr.construction.sentences import budget_words, rehearsal_words
from dpqr.io.outputs.records.document_parts import (
    budget_part,
    domain_part,
    events_part,
    kind,
    price_part,
    rational,
    reason_part,
)
from dpqr.io.outputs.records.plan_document import sealed
from dpqr.prediction.bounds.excess_risk import ExcessRisk
from dpqr.prediction.bounds.outlook import Outlook
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.learners.kernels import Kernel
from dpqr.prediction.plan import PredictionPlan, Recipe, deviation
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.release import PredictionRelease

PLAN_FORMAT = "prediction-plan/1"
RELEASE_FORMAT = "prediction/1"
MODEL_FORMAT = "model/1"


def prediction_guarantee(plan: PredictionPlan) -> str:
    """The privacy statement of a run of `plan`."""
    return f"{budget_words(plan.budget)}, for {plan.problem.unit.words}."


def prediction_plan_document(plan: PredictionPlan) -> dict[str, Any]:
    """The run on paper. Plain JSON values. request, sha256, and what follows a locked plan: as `plan_document`."""
    if plan.inputs and plan.inputs.locked:
        return dict(plan.inputs.locked.document)
    return sealed(_plan_parts(plan))


def _plan_parts(plan: PredictionPlan) -> dict[str, Any]:
    problem = plan.problem
    return {
        "dpqr": PLAN_FORMAT,
        "version": __version__,
        "guarantee": prediction_guarantee(plan),
        "unit": problem.unit.words,
        "counts": problem.unit.counted,
        "records": problem.records,
        "budget": budget_part(plan.budget),
        "domain": domain_part(problem.domain),
        "target": {"name": problem.target.attribute.name, "positive": _positive(plan)},
        "learner": _learner(plan.recipe) | {"parts": plan.parts},
        "form": {"kind": kind(plan.form), "draws": plan.form.count, "noise": plan.noise},
        "accountant": plan.accountant.name,
        "counting": price_part(plan.counting),
        "tuning": None if plan.tuning is None else {"price": price_part(plan.tuning)},
        "price": price_part(plan.price),
        "events": events_part(plan.events),
        "proved_epsilon": rational(plan.epsilon),
        "noise_deviation": deviation(plan, problem.records),
        "notes": list(plan.notes),
        "request": plan.inputs.request if plan.inputs else None,
    }


def outlook_part(outlook: Outlook) -> dict[str, Any]:
    """What else the plan's budget would buy."""
    rates, excess, sample = outlook.theory, outlook.excess, outlook.sample
    return {
        "predictions_at_this_noise": dict(outlook.bought),
        "function_from": outlook.function_from,
        "theory": None
        if rates is None
        else {
            "smoothness": str(rates.smoothness),
            "assumed": rates.assumed,
            "lambda": rates.power(rates.penalty),
            "risk": rates.power(rates.risk),
            "least_epsilon": rates.power(rates.epsilon),
        },
        "excess_risk": None if excess is None else _excess(excess),
        "sample_size": None
        if sample is None
        else {"error": sample.error, "dimension": sample.dimension, "least": sample.least, "part": sample.each},
    }


def prediction_document(release: PredictionRelease, receipt: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """The record of a run. receipt: in words, lines of a name and a text, as `dpqr show` prints them."""
    paid = release.paid
    return {
        "dpqr": RELEASE_FORMAT,
        "version": __version__,
        "rehearsal": release.rehearsed is not None,
        "private": release.private,
        "guarantee": release_words(release),
        "ledger": None if paid is None else {"dataset": paid.dataset, "entry": paid.number, "seal": paid.receipt},
        **reason_part(release.reason),
        "events": events_part(release.plan.events if release.charged is None else release.charged),
        "spent": {name: None if cost is None else rational(cost) for name, cost in release.spent.items()},
        "records": release.records,
        "counted": release.counted,
        "lambda": _exact(release.penalty),
        **({} if release.plan.tuning is None else {"factor": str(release.plan.factor)}),
        "sensitivity": _exact(release.bound),
        "noise_deviation": deviation(release.plan, release.records),
        **({} if release.charged is None else {"draws": _draws(release)}),
        "receipt": [list(line) for line in receipt],
        "plan": prediction_plan_document(release.plan),
    }


def _draws(release: PredictionRelease) -> dict[str, Any]:
    """What a session has drawn, and what its predictions are made of it by: labels, or bounds of the target."""
    target = release.plan.problem.target
    meaning = {"bounds": list(target.bounds)} if target.numeric else {"labels": list(target.attribute.titles())}
    return {"numbers": release.numbers.tolist(), "step": release.step, **meaning}


def model_document(release: PredictionRelease, domain: str, receipt: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """A released function. domain: the text of the domain file, so that the model can be applied without it."""
    record = prediction_document(release, receipt)
    return record | {
        "dpqr": MODEL_FORMAT,
        "domain_file": domain,
        "step": release.step,
        "weights": release.numbers.tolist(),
    }


def release_words(release: PredictionRelease) -> str:
    """The guarantee; of a rehearsal, and of a run from a test source, none."""
    if release.rehearsed is not None:
        return rehearsal_words(release.rehearsed, "predictions")
    if not release.private:
        return "NOT PRIVATE: the noise came from a repeatable test source and protects nobody."
    return prediction_guarantee(release.plan)


def _excess(found: ExcessRisk) -> dict[str, Any]:
    stated = {"radius": str(found.radius), "at_most": found.total}
    beyond = {"smoothness": None if found.smoothness is None else str(found.smoothness), "sign": found.sign}
    return stated | beyond | {"least_epsilon": found.least_epsilon}


def _learner(recipe: Recipe) -> dict[str, Any]:
    if isinstance(recipe, Aggregate):
        stated_vote = {} if recipe.vote is None else {"vote": recipe.vote}
        return {"name": recipe.name, "base": recipe.base.name, "target_error": str(recipe.error)} | stated_vote
    assert isinstance(recipe, StableRecipe)
    smoothness = None if recipe.smoothness is None else str(recipe.smoothness)
    tau = str(recipe.tau) if recipe.name == "quantile" else None
    stated: dict[str, Any] = {
        "name": recipe.name,
        "lambda": _exact(recipe.penalty),
        "smoothness": smoothness,
        "tau": tau,
    }
    steps = {"theta": str(recipe.steps.theta), "t0": recipe.steps.start, "releases": recipe.releases}
    steps |= {} if recipe.slots is None else {"slots": recipe.slots}
    stated |= {} if recipe.own is None else {"origin": recipe.own.origin, "classifies": recipe.classifies}
    stated |= {} if recipe.method is None else {"method": recipe.method}
    stated |= {} if recipe.stability.radius is None else {"radius": str(recipe.stability.radius)}
    stated |= {} if recipe.stability.decay is None else {"decay": str(recipe.stability.decay)}
    return stated | {"kernel": _kernel(recipe.kernel)} | (steps if recipe.ordered else {})


def _kernel(kernel: Kernel) -> dict[str, Any]:
    """Enough to make the same features again."""
    stated = asdict(kernel)
    return stated | {"bandwidth": str(kernel.bandwidth)}


def _positive(plan: PredictionPlan) -> str | None:
    target = plan.problem.target
    return None if target.positive is None else target.attribute.titles()[target.positive]


def _exact(value: Fraction | None) -> dict[str, Any] | None:
    return None if value is None else rational(value)
