"""Block errors: noisy L1 errors of a hypothesis' answers, block by block or group by group, after the last refit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from msgspec import Struct

from dpqr.domain.histogram import RECORDS, Counts
from dpqr.kernel.arrays import AnyArray, FloatArray, IntArray
from dpqr.kernel.budget import Price
from dpqr.kernel.events import DiscreteLaplaceEvent
from dpqr.kernel.noise.discrete_laplace import LARGEST_SCALE, DiscreteLaplace
from dpqr.kernel.noise.source import NoiseSource
from dpqr.kernel.unit import PrivacyUnit
from dpqr.mechanisms.noisy_answers import (
    GaussianEvent,
    GaussianLaw,
    gaussian_event,
    gaussian_law,
    refuse_beyond,
    refuse_noise,
    refuse_variance,
)
from dpqr.mechanisms.selection import largest_total
from dpqr.workload.block import QueryBlock
from dpqr.workload.related_blocks import all_answers, stack_blocks
from dpqr.workload.sensitivity import Norm, sensitivity
from dpqr.workload.workload import round_answers

Groups = tuple[tuple[QueryBlock, ...], ...]


FINENESS = 64
"""Answers of a hypothesis are rounded to this part of a block's grid, so that rounding hides no error."""


def error_unit(block: QueryBlock, unit: PrivacyUnit) -> int:
    """How far one record, or person, moves the block's L1 error at most, in units of its grid; never below 1."""
    return max(1, sensitivity((block,), Norm.L1, unit))


