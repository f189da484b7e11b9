"""Passes: many marginals from few walks over the data, each giving a joint marginal that several are sums of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dpqr.data.arrays import AnyArray, Axes

LARGEST_JOINT = 2**17
"""Cells of a joint marginal that is worth making: small enough for a fast cache."""


def passes(shape: tuple[int, ...], groups: Sequence[Axes]) -> Iterator[tuple[Axes, tuple[Axes, ...]]]:
    """Cut `groups` into walks: (joint axes, the groups that are sums of that joint marginal).

    Every distinct group comes once. Greedy: a walk starts with the first group left, and takes in, one by one, the
    attribute that completes most of the other groups while the joint marginal stays within LARGEST_JOINT cells.
    A function of public shapes only.
    """
    wanted = list(dict.fromkeys(groups))
    holds = np.zeros((len(wanted), len(shape)), dtype=np.float32)
    for place, axes in enumerate(wanted):
        holds[place, list(axes)] = 1
    left = np.ones(len(wanted), dtype=bool)
    while left.any():
        joint = _grown(shape, wanted[int(np.argmax(left))], holds[left])
        inside = left & (holds[:, [axis for axis in range(len(shape)) if axis not in joint]].sum(axis=1) == 0)
        left &= ~inside
        yield joint, tuple(wanted[place] for place in np.flatnonzero(inside))


def _grown(shape: tuple[int, ...], seed: Axes, holds: AnyArray) -> Axes:
    """The seed's axes and those that were taken in; holds: which group that is left has which attribute."""
    joint, complete = list(seed), len(seed)
    lacking = holds.copy()
    lacking[:, joint] = 0
    while True:
        room = LARGEST_JOINT // math.prod(shape[axis] for axis in joint)
        missing = lacking.sum(axis=1)
        fewest = missing[missing > 0].min(initial=np.inf)
        gain = np.where(np.array(shape) <= room, lacking[missing == fewest].sum(axis=0), 0)
        if not gain.any():
            return tuple(joint[:complete])
        joint.append(int(np.argmax(gain)))
        lacking[:, joint[-1]] = 0
        complete = len(joint) if fewest == 1 else complete
