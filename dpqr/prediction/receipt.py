"""A prediction run as text: its plan, and its receipt."""

from __future__ import annotations

from collections.abc import Iterator

from dpqr.kernel.budget import upward_text
from dpqr.kernel.wording import DIGITS, Fact, count_words, plain, price_words
from dpqr.ledger.ledger import Reason
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.excess_risk import ExcessRisk
from dpqr.prediction.forms import (
    DIRECT,
    OBJECTIVES,
    AveragesForm,
    FunctionForm,
    RandomisedVotesForm,
    VotesForm,
    selection_epsilon,
)
from dpqr.prediction.learners.features import FourierFeatures, RandomPolynomialFeatures
from dpqr.prediction.learners.gradient_steps import Averaged, GradientDescent, OnlineLearner
from dpqr.prediction.learners.losses import Hinge, Pinball, TaperedCorner
from dpqr.prediction.learners.stable import StableLearner
from dpqr.prediction.plan import PredictionPlan, ProcessForm, deviation
from dpqr.prediction.rates import MOST, PlanAlternatives, SampleSize, TheoryRates
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.result import PredictionRelease
from dpqr.prediction.risk_bounds import added_loss, mean_share, tail_share
from dpqr.prediction.tuning import FACTORS
from dpqr.releases.sentences import FREE, NO_LEDGER, budget_words, rehearsal_words


def prediction_plan_facts(plan: PredictionPlan, outlook: PlanAlternatives) -> tuple[Fact, ...]:
    """The whole plan, for `--dry-run`. Public facts only."""
    return (*_promise(plan), *_means(plan), *_worth(plan), *_otherwise(plan, outlook), *_notes(plan))


def approved_prediction_facts(plan: PredictionPlan, sha256: str, dataset: str, reason: Reason) -> tuple[Fact, ...]:
    """What was approved: whose budget pays once, for what, and by which plan."""
    approved = ("Approved", plain(f"one run of predictions of {dataset!r} by this plan, {reason.words}"))
    return (*_promise(plan), *_means(plan), *_worth(plan), *_notes(plan), ("Plan", sha256), approved)


def prediction_receipt(release: PredictionRelease) -> tuple[Fact, ...]:
    """What the run promises, what it cost, and how noisy its predictions are; the record keeps it."""
    plan = release.plan
    return (*_paid(release), *_means(plan), *_learned(release), *_total(release), *_notes(plan))


def _promise(plan: PredictionPlan) -> Iterator[Fact]:
    yield "Guarantee", f"{budget_words(plan.budget)}, for {plan.problem.unit.words}."


def _paid(release: PredictionRelease) -> Iterator[Fact]:
    if release.rehearsed is not None:
        yield "Guarantee", rehearsal_words(release.rehearsed, "predictions")
        yield "", FREE
        return
    if not release.private:
        yield "Guarantee", "NOT PRIVATE: the noise came from a repeatable test source and protects nobody."
        return
    yield from _promise(release.plan)
    paid = release.paid
    if paid is None:
        yield "", NO_LEDGER
    else:
        yield "", f"The budget of dataset {paid.dataset!r} paid for it (entry {paid.number} of the ledger)."


def _means(plan: PredictionPlan) -> Iterator[Fact]:
    target = plan.problem.target
    positive = (
        "" if target.positive is None else f", {plain(target.attribute.titles()[target.positive])!r} against others"
    )
    yield "Target", f"{plain(target.attribute.name)!r}{positive if _classifies(plan) else ''}"
    yield "Learner", _learner(plan)
    if plan.counting:
        yield "Counting", f"a noisy count of the records, {price_words(plan.counting)}"
    if plan.tuning:
        parts = count_words(plan.parts or 0, "part")
        yield "Tuning", f"one of {len(FACTORS)} lambdas by votes of {parts}, {price_words(plan.tuning)}"
    if isinstance(plan.form, FunctionForm):
        yield "Release", f"the whole function, {plan.form.width:,} weights with {plan.noise} noise: {_price(plan)}"
    elif isinstance(plan.form, ProcessForm):
        at = count_words(plan.form.points, "point")
        yield "Release", f"the function at {at} at once, by one path of its Gaussian process: {_price(plan)}"
    else:
        each = "" if plan.form.count == 1 else ", each"
        yield "Release", f"{count_words(plan.form.count, 'prediction')} by {plan.noise} noise{each} {_price(plan)}"
    yield "Accountant", f"{plan.accountant.name}: it proves eps {upward_text(plan.epsilon, DIGITS)} for this plan"


def _classifies(plan: PredictionPlan) -> bool:
    return isinstance(plan.recipe, StableRecipe) and plan.recipe.classifies


