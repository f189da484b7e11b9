"""Prediction plans: a run before any data, and the mechanisms that it then draws from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpqr.data.arrays import AnyArray, FloatArray, IntArray
from dpqr.data.histogram import Counts
from dpqr.errors import InfeasiblePlan
from dpqr.mechanisms.learned_functions import (
    FINENESS,
    Asked,
    GaussianPredictions,
    GaussianWeights,
    LaplacePredictions,
    SphericalWeights,
    step,
)
from dpqr.mechanisms.noisy_moments import NoisyMoments
from dpqr.mechanisms.perturbed_functions import GaussianPerturbedWeights, PerturbedWeights
from dpqr.mechanisms.votes import Ensemble, ExponentialVotes, LaplaceAverages, PermuteAndFlipVotes, RandomisedVotes
from dpqr.prediction.ensembles.ensemble import Aggregate
from dpqr.prediction.forms import (
    OBJECTIVES,
    AveragesForm,
    Form,
    FunctionForm,
    Noise,
    NoiseEvent,
    RandomisedVotesForm,
    better_selection,
    noise_deviation,
    selection_epsilon,
)
from dpqr.prediction.kernel_process import KernelProcess, ProcessForm
from dpqr.prediction.learners.exact_kernel import ExactKernel
from dpqr.prediction.learners.examples import MOST_RECORDS, Scale
from dpqr.prediction.learners.stable import BatchLearner, StableLearner
from dpqr.prediction.perturbation import Perturbation, PullEvent
from dpqr.prediction.problem import PredictionProblem
from dpqr.prediction.recipes import StableRecipe
from dpqr.prediction.tuning import FACTORS, Candidate, TuningVotes
from dpqr.privacy.accountant import Accountant
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import (
    Composition,
    DiscreteLaplaceEvent,
    PerturbedObjectiveEvent,
    RoundedGaussianEvent,
    SphericalLaplaceEvent,
)
from dpqr.privacy.gate import Batch, Mechanism
from dpqr.strategies.checks import Gaussian, Laplace
from dpqr.strategies.inputs import PublicInputs
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
        spread: see `Form`.
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
    form: Form
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
        return selected(voters, self.tuning, better_selection(self.budget))

    def _candidate(self, recipe: StableRecipe, factor: Fraction, records: int) -> Candidate:
        tried = replace(self, factor=factor)
        penalty = tried.learner(records).penalty

        def learner(rows: int) -> BatchLearner:
            return recipe.batch_learner(self.problem, Scale(unit=self.problem.unit, records=usable(rows)), penalty)

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
            asked = Asked(learner=learner.at(codes), points=None, limit=limit, own=len(codes))
        else:
            asked = Asked(learner=learner, points=learner.features.of(codes), limit=limit)
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
        return selected(ensemble, self.price, self.noise)


def selected(ensemble: Ensemble, price: Price, noise: Noise) -> ExponentialVotes | PermuteAndFlipVotes:
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
