"""Hypothesis: "any data structure on which the queries can be evaluated" (Dwork and Roth 2014, section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dpqr.data.arrays import Axes, CodeArray, FloatArray
from dpqr.workload.block import QueryBlock


class Hypothesis(Protocol):
    """A public model of the histogram database."""

    @property
    def total(self) -> float:
        """Number of records that the hypothesis stands for."""
        ...

    def answer(self, block: QueryBlock) -> FloatArray:
        """Return answers in units of the block's grid (records, not fractions), shape (block.rows,)."""
        ...


@runtime_checkable
class Sampleable(Hypothesis, Protocol):
    """A hypothesis that is a distribution over cells, from which synthetic records can be drawn."""

    def weights(self) -> FloatArray:
        """Return records per cell, shape = domain shape, non-negative; InfeasiblePlan if that is too large to list."""
        ...

    def rows(self, count: int, seed: int) -> CodeArray:
        """Draw `count` synthetic records from the public `seed`; cell codes, shape (count, attributes)."""
        ...


@runtime_checkable
class Prefetching(Hypothesis, Protocol):
    """A hypothesis that answers many blocks faster if they are announced."""

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Compute and cache the marginals over these groups of attributes together."""
        ...


@runtime_checkable
class Unbiased(Hypothesis, Protocol):
    """A hypothesis whose answers are unbiased, with a known standard deviation."""

    def deviations(self, block: QueryBlock) -> FloatArray | None:
        """Return the standard deviation of every answer, in units of the block's grid, shape (block.rows,), or None."""
        ...


@runtime_checkable
class Clippable(Hypothesis, Protocol):
    """A hypothesis whose answers can lie outside the range of any database; the loop needs them unclipped."""

    def clipped(self) -> Hypothesis:
        """Return the hypothesis of the release: every answer clipped to the range of `total` records."""
        ...


def prepare(hypothesis: Hypothesis, blocks: Sequence[QueryBlock]) -> None:
    """Announce to a hypothesis the blocks that it will answer next, if it can prefetch."""
    if isinstance(hypothesis, Prefetching):
        hypothesis.prefetch([block.axes for block in blocks])
