"""Dependence graph: how errors in measured pairs of columns propagate to other pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import combinations

from dpqr.data.arrays import Axes
from dpqr.strategies.schedules.marginals.gap import Gap, largest_gap
from dpqr.strategies.schedules.marginals.tuning import TUNING


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """A measured pair of columns.

    error: L1 error over n that its noise leaves in it. coefficient: estimated Dobrushin coefficient, 0 for independent
    columns, 1 where each determines the other.
    """

    error: float
    coefficient: float


@dataclass(frozen=True, slots=True)
class DependenceGraph:
    """Measured pairs by column and other column. A function of what was released.

    A hypothesis estimates a pair (a, c) from (a, b) and (b, c). An error in (a, b) appears in (a, c), multiplied by at
    most the Dobrushin coefficient of P(c | b), for its rows sum to 0. So strongly dependent pairs propagate errors, and
    weakly dependent ones hardly any.
    """

    ends: Mapping[int, Mapping[int, Dependence]] = field(default_factory=dict)

    def joined(self, gaps: Sequence[Gap]) -> DependenceGraph:
        """This graph and the pairs among the measured blocks; a pair that was measured before is replaced."""
        ends = {axis: dict(others) for axis, others in self.ends.items()}
        for gap in gaps:
            if len(gap.block.axes) == 2:
                first, second = gap.block.axes
                edge = Dependence(error=gap.error, coefficient=_coefficient(gap))
                ends.setdefault(first, {})[second] = edge
                ends.setdefault(second, {})[first] = edge
        return DependenceGraph(ends)

    def propagated_error(self, axes: Axes) -> float:
        """Square of the L1 error over n that the measured pairs propagate into these columns.

        For every two of the columns it follows the path whose coefficients have the largest product; errors along a
        path are independent, so their squares add up.
        """
        found = 0.0
        for first, second in combinations(axes, 2):
            path = tuple(self._strongest(first, second))
            for place, edge in enumerate(path):
                part = edge.error
                for other in (*path[:place], *path[place + 1 :]):
                    part *= other.coefficient
                found += part**2
        return found

    def _strongest(self, first: int, second: int) -> Iterator[Dependence]:
        """The pairs of the path whose coefficients have the largest product; none where there is no path."""
        waiting: list[tuple[float, int, int]] = [(-1.0, first, first)]
        came: dict[int, int] = {}
        while waiting and second not in came:
            coefficient, axis, before = heappop(waiting)
            if axis in came:
                continue
            came[axis] = before
            for other, edge in self.ends.get(axis, {}).items():
                if other not in came:
                    heappush(waiting, (coefficient * edge.coefficient, other, axis))
        while second in came and second != first:
            yield self.ends[second][came[second]]
            second = came[second]


def _coefficient(gap: Gap) -> float:
    """The gap as a part of the largest that two columns can have."""
    return float(min(1.0, max(TUNING.weakest, max(gap.squared, 0.0) ** 0.5 / largest_gap(gap.block))))
