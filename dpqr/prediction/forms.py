"""Forms: the ways in which predictions are released, with the event that a price buys and the noise of it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar, Literal, Protocol

from msgspec import Struct

from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.errors import InfeasiblePlan
from dpqr.kernel.events import (
    DiscreteLaplaceEvent,
    ExponentialEvent,
    PermuteAndFlipEvent,
    PrivacyEvent,
    RoundedGaussianEvent,
    SphericalLaplaceEvent,
)
from dpqr.kernel.noise.discrete_laplace import DiscreteLaplace
from dpqr.kernel.noise.gaussian import RoundedGaussian
from dpqr.kernel.noise.spherical_laplace import SphericalLaplace
from dpqr.prediction.learned_functions import FINENESS, PREDICTION, weights_sensitivity
from dpqr.prediction.learners.moments import MomentsFigures
from dpqr.prediction.perturbation import Perturbation, PullEvent
from dpqr.prediction.votes import (
    Ensemble,
    ExponentialVotes,
    LaplaceAverages,
    PermuteAndFlipVotes,
    RandomisedVotes,
    SelectedLabels,
    averages_sensitivity,
)

Noise = Literal[
    "laplace",
    "spherical",
    "objective",
    "gaussian-objective",
    "moments",
    "gaussian",
    "exponential",
    "permute-and-flip",
]


class PredictionForm(Protocol):
    """One way to release; the same event `count` times."""

    @property
    def count(self) -> int: ...

    @property
    def noises(self) -> tuple[Noise, ...]:
        """The noise laws that go with it."""
        ...

    def event(self, price: Price, noise: Noise) -> PrivacyEvent:
        """The event of one draw at `price`."""
        ...

    def spread(self, price: Price, noise: Noise) -> float:
        """What plans are compared by, smaller is better: the standard deviation of one number's noise.

        In units of the learner's bound (of a member's range, for averages; of a vote, for randomised votes); 1 /
        epsilon for votes.
        """
        ...


class FunctionForm(Struct, frozen=True, kw_only=True):
    """All weights of the function, once.

    Attributes:
        width: number of weights.
        objective: of objective perturbation, where the learner allows it.
        moments: of noisy moments, where the learner allows them.
        only: the laws to use; empty: that of least noise.
    """

    width: int
    objective: Perturbation | None = None
    moments: MomentsFigures | None = None
    only: tuple[Noise, ...] = ()
    count: ClassVar[int] = 1

    @property
    def noises(self) -> tuple[Noise, ...]:
        objective: tuple[Noise, ...] = () if self.objective is None else ("objective",)
        normal: tuple[Noise, ...] = ("gaussian-objective",) if self.objective and self.objective.normal else ()
        moments: tuple[Noise, ...] = () if self.moments is None else ("moments",)
        known: tuple[Noise, ...] = ("spherical", "gaussian", *objective, *normal, *moments)
        return tuple(noise for noise in known if noise in (self.only or known))

    def event(self, price: Price, noise: Noise) -> SphericalLaplaceEvent | RoundedGaussianEvent | PullEvent:
        """The event of one draw at `price`.

        Raises:
            InfeasiblePlan: epsilon is too small for objective perturbation.
        """
        if noise in OBJECTIVES:
            return self.pull_event(price, noise)
        return self.moments_event(price) if noise == "moments" else self.weights_event(price, noise)

    @property
    def perturbation(self) -> Perturbation:
        """Of objective perturbation, which the planner offers where the learner allows it."""
        assert self.objective is not None
        return self.objective

    def pull_event(self, price: Price, noise: Noise) -> PullEvent:
        """The event of a perturbed objective. Raises: InfeasiblePlan where epsilon is too small for it."""
        bought = self._pulled(price, noise)
        if bought is None:
            raise InfeasiblePlan("--method objective: epsilon is too small for its noise; use output, or rounded")
        return bought

    def moments_event(self, price: Price) -> RoundedGaussianEvent:
        """The event of noisy moments."""
        assert self.moments is not None
        return gaussian_at_price(self.moments.squared_sensitivity, price)

    def weights_event(self, price: Price, noise: Noise) -> SphericalLaplaceEvent | RoundedGaussianEvent:
        """The event of noisy weights."""
        moved = weights_sensitivity(self.width)
        if noise == "gaussian":
            return gaussian_at_price(moved**2, price)
        return SphericalLaplaceEvent(sensitivity=moved, scale=moved / price.pure, coordinates=self.width)

    def spread(self, price: Price, noise: Noise) -> float:
        if noise in OBJECTIVES:
            return self.perturbation.spread(self._pulled(price, noise))
        if noise == "moments":
            assert self.moments is not None
            return self.moments.spread(self.moments_event(price).variance)
        return noise_deviation(self.weights_event(price, noise)) / FINENESS

    def _pulled(self, price: Price, noise: Noise) -> PullEvent | None:
        """None: the price buys no perturbed objective."""
        objective = self.perturbation
        buys = objective.event if noise == "objective" else objective.gaussian_event
        return buys(price.pure)


class PointsForm(Struct, frozen=True, kw_only=True):
    """Noise for each prediction.

    Attributes:
        count: number of points.
    """

    count: int
    noises: ClassVar[tuple[Noise, ...]] = ("laplace", "gaussian")

    def event(self, price: Price, noise: Noise) -> DiscreteLaplaceEvent | RoundedGaussianEvent:
        if noise == "gaussian":
            return gaussian_at_price(PREDICTION**2, price)
        return laplace_at_price(PREDICTION, price)

    def spread(self, price: Price, noise: Noise) -> float:
        return noise_deviation(self.event(price, noise)) / FINENESS


class ProcessForm(Struct, frozen=True, kw_only=True):
    """A function of a kernel's space at all points at once, by one path of its Gaussian process (`KernelProcess`).

    Attributes:
        points: number of them.
    """

    points: int
    count: ClassVar[int] = 1
    noises: ClassVar[tuple[Noise, ...]] = ("gaussian",)

    def event(self, price: Price, noise: Noise) -> RoundedGaussianEvent:
        return gaussian_at_price(weights_sensitivity(self.points) ** 2, price)

    def spread(self, price: Price, noise: Noise) -> float:
        return noise_deviation(self.event(price, noise)) / FINENESS


class VotesForm(Struct, frozen=True, kw_only=True):
    """A label for each point, by a private selection on an ensemble's votes.

    Attributes:
        noises: the selection that is planned.
    """

    count: int
    noises: tuple[Noise, ...] = ("exponential",)

    def event(self, price: Price, noise: Noise) -> ExponentialEvent | PermuteAndFlipEvent:
        kind = PermuteAndFlipEvent if noise == "permute-and-flip" else ExponentialEvent
        return kind(epsilon=selection_epsilon(price, noise))

    def spread(self, price: Price, noise: Noise) -> float:
        return float(1 / selection_epsilon(price, noise))

    def mechanism(self, ensemble: Ensemble, price: Price, noise: Noise) -> SelectedLabels:
        return make_selection(ensemble, price, noise)

    def deviation(self, price: Price, noise: Noise, parts: int) -> None:
        return None

    def step(self, parts: int) -> float:
        return 1.0


def make_selection(ensemble: Ensemble, price: Price, noise: Noise) -> SelectedLabels:
    """The private selection of this name, at this price, on an ensemble's votes."""
    kind = PermuteAndFlipVotes if noise == "permute-and-flip" else ExponentialVotes
    return kind(ensemble=ensemble, epsilon=selection_epsilon(price, noise))


