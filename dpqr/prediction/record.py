"""Prediction releases: what a run publishes, its record, and released functions as models. No field could hold a
private value."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType, structs

from dpqr import __version__
from dpqr.domain.domain import Domain
from dpqr.domain.domain_file import decode_domain
from dpqr.domain.text.decoding import Location
from dpqr.domain.text.documents import MAX_BYTES, parse_json, read_regular_file
from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.errors import DocumentError, DpqrError, UsageFault
from dpqr.kernel.events import Composition
from dpqr.ledger.ledger import NO_REASON, Reason, Reservation
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.learners.examples import BLOCK
from dpqr.prediction.learners.features import FeatureMap, Kernel, KernelName
from dpqr.prediction.plan import LearnedFigures, PredictionPlan, Recipe
from dpqr.prediction.problem import CLASSIFIERS, Target, read_target, without
from dpqr.prediction.rates import PlanAlternatives
from dpqr.releases.files.atomic import SingleFile, document_text, write_text
from dpqr.releases.files.formats import FORMATS, TableFormat, listed_endings, write_table
from dpqr.releases.files.tidy import Column, Texts, Tidy
from dpqr.releases.locked_plan import save_document
from dpqr.releases.record.parts import (
    MODEL_FORMAT,
    PREDICTION_FORMAT,
    PREDICTION_PLAN_FORMAT,
    BudgetPart,
    Count,
    Digest,
    DomainPart,
    FigurePart,
    Part,
    events_part,
    kind,
    price_part,
    written,
)
from dpqr.releases.record.plan_document import seal_document
from dpqr.releases.record.release_document import Paid, figure_parts
from dpqr.releases.sentences import UNPROTECTED, guarantee, rehearsal_words, whole_budget


class PredictionRelease(Struct, frozen=True, kw_only=True, eq=False):
    """Noisy integers, the public grid that they lie on, the plan, and what was spent.

    Attributes:
        plan: of the run.
        numbers: weights of a function, noisy predictions (release after release), or indices of labels.
        figures: of the learner: the grid of the numbers, and what they rest on.
        spent: epsilon at the plan's delta under every accountant.
        private: False if the noise came from a test source.
        counted: the bought count, as it was drawn.
        paid: the ledger's reservation.
        reason: why it was made, and who asked.
        rehearsed: how many rows were drawn from the public domain in place of a table; None: a table was read.
        charged: draws of a session, of those that it has paid for; None: all of the plan's.

    >>> from dpqr.domain.attribute import Attribute, Labels
    >>> from dpqr.kernel.unit import PrivacyUnit
    >>> from dpqr.prediction.learners.features import CellFeatures
    >>> from dpqr.prediction.planner import PlannerInput, least_spread
    >>> from dpqr.prediction.problem import PredictionProblem, read_target
    >>> from dpqr.kernel.accountants.sums import Basic
    >>> from dpqr.kernel.budget import PrivacyBudget
    >>> domain = Domain(tuple(Attribute(name=name, axis=Labels(("no", "yes"))) for name in ("smokes", "ill")))
    >>> target = read_target(domain, "ill", None)
    >>> problem = PredictionProblem(domain=domain, target=target, unit=PrivacyUnit(), records=1000, points=2)
    >>> from dpqr.prediction.recipes import StableRecipe
    >>> recipe = StableRecipe(name="logistic", features=CellFeatures(domain=without(domain, target)))
    >>> budget = PrivacyBudget(epsilon=Fraction(1))
    >>> plan = least_spread(PlannerInput(problem=problem, budget=budget, recipe=recipe, accountants=[Basic()]))
    >>> numbers, spent = np.array([-4, 7]), {"basic": plan.epsilon}
    >>> figures = LearnedFigures(step=0.5)
    >>> release = PredictionRelease(plan=plan, numbers=numbers, figures=figures, spent=spent, private=True)
    >>> release.values.tolist(), release.predictions.tolist()
    ([-2.0, 3.5], ['no', 'yes'])
    """

    plan: PredictionPlan
    numbers: IntArray
    figures: LearnedFigures
    spent: Mapping[str, Fraction | None]
    private: bool
    counted: int | None = None
    paid: Reservation | None = None
    reason: Reason = NO_REASON
    rehearsed: int | None = None
    charged: Composition | None = None

    @property
    def values(self) -> FloatArray:
        """The numbers on the scale of `Target`."""
        return np.asarray(self.numbers * self.figures.step, dtype=np.float64)

    @property
    def pointwise(self) -> bool:
        """Whether predictions were released, and not a function."""
        return self.plan.pointwise

    @property
    def scores(self) -> FloatArray | None:
        """Of the positive label, one a point, where they were released: their signs are the predictions."""
        return self.values if self.plan.classifies else None

    @property
    def predictions(self) -> AnyArray:
        """One label (text) or number, in the target's unit, for each point; not for functions, which have none yet."""
        return self.plan.decode(self.numbers, self.values)


