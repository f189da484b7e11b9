"""Refinement: marginals that a model has no room for, combined with it question by question."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.fitting.evidence import Evidence, merged, summed
from dpqr.fitting.local_fits import TUNING, NoisyMarginals, fits_to_margins, shared_fit

CLOSE = 1e-3
"""Part of the records that the last sweep of a shared fit may move."""
BATCH = 2**20
"""Cells that are fitted together (8 MiB per array)."""

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Refinement:
    """Tables for questions about measured marginals outside the model.

    A table T is the shared fit, on the model's own table, to the sums of every marginal of `left` over the attributes
    that it has in common with T, where these are two or more. Single attributes, and what marginals of `inside` have in
    common with T, keep the model's sums.

    Attributes:
        left: measured marginals that the model has no room for.
        inside: attributes of the marginals that the model was fitted to.

    Privacy:
        Post-processing of released answers and public sizes.

    >>> seen = Evidence(key=(0, 1), axes=(0, 1), values=np.array([[9.0, 1.0], [1.0, 9.0]]), deviation=0.01)
    >>> tables = Refinement(left=(seen,)).refined([(0, 1)], [np.full((2, 2), 5.0)])
    >>> tables[0].round(1).tolist()
    [[9.0, 1.0], [1.0, 9.0]]
    """

    left: tuple[Evidence, ...]
    inside: frozenset[Axes] = frozenset()
    _by_pair: Mapping[Axes, tuple[int, ...]] = field(init=False, repr=False)
    _fixed_by_pair: Mapping[Axes, tuple[Axes, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_pair", _by_pair([seen.axes for seen in self.left], range(len(self.left))))
        groups = sorted(self.inside)
        object.__setattr__(self, "_fixed_by_pair", _by_pair(groups, groups))

    def touches(self, axes: Axes) -> bool:
        """Whether some marginal of `left` contains two of the attributes."""
        return any(pair in self._by_pair for pair in _pairs(axes))

    def holder(self, axes: Axes) -> Axes | None:
        """The attributes, ascending, of the smallest marginal of `left` that contains all of these; None without
        one."""
        found = self._by_pair.get(next(_pairs(axes)), ())
        holding = [self.left[index] for index in found if set(axes) <= set(self.left[index].axes)]
        smallest = min(holding, key=lambda seen: (seen.values.size, seen.axes), default=None)
        return None if smallest is None else tuple(sorted(smallest.axes))

    def refined(self, groups: Sequence[Axes], bases: Sequence[FloatArray]) -> list[FloatArray]:
        """Fitted tables, in records.

        Args:
            groups: attributes of each table, ascending.
            bases: the model's own tables over them, in records.
        """
        found: dict[int, FloatArray] = {}
        alike: dict[object, list[int]] = {}
        observed = [self._observed(axes) for axes in groups]
        fixed = [self._fixed(axes) for axes in groups]
        for index, base in enumerate(bases):
            alike.setdefault((base.shape, fixed[index], tuple(places for places, _ in observed[index])), []).append(
                index
            )
        for same in alike.values():
            step = max(1, BATCH // max(bases[same[0]].size, 1))
            for start in range(0, len(same), step):
                some = same[start : start + step]
                tables = np.stack([bases[index] for index in some])
                fitted = shared_fit(tables, fixed[some[0]], _stacked([observed[index] for index in some]), CLOSE)
                found.update(zip(some, fitted, strict=True))
        return [found[index] for index in range(len(groups))]

    def _observed(self, axes: Axes) -> list[tuple[Axes, Evidence]]:
        """Places in `axes` of the marginals that overlap them, and their sums there, fewest attributes first."""
        near = {index for pair in _pairs(axes) for index in self._by_pair.get(pair, ())}
        parts = (summed(seen, _shared(seen.axes, axes)) for seen in (self.left[index] for index in sorted(near)))
        fixed = [set(places) for places in self._fixed(axes)]
        placed = [(tuple(sorted(axes.index(axis) for axis in part.axes)), part) for part in merged(parts)]
        return sorted((one for one in placed if not any(set(one[0]) <= places for places in fixed)), key=_width)

    def _fixed(self, axes: Axes) -> tuple[Axes, ...]:
        """Places whose sums are the model's, none within another; ascending."""
        near = {group for pair in _pairs(axes) for group in self._fixed_by_pair.get(pair, ())}
        places = {tuple(sorted(axes.index(axis) for axis in group if axis in axes)) for group in near}
        places |= {(place,) for place in range(len(axes))}
        return tuple(sorted(one for one in places if not any(set(one) < set(other) for other in places)))


