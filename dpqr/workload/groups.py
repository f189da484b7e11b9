"""Groups: the sets of attributes that a workload looks at together."""

from __future__ import annotations

from collections.abc import Iterable

from dpqr.data.arrays import Axes
from dpqr.workload.block import QueryBlock


def axis_groups(blocks: Iterable[QueryBlock]) -> tuple[Axes, ...]:
    """The largest sets of attributes of single blocks, ascending, in order of first mention.

    Every block's attributes lie within one of them.
    """
    asked = {axes: frozenset(axes) for axes in (tuple(sorted(block.axes)) for block in blocks)}
    sets = list(asked.values())
    return tuple(axes for axes, own in asked.items() if not any(own < other for other in sets))


def by_home(blocks: Iterable[QueryBlock]) -> dict[Axes, tuple[QueryBlock, ...]]:
    """The blocks of every group of `axis_groups`, each under its `home`, in their order."""
    blocks = tuple(blocks)
    groups = axis_groups(blocks)
    homes = {axes: home(axes, groups) for axes in {tuple(sorted(block.axes)) for block in blocks}}
    held: dict[Axes, list[QueryBlock]] = {axes: [] for axes in groups}
    for block in blocks:
        axes = homes[tuple(sorted(block.axes))]
        assert axes is not None, "every block has a group"
        held[axes].append(block)
    return {axes: tuple(members) for axes, members in held.items()}


def home(axes: Axes, groups: Iterable[Axes]) -> Axes | None:
    """The smallest group that holds all of `axes`; the first of several; None where there is none."""
    own = frozenset(axes)
    holding = [group for group in groups if own.issubset(group)]
    return min(holding, key=len, default=None)
