"""Prediction plans: a run before any data, and the draws that it then makes. A class for each kind of run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import ClassVar, TypeVar

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts
from dpqr.kernel.accountants.accountant import Accountant, PrivacyFilter
from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.budget import Price, PrivacyBudget, root_below
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import (
    Composition,
    DiscreteLaplaceEvent,
    PerturbedObjectiveEvent,
    RoundedGaussianEvent,
    SphericalLaplaceEvent,
)
from dpqr.kernel.gate import Batch, Mechanism, measure, measure_together
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.sealed import Private
from dpqr.kernel.values import replace
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.forms import (
    DIRECT,
    AveragesForm,
    EnsembleForm,
    FunctionForm,
    Noise,
    NoiseEvent,
    PointsForm,
    PredictionForm,
    ProcessForm,
    RandomisedVotesForm,
    VotesForm,
    better_selection,
    make_selection,
    noise_deviation,
)
from dpqr.prediction.learned_functions import (
    GaussianPredictions,
    GaussianWeights,
    LaplacePredictions,
    LearnerAtPoints,
    SphericalWeights,
    step,
)
from dpqr.prediction.learners.exact_kernel import AtPoints, ExactKernel
from dpqr.prediction.learners.examples import MOST_RECORDS, LossScale
from dpqr.prediction.learners.moments import NoisyMoments
from dpqr.prediction.learners.solver import ULP
from dpqr.prediction.learners.stable import ARITHMETIC, BatchLearner, StableLearner
from dpqr.prediction.perturbation import GaussianPerturbedWeights, PerturbedWeights
from dpqr.prediction.problem import PredictionProblem
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.tuning import FACTORS, Candidate, TuningVotes
from dpqr.prediction.votes import Ensemble
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.problem import PublicInputs
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

COUNT = QueryBlock(name="records")
"""The number of records: what is bought where nobody declares it."""

Recipe = StableRecipe | Aggregate
Drawn = TypeVar("Drawn")


class PaidTable(Struct, frozen=True, kw_only=True, eq=False):
    """A sealed table, the filter of what pays for its draws, and their noise. Every draw goes through the gate."""

    counts: Private[Counts]
    guard: PrivacyFilter
    noise: NoiseSource

    def draw(self, mechanism: Mechanism[Counts, Drawn]) -> Drawn:
        """One draw."""
        return measure(self.counts, mechanism, accountant=self.guard, noise=self.noise).value

    def draw_together(self, batch: Batch[Counts, Drawn]) -> Drawn:
        """Several draws at once, such as one for each point."""
        return measure_together(self.counts, batch, accountant=self.guard, noise=self.noise).value


class LearnedFigures(Struct, frozen=True, kw_only=True, eq=False):
    """What a release states of its learner.

    Attributes:
        step: width of the grid of a released number, on the scale of `Target`; an array where points differ; 1 for
            labels.
        records: the number of records that it was made for; None: it needs none.
        penalty: lambda; None: it has none.
        bound: its sensitivity; None: the draws rest on another figure.
    """

    step: float | FloatArray
    records: int | None = None
    penalty: Fraction | None = None
    bound: Fraction | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictionPlan(ABC):
    """A prediction run, of one of the kinds below. Public; the same inputs always give the same plan.

    Attributes:
        problem, budget, recipe: what it was made for.
        form, noise, accountant: how predictions are released, and by which theorem.
        price: of each draw of the form.
        spread: see `PredictionForm`.
        events, epsilon: of the run, and what the accountant proves for it at the budget's delta.
        counting: price of a noisy count of records, drawn first; None: the number is declared, or nothing needs it.
        tuning: price of the choice of lambda, drawn next.
        factor: what was chosen.
        parts: of an ensemble, or of the choice.
        accountant_named: see `PlannerInput`.
        notes: sentences for the reader.
        inputs: what it was made from.
    """

    problem: PredictionProblem
    budget: PrivacyBudget
    recipe: Recipe
    form: PredictionForm
    noise: Noise
    accountant: Accountant
    price: Price
    spread: float
    events: Composition
    epsilon: Fraction
    counting: Price | None = None
    tuning: Price | None = None
    factor: Fraction = Fraction(1)
    parts: int | None = None
    accountant_named: bool = False
    notes: tuple[str, ...] = ()
    inputs: PublicInputs | None = None
    pointwise: ClassVar[bool] = True
    """Whether predictions are released, and not a function."""

    @property
    def counter(self) -> Mechanism[Counts, Measurement]:
        """The mechanism of the noisy count."""
        if self.counting is None:
            raise InfeasiblePlan("this plan buys no count of records")
        return count_check(self.counting).mechanism((COUNT,), self.problem.unit, self.counting)

    @property
    def releases(self) -> int:
        """How often the form's points are predicted, from more and more of a stream."""
        return 1

    @property
    def ordered(self) -> bool:
        """Whether the order of the records matters."""
        return False

    @property
    def classifies(self) -> bool:
        """Whether a learner's values are scores, whose signs are the predictions."""
        return False

    def divisor(self, counted: int | None) -> int | None:
        """The number of records that the objective is divided by: counted, else declared; None: it needs none."""
        return None

    @abstractmethod
    def figures(self, records: int) -> LearnedFigures:
        """What a release states of its learner, for this number of records."""

    @abstractmethod
    def deviation(self, records: int | None) -> float | None:
        """Standard deviation of the noise of one prediction, on the scale of `Target`.

        For a function, whose noise at a point x is that of a weight times ||phi(x)|| <= 1, an upper bound; for
        randomised votes, of their mean.

        Returns:
            None for other votes, for noisy moments, and where the number of records is not known yet.
        """

    @abstractmethod
    def draw(self, table: PaidTable, codes: AnyArray | None, records: int | None) -> tuple[IntArray, LearnedFigures]:
        """The draws of the form, each through the gate.

        Args:
            codes: of the points; None: a function is released.
            records: see `divisor`.

        Returns:
            Released numbers on their grid, and what the release states of the learner.
        """

    @abstractmethod
    def decode(self, numbers: IntArray, values: FloatArray) -> AnyArray:
        """Labels, or numbers in the target's unit, of released numbers.

        Args:
            values: the numbers on the scale of `Target`.
        """


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EnsemblePlan(PredictionPlan):
    """Predictions by an ensemble whose members are trained on disjoint parts of the table."""

    recipe: Aggregate
    form: EnsembleForm
    parts: int

    def figures(self, records: int) -> LearnedFigures:
        return LearnedFigures(step=self.form.step(self.parts))

    def deviation(self, records: int | None) -> float | None:
        return self.form.deviation(self.price, self.noise, self.parts)

    def votes(self, points: FloatArray) -> Batch[Counts, IntArray]:
        """The mechanism at these points, by their features."""
        return self.voted(self.recipe.ensemble(self.problem, points, self.parts))

    def voted(self, ensemble: Ensemble) -> Batch[Counts, IntArray]:
        """The same for any ensemble of so many parts."""
        return self.form.mechanism(ensemble, self.price, self.noise)

    def draw(self, table: PaidTable, codes: AnyArray | None, records: int | None) -> tuple[IntArray, LearnedFigures]:
        batch = self.votes(self.recipe.features.of(_require_points(codes)))
        return table.draw_together(batch), self.figures(0)

    def decode(self, numbers: IntArray, values: FloatArray) -> AnyArray:
        target = self.problem.target
        if target.numeric:
            return target.unscaled(values)
        return np.array(target.attribute.titles(), dtype=object)[numbers]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StablePlan(PredictionPlan):
    """A stable learner: one record moves what it learns by a bounded distance."""

    recipe: StableRecipe

    @property
    def releases(self) -> int:
        return self.recipe.releases

    @property
    def ordered(self) -> bool:
        return self.recipe.ordered and self.recipe.slots is None

    @property
    def classifies(self) -> bool:
        return self.recipe.classifies

    def learner(self, records: int, release: int | None = None) -> StableLearner:
        """The learner for a declared or bought number of records, which is brought within bounds.

        Args:
            release: see `StableRecipe.learner`; None: the last one.
        """
        which = self.releases - 1 if release is None else release
        return self.recipe.learner(self.problem, usable(records), self.spread, which, self.factor)

    def decode(self, numbers: IntArray, values: FloatArray) -> AnyArray:
        target = self.problem.target
        return target.labels(values) if self.classifies else target.unscaled(values)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DirectPlan(StablePlan):
    """A function by one of the laws in DIRECT, which need no number of records and no bound of a learner."""

    form: FunctionForm
    pointwise: ClassVar[bool] = False

    @abstractmethod
    def direct(self) -> PerturbedWeights | GaussianPerturbedWeights | NoisyMoments:
        """The mechanism."""

    def figures(self, records: int) -> LearnedFigures:
        """Lambda is that of the sum of losses."""
        mechanism = self.direct()
        return LearnedFigures(step=mechanism.grid, penalty=mechanism.penalty)

    def draw(self, table: PaidTable, codes: AnyArray | None, records: int | None) -> tuple[IntArray, LearnedFigures]:
        return table.draw(self.direct()), self.figures(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ObjectivePlan(DirectPlan):
    """A function by objective perturbation."""

    def direct(self) -> PerturbedWeights | GaussianPerturbedWeights:
        event, figures = self.form.pull_event(self.price, self.noise), self.form.perturbation
        learner = self.recipe.perturbed(self.problem, figures.loss, figures.strength(event))
        closing = figures.scale_of_closing(event)
        if isinstance(event, PerturbedObjectiveEvent):
            return PerturbedWeights(learner=learner, scale=event.scale, closing=closing)
        return GaussianPerturbedWeights(learner=learner, variance=event.variance, closing=closing)

    def deviation(self, records: int | None) -> float:
        """Of a coordinate of a pull, over the regularisation's strength."""
        event, figures = self.form.pull_event(self.price, self.noise), self.form.perturbation
        return figures.deviation(event) * float(figures.gradient / figures.strength(event))

    @property
    def expected_deviation(self) -> float:
        """The same of a prediction by the forecast (`Perturbation.spread`), where `deviation` is a bound."""
        event, figures = self.form.pull_event(self.price, self.noise), self.form.perturbation
        return self.spread * float(figures.gradient / figures.strength(event))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MomentsPlan(DirectPlan):
    """A function from noisy moments of the features and the target."""

    def direct(self) -> NoisyMoments:
        variance = self.form.moments_event(self.price).variance
        return NoisyMoments(learner=self.recipe.moments_learner(self.problem), variance=variance)

    def deviation(self, records: int | None) -> None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundedPlan(StablePlan):
    """A stable learner whose noise is measured by the learner's own bound, for a number of records."""

    def divisor(self, counted: int | None) -> int:
        records = self.problem.records if counted is None else counted
        assert records is not None  # where nobody declares a number the plan buys it
        return records

    def tuner(self, records: int) -> Batch[Counts, IntArray]:
        """The mechanism that draws the index of the best factor among FACTORS."""
        if self.tuning is None or self.parts is None:
            raise InfeasiblePlan("this plan buys no choice of lambda")
        candidates = []
        for factor in FACTORS:
            tried = replace(self, factor=factor)
            learner = partial(self._batch_learner, tried.learner(records).penalty)
            candidates.append(Candidate(learner=learner, deviation=tried.deviation(records) or 0.0))
        voters = TuningVotes(candidates=tuple(candidates), parts=self.parts, wrong=self.recipe.wrong)
        return make_selection(voters, self.tuning, better_selection(self.budget))

    def _batch_learner(self, penalty: Fraction, rows: int) -> BatchLearner:
        scale = LossScale(unit=self.problem.unit, records=usable(rows))
        return self.recipe.batch_learner(self.problem, scale, penalty)

    def figures(self, records: int) -> LearnedFigures:
        learner = self.learner(records)
        return LearnedFigures(
            step=self.grid(learner), records=usable(records), penalty=learner.penalty, bound=learner.bound
        )

    def grid(self, learner: StableLearner) -> float:
        """Width of the grid of a released number, on the scale of `Target`."""
        return step(learner.bound)

    @property
    @abstractmethod
    def noise_event(self) -> NoiseEvent:
        """The event of one draw, whose noise is in steps of the grid."""

    def deviation(self, records: int | None) -> float | None:
        return None if records is None else noise_deviation(self.noise_event) * self.grid(self.learner(records))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FunctionPlan(BoundedPlan):
    """All weights of a function, with noise by the learner's bound."""

    form: FunctionForm
    pointwise: ClassVar[bool] = False

    @property
    def noise_event(self) -> SphericalLaplaceEvent | RoundedGaussianEvent:
        return self.form.weights_event(self.price, self.noise)

    def weights(self, learner: StableLearner) -> GaussianWeights | SphericalWeights:
        """The mechanism."""
        event, width = self.noise_event, learner.features.width
        if isinstance(event, RoundedGaussianEvent):
            return GaussianWeights(learner=learner, width=width, variance=event.variance)
        return SphericalWeights(learner=learner, width=width, scale=event.scale)

    def draw(self, table: PaidTable, codes: AnyArray | None, records: int | None) -> tuple[IntArray, LearnedFigures]:
        known = self.divisor(records)
        return table.draw(self.weights(self.learner(known))), self.figures(known)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProcessPlan(BoundedPlan):
    """A kernel's function at all points at once, by one path of its Gaussian process (`KernelProcess`)."""

    form: ProcessForm

    @property
    def noise_event(self) -> RoundedGaussianEvent:
        return self.form.event(self.price, self.noise)

    def process(self, learner: StableLearner, codes: AnyArray) -> tuple[KernelProcess, GaussianWeights]:
        """The coordinates of a kernel's function at points of these codes, and the mechanism of their noisy form."""
        assert isinstance(learner, ExactKernel)  # the planner offers this form for an exact kernel alone
        process = KernelProcess(values=learner.at(codes))
        return process, GaussianWeights(learner=process, width=len(codes), variance=self.noise_event.variance)

    def draw(self, table: PaidTable, codes: AnyArray | None, records: int | None) -> tuple[IntArray, LearnedFigures]:
        known = self.divisor(records)
        process, mechanism = self.process(self.learner(known), _require_points(codes))
        return process.predictions(table.draw(mechanism)), replace(self.figures(known), step=step(process.bound))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointsPlan(BoundedPlan):
    """Noisy predictions of a stable learner, one draw for each point and release."""

    form: PointsForm

    @property
    def noise_event(self) -> DiscreteLaplaceEvent | RoundedGaussianEvent:
        return self.form.event(self.price, self.noise)

    def grid(self, learner: StableLearner) -> float:
        return LearnerAtPoints(learner=learner, points=None, limit=self.recipe.limit).step

    def predictions(self, learner: StableLearner, codes: AnyArray) -> LaplacePredictions | GaussianPredictions:
        """The mechanism at points of these codes."""
        limit = self.recipe.limit
        if isinstance(learner, ExactKernel):
            learner_at_points = LearnerAtPoints(learner=learner.at(codes), points=None, limit=limit, own=len(codes))
        else:
            learner_at_points = LearnerAtPoints(learner=learner, points=learner.features.of(codes), limit=limit)
        event = self.noise_event
        if isinstance(event, RoundedGaussianEvent):
            return GaussianPredictions(at_points=learner_at_points, variance=event.variance)
        return LaplacePredictions(at_points=learner_at_points, scale=event.scale)

    def draw(self, table: PaidTable, codes: AnyArray | None, records: int | None) -> tuple[IntArray, LearnedFigures]:
        known, numbers, grids = self.divisor(records), [], []
        for release in range(self.releases):
            batch = self.predictions(self.learner(known, release), _require_points(codes))
            numbers.append(table.draw_together(batch))
            grids.append(np.full(len(numbers[-1]), batch.at_points.step))
        return np.concatenate(numbers), replace(self.figures(known), step=np.concatenate(grids))


def kind_of_plan(form: PredictionForm, noise: Noise) -> type[PredictionPlan]:
    """The kind of the plans that release by this form and this law."""
    if noise in DIRECT:
        return MomentsPlan if noise == "moments" else ObjectivePlan
    kinds: dict[type, type[PredictionPlan]] = {
        FunctionForm: FunctionPlan,
        ProcessForm: ProcessPlan,
        PointsForm: PointsPlan,
        VotesForm: EnsemblePlan,
        RandomisedVotesForm: EnsemblePlan,
        AveragesForm: EnsemblePlan,
    }
    return kinds[type(form)]


def _require_points(codes: AnyArray | None) -> AnyArray:
    assert codes is not None  # a plan for points is made of points
    return codes


def usable(records: int) -> int:
    """A number of records that learners work with: a noisy count may be any integer.

    >>> usable(-5)
    1
    """
    return min(max(records, 1), MOST_RECORDS)


def count_check(price: Price) -> Laplace | Gaussian:
    """The check that a price buys a count of records with."""
    return Laplace() if price.epsilon is not None else Gaussian()


# A function of a kernel's space at points of public choice, in coordinates in which Gaussian noise is a path of the
# kernel's Gaussian process.

NUGGET = Fraction(1, 2**10)
"""Least variance that is added to each point's, so that close points leave the coordinates well conditioned."""
MOST_POINTS = 2**11
"""The coordinates take time and memory of their cube and square."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelProcess:
    """c = (K + nugget)^(-1/2) (f(x_1), ..., f(x_p)) for points x_j; f(x) = (K + nugget)^(1/2) c.

    Attributes:
        values: f at the points.

    Privacy:
        Of all functions with values d at the points the shortest has squared norm d^T K^(-1) d (d in the range of K),
        so neighbours' f, D apart in the kernel's norm, have d^T (K + nugget)^(-1) d <= D^2: c moves by at most D in the
        Euclidean norm, however many points there are. Normal noise of deviation s in each coordinate of c is noise of
        covariance s^2 (K + nugget) at the points, the path of a Gaussian process (Hall, Rinaldo and Wasserman 2013)
        and a nugget: one draw for all points, by the curve of `GaussianWeights`. The points and the kernel are public,
        and what is published are the noisy c, times a public matrix. All this is exact but for the computed root, off
        by p ulp relatively, as the nugget is twice what rounding can take off the eigenvalues of the computed K, an
        entry's error p times, and 8 p^2 ulp for the eigenvalue problem. Values are wrong by at most e each as they are
        computed, which c stretches by at most 1 / sqrt(nugget) <= 32, to 32 sqrt(p) e together; the product itself by
        32 p^2 ulp of the largest value.
        Statement P40 of the guide's topic proofs.
    """

    values: AtPoints
    bound: Fraction = field(init=False)
    _whitening: FloatArray = field(init=False, repr=False)
    _root: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        points, learner = self.values.points, self.values.learner
        count = len(points)
        nugget = max(NUGGET, 2 * (count * learner.entry + 8 * count**2 * ULP))
        spectrum, axes = np.linalg.eigh(learner.kernel.matrix(points, points))
        roots = np.sqrt(np.maximum(spectrum, 0.0) + float(nugget))
        object.__setattr__(self, "_whitening", (axes / roots) @ axes.T)
        object.__setattr__(self, "_root", (axes * roots) @ axes.T)
        largest = 2 / root_below(learner.penalty / learner.loss.start)
        wrong = 32 * ((isqrt(count) + 1) * learner.wrong + count**2 * ULP * largest)
        object.__setattr__(self, "bound", (learner.distance + 2 * (learner.solver.tolerance + wrong)) * ARITHMETIC)

    def fit(self, counts: Counts) -> FloatArray:
        """c, shape (points,). Private."""
        found: FloatArray = self._whitening @ self.values.fit(counts)
        return found

    def predictions(self, noisy: IntArray) -> IntArray:
        """Values at the points of noisy c, both in steps of the grid. Post-processing."""
        return np.rint(self._root @ noisy).astype(np.int64)
