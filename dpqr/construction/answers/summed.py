"""Summed: unbiased answers of blocks that nobody measured, as sums of the cells of a wider table that was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpqr.construction.answers.noisy import BETA, Noisy
from dpqr.construction.answers.refits import answers_from
from dpqr.data.arrays import FloatArray
from dpqr.noise.law import NoiseLaw
from dpqr.strategies.plan import Noun, Plan
from dpqr.workload.block import QueryBlock
from dpqr.workload.recovery import squared_norms
from dpqr.workload.workload import Measurement

FIXED: frozenset[Noun] = frozenset({"opening", "left out", "errors", "bounds"})
"""Phases of plans that fix all measurements before any noise."""


def _fixed(plan: Plan, history: Sequence[Measurement]) -> bool:
    """Whether every measured table was decided before its own noise: by the plan, or by one count of the records."""
    counted = plan.named("stage") and len(history) == len(plan.opening) + 1
    return bool(counted) or {phase.noun for phase in plan.phases} <= FIXED


def summed_answers(plan: Plan, history: Sequence[Measurement]) -> dict[str, Noisy]:
    """By the block's name, where the plan fixes all that is measured, and a marginal over its attributes is among that.

    Theorem. values +- margin misses the true answer with probability at most 1 - LEVEL, for every single query.
    Proof. Before its noise it is decided which table is summed: the smallest one of a plan that chooses none; or the
    one that was measured after a count of the records, whose noise is independent of the table's. A query
    with integer coefficients c over its cells is off by S = sum of c_i draw_i, an integer, so a bound b on |S| may be
    cut to floor(b). The law bounds |S| by `weighted_tail` |c|_2; where all c_i are -1, 0 or 1, also by the `sum_tail`
    of |c|_2^2 draws, their number, or more draws. Which of the two is smaller is public.

    Privacy:
        Post-processing of the measurements.
    """
    if not _fixed(plan, history):
        return {}
    found: dict[str, Noisy] = {}
    for block in plan.problem.workload.blocks:
        source = _source(block, history)
        if source is not None:
            found[block.name] = _summed(block, *source)
    return found


def summed_tests(plan: Plan, history: Sequence[Measurement], block: QueryBlock) -> tuple[FloatArray, float] | None:
    """Deviations of a block's answers as sums of a measured table's cells, in records, shape (rows,), and how many of
    its deviations a draw stays within at LEVEL; None where no table holds the block."""
    source = _source(block, history) if _fixed(plan, history) else None
    if source is None:
        return None
    law = source[0].law
    factor = law.tail(BETA) / law.deviation if law.deviation > 0.0 else 0.0
    return _summed(block, *source).deviation, factor


def narrower(noisy: Noisy, other: FloatArray) -> Noisy:
    """Without the margins that are wider than others, which are NaN where there are none.

    What is left out is never missed. So, over the noise of the run, an interval is shown and misses with probability at
    most 1 - LEVEL, as before, whatever decides which ones are shown.
    """
    return replace(noisy, margin=np.where(noisy.margin > other, np.nan, noisy.margin))


def _source(block: QueryBlock, history: Sequence[Measurement]) -> tuple[Measurement, int] | None:
    """The measurement of the smallest marginal over all of a block's attributes, and its place in it."""
    axes = frozenset(block.axes)
    held = [
        (one.rows, number, place)
        for number, measurement in enumerate(history)
        for place, one in enumerate(measurement.blocks)
        if one.is_marginal and one.scale == 1 and axes.issubset(one.axes)
    ]
    return (history[min(held)[1]], min(held)[2]) if held else None


def _summed(block: QueryBlock, measurement: Measurement, place: int) -> Noisy:
    source, law, scale = measurement.blocks[place], measurement.law, float(block.scale)
    squares = squared_norms(block) * (source.cells // block.cells)
    return Noisy(
        values=answers_from(block, source, measurement.values[place]) * scale,
        deviation=np.sqrt(squares) * (law.deviation * scale),
        margin=np.floor(_bounds(squares, law, alike=block.largest_coefficient <= 1)) * scale,
    )


def _bounds(squares: FloatArray, law: NoiseLaw, *, alike: bool) -> FloatArray:
    """On |S|, for squared norms of c. alike: all of c are -1, 0 or 1."""
    bounds: FloatArray = np.sqrt(squares) * law.weighted_tail(BETA)
    return np.minimum(bounds, law.sum_tail(math.ceil(squares.max()), BETA)) if alike else bounds