class Model(Struct, frozen=True, kw_only=True, eq=False):
    """A released function, applied to any points free of charge.

    Attributes:
        domain: of the table, target included.
        target: what is predicted.
        classifies: whether values are scores of the positive label.
        features: of the other columns.
        weights: on the scale of `Target`.

    Privacy:
        Post-processing of a release: any number of predictions, at points chosen in any way, cost nothing.
    """

    domain: Domain
    target: Target
    classifies: bool
    features: FeatureMap
    weights: FloatArray

    @property
    def columns(self) -> Domain:
        """The columns that points need."""
        return without(self.domain, self.target)

    def scores(self, codes: AnyArray) -> FloatArray:
        """Values at points, by their codes; shape (points,)."""
        blocks = [self.features.of(codes[at : at + BLOCK]) @ self.weights for at in range(0, len(codes), BLOCK)]
        return np.concatenate([np.zeros(0), *blocks])

    def predictions(self, codes: AnyArray) -> AnyArray:
        """Labels, or numbers in the target's unit."""
        scores = self.scores(codes)
        return self.target.labels(scores) if self.classifies else self.target.unscaled(scores)


# The record of a prediction run, and the model file: public or released figures only, versioned.


class TargetPart(Part, frozen=True, kw_only=True):
    """What is predicted. positive: the label whose score is released; null for numbers and votes."""

    name: str
    positive: str | None


class KernelPart(Part, frozen=True, kw_only=True):
    """Enough to make the same features."""

    name: KernelName
    bandwidth: str
    degree: int
    features: int | None
    seed: int


class LearnerPart(Part, frozen=True, kw_only=True):
    """A learner by its name, with its own options: base and target_error of ensembles, kernel and the rest of stable
    learners, steps of online ones.

    Attributes:
        parts: of the table.
    """

    name: str
    base: str | UnsetType = UNSET
    target_error: str | UnsetType = UNSET
    vote: str | UnsetType = UNSET
    penalty: FigurePart | UnsetType | None = msgspec.field(name="lambda", default=UNSET)
    smoothness: str | UnsetType | None = UNSET
    tau: str | UnsetType | None = UNSET
    origin: str | UnsetType = UNSET
    classifies: bool | UnsetType = UNSET
    method: str | UnsetType = UNSET
    radius: str | UnsetType = UNSET
    decay: str | UnsetType = UNSET
    kernel: KernelPart | UnsetType = UNSET
    theta: str | UnsetType = UNSET
    t0: int | UnsetType = UNSET
    releases: int | UnsetType = UNSET
    slots: int | UnsetType = UNSET
    parts: int | UnsetType | None = UNSET

    @classmethod
    def of(cls, recipe: Recipe, parts: int | None) -> LearnerPart:
        """Options that are left out are not set."""
        if isinstance(recipe, Aggregate):
            return cls(
                name=recipe.name,
                base=recipe.base.name,
                target_error=str(recipe.error),
                vote=UNSET if recipe.vote is None else recipe.vote,
                parts=parts,
            )
        kernel, stability, ordered = recipe.kernel, recipe.stability, recipe.ordered
        return cls(
            name=recipe.name,
            penalty=FigurePart.known(recipe.penalty),
            smoothness=None if recipe.smoothness is None else str(recipe.smoothness),
            tau=str(recipe.tau) if recipe.name == "quantile" else None,
            origin=UNSET if recipe.own is None else recipe.own.origin,
            classifies=UNSET if recipe.own is None else recipe.classifies,
            method=UNSET if recipe.method is None else recipe.method,
            radius=UNSET if stability.radius is None else str(stability.radius),
            decay=UNSET if stability.decay is None else str(stability.decay),
            kernel=KernelPart(**structs.asdict(kernel) | {"bandwidth": str(kernel.bandwidth)}),
            theta=str(recipe.steps.theta) if ordered else UNSET,
            t0=recipe.steps.start if ordered else UNSET,
            releases=recipe.releases if ordered else UNSET,
            slots=UNSET if recipe.slots is None or not ordered else recipe.slots,
            parts=parts,
        )