def _learner(plan: PredictionPlan) -> str:
    recipe = plan.recipe
    if isinstance(recipe, Aggregate):
        error = f"--target-error {float(recipe.error):g}"
        chosen = "" if recipe.parts else f", by eps and {error}"
        vote = ", randomised vote" if recipe.vote == "randomised" else ""
        return (
            f"aggregate: {count_words(plan.parts or 0, 'disjoint part')}{chosen}, base {plain(recipe.base.name)}{vote}"
        )
    steps = f" with theta {float(recipe.steps.theta):g} and t0 {recipe.steps.start}" if recipe.ordered else ""
    if recipe.slots is not None:
        steps += f", slots by {plain(plan.problem.domain.names[recipe.slots])!r}"
    method = "" if recipe.method is None else f" ({recipe.method})"
    return f"{recipe.name}{method}{steps}, {recipe.kernel.words}, {_features(plan, recipe)}"


def _features(plan: PredictionPlan, recipe: StableRecipe) -> str:
    if recipe.exact(plan.problem):
        return "exact"
    seeded = isinstance(recipe.features, FourierFeatures | RandomPolynomialFeatures)
    return f"{recipe.features.width:,} {f'random features, seed {recipe.kernel.seed}' if seeded else 'features'}"


def _price(plan: PredictionPlan) -> str:
    return price_words(plan.price)


def _worth(plan: PredictionPlan) -> Iterator[Fact]:
    yield from _noise(plan, plan.problem.records)
    if isinstance(plan.recipe, Aggregate):
        yield from _voted(plan, plan.recipe)
    if plan.counting:
        yield "", "lambda and the noise follow from the number of records, which this plan buys; --n N states one"


def _voted(plan: PredictionPlan, recipe: Aggregate) -> Iterator[Fact]:
    """What labels by votes are worth."""
    parts = plan.parts or 1
    if isinstance(plan.form, VotesForm):
        added = recipe.added_error(plan.problem, selection_epsilon(plan.price, plan.noise), parts, plan.noise)
        yield "Noise", f"labels err at a rate of {added:.3g} at most where each part's learner errs at a quarter of it"
    if isinstance(plan.form, RandomisedVotesForm):
        added = recipe.added_error(plan.problem, plan.price.pure, parts)
        each = upward_text(plan.price.pure, DIGITS)
        yield "", f"at eps {each} each, labels err at most {added:.3g} more often than a part's learner"


def _noise(plan: PredictionPlan, records: int | None) -> Iterator[Fact]:
    spread = deviation(plan, records)
    if plan.noise in DIRECT:
        where = "objective" if plan.noise in OBJECTIVES else "moments of the features and the target"
        yield "Lambda", f"{float(plan.direct().penalty):.3g} for the sum of all losses; the noise is in the {where}"
        yield from _corner(plan)
    elif isinstance(plan.recipe, StableRecipe) and records is not None:
        yield from _stability(plan.learner(records))
    if spread is None:
        return
    tail = tail_share(plan.noise) * spread
    if _classifies(plan):
        most = "at most " if plan.noise in OBJECTIVES else ""
        yield "Noise", f"{most}{spread:.3g} on a score, whose sign is the prediction (standard deviation)"
        if plan.noise not in DIRECT:
            yield "", f"19 of 20 within {tail:.3g}; it adds at most {_added(plan, spread, 1.0):.3g} to the mean loss"
        return
    if isinstance(plan.form, RandomisedVotesForm):
        second = plain(plan.problem.target.attribute.titles()[1])
        yield "Noise", f"{spread:.3g} on the probability of {second!r}, its share of the votes (standard deviation)"
        return
    low, high = plan.problem.target.bounds
    unit = spread * (high - low) / 2
    most = "at most " if isinstance(plan.form, FunctionForm) else ""
    before = " before clipping" if not isinstance(plan.form, AveragesForm) else ""
    yield "Noise", f"{most}{unit:.3g} on a prediction, in the target's unit (standard deviation{before})"
    if isinstance(plan.recipe, StableRecipe) and plan.noise not in DIRECT:
        square = plan.recipe.loss is None
        added = unit * unit if square else _added(plan, spread, (high - low) / 2)
        within = f"19 of 20 within {tail * (high - low) / 2:.3g}"
        yield "", f"{within}; it adds at most {added:.3g} to the mean {'square error' if square else 'loss'}"


def _corner(plan: PredictionPlan) -> Iterator[Fact]:
    """How widely a perturbed objective rounds the corner of its loss."""
    loss = plan.form.objective.loss if isinstance(plan.form, FunctionForm) and plan.form.objective else None
    if plan.noise in OBJECTIVES and isinstance(loss, Hinge | Pinball | TaperedCorner):
        low, high = plan.problem.target.bounds if plan.problem.target.numeric else (-1, 1)
        how = "by a logistic curve of scale {}" if isinstance(loss, TaperedCorner) else "over {} on either side"
        yield "", f"the corner of the loss is rounded {how.format(f'{float(loss.width) * (high - low) / 2:.3g}')}"


