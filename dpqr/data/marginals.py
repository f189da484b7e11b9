"""Many marginals together: shared sums of one tensor, and few passes over data that does not fit into one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dpqr.data.arrays import AnyArray, Axes


def marginals(tensor: AnyArray, groups: Sequence[Axes]) -> Iterator[tuple[Axes, AnyArray]]:
    """Yield each distinct group of axes with its marginal, in the order of its axes; the dtype is kept.

    Attribute by attribute the groups are split into those without it, which continue with a smaller tensor, and those
    with it, so sums are shared. Integers whose total fits their type stay exact; the order of floating-point sums
    depends on the groups.

    >>> {axes: sums.tolist() for axes, sums in marginals(np.array([[1, 2], [3, 4]]), [(0,), (1,)])}
    {(1,): [4, 6], (0,): [3, 7]}
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
"""Cells of the largest joint marginal; it fits into the processor's cache."""


def passes(shape: tuple[int, ...], groups: Sequence[Axes]) -> Iterator[tuple[Axes, tuple[Axes, ...]]]:
    """Divide `groups` into passes over the data: the axes of a joint marginal, and the groups that are sums of it.

    Every distinct group comes once. Greedy: a pass starts with the first remaining group, and adds, one by one, the
    attribute that completes most other groups while the joint marginal stays within LARGEST_JOINT cells. Public: a
    function of shapes only.
    """
    wanted = list(dict.fromkeys(groups))
    holds = np.zeros((len(wanted), len(shape)), dtype=np.float32)
    for place, axes in enumerate(wanted):
        holds[place, list(axes)] = 1
    left = np.ones(len(wanted), dtype=bool)
    widths = np.array([len(axes) for axes in wanted])
    while left.any():
        joint = _grown(shape, wanted[int(np.argmax(left))], holds, np.where(left, widths, 0))
        inside = left & (holds[:, list(joint)].sum(axis=1) == widths)
        left &= ~inside
        yield joint, tuple(wanted[place] for place in np.flatnonzero(inside))


def _grown(shape: tuple[int, ...], seed: Axes, holds: AnyArray, widths: AnyArray) -> Axes:
    """The seed's axes and those that were added; holds: flags of the attributes of every group; widths: how many these
    are, 0 for a group that needs no pass any more."""
    joint, complete = list(seed), len(seed)
    missing = np.where(widths > 0, widths - holds[:, joint].sum(axis=1), 0)
    while True:
        room = LARGEST_JOINT // math.prod(shape[axis] for axis in joint)
        fewest = missing[missing > 0].min(initial=np.inf)
        gain = np.where(np.array(shape) <= room, np.einsum("g,ga->a", (missing == fewest).astype(np.float32), holds), 0)
        gain[joint] = 0
        if not gain.any():
            return tuple(joint[:complete])
        joint.append(int(np.argmax(gain)))
        missing -= np.where(widths > 0, holds[:, joint[-1]], 0)
        complete = len(joint) if fewest == 1 else complete
