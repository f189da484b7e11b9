"""DependenceGraph: what measured pairs tell of others through the columns that they share, noise included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import combinations

from dpqr.data.arrays import Axes
from dpqr.strategies.schedules.marginals.stopping_rule import Gap, largest_gap

FAINT = 1e-3
"""Strength of a link that showed none: its noise goes over others all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A measured pair of columns. error: L1 over n that its noise leaves in it; strength: how far one column tells the
    other, from 0 (not at all) to 1 (they name each other's values)."""

    error: float
    strength: float


@dataclass(frozen=True, slots=True)
class DependenceGraph:
    """Measured pairs by column and other column, from what was released.

    A hypothesis tells a pair (a, c) by (a, b) and (b, c): an error in (a, b) comes out in (a, c), shrunk by the
    strength of (b, c), for rows of an error that add up to nothing shrink by at most the distance that the rows of
    P(c | b) have among themselves (Dobrushin's coefficient). So strong links pass on noise, weak ones hardly any.
    """

    ends: Mapping[int, Mapping[int, Link]] = field(default_factory=dict)

    def joined(self, gaps: Sequence[Gap]) -> DependenceGraph:
        """These, and the pairs among the measured blocks; a pair that was measured before is replaced."""
        ends = {axis: dict(others) for axis, others in self.ends.items()}
        for gap in gaps:
            if len(gap.block.axes) == 2:
                first, second = gap.block.axes
                link = Link(error=gap.error, strength=_strength(gap))
                ends.setdefault(first, {})[second] = link
                ends.setdefault(second, {})[first] = link
        return DependenceGraph(ends)

    def carried(self, axes: Axes) -> float:
        """The square of the L1 error over n that the links' noise makes in a hypothesis about these columns: for every
        two of them along their strongest path, errors of its links as legs at right angles."""
        found = 0.0
        for first, second in combinations(axes, 2):
            path = tuple(self._strongest(first, second))
            for place, link in enumerate(path):
                part = link.error
                for other in (*path[:place], *path[place + 1 :]):
                    part *= other.strength
                found += part**2
        return found

    def _strongest(self, first: int, second: int) -> Iterator[Link]:
        """The links of the path whose strengths have the largest product; none where there is no path."""
        waiting: list[tuple[float, int, int]] = [(-1.0, first, first)]
        came: dict[int, int] = {}
        while waiting and second not in came:
            strength, axis, before = heappop(waiting)
            if axis in came:
                continue
            came[axis] = before
            for other, link in self.ends.get(axis, {}).items():
                if other not in came:
                    heappush(waiting, (strength * link.strength, other, axis))
        while second in came and second != first:
            yield self.ends[second][came[second]]
            second = came[second]


def _strength(gap: Gap) -> float:
    """The gap's part of the largest that two columns can have."""
    return float(min(1.0, max(FAINT, max(gap.squared, 0.0) ** 0.5 / largest_gap(gap.block))))
