"""Laplace: the source's check, a noisy answer that is pure eps-DP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpqr.data.unit import PrivacyUnit
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.mechanisms.noisy_answers import LaplaceAnswers, answers_sensitivity
from dpqr.noise.discrete_laplace import DiscreteLaplace
from dpqr.privacy.budget import Price
from dpqr.privacy.events import DiscreteLaplaceEvent
from dpqr.strategies.checks.gap import gap
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm
from dpqr.workload.workload import Measurement


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace:
    """Discrete Laplace noise of scale (L1 sensitivity of the blocks together) / epsilon; rho buys sqrt(2 rho)."""

    @property
    def name(self) -> str:
        return "laplace"

    @property
    def pure(self) -> bool:
        return True

    def mechanism(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> LaplaceAnswers:
        asked = tuple(blocks)
        return LaplaceAnswers(blocks=asked, unit=unit, scale=answers_sensitivity(asked, Norm.L1, unit) / price.pure)

    def law(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> DiscreteLaplace:
        return self.mechanism(blocks, unit, price).law

    def event(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> DiscreteLaplaceEvent:
        return self.mechanism(blocks, unit, price).event

    def satisfied(self, measured: Measurement, hypothesis: Hypothesis, threshold: Fraction) -> bool:
        return gap(measured, hypothesis) < threshold
