"""Uneven: the released hypothesis with cells that its buckets may hide, in place of cells that are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpqr.data.arrays import Axes, FloatArray, frozen
from dpqr.fitting.uneven_cells import BoxCounts, BucketCounts, draws_of, uneven_cells
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.hypotheses.linear_estimate import GroupEstimate, LinearEstimate
from dpqr.hypotheses.product import ProductDistribution
from dpqr.noise.public import public_normals, public_uniforms
from dpqr.strategies.schedules.ordered.two_stage import box_counts
from dpqr.strategies.updates.bucket_least_squares import bucket_counts
from dpqr.workload.partition import Merged
from dpqr.workload.tree import Tree
from dpqr.workload.workload import Measurement

Buckets = dict[Axes, tuple[tuple[int, ...], BucketCounts, BoxCounts | None]]
"""By their attributes: sizes, counts of the buckets, and those of the boxes that chose them."""


def bucketed(hypothesis: Hypothesis, history: Sequence[Measurement]) -> Buckets:
    """The groups of attributes whose cells were merged, and not measured one by one after that.

    Privacy:
        Post-processing of released values.
    """
    groups: tuple[GroupEstimate, ...] = ()
    if isinstance(hypothesis, LinearEstimate):
        groups = hypothesis.groups
    elif isinstance(hypothesis, ProductDistribution):
        groups = tuple(GroupEstimate(axes=(axis,), cells=cells) for axis, cells in hypothesis.apart.items())
    found: Buckets = {}
    for group in groups:
        held = [
            one for one in history if all(block.axes and set(block.axes) <= set(group.axes) for block in one.blocks)
        ]
        totals = [one for one in history if not any(block.axes for block in one.blocks)]
        known = bucket_counts(group, [*totals, *held]) if held else None
        if known is not None:
            found[group.axes] = (group.cells.shape, known, _boxes(held, group.cells.shape))
    return found


def _boxes(measured: Sequence[Measurement], shape: tuple[int, ...]) -> BoxCounts | None:
    """Counts of boxes: of the measurement before the last one, which is of the buckets; of a single one, its own."""
    chosen = measured[max(len(measured) - 2, 0)]
    matrix = chosen.blocks[0].factors[0].matrix
    return box_counts(chosen, shape) if isinstance(matrix, Merged) and isinstance(matrix.inner, Tree) else None


def uneven(hypothesis: Hypothesis, merged: Buckets, seed: int) -> Hypothesis:
    """The hypothesis, with the cells of merged groups drawn from what is known of them (`uneven_cells`).

    Privacy:
        Post-processing, with public randomness: of two seeds, this one and the next, for every group of attributes.
    """
    drawn = {
        axes: frozen(
            uneven_cells(
                shape,
                known,
                boxes,
                public_uniforms(seed + 2 * place, draws_of(shape)),
                public_normals(seed + 2 * place + 1, draws_of(shape)),
            )
        )
        for place, (axes, (shape, known, boxes)) in enumerate(merged.items())
    }
    if isinstance(hypothesis, LinearEstimate):
        groups = (replace(one, cells=drawn.get(one.axes, one.cells)) for one in hypothesis.groups)
        return LinearEstimate(groups=tuple(groups))
    if isinstance(hypothesis, ProductDistribution):
        return replace(hypothesis, apart={axis: _shares(drawn.get((axis,)), p) for axis, p in hypothesis.apart.items()})
    return hypothesis


def _shares(cells: FloatArray | None, before: FloatArray) -> FloatArray:
    """Of the records in each cell; `before` where none were drawn."""
    records = 0.0 if cells is None else float(cells.sum())
    return before if cells is None or records <= 0.0 else frozen(cells / records)
