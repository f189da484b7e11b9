"""A prediction run as text: its plan, and its receipt."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from dpqr.kernel.budget import upward_text
from dpqr.kernel.wording import DIGITS, Fact, count_words, plain, price_words
from dpqr.ledger.ledger import Reason
from dpqr.prediction.forms import OBJECTIVES, RandomisedVotesForm, VotesForm, selection_epsilon
from dpqr.prediction.learners.features import FourierFeatures, RandomPolynomialFeatures
from dpqr.prediction.learners.gradient_steps import Averaged, GradientDescent, OnlineLearner
from dpqr.prediction.learners.losses import Hinge, Pinball, TaperedCorner
from dpqr.prediction.plan import (
    BoundedPlan,
    DirectPlan,
    EnsemblePlan,
    FunctionPlan,
    PredictionPlan,
    ProcessPlan,
    StablePlan,
)
from dpqr.prediction.rates import MOST, ExcessRisk, PlanAlternatives
from dpqr.prediction.record import PredictionRelease
from dpqr.prediction.risk_bounds import added_loss, mean_share, tail_share
from dpqr.prediction.tuning import FACTORS
from dpqr.releases.sentences import (
    FREE,
    GIVEN_BACK,
    NO_LEDGER,
    UNPROTECTED,
    guarantee,
    rehearsal_words,
    whole_price_facts,
)


def prediction_plan_facts(plan: PredictionPlan, alternatives: PlanAlternatives) -> tuple[Fact, ...]:
    """The whole plan, for `--dry-run`. Public facts only."""
    return (*_promise(plan), *_means(plan), *_worth(plan), *_otherwise(plan, alternatives), *_notes(plan))


def approved_prediction_facts(plan: PredictionPlan, sha256: str, dataset: str, reason: Reason) -> tuple[Fact, ...]:
    """What was approved: whose budget pays once, for what, and by which plan."""
    approved = ("Approved", plain(f"one run of predictions of {dataset!r} by this plan, {reason.words}"))
    return (*_promise(plan), *_means(plan), *_worth(plan), *_notes(plan), ("Plan", sha256), approved)


def prediction_receipt(release: PredictionRelease) -> tuple[Fact, ...]:
    """What the run promises, what it cost, and how noisy its predictions are; the record keeps it."""
    plan = release.plan
    if release.rehearsed is not None:
        paid = [("Guarantee", rehearsal_words(release.rehearsed, "predictions")), ("", FREE)]
    elif not release.private:
        paid = [("Guarantee", UNPROTECTED)]
    elif release.paid is None:
        paid = [*_promise(plan), ("", NO_LEDGER)]
    else:
        entry = f"entry {release.paid.number} of the ledger"
        paid = [*_promise(plan), ("", f"The budget of dataset {release.paid.dataset!r} paid for it ({entry}).")]
    if release.reason.approved_by:
        paid.append(("Approved", plain(f"by {release.reason.approved_by}")))
    learned = []
    if release.charged is not None:
        each = "one after the other; a draw was paid for each, and no more"
        learned.append(("Asked", f"{len(release.numbers):,} of them, {each}"))
    if release.counted is not None:
        learned.append(("Records", f"{release.counted:,}, a noisy count"))
    total: list[Fact] = []
    drawn = None if release.charged is None else plan.accountant.epsilon(release.charged, plan.budget.delta)
    given_back = drawn is not None and drawn < plan.epsilon
    own = "reserved" if given_back else "charged"
    for accountant, spent in release.spent.items():
        charged = f" ({own})" if accountant == plan.accountant.name else ""
        figure = "does not cover this run" if spent is None else f"eps {upward_text(spent, DIGITS)}"
        total.append(("" if total else "Total", f"{accountant}: {figure}{charged}"))
    if drawn is not None and given_back:
        total.append(("Charged", f"eps {upward_text(drawn, DIGITS)}, for the draws that were made; {GIVEN_BACK}"))
    return (*paid, *_means(plan), *learned, *noise_facts(plan, release.figures.records), *total, *_notes(plan))


def session_facts(plan: PredictionPlan, records: int | None) -> tuple[Fact, ...]:
    """What a session predicts, by which learner, and how noisy each prediction is, as its receipt says it."""
    facts = (*_means(plan), *noise_facts(plan, records))
    return tuple((name, text) for name, text in facts if name in ("Target", "Learner", "Noise"))


def _promise(plan: PredictionPlan) -> Iterator[Fact]:
    yield from whole_price_facts(plan)
    yield "Guarantee", guarantee(plan)


def _means(plan: PredictionPlan) -> Iterator[Fact]:
    """The target, and by which learner, draws and accountant it is predicted."""
    target, positive = plan.problem.target, ""
    if plan.classifies and target.positive is not None:
        positive = f", {plain(target.attribute.titles()[target.positive])!r} against others"
    yield "Target", f"{plain(target.attribute.name)!r}{positive}"
    yield "Learner", learner_words(plan)
    if plan.counting:
        yield "Counting", f"a noisy count of the records, {price_words(plan.counting)}"
    if plan.tuning:
        parts = count_words(plan.parts or 0, "part")
        yield "Tuning", f"one of {len(FACTORS)} lambdas by votes of {parts}, {price_words(plan.tuning)}"
    price = price_words(plan.price)
    if isinstance(plan, DirectPlan | FunctionPlan):
        yield "Release", f"the whole function, {plan.form.width:,} weights with {plan.noise} noise: {price}"
    elif isinstance(plan, ProcessPlan):
        at = count_words(plan.form.points, "point")
        yield "Release", f"the function at {at} at once, by one path of its Gaussian process: {price}"
    else:
        each = "" if plan.form.count == 1 else ", each"
        yield "Release", f"{count_words(plan.form.count, 'prediction')} by {plan.noise} noise{each} {price}"
    yield "Accountant", f"{plan.accountant.name}: it proves eps {upward_text(plan.epsilon, DIGITS)} for this plan"


@singledispatch
def learner_words(plan: PredictionPlan) -> str:
    """The learner of a plan, with its options."""
    raise TypeError(f"{type(plan).__name__} has no words")


@learner_words.register
def ensemble_words(plan: EnsemblePlan) -> str:
    """The same of an ensemble."""
    recipe = plan.recipe
    chosen = "" if recipe.parts else f", by eps and --target-error {float(recipe.error):g}"
    vote = ", randomised vote" if recipe.vote == "randomised" else ""
    return f"aggregate: {count_words(plan.parts, 'disjoint part')}{chosen}, base {plain(recipe.base.name)}{vote}"


@learner_words.register
def stable_words(plan: StablePlan) -> str:
    """The same of a stable learner."""
    recipe = plan.recipe
    steps = f" with theta {float(recipe.steps.theta):g} and t0 {recipe.steps.start}" if recipe.ordered else ""
    if recipe.slots is not None:
        steps += f", slots by {plain(plan.problem.domain.names[recipe.slots])!r}"
    method = "" if recipe.method is None else f" ({recipe.method})"
    seeded = isinstance(recipe.features, FourierFeatures | RandomPolynomialFeatures)
    kind = f"random features, seed {recipe.kernel.seed}" if seeded else "features"
    features = "exact" if recipe.exact(plan.problem) else f"{recipe.features.width:,} {kind}"
    return f"{recipe.name}{method}{steps}, {recipe.kernel.words}, {features}"


def _worth(plan: PredictionPlan) -> Iterator[Fact]:
    """How noisy predictions are, and what that does to their errors."""
    yield from noise_facts(plan, plan.problem.records)
    if isinstance(plan, EnsemblePlan):
        # What labels by votes are worth.
        if isinstance(plan.form, VotesForm):
            epsilon = selection_epsilon(plan.price, plan.noise)
            added = plan.recipe.added_error(plan.problem, epsilon, plan.parts, plan.noise)
            rate = f"labels err at a rate of {added:.3g} at most where each part's learner errs at a quarter of it"
            yield "Noise", rate if added < 1 else "so much, for so few parts, that nothing bounds how often labels err"
        if isinstance(plan.form, RandomisedVotesForm):
            added = plan.recipe.added_error(plan.problem, plan.price.pure, plan.parts)
            each = upward_text(plan.price.pure, DIGITS)
            yield "", f"at eps {each} each, labels err at most {added:.3g} more often than a part's learner"
    if plan.counting:
        yield "", "lambda and the noise follow from the number of records, which this plan buys; --n N states one"


@singledispatch
def noise_facts(plan: PredictionPlan, records: int | None) -> Iterator[Fact]:  # noqa: ARG001 (of all kinds)
    """What the noise follows from and how large it is, for this number of records; None: it is not known yet."""
    raise TypeError(f"{type(plan).__name__} has no noise")


@noise_facts.register
def ensemble_noise(plan: EnsemblePlan, records: int | None) -> Iterator[Fact]:
    """The same of an ensemble."""
    spread, target = plan.deviation(records), plan.problem.target
    if spread is None:
        return
    if isinstance(plan.form, RandomisedVotesForm):
        second = plain(target.attribute.titles()[1])
        yield "Noise", f"{spread:.3g} on the probability of {second!r}, its share of the votes (standard deviation)"
    else:
        yield "Noise", f"{_in_units(plan, spread):.3g} on a prediction, in the target's unit (standard deviation)"


@noise_facts.register
def direct_noise(plan: DirectPlan, records: int | None) -> Iterator[Fact]:
    """The same of a perturbed objective, or of noisy moments."""
    where = "objective" if plan.noise in OBJECTIVES else "moments of the features and the target"
    yield "Lambda", f"{float(plan.direct().penalty):.3g} for the sum of all losses; the noise is in the {where}"
    # How widely a perturbed objective rounds the corner of its loss.
    loss = plan.form.objective.loss if plan.form.objective and plan.noise in OBJECTIVES else None
    if isinstance(loss, Hinge | Pinball | TaperedCorner):
        width = _in_units(plan, float(loss.width))
        how = "by a logistic curve of scale {}" if isinstance(loss, TaperedCorner) else "over {} on either side"
        yield "", f"the corner of the loss is rounded {how.format(f'{width:.3g}')}"
    spread = plan.deviation(records)
    if spread is None:
        return
    if plan.classifies:
        yield "Noise", f"at most {spread:.3g} on a score, whose sign is the prediction (standard deviation)"
    else:
        yield "Noise", _number_noise(plan, spread)


@noise_facts.register
def bounded_noise(plan: BoundedPlan, records: int | None) -> Iterator[Fact]:
    """The same of a learner whose noise is measured by its own bound."""
    spread, loss = plan.deviation(records), plan.recipe.loss
    if records is None or spread is None:
        return
    # What the sensitivity follows from.
    learner = plan.learner(records)
    certified = f"sensitivity {float(learner.bound):.3g}, certified"
    member = learner.learner if isinstance(learner, Averaged) else learner
    if isinstance(member, GradientDescent):
        ball = f"in a ball of radius {float(member.radius):g}"
        yield "Descent", f"{count_words(member.steps, 'step')}, {ball}; {certified}"
    else:
        last = " at the last step" if isinstance(learner, OnlineLearner) else ""
        yield "Lambda", f"{float(learner.penalty):.3g}{last}; {certified}"
    if isinstance(learner, Averaged):
        each = f"each of about {learner.learner.scale.records:,} records"
        yield "", f"the mean of {count_words(learner.parts, 'part')}, {each}"
    # How large the noise is, and what it does to errors.
    tail, share = tail_share(plan.noise) * spread, mean_share(plan.noise)
    most = added_loss(loss, float(loss.lipschitz), spread, share) if loss is not None else None
    if plan.classifies:
        yield "Noise", f"{spread:.3g} on a score, whose sign is the prediction (standard deviation)"
        yield "", f"19 of 20 within {tail:.3g}; it adds at most {most:.3g} to the mean loss"
        return
    yield "Noise", _number_noise(plan, spread)
    added = _in_units(plan, spread) ** 2 if most is None else _in_units(plan, most)
    within = f"19 of 20 within {_in_units(plan, tail):.3g}"
    yield "", f"{within}; it adds at most {added:.3g} to the mean {'square error' if most is None else 'loss'}"


def _in_units(plan: PredictionPlan, figure: float) -> float:
    """A figure on the scale of `Target` in the target's own unit; a score as it is."""
    if not plan.problem.target.numeric:
        return figure
    low, high = plan.problem.target.bounds
    return figure * (high - low) / 2


