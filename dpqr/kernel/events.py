"""PrivacyEvent: what a mechanism did, by the parameters that are necessary and sufficient for accounting.

Events are separate from their prices: accountants price events, and a better theorem can price a recorded run again.
Rules: an event is never removed, the meaning of a parameter never changes, every accountant refuses unknown events.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from msgspec import Struct

from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.values import replace


class DiscreteLaplaceEvent(Struct, frozen=True, kw_only=True):
    """Integers of L1 sensitivity `sensitivity` plus independent noise, Pr[k] proportional to exp(-|k| / scale).

    coordinates: largest number of integers that differ between neighbours; None: not stated.

    >>> DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(2)).sensitivity
    1
    """

    sensitivity: int
    scale: Fraction
    coordinates: int | None = None

    def __post_init__(self) -> None:
        if self.coordinates is not None:
            _require(self.coordinates, int, positive=True, name="the coordinates of a Laplace event")
        _require(self.sensitivity, int, positive=False, name="the sensitivity of a Laplace event")
        _require(self.scale, Fraction, positive=True, name="the scale of a Laplace event")


class DiscreteGaussianEvent(Struct, frozen=True, kw_only=True):
    """Integers plus independent noise, Pr[k] proportional to exp(-k^2 / (2 variance)).

    squared_sensitivity: largest squared L2 distance between neighbours, an integer.

    >>> DiscreteGaussianEvent(squared_sensitivity=2, variance=Fraction(9)).variance
    Fraction(9, 1)
    """

    squared_sensitivity: int
    variance: Fraction

    def __post_init__(self) -> None:
        _require(self.squared_sensitivity, int, positive=False, name="the sensitivity of a Gaussian event")
        _require(self.variance, Fraction, positive=True, name="the variance of a Gaussian event")


class RoundedGaussianEvent(Struct, frozen=True, kw_only=True):
    """Integers plus independent normal noise of `variance`, rounded to the nearest integers.

    squared_sensitivity: largest squared L2 distance between neighbours, an integer.

    >>> RoundedGaussianEvent(squared_sensitivity=1, variance=Fraction(9)).squared_sensitivity
    1
    """

    squared_sensitivity: int
    variance: Fraction

    def __post_init__(self) -> None:
        _require(self.squared_sensitivity, int, positive=False, name="the sensitivity of a rounded Gaussian event")
        _require(self.variance, Fraction, positive=True, name="the variance of a rounded Gaussian event")


class SphericalLaplaceEvent(Struct, frozen=True, kw_only=True):
    """A vector of integers of L2 sensitivity `sensitivity` plus noise of density proportional to exp(-||z||_2 / scale),
    rounded to the nearest integers.

    coordinates: of the vector.

    >>> SphericalLaplaceEvent(sensitivity=1, scale=Fraction(2), coordinates=3).scale
    Fraction(2, 1)
    """

    sensitivity: int
    scale: Fraction
    coordinates: int

    def __post_init__(self) -> None:
        _require(self.coordinates, int, positive=True, name="the coordinates of a spherical Laplace event")
        _require(self.sensitivity, int, positive=False, name="the sensitivity of a spherical Laplace event")
        _require(self.scale, Fraction, positive=True, name="the scale of a spherical Laplace event")


class PerturbedObjectiveEvent(Struct, frozen=True, kw_only=True):
    """The minimiser of a sum of losses plus (strength / 2) ||f||^2 plus <pull, f>.

    The pull has the density of `SphericalLaplaceEvent`'s noise, with `scale` and `coordinates`; the gradient of the sum
    moves by `sensitivity` in L2. units: losses that come, or are replaced. curvature: an upper bound on x^T H x /
    strength, H the second derivative of one loss. closing: epsilon of noise that covers the solver and rounding.

    >>> rest = {"units": 1, "curvature": Fraction(1, 9), "closing": Fraction(1, 64)}
    >>> PerturbedObjectiveEvent(sensitivity=1, scale=Fraction(2), coordinates=3, **rest).units
    1
    """

    sensitivity: int
    scale: Fraction
    coordinates: int
    units: int
    curvature: Fraction
    closing: Fraction

    def __post_init__(self) -> None:
        _require(self.coordinates, int, positive=True, name="the coordinates of an objective event")
        _require(self.units, int, positive=True, name="the units of an objective event")
        _require(self.sensitivity, int, positive=False, name="the sensitivity of an objective event")
        _require(self.scale, Fraction, positive=True, name="the scale of an objective event")
        _require(self.curvature, Fraction, positive=False, name="the curvature of an objective event")
        _require(self.closing, Fraction, positive=True, name="the closing epsilon of an objective event")


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianObjectiveEvent:
    """The same with a pull of independent normal coordinates of `variance`.

    squared_sensitivity: of the gradient to one of `changes` records that come or go. opposite: largest slope of the
    shorter sign, over the other's. tapered: 4 p (1 - p) curvature holds where the slope has gone p of its way.
    _unstated: parameters that the text of an older version lacks, so that a sealed text comes back as it was.

    >>> rest = {"changes": 1, "curvature": Fraction(1, 9), "closing": Fraction(1, 64)}
    >>> assert not GaussianObjectiveEvent(squared_sensitivity=1, variance=Fraction(2), **rest).tapered
    """

    squared_sensitivity: int
    variance: Fraction
    changes: int
    curvature: Fraction
    closing: Fraction
    opposite: Fraction = Fraction(0)
    tapered: bool = False
    _unstated: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    def __post_init__(self) -> None:
        _require(min(self.opposite, 1 - self.opposite), Fraction, positive=False, name="opposite, and 1 less it,")
        _require(self.changes, int, positive=True, name="the changes of an objective event")
        _require(self.squared_sensitivity, int, positive=False, name="the sensitivity of an objective event")
        _require(self.variance, Fraction, positive=True, name="the variance of an objective event")
        _require(self.curvature, Fraction, positive=False, name="the curvature of an objective event")
        _require(self.closing, Fraction, positive=True, name="the closing epsilon of an objective event")


class ExponentialEvent(Struct, frozen=True, kw_only=True):
    """A draw with Pr[i] proportional to exp(epsilon score_i / (2 sensitivity)): eps-DP and eps-bounded range.

    >>> ExponentialEvent(epsilon=Fraction(1, 2)).epsilon
    Fraction(1, 2)
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _require(self.epsilon, Fraction, positive=False, name="the epsilon of an exponential event")


