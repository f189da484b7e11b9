"""PrivacyEvent: what a mechanism did, by the parameters that are necessary and sufficient for accounting.

What happened stands apart from what it costs: accountants price events, and a recorded run can be priced again by a
better theorem. Rules: an event is never removed, the meaning of a parameter never changes, an unknown event must be
refused by every accountant.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

from dpqr.errors import BudgetRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplaceEvent:
    """Integers of L1 sensitivity `sensitivity` plus independent noise, Pr[k] proportional to exp(-|k| / scale).

    coordinates: how many of the integers differ, at most, between neighbours; None: not stated.
    """

    sensitivity: int
    scale: Fraction
    coordinates: int | None = None

    def __post_init__(self) -> None:
        if self.coordinates is not None:
            _require(self.coordinates, int, positive=True, name="the coordinates of a Laplace event")
        _require(self.sensitivity, int, positive=False, name="the sensitivity of a Laplace event")
        _require(self.scale, Fraction, positive=True, name="the scale of a Laplace event")


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussianEvent:
    """Integers plus independent noise, Pr[k] proportional to exp(-k^2 / (2 variance)).

    squared_sensitivity: largest squared L2 distance between neighbours, an integer.
    """

    squared_sensitivity: int
    variance: Fraction

    def __post_init__(self) -> None:
        _require(self.squared_sensitivity, int, positive=False, name="the sensitivity of a Gaussian event")
        _require(self.variance, Fraction, positive=True, name="the variance of a Gaussian event")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedGaussianEvent:
    """Integers plus independent normal noise of `variance`, rounded to the nearest integers.

    squared_sensitivity: largest squared L2 distance between neighbours, an integer.
    """

    squared_sensitivity: int
    variance: Fraction

    def __post_init__(self) -> None:
        _require(self.squared_sensitivity, int, positive=False, name="the sensitivity of a rounded Gaussian event")
        _require(self.variance, Fraction, positive=True, name="the variance of a rounded Gaussian event")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialEvent:
    """A draw with Pr[i] proportional to exp(epsilon score_i / (2 sensitivity)): eps-DP and eps-bounded range."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        _require(self.epsilon, Fraction, positive=False, name="the epsilon of an exponential event")


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlipEvent:
    """A draw by permute-and-flip with the same scores: eps-DP, but not eps-bounded range."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        _require(self.epsilon, Fraction, positive=False, name="the epsilon of a permute-and-flip event")


@dataclass(frozen=True, slots=True, kw_only=True)
class PureSumEvent:
    """Any number of draws, each price set by what was released before, whose pure epsilons a filter keeps within
    `epsilon` together. A plan states it where it cannot tell what will be drawn; a run is charged its draws.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        _require(self.epsilon, Fraction, positive=False, name="the epsilon of a sum event")


@dataclass(frozen=True, slots=True, kw_only=True)
class RhoSumEvent:
    """The same for a filter that keeps rhos within `rho` together."""

    rho: Fraction

    def __post_init__(self) -> None:
        _require(self.rho, Fraction, positive=False, name="the rho of a sum event")


Draw = (
    DiscreteLaplaceEvent
    | DiscreteGaussianEvent
    | RoundedGaussianEvent
    | ExponentialEvent
    | PermuteAndFlipEvent
    | PureSumEvent
    | RhoSumEvent
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutEvent:
    """A draw from the records that the domain's rules left out, at which no other draw of the run looks.

    event: what the draw would be by itself. Only for units of which each lies in one part alone (`PrivacyUnit.apart`).
    Its price: see `in_parallel`. Errors: BudgetRefused for anything but a draw, another LeftOutEvent included.
    """

    event: Draw

    def __post_init__(self) -> None:
        if not isinstance(self.event, Draw):
            raise BudgetRefused("an event of left-out records wraps one draw, and nothing else; nothing was drawn")


PrivacyEvent = Draw | LeftOutEvent

Composition = tuple[tuple[PrivacyEvent, int], ...]
"""Events with how often each happened; the record of a run."""


def in_parallel(events: Composition) -> tuple[Composition, Composition]:
    """One run's draws from the records that are kept, and those from the records that are left out, unwrapped.

    **Privacy.** What a run costs is the larger of what either group costs by itself, not their sum, where neighbours
    differ in one record r that the domain's rules either keep or leave out, whatever else is in the table.
    *Proof.* The rules look at r alone, so neighbours x and x + r have equal left-out parts if r is kept, and equal kept
    parts if r is left out. Say that r is kept. Every draw from the left-out part then has the same law on both tables,
    given what was released before it. So the run is, on both, an adaptive sequence of the draws from the kept part,
    with draws of one law in between: the likelihood ratio of a whole path is the product of the kept draws' ratios
    alone. Each theorem that bounds that product for the kept draws (sums of epsilon or of rho, as filters too;
    advanced, optimal and numerical composition of a schedule that is fixed in advance), where the next draw may
    depend on all that was released, bounds the run at the same epsilon and delta: draws of one law between are
    randomness of the analyst's own. The same with the two parts exchanged if r is left out. A pair of neighbours is of
    one of the two kinds, so the larger price covers both. (Parallel composition: McSherry 2009, Theorem 4.)

    It does not hold under `replace` (a kept record may be replaced by one that is left out), nor for persons (some of
    whose rows may be kept and others left out), nor from run to run (another domain keeps other records).
    """
    kept = tuple((event, count) for event, count in events if not isinstance(event, LeftOutEvent))
    return kept, tuple((event.event, count) for event, count in events if isinstance(event, LeftOutEvent))


def one_after_another(events: Composition) -> Composition:
    """The same draws without the claim that they look at disjoint records: each counts beside all others."""
    kept, left_out = in_parallel(events)
    total: Counter[PrivacyEvent] = Counter()
    for event, count in (*kept, *left_out):
        total[event] += count
    return tuple(total.items())


def of_any_blocks(event: PrivacyEvent) -> PrivacyEvent:
    """What a plan may state of a draw whose blocks are not chosen yet: not how many integers will differ."""
    return replace(event, coordinates=None) if isinstance(event, DiscreteLaplaceEvent) else event


def _require(figure: int | Fraction, kind: type[int] | type[Fraction], *, positive: bool, name: str) -> None:
    """An event is priced before anything is drawn, so one that states no finite exact cost must not come to be."""
    exact = isinstance(figure, kind) and not isinstance(figure, bool)
    if not exact or not (figure > 0 or (figure == 0 and not positive)):
        bound = "above 0" if positive else "of at least 0"
        raise BudgetRefused(f"{name} must be an exact {kind.__name__} {bound}; nothing was drawn")