class FormPart(Part, frozen=True, kw_only=True):
    """What is drawn. draws: how many."""

    kind: str
    draws: Count
    noise: str


class TuningPart(Part, frozen=True, kw_only=True):
    """The choice of lambda."""

    price: dict[str, FigurePart] | None


class PredictionPlanPart(Part, frozen=True, kw_only=True):
    """The planned run.

    Attributes:
        whole: as of `PlanPart`.
        counting: price of the number of records, null where none is bought.
        request, sha256: as of `PlanPart`.
    """

    dpqr: str
    version: str
    guarantee: str
    unit: str
    counts: str | None
    records: Count | None
    budget: BudgetPart
    whole: BudgetPart | UnsetType = UNSET
    domain: DomainPart
    target: TargetPart
    learner: LearnerPart
    form: FormPart
    accountant: str
    counting: dict[str, FigurePart] | None
    tuning: TuningPart | None
    price: dict[str, FigurePart] | None
    events: tuple[Mapping[str, Any], ...]
    proved_epsilon: FigurePart
    noise_deviation: float | None
    notes: tuple[str, ...]
    request: Mapping[str, Any] | None
    sha256: Digest | UnsetType = UNSET

    @classmethod
    def of(cls, plan: PredictionPlan) -> PredictionPlanPart:
        """A plan, not sealed yet."""
        problem, target = plan.problem, plan.problem.target
        return cls(
            dpqr=PREDICTION_PLAN_FORMAT,
            version=__version__,
            guarantee=guarantee(plan),
            unit=problem.unit.words,
            counts=problem.unit.counted,
            records=problem.records,
            budget=BudgetPart.of(plan.budget),
            whole=UNSET if (whole := whole_budget(plan)) is None else BudgetPart.of(whole),
            domain=DomainPart.of(problem.domain),
            target=TargetPart(
                name=target.attribute.name,
                positive=None if target.positive is None else target.attribute.titles()[target.positive],
            ),
            learner=LearnerPart.of(plan.recipe, plan.parts),
            form=FormPart(kind=kind(plan.form), draws=plan.form.count, noise=plan.noise),
            accountant=plan.accountant.name,
            counting=price_part(plan.counting),
            tuning=None if plan.tuning is None else TuningPart(price=price_part(plan.tuning)),
            price=price_part(plan.price),
            events=tuple(events_part(plan.events)),
            proved_epsilon=FigurePart.of(plan.epsilon),
            noise_deviation=plan.deviation(problem.records),
            notes=plan.notes,
            request=plan.inputs.request if plan.inputs else None,
        )


def prediction_plan_document(plan: PredictionPlan) -> dict[str, object]:
    """The planned run. Plain JSON values. A run that follows a locked plan repeats its document, as `plan_document`
    does."""
    if plan.inputs and plan.inputs.locked:
        return dict(plan.inputs.locked.document)
    return seal_document(written(PredictionPlanPart.of(plan)))


def save_prediction_plan(plan: PredictionPlan, target: SingleFile) -> str:
    """Write the plan of a prediction run, to be reviewed; its SHA-256."""
    return save_document(prediction_plan_document(plan), plan.inputs, target)


