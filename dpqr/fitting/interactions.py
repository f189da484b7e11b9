"""Marginals put together from parts that were measured apart: the total, what single columns add, and pairs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from dpqr.data.arrays import Axes, FloatArray
from dpqr.fitting.evidence import Evidence
from dpqr.workload.contrasts import interaction_cells, interaction_deviation, is_interaction


def put_together(evidence: Sequence[Evidence], total: float) -> tuple[Evidence, ...]:
    """The evidence with marginals in the place of interactions.

    A measured interaction is the last part of its marginal. The parts below it come from the single columns' own
    measurements, merged by inverse variances, and from the total; so does the last part, where the marginal itself was
    measured too. The marginal gets the deviation of its last part: those of the parts below it are shared by all
    marginals of a column, and smaller where they were measured well.

    Args:
        evidence: marginals, interactions of one column and of two, and other blocks.
        total: N, records.

    Privacy:
        Post-processing of released answers.
    """
    parts = {seen.axes: _part(seen) for seen in evidence if seen.block is not None and is_interaction(seen.block)}
    if not parts:
        return tuple(evidence)
    kept = {seen.key: seen for seen in evidence if seen.block is None or not is_interaction(seen.block)}
    singles = [seen for key, seen in kept.items() if seen.order == 1 and seen.block is None]
    lower: dict[Axes, FloatArray] = {}
    for axes in {*(seen.axes for seen in singles), *(axes for axes in parts if len(axes) == 1)}:
        together = _together(axes, parts, kept)
        lower[axes] = together.values
        kept[axes] = replace(together, values=together.values + total / together.values.size)
    for axes in (axes for axes in parts if len(axes) == 2):
        first, second = axes[:1], axes[1:]
        if first in lower and second in lower:
            last = _together(axes, parts, kept)
            rows, columns = last.values.shape
            below = lower[first][:, None] / columns + lower[second] / rows + total / (rows * columns)
            kept[axes] = replace(last, values=last.values + below)
    return tuple(kept.values())


def _part(seen: Evidence) -> Evidence:
    """The interaction as a tensor over the axes in the evidence's order, with the deviation of its dimensions."""
    assert seen.block is not None
    cells = interaction_cells(seen.block, seen.values)
    ordered = cells.transpose([seen.block.axes.index(axis) for axis in seen.axes])
    deviation = seen.deviation * interaction_deviation(seen.block)
    return Evidence(key=seen.axes, axes=seen.axes, values=ordered, deviation=deviation)


def _together(axes: Axes, parts: dict[Axes, Evidence], kept: dict[object, Evidence]) -> Evidence:
    """The inverse-variance mean of the last part of a marginal, from all that holds it."""
    whole = kept.get(axes)
    found = [parts[axes]] if axes in parts else []
    if whole is not None:
        found.append(replace(whole, values=_last_part(whole.values)))
    return _mean(found)


def _last_part(values: FloatArray) -> FloatArray:
    for axis in range(values.ndim):
        values = values - values.mean(axis=axis, keepdims=True)
    return values


def _mean(found: Iterable[Evidence]) -> Evidence:
    first, *others = found
    for other in others:
        shares = np.array([first.deviation, other.deviation]) ** -2.0
        values = (shares[0] * first.values + shares[1] * other.values) / shares.sum()
        first = replace(first, values=values, deviation=float(shares.sum() ** -0.5))
    return first