def _stability(learner: StableLearner) -> Iterator[Fact]:
    """What the sensitivity follows from."""
    certified = f"sensitivity {float(learner.bound):.3g}, certified"
    member = learner.learner if isinstance(learner, Averaged) else learner
    if isinstance(member, GradientDescent):
        yield (
            "Descent",
            f"{count_words(member.steps, 'step')}, in a ball of radius {float(member.radius):g}; {certified}",
        )
    else:
        last = " at the last step" if isinstance(learner, OnlineLearner) else ""
        yield "Lambda", f"{float(learner.penalty):.3g}{last}; {certified}"
    if isinstance(learner, Averaged):
        yield (
            "",
            f"the mean of {count_words(learner.parts, 'part')}, "
            f"each of about {learner.learner.scale.records:,} records",
        )


def _added(plan: PredictionPlan, spread: float, unit: float) -> float:
    """What noise adds to the mean loss at most, in units of `unit`: by a convex, Lipschitz and smooth loss."""
    assert isinstance(plan.recipe, StableRecipe)
    assert plan.recipe.loss is not None
    loss = plan.recipe.loss
    return unit * added_loss(loss, float(loss.lipschitz), spread, mean_share(plan.noise))


def _otherwise(plan: PredictionPlan, outlook: PlanAlternatives) -> Iterator[Fact]:
    """What else the budget would buy, and what the sources promise."""
    bought = ", ".join(f"{name} {_many(count)}" for name, count in outlook.bought.items())
    if isinstance(plan.recipe, Aggregate):
        yield "Buys", f"with so many parts and so little noise, predictions by accountant: {bought}"
    elif bought:
        yield "Buys", f"at this noise, predictions by accountant: {bought}"
    if outlook.function_from is not None:
        yield (
            "Function",
            f"--release function has less noise from {count_words(outlook.function_from, 'prediction')} on",
        )
    if outlook.theory is not None:
        yield "Theory", _rates(outlook.theory)
    if outlook.excess is not None:
        yield from _excess(outlook.excess)
    if outlook.sample is not None:
        yield from _sample(outlook.sample)


def _many(count: int) -> str:
    return f"{count:,}" if count < MOST else f"{MOST:,} or more"


def _rates(rates: TheoryRates) -> str:
    letter = "r" if rates.least_squares else "beta"
    assumed = " (assumed; --smoothness states it)" if rates.assumed else ""
    return (
        f"for {letter} = {float(rates.smoothness):g}{assumed}, lambda n^-{rates.penalty:.3g} = "
        f"{rates.power(rates.penalty):.2g} makes an excess risk of order n^-{rates.risk:.3g} = "
        f"{rates.power(rates.risk):.2g}, down to eps n^-{rates.epsilon:.3g} = {rates.power(rates.epsilon):.2g}"
    )


def _excess(found: ExcessRisk) -> Iterator[Fact]:
    norm = f"norm {float(found.radius):g}{' (assumed; --radius states it)' if found.assumed else ''}"
    than = f"best function of {norm}" if found.smoothness is None else f"best of all, for the smoothness and {norm}"
    yield (
        "Risk",
        f"mean loss at most {found.total:.3g} above that of the {than}"
        f": {found.fitted:.3g} {'to be stable' if found.sample else 'to learn'}, "
        f"{f'{found.sample:.3g} for the sample, ' if found.sample else ''}{found.noise:.3g} for noise",
    )
    if found.sign is not None and found.sign < 1:
        best = "" if found.smoothness else ", if that function is the best of all"
        yield "", f"its sign errs at most {found.sign:.3g} more often than that of any function{best}"
    if found.least_epsilon is not None:
        yield "", f"at this lambda noise adds no more than all else from eps {found.least_epsilon:.3g} on"


def _sample(found: SampleSize) -> Iterator[Fact]:
    if found.least:
        few = "; too few records for this error are declared" if found.few else ""
        yield (
            "Records",
            f"no method of this privacy has an error of {found.error:.3g} on all linear rules (dimension "
            f"{found.dimension:,}) with fewer than {found.least:,}{few}",
        )
    if found.each is not None:
        yield "" if found.least else "Records", f"a part has {found.each:,.1f} on average"


def _learned(release: PredictionRelease) -> Iterator[Fact]:
    if release.charged is not None:
        yield "Asked", f"{len(release.numbers):,} of them, one after the other; a draw was paid for each, and no more"
    if release.counted is not None:
        yield "Records", f"{release.counted:,}, a noisy count"
    yield from _noise(release.plan, release.records)


def _total(release: PredictionRelease) -> Iterator[Fact]:
    name = "Total"
    for accountant, spent in release.spent.items():
        charged = " (charged)" if accountant == release.plan.accountant.name else ""
        figure = "does not cover this run" if spent is None else f"eps {upward_text(spent, DIGITS)}"
        yield name, f"{accountant}: {figure}{charged}"
        name = ""


def _notes(plan: PredictionPlan) -> Iterator[Fact]:
    for note in plan.notes:
        yield "Note", plain(note)