def alternatives_part(alternatives: PlanAlternatives) -> dict[str, object]:
    """What else the plan's budget would buy."""
    rates, excess, sample = alternatives.theory, alternatives.excess, alternatives.sample
    return {
        "predictions_at_this_noise": dict(alternatives.bought),
        "expected_noise_deviation": alternatives.expected,
        "function_from": alternatives.function_from,
        "theory": None
        if rates is None
        else {
            "smoothness": str(rates.smoothness),
            "assumed": rates.assumed,
            "lambda": rates.power(rates.penalty),
            "risk": rates.power(rates.risk),
            "least_epsilon": rates.power(rates.epsilon),
        },
        "excess_risk": None
        if excess is None
        else {
            "radius": str(excess.radius),
            "at_most": excess.total,
            "smoothness": None if excess.smoothness is None else str(excess.smoothness),
            "sign": excess.sign,
            "least_epsilon": excess.least_epsilon,
        },
        "sample_size": None
        if sample is None
        else {"error": sample.error, "dimension": sample.dimension, "least": sample.least, "part": sample.each},
    }


class DrawsPart(Part, frozen=True, kw_only=True):
    """What a session has drawn, and what its predictions are made of it by: labels, or bounds of the target."""

    numbers: tuple[int, ...]
    step: float
    bounds: tuple[float, float] | UnsetType = UNSET
    labels: tuple[str, ...] | UnsetType = UNSET

    @classmethod
    def of(cls, release: PredictionRelease) -> DrawsPart:
        """The draws in their order."""
        target = release.plan.problem.target
        return cls(
            numbers=tuple(release.numbers.tolist()),
            step=cast(float, release.figures.step),
            bounds=target.bounds if target.numeric else UNSET,
            labels=UNSET if target.numeric else tuple(target.attribute.titles()),
        )


class PredictionRecord(Part, frozen=True, kw_only=True):
    """The record of a run.

    Attributes:
        spent: epsilon by accountant.
        factor: of lambda, where one was bought.
        receipt: as `dpqr show` prints it.
        hashes: of the file of predictions.
        domain_file, step, weights: of a model, a record that is applied without the domain file.
    """

    dpqr: str
    version: str
    rehearsal: bool
    private: bool
    guarantee: str
    ledger: Paid | None
    purpose: str | None
    by: str | None
    approved_by: str | None
    events: tuple[Mapping[str, Any], ...]
    spent: dict[str, FigurePart | None]
    records: int | None
    counted: int | None
    penalty: FigurePart | None = msgspec.field(name="lambda")
    factor: str | UnsetType = UNSET
    sensitivity: FigurePart | None
    noise_deviation: float | None
    draws: DrawsPart | UnsetType = UNSET
    receipt: tuple[tuple[str, str], ...]
    plan: PredictionPlanPart
    domain_file: str | UnsetType = UNSET
    step: float | UnsetType = UNSET
    weights: tuple[int, ...] | UnsetType = UNSET
    hashes: dict[str, Digest] | UnsetType = UNSET
    sha256: Digest | UnsetType = UNSET

    @classmethod
    def of(
        cls, release: PredictionRelease, receipt: Sequence[tuple[str, str]], domain: str | UnsetType = UNSET
    ) -> PredictionRecord:
        """A run, not sealed yet. domain: text of the domain file, of a model."""
        plan, paid, reason, model = release.plan, release.paid, release.reason, domain is not UNSET
        return cls(
            dpqr=MODEL_FORMAT if model else PREDICTION_FORMAT,
            version=__version__,
            rehearsal=release.rehearsed is not None,
            private=release.private,
            guarantee=release_words(release),
            ledger=None if paid is None else Paid.of(paid, ""),
            purpose=reason.purpose or None,
            by=reason.by or None,
            approved_by=reason.approved_by or None,
            events=tuple(events_part(plan.events if release.charged is None else release.charged)),
            spent=figure_parts(release.spent),
            records=release.figures.records,
            counted=release.counted,
            penalty=FigurePart.known(release.figures.penalty),
            factor=UNSET if plan.tuning is None else str(plan.factor),
            sensitivity=FigurePart.known(release.figures.bound),
            noise_deviation=plan.deviation(release.figures.records),
            draws=UNSET if release.charged is None else DrawsPart.of(release),
            receipt=tuple(receipt),
            plan=PredictionPlanPart.of(plan),
            domain_file=domain,
            step=cast(float, release.figures.step) if model else UNSET,
            weights=tuple(release.numbers.tolist()) if model else UNSET,
        )


