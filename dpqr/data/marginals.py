"""Marginals: many sums of one tensor, every attribute summed out once for all the groups that lack it."""

from __future__ import annotations

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