def _width(one: tuple[Axes, Evidence]) -> tuple[int, Axes]:
    return len(one[0]), one[0]


def _pairs(axes: Axes) -> Iterator[Axes]:
    return combinations(sorted(axes), 2)


def _by_pair(groups: Sequence[Axes], entries: Sequence[Entry]) -> dict[Axes, tuple[Entry, ...]]:
    """Entries by the pairs of attributes that their groups contain."""
    found: dict[Axes, list[Entry]] = {}
    for group, entry in zip(groups, entries, strict=True):
        for pair in _pairs(group):
            found.setdefault(pair, []).append(entry)
    return {pair: tuple(ones) for pair, ones in found.items()}


def _shared(inner: Axes, axes: Axes) -> Axes:
    """In the order of `inner`."""
    return tuple(axis for axis in inner if axis in axes)


def _stacked(tables: Sequence[Sequence[tuple[Axes, Evidence]]]) -> list[NoisyMarginals]:
    """The same places of all tables together."""
    return [
        NoisyMarginals(
            places=same[0][0],
            values=np.stack([_ascending(part) for _, part in same]),
            deviations=np.array([part.deviation for _, part in same]),
        )
        for same in zip(*tables, strict=True)
    ]


def _ascending(part: Evidence) -> FloatArray:
    return part.values.transpose(np.argsort(part.axes))


def by_interaction(evidence: Iterable[Evidence]) -> list[Evidence]:
    """The evidence in the order in which a model of limited room admits it.

    Single attributes first, then blocks that are no marginals, then marginals by their distance from independence.
    """
    known = tuple(evidence)
    distances = [np.inf] * len(known)
    alike: dict[Axes, list[int]] = {}
    for index, seen in enumerate(known):
        if seen.order > 1 and seen.block is None:
            alike.setdefault(seen.values.shape, []).append(index)
    for shape, same in alike.items():
        step = max(1, BATCH // max(math.prod(shape), 1))
        for start in range(0, len(same), step):
            some = same[start : start + step]
            for index, distance in zip(some, _distances([known[each] for each in some]), strict=True):
                distances[index] = distance
    return [
        known[index] for index in sorted(range(len(known)), key=lambda index: (-distances[index], known[index].axes))
    ]


def _distances(alike: Sequence[Evidence]) -> list[float]:
    """For marginals of one shape the L1 distance, in records, between a fit to the noisy marginal and the product of
    its one-way sums; 0 where it holds no records."""
    values = np.stack([seen.values for seen in alike])
    tables = len(alike)
    totals = np.maximum(values.reshape(tables, -1).sum(axis=1, keepdims=True), 0.0)
    margins = [_margins(values, axis, totals) for axis in range(1, values.ndim)]
    base = np.ones(tables)
    for margin in margins:
        base = base[..., None] * (margin / np.maximum(totals, TUNING.least)).reshape(tables, *[1] * (base.ndim - 1), -1)
    base *= totals.reshape(tables, *[1] * len(margins))
    deviations = np.array([seen.deviation for seen in alike])
    part = NoisyMarginals(places=tuple(range(len(margins))), values=values, deviations=deviations)
    moved = np.abs(fits_to_margins(base, part, margins) - base).reshape(tables, -1).sum(axis=1)
    return [float(distance) for distance in moved]


def _margins(values: FloatArray, axis: int, totals: FloatArray) -> FloatArray:
    """One-way sums along `axis`, clipped at zero and scaled to the totals, shape (tables, size)."""
    sums = np.maximum(values.sum(axis=tuple(other for other in range(1, values.ndim) if other != axis)), 0.0)
    margins: FloatArray = sums * (totals / np.maximum(sums.sum(axis=1, keepdims=True), TUNING.least))
    return margins
