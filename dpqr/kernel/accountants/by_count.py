"""ByCount: one pure draw, and after it a sum of epsilons or of mu^2, whichever that draw calls for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, final

from msgspec import Struct

from dpqr.kernel.accountants.accountant import (
    Portion,
    PrivacyFilter,
    SumFilter,
    larger,
    needs_delta,
    pure_losses,
    require_affordable,
    require_pure,
)
from dpqr.kernel.accountants.analytic import GaussianDP, largest_squared_mu, squared_mu_to_epsilon
from dpqr.kernel.accountants.losses import pure_epsilon, squared_mu
from dpqr.kernel.accountants.sums import Basic, total
from dpqr.kernel.budget import Price, PrivacyBudget
from dpqr.kernel.events import Composition, LeftOutEvent, MuSumEvent, PrivacyEvent, PureSumEvent

FEW, MANY = Basic(), GaussianDP()
"""What may charge all draws after the first one: pure draws add up, or squares of mu."""


class ByCount(Struct, frozen=True, kw_only=True):
    """A first draw that is eps_0-DP decides which theorem charges all draws after it: basic, which adds up pure
    epsilons to eps - eps_0, or gdp, which proves (eps - eps_0, delta).

    Privacy:
        Neighbours: those of the events. The whole run is (eps, delta)-DP.
        *Proof.* Let P and Q be the laws of the run on two neighbours, h what the first draw shows, and E any set of
        outputs. The first draw is eps_0-DP: P(h) <= e^eps_0 Q(h). For each h the theorem is fixed before the next
        draw, and so is its limit. Under either theorem what follows is (eps - eps_0, delta)-DP given h: sums of pure
        epsilons up to eps - eps_0 are a filter (Rogers, Roth, Ullman and Vadhan 2016), and so are sums of mu^2 up to
        one whose curve is within (eps - eps_0, delta) (`GaussianDP`). So

            P(E) = sum_h P(h) P(E | h) <= sum_h P(h) min(1, e^(eps - eps_0) Q(E | h) + delta)
                <= sum_h e^eps_0 Q(h) e^(eps - eps_0) Q(E | h) + sum_h P(h) delta = e^eps Q(E) + delta.

        The filter reads the theorem from the kind of the second draw: noise that is not pure takes gdp, any other
        draw takes basic. Which kind is drawn is a function of what was released. The theorem of a path never changes
        afterwards: the cheaper of two for a whole path would be no filter.
        Draws from left-out records are pure and have a sum of their own up to eps (`in_parallel`).

    Plans state both sums, `PureSumEvent` and `MuSumEvent`; a run makes draws of one of them. Every other theorem adds
    both up, which is above either. Shares of a cut are shares of epsilon.

    What is proved of a run is what its filter was given, and its plan, receipt and release state that. `epsilon` of the
    draws that a run has made is never above it.
        Statement P1 of the guide's topic proofs.

    >>> from dpqr.kernel.events import ExponentialEvent
    >>> guard = ByCount().filter(PrivacyBudget(Fraction(1), Fraction(1, 10**9)))
    >>> guard.charge(ExponentialEvent(epsilon=Fraction(1, 50))), guard.charge(ExponentialEvent(epsilon=Fraction(1, 2)))
    (0, 1)

    References:
        Dwork and Roth 2014, Theorem B.1 (composition of (eps_i, delta_i)).
    """

    SHARE: ClassVar[Fraction] = Fraction(1, 50)
    """Of epsilon, for the first draw."""

    name: ClassVar[str] = "by-count"
    homogeneous: ClassVar[bool] = False
    concentrated: ClassVar[bool] = False

    def first(self, budget: PrivacyBudget) -> Price:
        """Of the first draw."""
        return Price(epsilon=budget.epsilon * self.SHARE)

    def rest(self, budget: PrivacyBudget) -> PrivacyBudget:
        """Of all draws after it."""
        return PrivacyBudget(budget.epsilon * (1 - self.SHARE), budget.delta)

    def sums(self, budget: PrivacyBudget) -> Composition:
        """What a plan states for the draws after the first one: either of two sums."""
        rest = self.rest(budget)
        return (PureSumEvent(epsilon=rest.epsilon), 1), (MuSumEvent(squared_mu=largest_squared_mu(rest)), 1)

    def refusal(self, budget: PrivacyBudget) -> str | None:
        return needs_delta(self.name, budget)

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Of draws that are pure."""
        return FEW.cut(budget, portions)

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        return larger(events, lambda draws: _epsilon(draws, delta))

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """The first draw, and after it whatever the theorem that it calls for admits."""
        require_affordable(self, budget, planned)
        return self.filter(budget)

    def filter(self, budget: PrivacyBudget) -> PrivacyFilter:
        """The same for any draws."""
        require_affordable(self, budget, ())
        return _Filter(budget=budget, first=self.first(budget), rest=self.rest(budget))


