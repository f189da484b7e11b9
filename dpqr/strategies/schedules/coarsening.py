"""Coarser marginals: the same columns with neighbouring cells together, for where noise would drown single cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpqr.data.arrays import FloatArray
from dpqr.strategies.schedules.expected_error import ExpectedError
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.ranges import Ranges

DROWNED = 0.15
"""Share of the records in wrong cells from which on a coarser block is offered as well."""

CELL = 2.0
"""A coarse cell of even counts holds at least this many deviations."""


def coarsened(
    blocks: Sequence[QueryBlock],
    counts: Mapping[int, FloatArray],
    errors: ExpectedError,
    records: float,
    deviation: float,
) -> tuple[QueryBlock, ...]:
    """A coarser block for each of the marginals that noise of the given deviation would leave too far off.

    counts: released one-way marginals by attribute; errors: what noise leaves in the blocks; records: n as the counts
    tell it; deviation: of a measurement, records.
    Each attribute's cells are cut, in their order, into runs of about equal counts, as many for every attribute of a
    block as make even coarse cells hold CELL deviations; an attribute of no more cells keeps them. A function of what
    was released.

    **Privacy.** A coarse block is a 0/1 matrix with one entry 1 in every column: each record is counted in one coarse
    cell. So between neighbours its answers, and its scores, move as those of a marginal do.
    """
    found = []
    for block in (block for block in blocks if errors.at(block, deviation) > DROWNED * records):
        runs = max(2, int((records / (CELL * deviation)) ** (1.0 / len(block.axes))))
        factors = tuple(_merged(factor, counts[factor.axes[0]], runs) for factor in block.factors)
        if any(factor.matrix.rows < factor.matrix.cells for factor in factors):
            found.append(QueryBlock(name=f"coarse({block.name})", factors=factors, weight=block.weight))
    return tuple(found)


def _merged(factor: Factor, counts: FloatArray, runs: int) -> Factor:
    if factor.matrix.cells <= runs:
        return factor
    starts = np.flatnonzero(np.diff(_runs(counts, runs), prepend=-1))
    stops = np.append(starts[1:], counts.size)
    return Factor(axes=factor.axes, sizes=factor.sizes, matrix=Ranges(starts, stops, counts.size))


def _runs(counts: FloatArray, runs: int) -> np.ndarray:
    """For every cell the number of its run, rising from 0: at least two, a run of even share at most but for single
    cells."""
    shares = np.maximum(counts, 0.0)
    shares = shares / shares.sum() if shares.any() else np.full(counts.size, 1.0 / counts.size)
    places, run, held = np.zeros(counts.size, dtype=np.int64), 0, 0.0
    for cell, share in enumerate(shares):
        if cell and held + share / 2 > 1.0 / runs:
            run, held = run + 1, 0.0
        places[cell], held = run, held + share
    if run == 0:
        places[-1] = 1
    return places
