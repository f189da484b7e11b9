"""Cost: what a run pays, and by which theorem its price was derived."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

NOTHING = Fraction(0)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cost:
    """An exact amount of epsilon or rho, and an exact delta where the budget counts deltas.

    Ordered by components: one cost is at most another if both figures are. Of two costs neither may be at most the
    other, so there is no `<`: what does not fit is `not cost <= limit`. A bare number is that amount without a delta.
    """

    amount: Fraction = NOTHING
    delta: Fraction = NOTHING

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.amount + other.amount, self.delta + other.delta)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.amount - other.amount, self.delta - other.delta)

    def __le__(self, other: Cost | Fraction | int) -> bool:
        most = _cost(other)
        return self.amount <= most.amount and self.delta <= most.delta

    def __ge__(self, other: Cost | Fraction | int) -> bool:
        return _cost(other) <= self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cost | Fraction | int):
            return NotImplemented
        return (self.amount, self.delta) == (_cost(other).amount, _cost(other).delta)

    def __hash__(self) -> int:
        return hash((self.amount, self.delta)) if self.delta else hash(self.amount)

    def __bool__(self) -> bool:
        return bool(self.amount or self.delta)

    def least(self, other: Cost) -> Cost:
        """The smaller of each figure."""
        return Cost(min(self.amount, other.amount), min(self.delta, other.delta))


NO_COST = Cost()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """The accountant that proves a run's guarantee, by name, and the delta at which it does."""

    accountant: str = "basic"
    delta: Fraction = NOTHING


PURE = Pricing()
"""The sum of pure epsilons."""


def _cost(value: Cost | Fraction | int) -> Cost:
    return value if isinstance(value, Cost) else Cost(Fraction(value))