class PermuteAndFlipEvent(Struct, frozen=True, kw_only=True):
    """A draw by permute-and-flip with the same scores: eps-DP, but not eps-bounded range.

    >>> PermuteAndFlipEvent(epsilon=Fraction(1, 2)).epsilon
    Fraction(1, 2)
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _require(self.epsilon, Fraction, positive=False, name="the epsilon of a permute-and-flip event")


class AboveThresholdEvent(Struct, frozen=True, kw_only=True):
    """Any number of comparisons with one noisy threshold, up to the first that is passed.

    Threshold and answers have independent noise, Pr[k] proportional to exp(-k / scale), k >= 0. sensitivity: whole
    steps by which an answer moves between neighbours, at most. directions: 1: between two neighbours no two answers
    move in opposite directions; 2: they may.

    >>> AboveThresholdEvent(
    ...     sensitivity=1, threshold_scale=Fraction(4), answer_scale=Fraction(8), directions=1
    ... ).directions
    1
    """

    sensitivity: int
    threshold_scale: Fraction
    answer_scale: Fraction
    directions: int

    def __post_init__(self) -> None:
        _require(self.sensitivity, int, positive=True, name="the sensitivity of a threshold event")
        _require(self.threshold_scale, Fraction, positive=True, name="the threshold's scale of a threshold event")
        _require(self.answer_scale, Fraction, positive=True, name="the answers' scale of a threshold event")
        if self.directions not in (1, 2):
            raise BudgetRefused("answers of a threshold event move in 1 direction or in 2; nothing was drawn")


class LabelSelectionEvent(Struct, frozen=True, kw_only=True):
    """Labels that are kept or not, each by an independent (epsilon, delta)-DP coin of its own count (`KeepingLaw`).

    epsilon, delta: of one label whose count moves by 1. labels: largest number of labels whose counts move between
    neighbours, each by 1.

    >>> LabelSelectionEvent(epsilon=Fraction(1, 2), delta=Fraction(1, 10**6), labels=2).labels
    2
    """

    epsilon: Fraction
    delta: Fraction
    labels: int

    def __post_init__(self) -> None:
        _require(self.epsilon, Fraction, positive=True, name="the epsilon of a selection of labels")
        _require(self.delta, Fraction, positive=True, name="the delta of a selection of labels")
        _require(self.labels, int, positive=True, name="the labels of a selection of labels")
        if self.delta >= 1:
            raise BudgetRefused("the delta of a selection of labels must be below 1; nothing was drawn")


class PureSumEvent(Struct, frozen=True, kw_only=True):
    """Any number of adaptively priced draws whose pure epsilons a filter limits to `epsilon` in sum. A plan states it
    if its draws are not known in advance; a run is charged for the draws themselves.

    >>> PureSumEvent(epsilon=Fraction(1)).epsilon
    Fraction(1, 1)
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _require(self.epsilon, Fraction, positive=False, name="the epsilon of a sum event")


