"""Marginals: many sums of one tensor, every attribute summed out once for all the groups that lack it.

Passes: many marginals from few walks over the data, each giving a joint marginal that several are sums of.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dpqr.data.arrays import AnyArray, Axes


def marginals(tensor: AnyArray, groups: Sequence[Axes]) -> Iterator[tuple[Axes, AnyArray]]:
    """Each distinct group of axes and its marginal, in the order of its axes; the dtype is kept.

    Attribute by attribute the groups are parted in those that lack it, which go on with a smaller tensor, and those
    that have it. So 1,820 groups of four of sixteen two-valued attributes take a fiftieth of the additions of as many
    sums by themselves. Integers whose total fits their type stay exact; the order of floating-point sums depends on
    the groups.
    """
    yield from _walk(np.asarray(tensor), 0, 0, list(dict.fromkeys(groups)))


def dense_marginal(tensor: AnyArray, axes: Axes) -> AnyArray:
    """Sum a full tensor down to `axes`, in their order; the dtype is kept."""
    others = tuple(axis for axis in range(tensor.ndim) if axis not in axes)
    summed = tensor.sum(axis=others, dtype=tensor.dtype) if others else tensor
    return _ordered(summed, axes)


def _walk(tensor: AnyArray, kept: int, axis: int, groups: list[Axes]) -> Iterator[tuple[Axes, AnyArray]]:
    """The tensor's first `kept` dimensions are attributes that every group has, the next one is `axis`."""
    while groups and kept < tensor.ndim:
        lacking = [axes for axes in groups if axis not in axes]
        if not lacking:
            kept += 1
        elif len(lacking) == len(groups):
            tensor = np.asarray(tensor.sum(axis=kept, dtype=tensor.dtype))
        else:
            yield from _walk(np.asarray(tensor.sum(axis=kept, dtype=tensor.dtype)), kept, axis + 1, lacking)
            groups = [axes for axes in groups if axis in axes]
            kept += 1
        axis += 1
    for axes in groups:
        yield axes, _ordered(tensor, axes)


def _ordered(tensor: AnyArray, axes: Axes) -> AnyArray:
    """From rising order to the order of `axes`."""
    kept = sorted(axes)
    return np.asarray(np.transpose(tensor, [kept.index(axis) for axis in axes]), order="C")


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
