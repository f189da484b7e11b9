"""Checks: the noisy answer to the selected queries, and the stop test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, final

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import Counts
from dpqr.kernel.budget import Price
from dpqr.kernel.events import DiscreteLaplaceEvent, PrivacyEvent
from dpqr.kernel.gate import Mechanism
from dpqr.kernel.noise.discrete_laplace import LARGEST_SCALE, DiscreteLaplace
from dpqr.kernel.noise.gaussian import SMALLEST_VARIANCE, RoundedGaussian
from dpqr.kernel.noise.law import NoiseLaw
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.noisy_answers import (
    GaussianAnswers,
    GaussianEvent,
    GaussianLaw,
    LaplaceAnswers,
    answers_sensitivity,
    gaussian_law,
    refuse_noise,
    refuse_overflow,
    refuse_variance,
)
from dpqr.models.hypothesis import Hypothesis
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm
from dpqr.workload.workload import Measurement, round_answers


class Check(Protocol):
    """Makes the mechanism of one noisy measurement of blocks, and tests its answers.

    The mechanism reads private data behind the gate, so a third party's check needs `--trust`.
    """

    @property
    def name(self) -> str: ...

    @property
    def pure(self) -> bool:
        """Whether its draws are epsilon-DP (Laplace); otherwise they are only concentrated (Gaussian)."""
        ...

    def mechanism(
        self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price
    ) -> Mechanism[Counts, Measurement]:
        """One draw of all answers of the blocks that costs at most `price`.

        Raises:
            InfeasiblePlan: the price does not buy this noise.

        Privacy:
            The scale follows from the sensitivity of the blocks together, for neighbours under `unit`.
        """
        ...

    def law(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> NoiseLaw:
        """The noise of every answer, in units of the blocks' grids."""
        ...

    def event(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> PrivacyEvent:
        """The privacy event of a draw at `price`."""
        ...

    def satisfied(self, measured: Measurement, hypothesis: Hypothesis, threshold: Fraction) -> bool:
        """The stop test: whether `gap` is below `threshold`.

        Args:
            threshold: in records.

        Privacy:
            Post-processing of released values.
        """
        ...


CACHED = 2**10
"""Number of cached noise laws."""
LIMIT = 2**61
"""Bound on rounded answers of a hypothesis: no sum overflows, and no answer is infinite."""


def gap(measured: Measurement, hypothesis: Hypothesis) -> Fraction:
    """Distance of the released answers from the hypothesis: sum |v - f(D)| over all measured queries.

    f(D) is rounded to the block's grid first; the arithmetic is exact, on integers and rationals.

    Returns:
        Records; for one query |v - f(D)|.

    Privacy:
        Post-processing of released values.
    """
    total = Fraction(0)
    for block, values in zip(measured.blocks, measured.values, strict=True):
        apart = values.astype(object) - round_answers(hypothesis.answer(block), LIMIT).astype(object)
        total += block.scale * int(np.abs(apart).sum())
    return total


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace:
    """Discrete Laplace noise of scale (L1 sensitivity of the blocks together) / epsilon.

    A price in rho buys epsilon = sqrt(2 rho).

    >>> Laplace().event((QueryBlock(name="records"),), PrivacyUnit(), Price(epsilon=Fraction(1, 2))).scale
    Fraction(2, 1)

    References:
        Dwork and Roth 2014, Theorem 3.6.
    """

    @property
    def name(self) -> str:
        return "laplace"

    @property
    def pure(self) -> bool:
        return True

    def mechanism(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> LaplaceAnswers:
        return LaplaceAnswers(blocks=tuple(blocks), unit=unit, scale=self.law(blocks, unit, price).scale)

    def law(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> DiscreteLaplace:
        measured = tuple(blocks)
        refuse_overflow(measured)
        return _laplace_law(answers_sensitivity(measured, Norm.L1, unit), price)

    def event(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> DiscreteLaplaceEvent:
        return self.mechanism(blocks, unit, price).event

    def satisfied(self, measured: Measurement, hypothesis: Hypothesis, threshold: Fraction) -> bool:
        return gap(measured, hypothesis) < threshold


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian:
    """Gaussian noise of variance (squared L2 sensitivity of the blocks together) / (2 rho), rho being mu^2 / 2.

    At a price in rho it is the discrete law, at one in mu^2 the rounded normal one, which has the exact curve (and a
    variance of at least 1/64, which may cost less than the price). Its tails are lighter than Laplace's.

    >>> Gaussian().event((QueryBlock(name="records"),), PrivacyUnit(), Price(rho=Fraction(1, 32))).variance
    Fraction(16, 1)

    References:
        Canonne, Kamath and Steinke 2020, Theorem 4; Balle and Wang 2018, Theorem 8.
    """

    @property
    def name(self) -> str:
        return "gaussian"

    @property
    def pure(self) -> bool:
        return False

    def mechanism(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> GaussianAnswers:
        law = self.law(blocks, unit, price)
        rounded = isinstance(law, RoundedGaussian)
        return GaussianAnswers(blocks=tuple(blocks), unit=unit, variance=law.variance, rounded=rounded)

    def law(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> GaussianLaw:
        measured = tuple(blocks)
        refuse_overflow(measured)
        return _gaussian_law(answers_sensitivity(measured, Norm.L2_SQUARED, unit), price)

    def event(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> GaussianEvent:
        return self.mechanism(blocks, unit, price).event

    def satisfied(self, measured: Measurement, hypothesis: Hypothesis, threshold: Fraction) -> bool:
        return gap(measured, hypothesis) < threshold


@lru_cache(maxsize=CACHED)
def _laplace_law(moved: int, price: Price) -> DiscreteLaplace:
    """Cached: most blocks of a workload have the same sensitivity."""
    scale = moved / price.pure
    refuse_noise(scale, LARGEST_SCALE, "a scale of")
    return DiscreteLaplace(scale)


@lru_cache(maxsize=CACHED)
def _gaussian_law(squared: int, price: Price) -> GaussianLaw:
    """Cached for the same reason."""
    variance, rounded = squared / (2 * price.concentrated), price.squared_mu is not None
    variance = max(variance, SMALLEST_VARIANCE) if rounded else variance
    refuse_variance(variance, rounded=rounded)
    return gaussian_law(variance, rounded=rounded)


@final
class CheckByCurrency(Struct, frozen=True, kw_only=True):
    """The noise that the price's currency names: Laplace at epsilon, Gaussian at rho and at mu^2.

    >>> check = CheckByCurrency()
    >>> check.event((QueryBlock(name="records"),), PrivacyUnit(), Price(epsilon=Fraction(1, 2))).scale
    Fraction(2, 1)
    """

    @property
    def name(self) -> str:
        return "laplace or gaussian"

    @property
    def pure(self) -> bool:
        return False

    def mechanism(
        self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price
    ) -> Mechanism[Counts, Measurement]:
        return _CHECKS[price.currency].mechanism(blocks, unit, price)

    def law(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> NoiseLaw:
        return _CHECKS[price.currency].law(blocks, unit, price)

    def event(self, blocks: Sequence[QueryBlock], unit: PrivacyUnit, price: Price) -> PrivacyEvent:
        return _CHECKS[price.currency].event(blocks, unit, price)

    def satisfied(self, measured: Measurement, hypothesis: Hypothesis, threshold: Fraction) -> bool:
        return gap(measured, hypothesis) < threshold


_CHECKS: Mapping[str, Check] = {"epsilon": Laplace(), "rho": Gaussian(), "squared_mu": Gaussian()}
