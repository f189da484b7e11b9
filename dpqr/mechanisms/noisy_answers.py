"""Noisy answers: exact integer answers of blocks plus independent exact integer noise; counts of dropped records.

Public limits keep every private sum inside int64. They bound the answers of any table of at most `records` records and
are checked before data is opened. A sum that wrapped around could change by 2^64 between neighbours; a check of the
true sum would itself be a release.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Generic, TypeVar, final

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import RECORDS, Counts
from dpqr.kernel.arrays import IntArray
from dpqr.kernel.errors import BudgetRefused, InfeasiblePlan
from dpqr.kernel.events import DiscreteGaussianEvent, DiscreteLaplaceEvent, LeftOutEvent, RoundedGaussianEvent
from dpqr.kernel.gate import Mechanism
from dpqr.kernel.noise.discrete_laplace import LARGEST_SCALE, DiscreteLaplace
from dpqr.kernel.noise.gaussian import LARGEST_VARIANCE, SMALLEST_VARIANCE, DiscreteGaussian, RoundedGaussian
from dpqr.kernel.noise.law import NoiseLaw
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.unit import PrivacyUnit
from dpqr.workload.block import QueryBlock
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.workload import Measurement

CEILING = 2**62
"""No answer and no score may reach it, so that the difference of any two fits into int64."""


def largest_answer(block: QueryBlock, records: int) -> int:
    """Return a bound on |answer| of one query: sum of count times |coefficient| <= records times the largest."""
    return records * block.largest_coefficient


def refuse_beyond(bound: int | Fraction, name: str, records: int) -> None:
    """Raise InfeasiblePlan if a figure of the block `name` could reach CEILING."""
    if bound >= CEILING:
        raise InfeasiblePlan(
            f"query {name!r}: its exact integers could reach 2^62 on {records} records; "
            "round its coefficients, or the edges of its bins, to a coarser grid"
        )


def refuse_noise(parameter: Fraction, largest: int, words: str, smallest: Fraction = Fraction(0)) -> None:
    """Raise InfeasiblePlan unless 0 < parameter and smallest <= parameter <= largest, the exact sampler's range."""
    if not 0 < parameter <= largest or parameter < smallest:
        span = f"[{float(smallest):.3g}, {largest:.3g}]" if smallest else f"(0, {largest:.3g}]"
        raise InfeasiblePlan(
            f"the noise would need {words} {float(parameter):.3g} grid units, and {span} is possible; "
            "raise --eps or round the coefficients, or the edges of bins, to a coarser grid"
        )


@final
class LaplaceAnswers(Struct, frozen=True, kw_only=True):
    """Answers of `blocks` together, each entry plus discrete Laplace noise Pr[k] proportional to exp(-|k| / scale).

    scale: in units of the blocks' grids. records: declared cap on the number of records.

    >>> count = QueryBlock(name="all")
    >>> LaplaceAnswers(blocks=(count,), unit=PrivacyUnit(), scale=Fraction(2)).event
    DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(2, 1), coordinates=1)

    Raises:
        InfeasiblePlan: an answer on that many records could reach 2^62, or the scale is out of range.

    Privacy:
        Neighbours: those of `unit`. The answers are integers (integer matrix times integer counts, no rounding), and
        all of them together move by at most s = `answers_sensitivity(blocks, Norm.L1, unit)` in L1. *Add-remove:* one
        record adds or removes one column of the stacked matrix, s is the largest column L1 norm. *Replace:* one column
        is replaced by another, s is the largest L1 distance of two columns, a dropped record's zeros among them (a
        marginal 2, one 0/1 query 1). Then Pr[output | x] / Pr[output | x'] = exp(sum (|o - a'| - |o - a|) / scale)
        <= exp(s / scale) entry by entry: (s / scale)-DP, attained. Discrete Laplace ("geometric") mechanism: Ghosh,
        Roughgarden and Sundararajan 2009; Dwork and Roth 2014, Theorem 3.6. Arithmetic: exact, the sampler's law is the
        stated one.
    """

    blocks: tuple[QueryBlock, ...]
    unit: PrivacyUnit
    scale: Fraction
    records: int = RECORDS

    def __post_init__(self) -> None:
        refuse_overflow(self.blocks, self.records)
        refuse_noise(self.scale, LARGEST_SCALE, "a scale of")

    @property
    def law(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale)

    @property
    def event(self) -> DiscreteLaplaceEvent:
        alone = sum(block.rows for block in self.blocks) == 1
        return DiscreteLaplaceEvent(
            sensitivity=answers_sensitivity(self.blocks, Norm.L1, self.unit),
            scale=self.scale,
            coordinates=1 if alone else None,
        )

    def sample(self, value: Counts, noise: NoiseSource) -> Measurement:
        return _measured(self.blocks, self.law, value, noise)


