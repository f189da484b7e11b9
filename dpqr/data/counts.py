"""Counts: whatever can give the marginals of a histogram database."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

from dpqr.data.arrays import AnyArray, Axes, IntArray


class MarginalSource(Protocol):
    """Anything that linear queries can be evaluated on: a histogram, or a hypothesis that has marginals."""

    def marginal(self, axes: Axes) -> AnyArray:
        """The tensor of sums over all other attributes, shape = sizes of `axes` in that order; () for the total."""
        ...


class Counts(Protocol):
    """A histogram database: record counts over a domain. The private value behind the gate."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Prepare these marginals together, in few passes over the data."""
        ...

    def marginal(self, axes: Axes) -> IntArray:
        """Exact record counts, int64, shape = sizes of `axes` in that order; () for the number of records."""
        ...

    def recalled(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        """What `answer` gives, kept beside the counts and never worked out twice: rounds ask the same questions."""
        ...