def selection_epsilon(price: Price, noise: Noise) -> Fraction:
    """The epsilon that a price buys for one label: the exponential mechanism alone has bounded range."""
    return price.bounded_range if noise == "exponential" else price.pure


def better_selection(budget: PrivacyBudget) -> Noise:
    """The selection that a budget is planned with: permute-and-flip, which never errs more at equal epsilon, where
    privacy is pure. Elsewhere, and in ledgers of rho, the exponential mechanism has twice the epsilon at equal rho.

    >>> from fractions import Fraction
    >>> better_selection(PrivacyBudget(epsilon=Fraction(1)))
    'permute-and-flip'
    """
    return "exponential" if budget.delta else "permute-and-flip"


class RandomisedVotesForm(Struct, frozen=True, kw_only=True):
    """One of two labels for each point, by a coin whose probability is the noisy share of an ensemble's votes.

    Attributes:
        count: number of points.
        touched: parts that a unit changes.
    """

    count: int
    touched: int
    noises: ClassVar[tuple[Noise, ...]] = ("laplace",)

    def event(self, price: Price, noise: Noise) -> DiscreteLaplaceEvent:
        return laplace_at_price(self.touched, price)

    def spread(self, price: Price, noise: Noise) -> float:
        return noise_deviation(self.event(price, noise))

    def mechanism(self, ensemble: Ensemble, price: Price, noise: Noise) -> RandomisedVotes:
        return RandomisedVotes(ensemble=ensemble, scale=self.event(price, noise).scale)

    def deviation(self, price: Price, noise: Noise, parts: int) -> float:
        return noise_deviation(self.event(price, noise)) / parts

    def step(self, parts: int) -> float:
        return 1.0