def _number_noise(plan: StablePlan, spread: float) -> str:
    most = "" if plan.pointwise else "at most "
    unit = f"{_in_units(plan, spread):.3g} on a prediction, in the target's unit"
    return f"{most}{unit} (standard deviation before clipping)"


def _otherwise(plan: PredictionPlan, alternatives: PlanAlternatives) -> Iterator[Fact]:
    """What else the budget would buy, and what the sources promise."""
    if alternatives.expected is not None:
        yield "", f"{_in_units(plan, alternatives.expected):.3g} is expected, if rows lie evenly in the domain"
    counts = {
        name: f"{count:,}" if count < MOST else f"{MOST:,} or more" for name, count in alternatives.bought.items()
    }
    bought = ", ".join(f"{name} {count}" for name, count in counts.items())
    if isinstance(plan, EnsemblePlan):
        yield "Buys", f"with so many parts and so little noise, predictions by accountant: {bought}"
    elif bought:
        yield "Buys", f"at this noise, predictions by accountant: {bought}"
    if alternatives.function_from is not None:
        least = count_words(alternatives.function_from, "prediction")
        yield "Function", f"--release function has less noise from {least} on"
    if alternatives.theory is not None:
        rates = alternatives.theory
        letter = "r" if rates.least_squares else "beta"
        assumed = " (assumed; --smoothness states it)" if rates.assumed else ""
        yield (
            "Theory",
            f"for {letter} = {float(rates.smoothness):g}{assumed}, lambda n^-{rates.penalty:.3g} = "
            f"{rates.power(rates.penalty):.2g} makes an excess risk of order n^-{rates.risk:.3g} = "
            f"{rates.power(rates.risk):.2g}, down to eps n^-{rates.epsilon:.3g} = {rates.power(rates.epsilon):.2g}",
        )
    if alternatives.excess is not None:
        yield from _excess(plan, alternatives.excess)
    sample = alternatives.sample
    if sample is None:
        return
    if sample.least:
        few = "; too few records for this error are declared" if sample.few else ""
        yield (
            "Records",
            f"no method of this privacy has an error of {sample.error:.3g} on all linear rules (dimension "
            f"{sample.dimension:,}) with fewer than {sample.least:,}{few}",
        )
    if sample.each is not None:
        yield "" if sample.least else "Records", f"a part has {sample.each:,.1f} on average"


