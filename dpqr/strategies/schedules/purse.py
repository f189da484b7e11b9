"""Purse: shares of a run's budget as prices, and the noise that they buy on a marginal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dpqr.data.unit import PrivacyUnit
from dpqr.privacy.budget import Price
from dpqr.strategies.plan import Roles
from dpqr.workload.block import QueryBlock

FINEST = 2**40
"""Shares are rounded down to this part of the whole."""

REFERENCE = 2.0**-20
"""A share at which discrete noise has the deviation of continuous noise, so that others follow by scaling."""


ROUNDING = 1.0 - 1e-9
"""Shares of a split stay by this much below the whole, so that no rounding takes their sum beyond it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """whole: the budget in the accountant's currency, epsilon or rho. deviation: of a marginal measured with all of
    it, if noise were continuous, in records.

    A share x buys a deviation of deviation / sqrt(x) in rho and of deviation / x in epsilon: `power` is 1/2 or 1.
    """

    whole: Fraction
    concentrated: bool
    deviation: float

    @classmethod
    def of(cls, roles: Roles, unit: PrivacyUnit, block: QueryBlock, whole: Price) -> Purse:
        concentrated = whole.rho is not None
        figure = whole.rho if whole.rho is not None else whole.pure
        bare = cls(whole=figure, concentrated=concentrated, deviation=1.0)
        law = roles.check.law((block,), unit, bare.price(REFERENCE))
        return cls(whole=figure, concentrated=concentrated, deviation=law.deviation * REFERENCE**bare.power)

    @property
    def power(self) -> float:
        return 0.5 if self.concentrated else 1.0

    def price(self, share: float) -> Price:
        """At most `share` of the whole."""
        figure = self.whole * max(1, int(share * FINEST)) / FINEST
        return Price(rho=figure) if self.concentrated else Price(epsilon=figure)

    def bought(self, share: float) -> float:
        """The deviation that a share buys."""
        return float(self.deviation / max(share, 1.0 / FINEST) ** self.power)

    def together(self, first: float, second: float) -> float:
        """The deviation of the inverse-variance mean of two measurements at these shares."""
        shares = [share for share in (first, second) if share > 0.0]
        return float(sum(self.bought(share) ** -2.0 for share in shares) ** -0.5)

    def share(self, deviation: float) -> float:
        """The share that buys a deviation; it may be more than there is."""
        return float((self.deviation / deviation) ** (1.0 / self.power))

    def selection(self, temperature: float) -> float:
        """The share of a selection whose odds fall e-fold where scores (of sensitivity 1) differ by `temperature`."""
        epsilon = 2.0 / temperature
        return epsilon**2 / 8 / float(self.whole) if self.concentrated else epsilon / float(self.whole)

    def split(self, share: float, costs: Sequence[float], spent: Sequence[float] = ()) -> list[float]:
        """Shares of `share` that minimise sum cost times deviation: in the ratio cost^(1 / (1 + power)).

        spent: shares that went to the same before. In rho what they bought adds up with the new shares, so it is the
        sums that come as near to that ratio as they can; in epsilon a smaller share adds next to nothing to a larger
        one, and nothing is counted.
        """
        if not costs:
            return []
        parts = np.array(costs) ** (1.0 / (1.0 + self.power))
        before = np.array(spent) if len(spent) and self.concentrated else np.zeros(parts.size)
        chosen = np.ones(parts.size, dtype=bool)
        while True:
            level = (share + before[chosen].sum()) / parts[chosen].sum()
            shares = np.where(chosen, level * parts - before, 0.0)
            if (shares >= 0.0).all():
                return [float(each) for each in ROUNDING * shares]
            chosen &= shares > 0.0