class RhoSumEvent(Struct, frozen=True, kw_only=True):
    """Any number of adaptively priced draws whose rhos a filter limits to `rho` in sum.

    >>> RhoSumEvent(rho=Fraction(1, 8)).rho
    Fraction(1, 8)
    """

    rho: Fraction

    def __post_init__(self) -> None:
        _require(self.rho, Fraction, positive=False, name="the rho of a sum event")


class MuSumEvent(Struct, frozen=True, kw_only=True):
    """Any number of adaptively priced draws, each mu_i-GDP, whose mu_i^2 a filter limits to `squared_mu` in sum.

    >>> MuSumEvent(squared_mu=Fraction(1, 4)).squared_mu
    Fraction(1, 4)
    """

    squared_mu: Fraction

    def __post_init__(self) -> None:
        _require(self.squared_mu, Fraction, positive=False, name="the squared mu of a sum event")


Draw = (
    DiscreteLaplaceEvent
    | DiscreteGaussianEvent
    | RoundedGaussianEvent
    | SphericalLaplaceEvent
    | PerturbedObjectiveEvent
    | GaussianObjectiveEvent
    | ExponentialEvent
    | PermuteAndFlipEvent
    | AboveThresholdEvent
    | LabelSelectionEvent
    | PureSumEvent
    | RhoSumEvent
    | MuSumEvent
)


class LeftOutEvent(Struct, frozen=True, kw_only=True):
    """A draw from the records that the domain's rules left out, which no other draw of the run reads.

    event: of the draw alone. Only for units that lie in one part each (`PrivacyUnit.apart`). `in_parallel` prices it.

    >>> LeftOutEvent(event=ExponentialEvent(epsilon=Fraction(1))).event
    ExponentialEvent(epsilon=Fraction(1, 1))

    Raises:
        BudgetRefused: anything but a draw, another LeftOutEvent included.
    """

    event: Draw

    def __post_init__(self) -> None:
        if not isinstance(self.event, Draw):
            raise BudgetRefused("an event of left-out records wraps one draw, and nothing else; nothing was drawn")


PrivacyEvent = Draw | LeftOutEvent

Composition = tuple[tuple[PrivacyEvent, int], ...]
"""Events with their counts: the record of a run."""


def of_any_blocks(event: PrivacyEvent) -> PrivacyEvent:
    """Return the event of a draw whose blocks are not chosen yet: the number of changed integers is not stated."""
    return replace(event, coordinates=None) if isinstance(event, DiscreteLaplaceEvent) else event


def _require(figure: int | Fraction, kind: type[int] | type[Fraction], *, positive: bool, name: str) -> None:
    """Refuse a parameter that gives no finite exact cost; an event is priced before anything is drawn."""
    exact = isinstance(figure, kind) and not isinstance(figure, bool)
    if not exact or not (figure > 0 or (figure == 0 and not positive)):
        bound = "above 0" if positive else "of at least 0"
        raise BudgetRefused(f"{name} must be an exact {kind.__name__} {bound}; nothing was drawn")
