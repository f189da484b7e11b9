"""Groups: the sets of attributes that a workload looks at together."""

from __future__ import annotations

from collections.abc import Iterable

from dpqr.data.arrays import Axes
from dpqr.workload.block import QueryBlock


def axis_groups(blocks: Iterable[QueryBlock]) -> tuple[Axes, ...]:
    """The largest sets of attributes of single blocks, ascending, in order of first mention.

    Every block's attributes lie within one of them.
    """
    asked = list(dict.fromkeys(tuple(sorted(block.axes)) for block in blocks))
    return tuple(axes for axes in asked if not any(set(axes) < set(other) for other in asked))


def home(axes: Axes, groups: Iterable[Axes]) -> Axes | None:
    """The smallest group that holds all of `axes`; the first of several; None where there is none."""
    holding = [group for group in groups if set(axes) <= set(group)]
    return min(holding, key=len, default=None)
