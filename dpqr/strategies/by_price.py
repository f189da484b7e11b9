"""By price: a check and a distinguisher for prices in pure epsilon, and others for those in rho or mu^2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpqr.data.histogram import Counts
from dpqr.data.unit import PrivacyUnit
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.mechanisms.scores import Scores
from dpqr.noise.law import NoiseLaw
from dpqr.privacy.budget import Price
from dpqr.privacy.events import PrivacyEvent
from dpqr.privacy.gate import Mechanism
from dpqr.strategies.checks import Check, gap
from dpqr.strategies.distinguishers import Distinguisher
from dpqr.workload.block import QueryBlock
from dpqr.workload.workload import Measurement


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckByPrice:
    """few: takes prices in epsilon. many: takes all others.

    >>> from dpqr.strategies.checks import Gaussian, Laplace
    >>> check = CheckByPrice(few=Laplace(), many=Gaussian())
    >>> check.event((QueryBlock(name="records"),), PrivacyUnit(), Price(epsilon=Fraction(1, 2))).scale
    Fraction(2, 1)
    """

    few: Check
    many: Check

    @property
    def name(self) -> str:
        return f"{self.few.name} or {self.many.name}"

    @property
    def pure(self) -> bool:
        return False

    def mechanism(
        self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price
    ) -> Mechanism[Counts, Measurement]:
        return self._of(price).mechanism(blocks, unit, price)

    def law(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> NoiseLaw:
        return self._of(price).law(blocks, unit, price)

    def event(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> PrivacyEvent:
        return self._of(price).event(blocks, unit, price)

    def satisfied(self, measured: Measurement, hypothesis: Hypothesis, threshold: Fraction) -> bool:
        return gap(measured, hypothesis) < threshold

    def _of(self, price: Price) -> Check:
        return self.many if price.epsilon is None else self.few


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DistinguisherByPrice:
    """few: takes prices in epsilon. many: takes all others.

    >>> from dpqr.strategies.distinguishers import Exponential, PermuteAndFlip
    >>> DistinguisherByPrice(few=PermuteAndFlip(), many=Exponential()).name
    'permute-and-flip or exponential'
    """

    few: Distinguisher
    many: Distinguisher

    @property
    def name(self) -> str:
        return f"{self.few.name} or {self.many.name}"

    def mechanism(self, scores: Scores, unit: PrivacyUnit, price: Price) -> Mechanism[Counts, int]:
        return self._of(price).mechanism(scores, unit, price)

    def event(self, price: Price) -> PrivacyEvent:
        return self._of(price).event(price)

    def shortfall(self, candidates: int, sensitivity: int, price: Price, gamma: Fraction) -> float:
        return self._of(price).shortfall(candidates, sensitivity, price, gamma)

    def _of(self, price: Price) -> Distinguisher:
        return self.many if price.epsilon is None else self.few
