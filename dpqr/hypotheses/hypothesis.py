"""Hypothesis: "any data structure on which the queries can be evaluated" (Dwork and Roth 2014, section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from dpqr.data.arrays import Axes, CodeArray, FloatArray
from dpqr.data.facts import Region
from dpqr.workload.block import QueryBlock


class Hypothesis(Protocol):
    """A public guess at the histogram database."""

    @property
    def total(self) -> float:
        """Number of records that the hypothesis stands for."""
        ...

    def answer(self, block: QueryBlock) -> FloatArray:
        """Answers in units of the block's grid (records, not fractions), shape (block.rows,)."""
        ...


@runtime_checkable
class Sampleable(Hypothesis, Protocol):
    """A hypothesis that is a distribution over cells, so that synthetic records can be drawn from it."""

    def weights(self) -> FloatArray:
        """Records a cell, shape = domain shape, non-negative; InfeasiblePlan where the domain is too large to list."""
        ...

    def rows(self, count: int, seed: int) -> CodeArray:
        """`count` synthetic records drawn with public randomness from `seed`; cell codes, shape (count, attributes)."""
        ...


@runtime_checkable
class Settling(Sampleable, Protocol):
    """A hypothesis whose rows alone know less than its answers."""

    def settle(self, codes: CodeArray, groups: Sequence[Axes], fixed: Sequence[Region]) -> int:
        """Move its rows, in place, so that their tables over the groups come near to its answers; how many values are
        others than before.

        fixed: regions that no record enters or leaves.
        """
        ...


@runtime_checkable
class Prefetching(Hypothesis, Protocol):
    """A hypothesis that answers many blocks faster when it knows of them beforehand."""

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Prepare the marginals over these groups of attributes, all together."""
        ...


@runtime_checkable
class Unbiased(Hypothesis, Protocol):
    """A hypothesis whose answers are right on average, with a known spread: as good as measured ones."""

    def deviations(self, block: QueryBlock) -> FloatArray | None:
        """Standard deviation of every answer, in units of the block's grid, shape (block.rows,); None: not known."""
        ...


@runtime_checkable
class Clippable(Hypothesis, Protocol):
    """A hypothesis whose answers can lie outside what any database could give; the loop needs them as they are."""

    def clipped(self) -> Hypothesis:
        """What a release shows: every answer moved to the nearest one that `total` records could give."""
        ...


def prepare(hypothesis: Hypothesis, blocks: Sequence[QueryBlock]) -> None:
    """Tell a hypothesis which blocks it will be asked for next, if it wants to know."""
    if isinstance(hypothesis, Prefetching):
        hypothesis.prefetch([block.axes for block in blocks])
