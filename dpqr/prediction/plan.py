"""Prediction plans: a run before any data, and the mechanisms that it then draws from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import isqrt

import numpy as np

from dpqr.domain.histogram import Counts
from dpqr.kernel.accountants.accountant import Accountant
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
from dpqr.kernel.gate import Batch, Mechanism
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.forms import (
    OBJECTIVES,
    AveragesForm,
    FunctionForm,
    Noise,
    NoiseEvent,
    PredictionForm,
    RandomisedVotesForm,
    better_selection,
    noise_deviation,
    selection_epsilon,
)
from dpqr.prediction.learned_functions import (
    FINENESS,
    GaussianPredictions,
    GaussianWeights,
    LaplacePredictions,
    LearnerAtPoints,
    SphericalWeights,
    step,
    weights_sensitivity,
)
from dpqr.prediction.learners.exact_kernel import AtPoints, ExactKernel
from dpqr.prediction.learners.examples import MOST_RECORDS, LossScale
from dpqr.prediction.learners.moments import NoisyMoments
from dpqr.prediction.learners.solver import ULP
from dpqr.prediction.learners.stable import ARITHMETIC, BatchLearner, StableLearner
from dpqr.prediction.perturbation import Perturbation, PullEvent
from dpqr.prediction.perturbed_functions import GaussianPerturbedWeights, PerturbedWeights
from dpqr.prediction.problem import PredictionProblem
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.tuning import FACTORS, Candidate, TuningVotes
from dpqr.prediction.votes import Ensemble, ExponentialVotes, LaplaceAverages, PermuteAndFlipVotes, RandomisedVotes
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.plan import PublicInputs
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement

COUNT = QueryBlock(name="records")
"""The number of records: what is bought where nobody declares it."""

Recipe = StableRecipe | Aggregate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PredictionPlan:
    """A prediction run. Public; the same inputs always give the same plan.

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
        asked: see `PlannerInput`.
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
    asked: bool = False
    notes: tuple[str, ...] = ()
    inputs: PublicInputs | None = None

    @property
    def counter(self) -> Mechanism[Counts, Measurement]:
        """The mechanism of the noisy count."""
        if self.counting is None:
            raise InfeasiblePlan("this plan buys no count of records")
        return count_check(self.counting).mechanism((COUNT,), self.problem.unit, self.counting)

    @property
    def releases(self) -> int:
        """How often the form's points are predicted, from more and more of a stream."""
        return self.recipe.releases if isinstance(self.recipe, StableRecipe) else 1

    @property
    def ordered(self) -> bool:
        """Whether the order of the records matters."""
        return isinstance(self.recipe, StableRecipe) and self.recipe.ordered and self.recipe.slots is None

    def learner(self, records: int, release: int | None = None) -> StableLearner:
        """The stable learner for a declared or bought number of records, which is brought within bounds.

        Args:
            release: see `StableRecipe.learner`; None: the last one.

        Raises:
            InfeasiblePlan: an ensemble has no bound of its own.
        """
        if not isinstance(self.recipe, StableRecipe):
            raise InfeasiblePlan("an ensemble has no bound of its own")
        last = self.releases - 1
        which = last if release is None else release
        return self.recipe.learner(self.problem, usable(records), self.spread, which, self.factor)

    def tuner(self, records: int) -> Batch[Counts, IntArray]:
        """The mechanism that draws the index of the best factor among FACTORS."""
        assert isinstance(self.recipe, StableRecipe)
        assert self.tuning is not None
        assert self.parts is not None
        candidates = tuple(self._candidate(self.recipe, factor, records) for factor in FACTORS)
        voters = TuningVotes(candidates=candidates, parts=self.parts, wrong=self.recipe.wrong)
        return make_selection(voters, self.tuning, better_selection(self.budget))

    def _candidate(self, recipe: StableRecipe, factor: Fraction, records: int) -> Candidate:
        tried = replace(self, factor=factor)
        penalty = tried.learner(records).penalty

        def learner(rows: int) -> BatchLearner:
            return recipe.batch_learner(self.problem, LossScale(unit=self.problem.unit, records=usable(rows)), penalty)

        return Candidate(learner=learner, deviation=deviation(tried, records) or 0.0)

    def weights(self, learner: StableLearner) -> GaussianWeights | SphericalWeights:
        """The mechanism of a function release."""
        event, width = self.form.event(self.price, self.noise), learner.features.width
        if isinstance(event, RoundedGaussianEvent):
            return GaussianWeights(learner=learner, width=width, variance=event.variance)
        assert isinstance(event, SphericalLaplaceEvent)
        return SphericalWeights(learner=learner, width=width, scale=event.scale)

    def direct(self) -> PerturbedWeights | GaussianPerturbedWeights | NoisyMoments:
        """The mechanism of a function release by one of the laws in DIRECT."""
        event = self.form.event(self.price, self.noise)
        assert isinstance(self.recipe, StableRecipe)
        if isinstance(event, PullEvent):
            figures = self._objective
            learner = self.recipe.perturbed(self.problem, figures.loss, figures.strength(event))
            closing = figures.scale_of_closing(event)
            if isinstance(event, PerturbedObjectiveEvent):
                return PerturbedWeights(learner=learner, scale=event.scale, closing=closing)
            return GaussianPerturbedWeights(learner=learner, variance=event.variance, closing=closing)
        assert isinstance(event, RoundedGaussianEvent)
        return NoisyMoments(learner=self.recipe.moments_learner(self.problem), variance=event.variance)

    @property
    def _objective(self) -> Perturbation:
        assert isinstance(self.form, FunctionForm)
        assert self.form.objective is not None
        return self.form.objective

    def pull(self) -> float:
        """Deviation of a coordinate of a pull, over the regularisation's strength."""
        event, figures = self.form.event(self.price, self.noise), self._objective
        assert isinstance(event, PullEvent)
        return figures.deviation(event) * float(figures.gradient / figures.strength(event))

    def predictions(self, learner: StableLearner, codes: AnyArray) -> LaplacePredictions | GaussianPredictions:
        """The mechanism of noisy predictions of a stable learner.

        Args:
            codes: of the points.
        """
        assert isinstance(self.recipe, StableRecipe)
        assert not isinstance(self.form, ProcessForm)
        limit = self.recipe.limit
        if isinstance(learner, ExactKernel):
            asked = LearnerAtPoints(learner=learner.at(codes), points=None, limit=limit, own=len(codes))
        else:
            asked = LearnerAtPoints(learner=learner, points=learner.features.of(codes), limit=limit)
        event = self.form.event(self.price, self.noise)
        if isinstance(event, RoundedGaussianEvent):
            return GaussianPredictions(asked=asked, variance=event.variance)
        assert isinstance(event, DiscreteLaplaceEvent)
        return LaplacePredictions(asked=asked, scale=event.scale)

    def process(self, learner: StableLearner, codes: AnyArray) -> tuple[KernelProcess, GaussianWeights]:
        """The coordinates of a kernel's function at points of these codes, and the mechanism of their noisy form."""
        assert isinstance(learner, ExactKernel)
        event = self.form.event(self.price, self.noise)
        assert isinstance(event, RoundedGaussianEvent)
        process = KernelProcess(values=learner.at(codes))
        return process, GaussianWeights(learner=process, width=len(codes), variance=event.variance)

    def votes(self, points: FloatArray) -> Batch[Counts, IntArray]:
        """The mechanism of an ensemble."""
        assert isinstance(self.recipe, Aggregate)
        assert self.parts is not None
        return self.voted(self.recipe.ensemble(self.problem, points, self.parts))

    def voted(self, ensemble: Ensemble) -> Batch[Counts, IntArray]:
        """The same for any ensemble of so many parts."""
        event = self.form.event(self.price, self.noise)
        if isinstance(event, DiscreteLaplaceEvent):
            noisy = RandomisedVotes if isinstance(self.form, RandomisedVotesForm) else LaplaceAverages
            return noisy(ensemble=ensemble, scale=event.scale)
        return make_selection(ensemble, self.price, self.noise)