def _excess(plan: PredictionPlan, found: ExcessRisk) -> Iterator[Fact]:
    # In the target's own unit, or its square: the same as what noise alone adds.
    squares = isinstance(plan, StablePlan) and plan.recipe.loss is None
    unit = _in_units(plan, _in_units(plan, 1.0) if squares else 1.0)
    total, fitted, sample, noise = (
        f"{unit * each:.3g}" for each in (found.total, found.fitted, found.sample, found.noise)
    )
    norm = f"norm {float(found.radius):g}{' (assumed; --radius states it)' if found.assumed else ''}"
    than = f"best function of {norm}" if found.smoothness is None else f"best of all, for the smoothness and {norm}"
    yield (
        "Risk",
        f"mean {'square error' if squares else 'loss'} at most {total} above that of the {than}"
        f": {fitted} {'to be stable' if found.sample else 'to learn'}, "
        f"{f'{sample} for the sample, ' if found.sample else ''}{noise} for noise",
    )
    if found.sign is not None and found.sign < 1:
        best = "" if found.smoothness else ", if that function is the best of all"
        yield "", f"its sign errs at most {found.sign:.3g} more often than that of any function{best}"
    if found.least_epsilon is not None:
        fixed = "length of descent" if isinstance(plan, StablePlan) and plan.recipe.descends else "lambda"
        yield "", f"at this {fixed} noise adds no more than all else from eps {found.least_epsilon:.3g} on"


def _notes(plan: PredictionPlan) -> Iterator[Fact]:
    for note in plan.notes:
        yield "Note", plain(note)