def prediction_document(
    release: PredictionRelease, receipt: Sequence[tuple[str, str]], domain: str | UnsetType = UNSET
) -> dict[str, object]:
    """The record of a run, as plain JSON values; its plan is sealed, or the one that was locked.

    Args:
        receipt: in words, lines of a name and a text, as `dpqr show` prints them.
        domain: the text of the domain file, of a released function, which can then be applied without it.
    """
    document: dict[str, object] = written(PredictionRecord.of(release, receipt, domain))
    return document | {"plan": prediction_plan_document(release.plan)}


def release_words(release: PredictionRelease) -> str:
    """The guarantee; of a rehearsal, and of a run from a test source, none."""
    if release.rehearsed is not None:
        return rehearsal_words(release.rehearsed, "predictions")
    if not release.private:
        return UNPROTECTED
    return guarantee(release.plan)


# The files of a prediction run: predictions with their record beside them, or a model, and the model read back.


def table_form(given: str) -> TableFormat:
    """By the ending. UsageFault for one that is not known."""
    ending = Path(given).suffix.lower()
    found = next((name for name in FORMATS if f".{name}" == ending), None)
    if found is None:
        raise UsageFault(f"--out {given}: predictions are written as {listed_endings()}; end the name so")
    return found


def predictions_table(predictions: AnyArray, scores: FloatArray | None, releases: int = 1) -> Tidy:
    """One row a point, in the points' order, release after release. scores: of the positive label, where they were
    released too."""
    named: dict[str, Column] = {}
    if releases > 1:
        named["release"] = np.repeat(np.arange(1, releases + 1), len(predictions) // releases)
    named["prediction"] = predictions
    if predictions.dtype.kind in "UO":
        labels, places = np.unique(predictions.astype(str), return_inverse=True)
        named["prediction"] = Texts(places, labels.tolist())
    if scores is not None:
        named["score"] = scores
    return Tidy(len(predictions), named)


def write_predictions(target: SingleFile, table: Tidy) -> None:
    """Write predictions in the form that the file's name asks for."""
    form = table_form(target.given)
    target.write(lambda path: write_table(table, path, form))


def write_document(target: SingleFile, document: dict[str, object]) -> None:
    """Write a record or a model."""
    text = document_text(document)
    target.write(lambda path: write_text(path, text))


def read_model(path: str | os.PathLike[str]) -> Model:
    """The model in a file that `--release function` wrote. Raises: UsageFault where it cannot be read; DocumentError
    where it is no model."""
    fault = DocumentError(f"{Path(path).name}: no model file of dpqr; `--release function --out FILE` writes one")
    text = read_regular_file(Path(path), MAX_BYTES)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise fault from None
    if not isinstance(document, dict):
        raise fault
    if document.get("dpqr") != MODEL_FORMAT:
        raise fault
    if document.get("rehearsal"):
        name = Path(path).name
        raise DocumentError(f"{name}: the function of a rehearsal, which describes nobody; learn one from a table")
    try:
        # What is no model fails here in any of these ways.
        domain = decode_domain(parse_json(document["domain_file"].encode(), "domain"), Location("domain_file"))
        stated = msgspec.convert(document["plan"]["target"], TargetPart)
        learner = msgspec.convert(document["plan"]["learner"], LearnerPart)
        target = read_target(domain, stated.name, stated.positive)
        classifies = learner.name in CLASSIFIERS if learner.classifies is UNSET else learner.classifies
        if learner.kernel is UNSET:
            raise ValueError("no kernel")
        kernel = Kernel(**msgspec.structs.asdict(learner.kernel) | {"bandwidth": Fraction(learner.kernel.bandwidth)})
        features = kernel.of(without(domain, target))
        with np.errstate(all="ignore"):
            weights = np.array([int(each) for each in document["weights"]], dtype=np.float64) * float(document["step"])
        fits = classifies == (target.positive is not None) and classifies != target.numeric
        if not fits or len(weights) != features.width or not np.isfinite(weights).all():
            raise ValueError("no model")
        return Model(domain=domain, target=target, classifies=classifies, features=features, weights=weights)
    except DocumentError:
        raise
    except (DpqrError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, msgspec.ValidationError):
        raise fault from None
