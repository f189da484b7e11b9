"""Histogram: the database x in N^|X|, and its protocols.

It is stored as an array of all cells, as the sorted occupied cells, or as the joint counts of a few groups of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dpqr.data.arrays import AnyArray, Axes, IntArray, frozen
from dpqr.data.marginals import dense_marginal, marginals, passes
from dpqr.errors import InfeasiblePlan

RECORDS = 2**36
"""Default cap on the number of records; loaders refuse more."""


@dataclass(frozen=True, slots=True, eq=False)
class DenseHistogram:
    """Counts of every cell, shape = domain shape, int64, read-only.

    Marginals and `cached` answers are cached for later rounds, inside the sealed value.

    >>> table = DenseHistogram(np.array([[1, 2], [3, 4]]))
    >>> table.marginal((1,)).tolist(), int(table.marginal(()))
    ([4, 6], 10)
    """

    counts: IntArray
    _marginals: dict[Axes, IntArray] = field(default_factory=dict, repr=False)
    _answers: dict[Hashable, IntArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", _whole(self.counts))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.counts.shape

    def prefetch(self, groups: Sequence[Axes]) -> None:
        for union, members in passes(self.shape, [axes for axes in groups if axes not in self._marginals]):
            _store_members(self._marginals, dense_marginal(self.counts, union), union, members)

    def marginal(self, axes: Axes) -> IntArray:
        if axes not in self._marginals:
            self._marginals[axes] = frozen(dense_marginal(self.counts, axes))
        return self._marginals[axes]

    def cached(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        return _cached(self._answers, question, answer)


@dataclass(frozen=True, slots=True, eq=False)
class SparseHistogram:
    """Occupied cells only, sorted and distinct; the number m of them is private and never printed.

    codes: one column per attribute, shape (m, d), integers; counts: shape (m,), int64. Both read-only.

    >>> table = SparseHistogram((2, 2), np.array([[0, 1], [1, 1]]), np.array([5, 7]))
    >>> table.marginal((1,)).tolist()
    [0, 12]
    """

    shape: tuple[int, ...]
    codes: AnyArray = field(repr=False)
    counts: IntArray = field(repr=False)
    _marginals: dict[Axes, IntArray] = field(default_factory=dict, repr=False)
    _answers: dict[Hashable, IntArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", frozen(self.codes.view()))
        object.__setattr__(self, "counts", _whole(self.counts))

    def prefetch(self, groups: Sequence[Axes]) -> None:
        for union, members in passes(self.shape, [axes for axes in groups if axes not in self._marginals]):
            _store_members(self._marginals, self._sum(union), union, members)

    def marginal(self, axes: Axes) -> IntArray:
        if axes not in self._marginals:
            self._marginals[axes] = frozen(self._sum(axes))
        return self._marginals[axes]

    def cached(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        return _cached(self._answers, question, answer)

    def _sum(self, axes: Axes) -> IntArray:
        """Sum in one pass over the occupied cells; exact, unlike `bincount`, which rounds counts above 2^53."""
        sizes = tuple(self.shape[axis] for axis in axes)
        index = np.zeros(len(self.counts), dtype=np.int64)
        for axis, size in zip(axes, sizes, strict=True):
            index *= size
            index += self.codes[:, axis]
        cells = np.zeros(sizes, dtype=np.int64)
        np.add.at(cells.reshape(-1), index, self.counts)
        return cells


@dataclass(frozen=True, slots=True, eq=False)
class GroupedHistogram:
    """Joint counts of a few groups of columns. Every marginal that the run reads is a sum of one of them.

    joints: by the axes of a group, the counts of its cells, shape = sizes of these axes in order, int64, read-only.

    >>> table = GroupedHistogram((2, 2, 2), {(0, 1): np.array([[1, 2], [3, 4]]), (2,): np.array([4, 6])})
    >>> table.marginal((1,)).tolist(), int(table.marginal(()))
    ([4, 6], 10)
    """

    shape: tuple[int, ...]
    joints: Mapping[Axes, IntArray] = field(repr=False)
    _marginals: dict[Axes, IntArray] = field(default_factory=dict, repr=False)
    _answers: dict[Hashable, IntArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        smallest_first = sorted(self.joints.items(), key=lambda one: one[1].size)
        object.__setattr__(self, "joints", {axes: _whole(counts) for axes, counts in smallest_first})

    def prefetch(self, groups: Sequence[Axes]) -> None:
        members: dict[Axes, list[Axes]] = {}
        for axes in dict.fromkeys(groups):
            if axes not in self._marginals:
                members.setdefault(self._group(axes), []).append(axes)
        for group, inside in members.items():
            _store_members(self._marginals, self.joints[group], group, inside)

    def marginal(self, axes: Axes) -> IntArray:
        if axes not in self._marginals:
            self.prefetch([axes])
        return self._marginals[axes]

    def cached(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        return _cached(self._answers, question, answer)

    def _group(self, axes: Axes) -> Axes:
        """The smallest one that holds these.

        Raises:
            InfeasiblePlan: none does; which ones there are is public.
        """
        if axes in self.joints:
            return axes
        holding = next((group for group in self.joints if set(axes) <= set(group)), None)
        if holding is None:
            raise InfeasiblePlan(f"a draw looks at the columns numbered {axes} together, which its plan does not name")
        return holding


def _store_members(store: dict[Axes, IntArray], joint: IntArray, union: Axes, members: Sequence[Axes]) -> None:
    """Cache the marginals of one joint marginal over `union` to each of its members."""
    within = {tuple(union.index(axis) for axis in axes): axes for axes in members}
    for places, marginal in marginals(joint, [*within]):
        store[within[places]] = frozen(marginal)


def _cached(store: dict[Hashable, IntArray], question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
    if question not in store:
        store[question] = frozen(answer())
    return store[question]


def _whole(counts: AnyArray) -> IntArray:
    """Return a read-only int64 view; a TypeError for floating-point counts, which could hide lost records."""
    view: IntArray = np.asarray(counts).astype(np.int64, casting="same_kind", copy=False).view()
    view.flags.writeable = False
    return view


class MarginalSource(Protocol):
    """Anything that linear queries can be evaluated on: a histogram, or a hypothesis that has marginals."""

    def marginal(self, axes: Axes) -> AnyArray:
        """Return the sums over all other attributes, shape = sizes of `axes` in that order; () for the total."""
        ...


class Counts(Protocol):
    """A histogram database: record counts over a domain. The private value behind the gate."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def prefetch(self, groups: Sequence[Axes]) -> None:
        """Prepare these marginals together, in few passes over the data."""
        ...

    def marginal(self, axes: Axes) -> IntArray:
        """Return exact record counts, int64, shape = sizes of `axes` in that order; () for the number of records."""
        ...

    def cached(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        """Return what `answer` computes, from a cache beside the counts if `question` was asked before."""
        ...


def occupied(counts: Counts) -> tuple[AnyArray, IntArray]:
    """Return the codes of occupied cells, shape (cells, attributes), sorted, and their counts, shape (cells,). Private.

    It is the same for equal tables in any order of rows.
    """
    if isinstance(counts, SparseHistogram):
        return counts.codes, counts.counts
    tensor = counts.marginal(tuple(range(len(counts.shape))))
    places = np.nonzero(tensor)
    return np.stack(places, axis=1) if places else np.zeros((1, 0), dtype=np.int64), tensor[places]