def fine_answers(answers: FloatArray) -> IntArray:
    """A hypothesis' answers, in units of their blocks' grids, rounded to 1 / FINENESS of these; of the same shape."""
    return round_answers(answers * FINENESS, 2**61 // max(len(answers), 1))


@final
class GroupErrors(Struct, frozen=True, kw_only=True, eq=False):
    """One integer for each group of blocks: the sum, or the largest, of floor(e / d) over its blocks.

    e: the block's L1 error, in units of 1 / FINENESS of its grid. d: its `error_unit`.
    groups: disjoint and public; they may depend on anything that was released. expected: the hypothesis' answers to
    all blocks, group by group, as `fine_answers`, shape (answers,); None: not known yet, in a plan. largest: whether
    the largest error stands for a group, and not the sum. records: declared cap on the number of records.

    Raises:
        InfeasiblePlan: a sum could reach 2^62.

    Privacy:
        Neighbours: those of `unit`. e_b = |F q_b(x) - expected_b|_1 with F = FINENESS is an integer, for all its terms
        are, and no rounding depends on x. Between neighbours it moves, by the triangle inequality, by at most F times
        the L1 change d_b of the block's true answers, which is its `error_unit`: add-remove 1 for a marginal, in
        general the largest column L1 norm; at most twice that under replace; K times where a person has K rows
        (`sensitivity`). So e_b / d_b moves by at most F, and so does its floor, for floor(y + F) = floor(y) + F.
        A sum over k blocks moves by at most k F, and the largest of them by at most F. One record may move all groups
        at once, so the change in L1 is at most the sum of these, and in squared L2 the sum of their squares: in units
        of F, m for m groups of one block each, and m.
        Statement P5 of the guide's topic proofs.

    >>> from dpqr.domain.histogram import DenseHistogram
    >>> from dpqr.workload.block import Factor
    >>> sex = QueryBlock(name="sex", factors=(Factor.identity(0, 2),))
    >>> five = fine_answers(np.array([5.0, 5.0]))
    >>> errors = GroupErrors(groups=((sex,),), expected=five, unit=PrivacyUnit())
    >>> errors.evaluate(DenseHistogram(np.array([8, 2]))) / FINENESS, errors.changes
    (array([6.]), (64,))
    """

    groups: Groups
    expected: IntArray | None
    unit: PrivacyUnit
    largest: bool = False
    records: int = RECORDS

    def __post_init__(self) -> None:
        blocks, totals = self.blocks, np.zeros(1)
        if self.expected is not None:
            totals = self.by_block(np.abs(self.expected).astype(np.float64)) * 1.001
        known = zip(blocks, np.broadcast_to(totals, len(blocks)), strict=True)
        # A block's sum |true| is at most the records times the largest column.
        reached = {block: FINENESS * largest_total((block,), self.records) + int(total) + 1 for block, total in known}
        for group in self.groups:
            refuse_beyond(sum(reached[block] for block in group), group[0].name, self.records)

    @property
    def blocks(self) -> tuple[QueryBlock, ...]:
        return tuple(block for group in self.groups for block in group)

    def by_block(self, figures: AnyArray) -> AnyArray:
        """Sums of figures, one an answer, over the answers of each block; shape (blocks,)."""
        return np.add.reduceat(figures, _starts([block.rows for block in self.blocks]))

    @property
    def changes(self) -> tuple[int, ...]:
        """How far one unit moves each group's integer at most."""
        return tuple(FINENESS * (1 if self.largest else len(group)) for group in self.groups)

    def evaluate(self, counts: Counts) -> IntArray:
        """Return the integers, int64, shape (groups,); private."""
        assert self.expected is not None, "a plan draws nothing"
        blocks = self.blocks
        counts.prefetch([block.axes for block in stack_blocks(blocks).blocks])
        apart = np.abs(FINENESS * all_answers(blocks, lambda block: block.answer(counts)) - self.expected)
        errors = self.by_block(apart) // np.array([error_unit(block, self.unit) for block in blocks], dtype=np.int64)
        together = np.maximum if self.largest else np.add
        return together.reduceat(errors, _starts([len(group) for group in self.groups]))


def _starts(sizes: Sequence[int]) -> IntArray:
    """Where each of several parts of these sizes begins."""
    return np.cumsum([0, *sizes[:-1]], dtype=np.int64)


@final
class LaplaceErrors(Struct, frozen=True, kw_only=True, eq=False):
    """`errors` plus independent discrete Laplace noise of one scale.

    Privacy:
        The integers move by at most s = sum of `errors.changes` in L1 (`GroupErrors`), so the draw is (s / scale)-DP:
        Ghosh, Roughgarden and Sundararajan 2009; Dwork and Roth 2014, Theorem 3.6. The hypothesis is public: it is a
        function of what was released before.

    >>> everybody = QueryBlock(name="all")
    >>> errors = GroupErrors(groups=((everybody,),), expected=np.array([5]), unit=PrivacyUnit())
    >>> LaplaceErrors(errors=errors, scale=Fraction(128)).event
    DiscreteLaplaceEvent(sensitivity=64, scale=Fraction(128, 1), coordinates=None)
    """

    errors: GroupErrors
    scale: Fraction

    def __post_init__(self) -> None:
        refuse_noise(self.scale, LARGEST_SCALE, "a scale of")

    @property
    def law(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale)

    @property
    def event(self) -> DiscreteLaplaceEvent:
        return DiscreteLaplaceEvent(sensitivity=sum(self.errors.changes), scale=self.scale)

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        errors = self.errors.evaluate(value)
        return errors + self.law.sample(len(errors), noise)


@final
class GaussianErrors(Struct, frozen=True, kw_only=True, eq=False):
    """`errors` plus independent discrete Gaussian noise of one variance, or rounded normal noise.

    Privacy:
        The integers move by at most s^2 = sum of squares of `errors.changes` in squared L2 (`GroupErrors`), so the draw
        is s^2 / (2 variance)-zCDP: Canonne, Kamath and Steinke 2020, Theorem 14; rounded, it is (s /
        sqrt(variance))-GDP too (`RoundedGaussian`).

    >>> everybody = QueryBlock(name="all")
    >>> errors = GroupErrors(groups=((everybody,),), expected=np.array([5]), unit=PrivacyUnit())
    >>> GaussianErrors(errors=errors, variance=Fraction(9)).event
    DiscreteGaussianEvent(squared_sensitivity=4096, variance=Fraction(9, 1))
    """

    errors: GroupErrors
    variance: Fraction
    rounded: bool = False

    def __post_init__(self) -> None:
        refuse_variance(self.variance, rounded=self.rounded)

    @property
    def law(self) -> GaussianLaw:
        return gaussian_law(self.variance, rounded=self.rounded)

    @property
    def event(self) -> GaussianEvent:
        return gaussian_event(self.law, sum(change * change for change in self.errors.changes))

    def sample(self, value: Counts, noise: NoiseSource) -> IntArray:
        errors = self.errors.evaluate(value)
        return errors + self.law.sample(len(errors), noise)


def noisy_errors(errors: GroupErrors, price: Price) -> LaplaceErrors | GaussianErrors:
    """The draw that costs `price`: Gaussian noise where it is counted in rho (discrete) or in mu^2 (rounded), Laplace
    noise where in pure epsilon.

    Raises:
        InfeasiblePlan: the price does not buy this noise.
    """
    if price.epsilon is not None:
        return LaplaceErrors(errors=errors, scale=Fraction(sum(errors.changes)) / price.pure)
    squared = sum(change * change for change in errors.changes)
    variance = Fraction(squared) / (2 * price.concentrated)
    return GaussianErrors(errors=errors, variance=variance, rounded=price.squared_mu is not None)