@final
@dataclass(slots=True, kw_only=True)
class _Filter:
    """See `ByCount`. following: guards the draws after the first one; None: their theorem is not fixed yet."""

    budget: PrivacyBudget
    first: Price
    rest: PrivacyBudget
    left_out: PrivacyFilter = field(init=False)
    following: PrivacyFilter | None = None
    begun: bool = False
    _charged: int = 0

    def __post_init__(self) -> None:
        self.left_out = FEW.filter(self.budget)

    def charge(self, event: PrivacyEvent) -> int:
        """Record `event` and return its number in the run, counted from 0; BudgetRefused if it does not fit."""
        # A theorem is fixed by the first draw after the count, whether it fits or not.
        if isinstance(event, LeftOutEvent):
            guard = self.left_out
        elif not self.begun:
            guard = SumFilter(limit=self.first.pure, cost=require_pure, unit="epsilon")
        else:
            if self.following is None:
                self.following = (MANY if pure_epsilon(event) is None else FEW).filter(self.rest)
            guard = self.following
        guard.charge(event)
        self.begun = self.begun or not isinstance(event, LeftOutEvent)
        self._charged += 1
        return self._charged - 1


def _epsilon(draws: Composition, delta: Fraction) -> Fraction | None:
    """Of draws that read the same records: planned ones, with both sums, or those of a run, with neither."""
    sums = tuple(one for one in draws if isinstance(one[0], PureSumEvent | MuSumEvent))
    if not sums:
        return _of_run(draws, delta)
    pure = pure_losses(tuple(one for one in draws if one not in sums))
    few, many = (tuple(one for one in sums if isinstance(one[0], kind)) for kind in (PureSumEvent, MuSumEvent))
    if pure is None or (many and not delta):
        return None
    return _together(total(pure), [total(pure_losses(few) or ()), *_of_mu(many, delta)])


def _of_run(draws: Composition, delta: Fraction) -> Fraction | None:
    """The least that the two theorems prove for these draws: all epsilons added up, where all draws are pure, and the
    epsilon of the first draw with the curve of all others in mu^2.

    draws: in the order of their first charges, as a run records them. The filter admits no run for which this is above
    its budget's epsilon, whichever theorem a path has called for: under either one the figure is within it.
    """
    pure = pure_losses(draws)
    found = [] if pure is None else [total(pure)]
    first, others = Fraction(0), draws
    if draws and (epsilon := pure_epsilon(draws[0][0])) is not None:
        (event, count), *later = draws
        first, others = epsilon, ((event, count - 1), *later) if count > 1 else tuple(later)
    if delta and all(squared_mu(event) is not None for event, _ in others):
        found.append(_together(first, _of_mu(others, delta)))
    return min(found, default=None)


def _together(first: Fraction, following: Sequence[Fraction]) -> Fraction:
    return first + max(following, default=Fraction(0))


def _of_mu(draws: Composition, delta: Fraction) -> list[Fraction]:
    whole = MANY.total(draws)
    return [squared_mu_to_epsilon(whole, delta)] if whole else []
