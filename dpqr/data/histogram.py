"""Histogram: the database x in N^|X|, dense for small domains, sorted occupied cells beyond.

Counts: whatever can give the marginals of a histogram database.

Occupied: a histogram database as rows, for what looks at records and not at sums over them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dpqr.data.arrays import AnyArray, Axes, IntArray, frozen
from dpqr.data.marginals import dense_marginal, marginals, passes


@dataclass(frozen=True, slots=True, eq=False)
class DenseHistogram:
    """Counts of every cell, shape = domain shape, int64, read-only.

    A marginal that was asked for is kept, and answers that are `recalled`: rounds ask for the same ones again. The
    stores live inside the sealed value and are freed with it.
    """

    counts: IntArray
    _kept: dict[Axes, IntArray] = field(default_factory=dict, repr=False)
    _answers: dict[Hashable, IntArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", _whole(self.counts))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.counts.shape

    def prefetch(self, groups: Sequence[Axes]) -> None:
        for union, members in passes(self.shape, [axes for axes in groups if axes not in self._kept]):
            _keep(self._kept, dense_marginal(self.counts, union), union, members)

    def marginal(self, axes: Axes) -> IntArray:
        if axes not in self._kept:
            self._kept[axes] = frozen(dense_marginal(self.counts, axes))
        return self._kept[axes]

    def recalled(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        return _recalled(self._answers, question, answer)


@dataclass(frozen=True, slots=True, eq=False)
class SparseHistogram:
    """Occupied cells only: `codes` has one column a attribute, rows sorted and distinct; `counts` one entry a row.

    codes: shape (m, d), integers; counts: shape (m,), int64. Both read-only. m is private: it is never printed.
    """

    shape: tuple[int, ...]
    codes: AnyArray = field(repr=False)
    counts: IntArray = field(repr=False)
    _kept: dict[Axes, IntArray] = field(default_factory=dict, repr=False)
    _answers: dict[Hashable, IntArray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", frozen(self.codes.view()))
        object.__setattr__(self, "counts", _whole(self.counts))

    def prefetch(self, groups: Sequence[Axes]) -> None:
        for union, members in passes(self.shape, [axes for axes in groups if axes not in self._kept]):
            _keep(self._kept, self._sum(union), union, members)

    def marginal(self, axes: Axes) -> IntArray:
        if axes not in self._kept:
            self._kept[axes] = frozen(self._sum(axes))
        return self._kept[axes]

    def recalled(self, question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
        return _recalled(self._answers, question, answer)

    def _sum(self, axes: Axes) -> IntArray:
        """One pass over the occupied cells.

        Exact: integers are added in place. Summing by `bincount` would go through float64 and lose counts above 2^53.
        """
        sizes = tuple(self.shape[axis] for axis in axes)
        index = np.zeros(len(self.counts), dtype=np.int64)
        for axis, size in zip(axes, sizes, strict=True):
            index *= size
            index += self.codes[:, axis]
        cells = np.zeros(sizes, dtype=np.int64)
        np.add.at(cells.reshape(-1), index, self.counts)
        return cells


def _keep(store: dict[Axes, IntArray], joint: IntArray, union: Axes, members: Sequence[Axes]) -> None:
    """Sum one joint marginal down to each of its members."""
    within = {tuple(union.index(axis) for axis in axes): axes for axes in members}
    for places, marginal in marginals(joint, [*within]):
        store[within[places]] = frozen(marginal)


def _recalled(store: dict[Hashable, IntArray], question: Hashable, answer: Callable[[], IntArray]) -> IntArray:
    if question not in store:
        store[question] = frozen(answer())
    return store[question]


def _whole(counts: AnyArray) -> IntArray:
    """A read-only int64 view; a TypeError for floating-point counts, which could hide lost records."""
    view: IntArray = np.asarray(counts).astype(np.int64, casting="same_kind", copy=False).view()
    view.flags.writeable = False
    return view


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


def occupied(counts: Counts) -> tuple[AnyArray, IntArray]:
    """Codes of the cells that hold records, shape (cells, attributes), sorted, and how many each holds. Private.

    The same for equal tables, whatever the order of their rows was.
    """
    if isinstance(counts, SparseHistogram):
        return counts.codes, counts.counts
    tensor = counts.marginal(tuple(range(len(counts.shape))))
    places = np.nonzero(tensor)
    return np.stack(places, axis=1) if places else np.zeros((1, 0), dtype=np.int64), tensor[places]