@final
class GaussianAnswers(Struct, frozen=True, kw_only=True):
    """Answers of `blocks` together, each plus discrete Gaussian noise Pr[k] proportional to exp(-k^2 / (2 variance)),
    or rounded normal noise of that variance.

    variance: in squared units of the blocks' grids. rounded: which law. records: declared cap on the number of records.

    >>> count = QueryBlock(name="all")
    >>> GaussianAnswers(blocks=(count,), unit=PrivacyUnit(), variance=Fraction(9)).event
    DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(9, 1))

    Raises:
        InfeasiblePlan: an answer on that many records could reach 2^62, or the variance is out of range.

    Privacy:
        Neighbours: those of `unit`. The answers are integers; all of them together move by at most
        s^2 = `answers_sensitivity(blocks, Norm.L2_SQUARED, unit)` in squared L2. *Add-remove:* one record adds or
        removes one column, s^2 is the largest squared column norm. *Replace:* one column is replaced by another, s^2 is
        the largest squared distance of two columns, a dropped record's zeros among them (a marginal 2). Renyi
        divergences of order a between neighbours are at most a s^2 / (2 variance), so the draw is
        s^2 / (2 variance)-zCDP: Canonne, Kamath and Steinke 2020, Theorem 14. It is not pure DP, and no curve of the
        continuous Gaussian is claimed for the discrete law. Integers plus rounded normal noise are integers plus normal
        noise, rounded: so the rounded law is (s / sqrt(variance))-GDP too (`RoundedGaussian`; Dong, Roth and Su 2019,
        Theorem 2.7). Arithmetic: exact.
    """

    blocks: tuple[QueryBlock, ...]
    unit: PrivacyUnit
    variance: Fraction
    rounded: bool = False
    records: int = RECORDS

    def __post_init__(self) -> None:
        refuse_overflow(self.blocks, self.records)
        refuse_variance(self.variance, rounded=self.rounded)

    @property
    def law(self) -> GaussianLaw:
        return gaussian_law(self.variance, rounded=self.rounded)

    @property
    def event(self) -> GaussianEvent:
        return gaussian_event(self.law, answers_sensitivity(self.blocks, Norm.L2_SQUARED, self.unit))

    def sample(self, value: Counts, noise: NoiseSource) -> Measurement:
        return _measured(self.blocks, self.law, value, noise)


GaussianLaw = DiscreteGaussian | RoundedGaussian
GaussianEvent = DiscreteGaussianEvent | RoundedGaussianEvent


def refuse_variance(variance: Fraction, *, rounded: bool) -> None:
    """Raise InfeasiblePlan for Gaussian noise that cannot be drawn exactly."""
    refuse_noise(variance, LARGEST_VARIANCE, "a variance of", SMALLEST_VARIANCE if rounded else Fraction(0))


def gaussian_law(variance: Fraction, *, rounded: bool) -> GaussianLaw:
    """Return the law of integer Gaussian noise: rounded normal, or discrete."""
    return RoundedGaussian(variance) if rounded else DiscreteGaussian(variance)


def gaussian_event(law: GaussianLaw, squared: int) -> GaussianEvent:
    """Return the event of independent draws of one law on integers of that squared L2 sensitivity."""
    if isinstance(law, RoundedGaussian):
        return RoundedGaussianEvent(squared_sensitivity=squared, variance=law.variance)
    return DiscreteGaussianEvent(squared_sensitivity=squared, variance=law.variance)


def answers_sensitivity(blocks: tuple[QueryBlock, ...], norm: Norm, unit: PrivacyUnit) -> int:
    """Return the sensitivity to which noise is scaled, at least 1.

    Queries without a non-zero coefficient have sensitivity 0. They are treated as if it were 1, for there is no noise
    of scale 0.
    """
    return max(1, sensitivity(blocks, norm, unit))


def refuse_overflow(blocks: tuple[QueryBlock, ...], records: int = RECORDS) -> None:
    """Raise InfeasiblePlan where an answer could reach 2^62. Final answers only: int64 sums are exact modulo 2^64."""
    for block in blocks:
        refuse_beyond(largest_answer(block, records), block.name, records)


def _measured(blocks: tuple[QueryBlock, ...], law: NoiseLaw, counts: Counts, noise: NoiseSource) -> Measurement:
    """Add one draw to every entry of every block.

    If answer + noise leaves int64 it wraps around, by the same function on all databases: post-processing.
    """
    counts.prefetch([block.axes for block in blocks])
    draws = law.sample(sum(block.rows for block in blocks), noise)
    ends = np.cumsum([block.rows for block in blocks])[:-1]
    pieces: list[IntArray] = np.split(draws, ends)
    values = tuple(block.answer(counts) + piece for block, piece in zip(blocks, pieces, strict=True))
    return Measurement(blocks=blocks, values=values, law=law)


In = TypeVar("In")
Out = TypeVar("Out")


@final
class DroppedRecordsMechanism(Struct, Generic[In, Out], frozen=True, kw_only=True):
    """`inner` on the left-out records, for units that lie in one part each (`PrivacyUnit.apart`).

    Privacy:
        See `in_parallel`, which prices the event and proves it.
    """

    inner: Mechanism[In, Out]

    @property
    def event(self) -> LeftOutEvent:
        event = self.inner.event
        if isinstance(event, LeftOutEvent):
            raise BudgetRefused("a draw is from left-out records once; nothing was drawn")
        return LeftOutEvent(event=event)

    def sample(self, value: In, noise: NoiseSource) -> Out:
        return self.inner.sample(value, noise)


def for_dropped_records(mechanism: Mechanism[In, Out], unit: PrivacyUnit) -> Mechanism[In, Out]:
    """Return `mechanism` as it is charged on left-out records.

    It is charged in parallel with all other draws where `unit.apart`, and in addition to them otherwise.
    """
    return DroppedRecordsMechanism(inner=mechanism) if unit.apart else mechanism