def make_selection(ensemble: Ensemble, price: Price, noise: Noise) -> ExponentialVotes | PermuteAndFlipVotes:
    """The private selection of this name, at this price, on an ensemble's votes."""
    kind = PermuteAndFlipVotes if noise == "permute-and-flip" else ExponentialVotes
    return kind(ensemble=ensemble, epsilon=selection_epsilon(price, noise))


def usable(records: int) -> int:
    """A number of records that learners work with: a noisy count may be any integer.

    >>> usable(-5)
    1
    """
    return min(max(records, 1), MOST_RECORDS)


def deviation(plan: PredictionPlan, records: int | None) -> float | None:
    """Standard deviation of the noise of one prediction, on the scale of `Target`.

    For a function, whose noise at a point x is that of a weight times ||phi(x)|| <= 1, an upper bound; for randomised
    votes, of their mean.

    Returns:
        None for other votes, for noisy moments, and where the number of records is not known yet.
    """
    if plan.noise in OBJECTIVES:
        return plan.pull()
    event = plan.form.event(plan.price, plan.noise)
    if not isinstance(event, NoiseEvent):
        return None
    drawn = noise_deviation(event)
    if isinstance(plan.form, RandomisedVotesForm):
        return drawn / (plan.parts or 1)
    if isinstance(plan.form, AveragesForm):
        return drawn / (FINENESS * (plan.parts or 1))
    if plan.noise == "moments":
        return None
    if records is None:
        return None
    learner = plan.learner(records)
    if isinstance(plan.form, FunctionForm | ProcessForm):
        return drawn * step(learner.bound)
    assert isinstance(plan.recipe, StableRecipe)
    limit = plan.recipe.limit
    bound = learner.bound if limit is None else min(learner.bound, Fraction(2 * limit))
    return drawn * step(bound)


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

    >>> NUGGET, MOST_POINTS
    (Fraction(1, 1024), 2048)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessForm:
    """A function of a kernel's space at all points at once, by one path of its Gaussian process (`KernelProcess`).

    Attributes:
        points: number of them.

    >>> ProcessForm(points=20).count
    1
    """

    points: int

    @property
    def count(self) -> int:
        return 1

    @property
    def noises(self) -> tuple[Noise, ...]:
        return ("gaussian",)

    def event(self, price: Price, noise: Noise) -> RoundedGaussianEvent:
        squared = weights_sensitivity(self.points) ** 2
        return RoundedGaussianEvent(squared_sensitivity=squared, variance=squared / (2 * price.concentrated))

    def spread(self, price: Price, noise: Noise) -> float:
        return noise_deviation(self.event(price, noise)) / FINENESS
