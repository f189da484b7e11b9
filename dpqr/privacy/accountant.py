"""Accountant: the price of events under one composition theorem, and the allocation of a budget to draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

from dpqr.errors import InfeasiblePlan
from dpqr.privacy.budget import Price, PrivacyBudget
from dpqr.privacy.events import Composition, PrivacyEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """`count` draws of equal price.

    share: budget of *one* of them relative to the other portions, on any positive scale.
    event: the event of a draw at a price, for theorems that use more of it than eps-DP; None: not stated.

    Raises:
        InfeasiblePlan: a share that is not positive, or a negative count.

    >>> Portion(share=Fraction(1, 10), count=3).count
    3
    """

    share: Fraction
    count: int
    event: Callable[[Price], PrivacyEvent] | None = None

    def __post_init__(self) -> None:
        if self.share <= 0 or self.count < 0:
            raise InfeasiblePlan("a portion needs a share above 0 and a count of at least 0")


class PrivacyFilter(Protocol):
    """Guards one run: it refuses events that the reserved budget does not cover, before anything is opened."""

    def charge(self, event: PrivacyEvent) -> int:
        """Record `event` and return its number in the run, from 0; BudgetRefused if it does not fit."""
        ...


class Accountant(Protocol):
    """One composition theorem. All figures are exact or rounded up."""

    @property
    def name(self) -> str: ...

    @property
    def homogeneous(self) -> bool:
        """Whether the theorem covers equal draws only; all shares must then be equal."""
        ...

    @property
    def concentrated(self) -> bool:
        """Whether it sums rho or mu^2. It then covers Gaussian noise, and prices bounded-range draws below other pure
        draws."""
        ...

    def refusal(self, budget: PrivacyBudget) -> str | None:
        """Return why the theorem does not apply to `budget`, for example because it needs delta > 0; or None."""
        ...

    def cut(self, budget: PrivacyBudget, portions: Sequence[Portion]) -> tuple[Price, ...]:
        """Return the largest prices, one per portion, in the ratio of the shares, that together fit the budget.

        Raises:
            InfeasiblePlan: the theorem does not cover the budget or the shares.
        """
        ...

    def epsilon(self, events: Composition, delta: Fraction) -> Fraction | None:
        """Return the smallest epsilon that the theorem proves for the events at `delta`, rounded up; None: none."""
        ...

    def guard(self, budget: PrivacyBudget, planned: Composition) -> PrivacyFilter:
        """Return a filter that admits the planned events.

        A theorem that is a filter (sums of epsilon, rho or mu^2) admits anything else within the budget too; one for a
        schedule fixed in advance admits the planned events only, or cheaper ones of the same kind in their place.

        Raises:
            BudgetRefused: the planned events do not fit the budget.
        """
        ...


@runtime_checkable
class FilterAccountant(Accountant, Protocol):
    """A theorem that stays true where the price of each draw depends on what was released before.

    Sums of epsilon, of rho and of mu^2 do (Rogers, Roth, Ullman and Vadhan 2016; Feldman and Zrnic 2021; Whitehouse,
    Ramdas, Rogers and Wu 2023; Smith and Thakurta 2022). Theorems for a schedule fixed in advance have no `filter`, and
    so cannot be asked for one.
    """

    def filter(self, budget: PrivacyBudget) -> PrivacyFilter:
        """Return a filter that admits any events within the budget.

        Raises:
            BudgetRefused: the theorem does not cover the budget.
        """
        ...