class AveragesForm(Struct, frozen=True, kw_only=True):
    """A number for each point, by an ensemble's noisy sums.

    Attributes:
        count: number of points.
        touched: parts that a unit changes.
    """

    count: int
    touched: int
    noises: ClassVar[tuple[Noise, ...]] = ("laplace",)

    def event(self, price: Price, noise: Noise) -> DiscreteLaplaceEvent:
        return laplace_at_price(averages_sensitivity(self.touched), price)

    def spread(self, price: Price, noise: Noise) -> float:
        return noise_deviation(self.event(price, noise)) / FINENESS

    def mechanism(self, ensemble: Ensemble, price: Price, noise: Noise) -> LaplaceAverages:
        return LaplaceAverages(ensemble=ensemble, scale=self.event(price, noise).scale)

    def deviation(self, price: Price, noise: Noise, parts: int) -> float:
        return noise_deviation(self.event(price, noise)) / (FINENESS * parts)

    def step(self, parts: int) -> float:
        return 1 / (FINENESS * parts)


OBJECTIVES: tuple[Noise, ...] = ("objective", "gaussian-objective")
DIRECT: tuple[Noise, ...] = (*OBJECTIVES, "moments")
"""Laws of functions that need no number of records, and no bound of a learner."""
LabelsForm = VotesForm | RandomisedVotesForm
EnsembleForm = LabelsForm | AveragesForm
"""Forms of an ensemble. In addition to what all forms have: the mechanism at a price, the deviation of its noise on the
scale of `Target` (None: it has none), and the width of its grid there (1 for labels)."""
NoiseEvent = DiscreteLaplaceEvent | SphericalLaplaceEvent | RoundedGaussianEvent


def laplace_at_price(sensitivity: int, price: Price) -> DiscreteLaplaceEvent:
    """Noise on one number that moves by at most `sensitivity` grid steps, so that it costs the price's epsilon."""
    return DiscreteLaplaceEvent(sensitivity=sensitivity, scale=sensitivity / price.pure, coordinates=1)


def gaussian_at_price(squared_sensitivity: int, price: Price) -> RoundedGaussianEvent:
    """Noise on numbers that move by at most this squared L2 distance in grid steps, so that it costs the price's rho,
    sensitivity^2 / (2 variance)."""
    variance = squared_sensitivity / (2 * price.concentrated)
    return RoundedGaussianEvent(squared_sensitivity=squared_sensitivity, variance=variance)


def noise_deviation(event: NoiseEvent) -> float:
    """Standard deviation of one released number, in grid steps."""
    if isinstance(event, SphericalLaplaceEvent):
        return SphericalLaplace(event.scale, event.coordinates).deviation
    if isinstance(event, RoundedGaussianEvent):
        return RoundedGaussian(event.variance).deviation
    deviation = DiscreteLaplace(event.scale).deviation
    return deviation if math.isfinite(deviation) else math.sqrt(2) * float(event.scale)
