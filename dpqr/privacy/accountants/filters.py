"""Filters: what stands between a run and its data once the plan is fixed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from dpqr.errors import BudgetRefused
from dpqr.privacy.accountants.losses import pure_epsilon
from dpqr.privacy.events import Composition, PrivacyEvent
from dpqr.privacy.figures import downward_text, upward_text

Kind = type[object]
SHOWN = 6
"""Significant digits in messages."""


def require_pure(event: PrivacyEvent) -> Fraction:
    """The pure epsilon of an event; BudgetRefused where it has none."""
    epsilon = pure_epsilon(event)
    if epsilon is None:
        raise BudgetRefused(
            "a draw of Gaussian noise has no pure epsilon, which this accountant counts in; "
            "use the zcdp accountant, or the laplace check"
        )
    return epsilon


@final
@dataclass(slots=True, kw_only=True)
class SumFilter:
    """Admits events while the exact sum of their costs stays within `limit`.

    Why this is sound when costs and their number are chosen on the way, by what was released before: pure epsilons
    bound the likelihood ratio of every whole path, and on no path do they pass the limit (Rogers, Roth, Ullman and
    Vadhan 2016); for rho see Feldman and Zrnic 2021 and Whitehouse, Ramdas, Rogers and Wu 2023.
    cost: exact cost of one event, BudgetRefused where it has none. unit: its name in messages.
    """

    limit: Fraction
    cost: Callable[[PrivacyEvent], Fraction]
    unit: str
    _spent: Fraction = Fraction(0)
    _charged: int = 0

    def charge(self, event: PrivacyEvent) -> int:
        """Record `event` and return its number in the run, counted from 0; BudgetRefused changes nothing."""
        asked = self.cost(event)
        if self._spent + asked > self.limit:
            raise BudgetRefused(
                f"a draw asks {self.unit} {upward_text(asked, SHOWN)}, but {upward_text(self._spent, SHOWN)} of "
                f"{upward_text(self.limit, SHOWN)} is spent and {downward_text(self.limit - self._spent, SHOWN)} left; "
                "plan fewer draws or raise --eps"
            )
        self._spent += asked
        self._charged += 1
        return self._charged - 1


@final
@dataclass(slots=True, kw_only=True)
class PlanFilter:
    """Admits the planned events, each once, in any order; a cheaper event of the same kind may stand in for one.

    Why not a sum: theorems for a schedule that is fixed in advance say nothing of costs chosen on the way. Here every
    event spends a planned one that costs at least as much: the smallest such that is left, so that a dear one is
    never wasted on a cheap event.
    """

    planned: Composition
    _left: dict[Kind, Counter[Fraction]] = field(init=False)
    _costs: dict[Kind, list[Fraction]] = field(init=False)
    _charged: int = 0

    def __post_init__(self) -> None:
        self._left = defaultdict(Counter)
        for event, count in self.planned:
            if count > 0:
                self._left[type(event)][require_pure(event)] += count
        self._costs = {kind: sorted(costs) for kind, costs in self._left.items()}

    def charge(self, event: PrivacyEvent) -> int:
        """Record `event` and return its number in the run, counted from 0; BudgetRefused changes nothing."""
        asked = require_pure(event)
        costs = self._costs.get(type(event), [])
        place = bisect_left(costs, asked)
        if place == len(costs):
            raise self._refusal(type(event), asked)
        left = self._left[type(event)]
        left[costs[place]] -= 1
        if not left[costs[place]]:
            del costs[place]
        self._charged += 1
        return self._charged - 1

    def _refusal(self, kind: Kind, asked: Fraction) -> BudgetRefused:
        planned = sum(count for event, count in self.planned if type(event) is kind)
        left = self._left[kind].total() if kind in self._left else 0
        dearest = f", none above epsilon {downward_text(self._costs[kind][-1], SHOWN)}" if left else ""
        return BudgetRefused(
            f"a draw asks epsilon {upward_text(asked, SHOWN)}, which the plan lacks: of {planned} planned draws "
            f"of its kind {planned - left} are spent and {left} left{dearest}; "
            "plan more draws, or use a filter (basic, zcdp)"
        )
