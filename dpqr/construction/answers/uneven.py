"""Uneven: the released hypothesis with cells that its buckets may hide, in place of cells that are alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dpqr.data.arrays import Axes, FloatArray, frozen
from dpqr.hypotheses.hypothesis import Hypothesis
from dpqr.hypotheses.linear_estimate import GroupEstimate, LinearEstimate
from dpqr.hypotheses.product import ProductDistribution
from dpqr.strategies.designs.uneven_cells import uneven_cells
from dpqr.strategies.schedules.ordered.two_stage import box_counts
from dpqr.workload.partition import Merged
from dpqr.workload.tree import Tree
from dpqr.workload.workload import Measurement


def bucketed(hypothesis: Hypothesis, history: Sequence[Measurement]) -> dict[Axes, list[Measurement]]:
    """By their attributes, the measurements of buckets; those alone after which no single cells were measured."""
    found: dict[Axes, list[Measurement]] = {}
    for one in history if isinstance(hypothesis, LinearEstimate | ProductDistribution) else ():
        matrix = one.blocks[0].factors[0].matrix if len(one.blocks) == len(one.blocks[0].factors) == 1 else None
        if isinstance(matrix, Merged):
            found.setdefault(one.blocks[0].axes, []).append(one)
        else:
            for block in one.blocks:
                found.pop(block.axes, None)
    return found


def uneven(hypothesis: Hypothesis, history: Sequence[Measurement], seed: int) -> Hypothesis:
    """The hypothesis, the cells of its buckets drawn from what is known of them (`uneven_cells`).

    Privacy:
        Post-processing, with public randomness: of two seeds, this one and the next, for every group of attributes.
    """
    for axes, measured in bucketed(hypothesis, history).items():
        if isinstance(hypothesis, LinearEstimate):
            groups = tuple(
                replace(one, cells=_drawn(one.cells, measured, seed)) if one.axes == axes else one
                for one in hypothesis.groups
            )
            hypothesis = LinearEstimate(groups=groups)
        elif isinstance(hypothesis, ProductDistribution) and axes[0] in hypothesis.apart:
            cells = _drawn(hypothesis.apart[axes[0]] * hypothesis.total, measured, seed)
            shares = cells / max(float(cells.sum()), 1.0)
            hypothesis = replace(hypothesis, apart={**hypothesis.apart, axes[0]: frozen(shares)})
        seed += 2
    return hypothesis


def _drawn(cells: FloatArray, measured: Sequence[Measurement], seed: int) -> FloatArray:
    """measured: buckets, before them the counts of boxes that chose them."""
    chosen, last = measured[max(len(measured) - 2, 0)], measured[-1].blocks[0].factors[0].matrix
    matrix = chosen.blocks[0].factors[0].matrix
    assert isinstance(matrix, Merged), "only these are kept"
    assert isinstance(last, Merged), "only these are kept"
    counted = box_counts(chosen, cells.shape) if isinstance(matrix.inner, Tree) else None
    return frozen(uneven_cells(counted, last.buckets, cells, seed).reshape(cells.shape))
