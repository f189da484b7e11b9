"""Gaussian: a check with lighter tails, for accountants that count in rho."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpqr.data.unit import PrivacyUnit
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.mechanisms.noisy_answers import GaussianAnswers, answers_sensitivity
from dpqr.noise.discrete_gaussian import DiscreteGaussian
from dpqr.privacy.budget import Price
from dpqr.privacy.events import DiscreteGaussianEvent
from dpqr.strategies.checks.gap import gap
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm
from dpqr.workload.workload import Measurement


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian:
    """Discrete Gaussian noise of variance (squared L2 sensitivity of the blocks together) / (2 rho)."""

    @property
    def name(self) -> str:
        return "gaussian"

    @property
    def pure(self) -> bool:
        return False

    def mechanism(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> GaussianAnswers:
        asked = tuple(blocks)
        squared = answers_sensitivity(asked, Norm.L2_SQUARED, unit)
        return GaussianAnswers(blocks=asked, unit=unit, variance=squared / (2 * price.concentrated))

    def law(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> DiscreteGaussian:
        return self.mechanism(blocks, unit, price).law

    def event(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> DiscreteGaussianEvent:
        return self.mechanism(blocks, unit, price).event

    def satisfied(self, measured: Measurement, hypothesis: Hypothesis, threshold: Fraction) -> bool:
        return gap(measured, hypothesis) < threshold
