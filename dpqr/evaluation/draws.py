"""Draws: a few mechanisms in a row, through the gate."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dpqr.data.histogram import Counts
from dpqr.evaluation.claim import Claim
from dpqr.evaluation.outcomes import Numbers, Shown
from dpqr.noise.source import NoiseSource
from dpqr.privacy.accountant import Accountant
from dpqr.privacy.accountants.filters import SumFilter, require_pure
from dpqr.privacy.accountants.losses import concentrated_rho
from dpqr.privacy.events import Composition, PrivacyEvent, in_parallel
from dpqr.privacy.gate import Mechanism, measure
from dpqr.privacy.sealed import Private
from dpqr.workload.workload import Measurement


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Draws:
    """The mechanisms are drawn from one after the other; all that they release is the outcome.

    delta: 0 claims the sum of their pure epsilons; above 0 the sum of their rhos and its conversion at delta, or where
    an accountant is given what its theorem proves for them at delta.
    """

    mechanisms: tuple[Mechanism[Counts, Any], ...]
    delta: Fraction = Fraction(0)
    accountant: Accountant | None = None
    _limit: Fraction = field(init=False, repr=False)

    def __post_init__(self) -> None:
        groups = (sum((self.cost(event) for event, _ in group), Fraction(0)) for group in in_parallel(self.events))
        object.__setattr__(self, "_limit", max(groups))

    @property
    def events(self) -> Composition:
        return tuple((mechanism.event, 1) for mechanism in self.mechanisms)

    @property
    def claim(self) -> Claim:
        if self.accountant is not None:
            return Claim.proved(self.accountant, self.events, self.delta)
        return Claim.concentrated(self.events, self.delta) if self.delta else Claim.pure(self.events)

    def run(self, database: Private[Counts], noise: NoiseSource) -> Shown:
        guard = self.guard()
        released: list[int] = []
        for mechanism in self.mechanisms:
            released += numbers(measure(database, mechanism, accountant=guard, noise=noise).value)
        return (), tuple(released), ()

    def cost(self, event: PrivacyEvent) -> Fraction:
        """What one of the events is charged."""
        return concentrated_rho(event) if self._in_rho else require_pure(event)

    def guard(self) -> SumFilter:
        """Admits these draws once."""
        return SumFilter(limit=self._limit, cost=self.cost, unit="rho" if self._in_rho else "epsilon")

    @property
    def _in_rho(self) -> bool:
        return self.delta > 0 and self.accountant is None


def numbers(released: int | Measurement) -> Numbers:
    """A choice's index, or every noisy answer, block after block."""
    if isinstance(released, Measurement):
        return tuple(number for values in released.values for number in values.tolist())
    return (released,)
