"""Synthetic data: the hypothesis as records that look like the table, or as weighted cells.

Privacy: post-processing of a release. Records, and values within bins, are drawn with public randomness from a seed
that the record states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Literal

import numpy as np

from dpqr.construction.release import Release
from dpqr.data.arrays import AnyArray, CodeArray, FloatArray, IntArray
from dpqr.data.attribute import Attribute, Bins
from dpqr.errors import InfeasiblePlan
from dpqr.hypotheses.factored.distribution import LARGEST_LISTING
from dpqr.hypotheses.hypothesis import Sampleable, prepare
from dpqr.hypotheses.row_fit import RowFit, reach, reachable
from dpqr.io.outputs.answer_tables.tidy import beside
from dpqr.noise.public import public_generator
from dpqr.strategies.plan import Plan
from dpqr.workload.block import Factor, QueryBlock

LARGEST = 2**60
"""Whole values below it are kept as integers."""


def midpoints(axis: Bins, own_cells: int) -> Any:
    """One value a cell, null for the own cells; days and microseconds are rounded down. An Arrow array."""
    import pyarrow as pa

    middles = [axis.midpoint(index) for index in range(axis.size)]
    nothing = [None] * own_cells
    if axis.kind == "date":
        days = [date(1970, 1, 1) + timedelta(days=int(middle // 1)) for middle in middles]
        return pa.array([*days, *nothing], type=pa.date32())
    if axis.kind == "datetime":
        moments = [datetime(1970, 1, 1) + timedelta(microseconds=int(middle // 1)) for middle in middles]
        return pa.array([*moments, *nothing], type=pa.timestamp("us"))
    return pa.array([*map(float, middles), *nothing], type=pa.float64())


def sampled(axis: Bins, codes: IntArray, uniforms: FloatArray) -> Any:
    """A value for each code, evenly from what its bin holds, null for codes beyond the bins. An Arrow array.

    codes, uniforms: shape (rows,); uniforms in [0, 1). Whole numbers, days and microseconds are whole; other numbers
    lie within the edges, never on one, wherever a float lies between them.
    """
    import pyarrow as pa

    inside = np.minimum(codes, axis.size - 1)
    values: AnyArray = _whole(axis, inside, uniforms) if _is_whole(axis) else _real(axis, inside, uniforms)
    kinds = {"date": pa.date32(), "datetime": pa.timestamp("us")}
    if axis.kind == "date":
        values = values.astype(np.int32)
    return pa.array(values, mask=np.asarray(codes >= axis.size)).cast(
        kinds.get(axis.kind, pa.from_numpy_dtype(values.dtype))
    )


def _is_whole(axis: Bins) -> bool:
    return axis.kind != "number" or (axis.integral and max(map(abs, (axis.edges[0], axis.edges[-1]))) < LARGEST)


def _whole(axis: Bins, codes: IntArray, uniforms: FloatArray) -> IntArray:
    held = replace(axis, integral=True)
    bounds = [held.bounds(index) for index in range(axis.size)]
    low, high = (np.array([int(pair[end] // 1) for pair in bounds], dtype=np.int64)[codes] for end in (0, 1))
    steps = (uniforms * (high - low + 1)).astype(np.int64)
    return np.asarray(np.minimum(low + steps, high))


def _real(axis: Bins, codes: IntArray, uniforms: FloatArray) -> FloatArray:
    edges = np.array([float(edge) for edge in axis.edges])
    low, high = edges[codes], edges[codes + 1]
    within = np.clip(low + uniforms * (high - low), np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
    return np.asarray(np.where(np.nextafter(low, np.inf) < high, within, low))


Form = Literal["rows", "cells"]
BinText = Literal["title", "midpoint", "sampled"]
Uniforms = Callable[[int], FloatArray]
WEIGHT = "weight"
ROW_LIMIT = 5_000_000
"""Records drawn at most; beyond it the record says how many records of the table each one stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """table: an Arrow table. record: how it was made, for release.json."""

    table: Any
    record: dict[str, Any]


def require_sampleable(plan: Plan, form: Form = "rows") -> None:
    """InfeasiblePlan, before anything is spent, if the plan's update rule works on no distribution to draw from.

    Asked of the hypothesis that the rule starts with, which public facts determine. Cells are for domains that can
    be listed.
    """
    cells = plan.problem.domain.size
    if form == "cells" and cells > LARGEST_LISTING:
        raise InfeasiblePlan(
            f"the domain has {cells} cells, and --synthetic cells lists at most {LARGEST_LISTING}; "
            "use --synthetic rows or leave columns out of the domain file"
        )
    update = plan.roles.update
    if not isinstance(update.start(plan.problem), Sampleable):
        raise InfeasiblePlan(
            f"--update {update.name} ends with a hypothesis that is no distribution over cells, so --synthetic has "
            "nothing to draw from; leave --synthetic out or use --update multiplicative-weights"
        )


def synthesise(release: Release, form: Form, bins: BinText = "title") -> Synthetic:
    """Synthetic data of a release whose plan passed `require_sampleable`.

    Args:
        release: a release over a distribution.
        form: "rows": as many records as the hypothesis holds, one column an attribute, under its own name, moved
            towards the answers to the workload's blocks.
            "cells": every cell of positive weight, with its `weight` in records.
        bins: what a bin carries. "title": its title; "midpoint": its public midpoint (a number, a date or a time);
            "sampled", for rows: a value drawn evenly from the bin by the public seed. With the last two the cells for
            null, unparsable and so on become null.

    Raises:
        InfeasiblePlan: the hypothesis is no distribution.

    Privacy:
        Post-processing of a release, with public randomness.
    """
    import pyarrow as pa

    hypothesis = release.hypothesis
    if not isinstance(hypothesis, Sampleable):
        raise InfeasiblePlan("the hypothesis of this release is no distribution; leave --synthetic out")
    if form == "cells":
        return _cells(release, hypothesis, bins)
    count = max(0, round(hypothesis.total))
    drawn = min(count, ROW_LIMIT)
    seed = release.plan.problem.seed
    codes = np.asfortranarray(hypothesis.rows(drawn, seed))
    moved = _fit(release, hypothesis, codes)
    uniforms = public_generator(seed).spawn(1)[0].random
    columns = {
        attribute.name: _column(attribute, codes[:, axis], bins, uniforms)
        for axis, attribute in enumerate(release.plan.problem.domain.attributes)
    }
    stands_for = count / drawn if drawn else 1.0
    record = {"form": form, "bins": bins, "seed": seed, "rows": drawn, "records_a_row": stands_for, "moved": moved}
    return Synthetic(table=pa.table(columns), record=record)


def _fit(release: Release, hypothesis: Sampleable, codes: CodeArray) -> float:
    """Move rows, in place, towards the answers about the workload's groups of attributes; the part of the values that
    moved.

    Public facts stay as true as they were.
    """
    problem = release.plan.problem
    shape, facts = problem.domain.shape, problem.domain.facts
    groups = reachable(shape, [block.axes for block in problem.workload.blocks])
    if not reach(shape, groups, len(codes)):
        return 0.0
    blocks = [
        QueryBlock(name="", factors=tuple(Factor.identity(axis, shape[axis]) for axis in axes)) for axes in groups
    ]
    prepare(hypothesis, blocks)
    share = len(codes) / hypothesis.total
    wanted = {
        axes: hypothesis.answer(block).reshape([shape[axis] for axis in axes]) * share
        for axes, block in zip(groups, blocks, strict=True)
    }
    fixed = (*facts.impossible, *(total.region for total in facts.totals))
    return RowFit(shape=shape, wanted=wanted, fixed=fixed).run(codes) / codes.size


def _cells(release: Release, hypothesis: Sampleable, bins: BinText) -> Synthetic:
    import pyarrow as pa

    weights = hypothesis.weights()
    occupied = np.nonzero(weights > 0)
    columns = {
        beside((WEIGHT,), attribute.name): _column(attribute, codes, bins)
        for attribute, codes in zip(release.plan.problem.domain.attributes, occupied, strict=True)
    }
    columns[WEIGHT] = pa.array(weights[occupied])
    return Synthetic(table=pa.table(columns), record={"form": "cells", "bins": bins})


def _column(attribute: Attribute, codes: IntArray, bins: BinText, uniforms: Uniforms | None = None) -> Any:
    import pyarrow as pa

    axis = attribute.axis
    if bins == "sampled" and isinstance(axis, Bins) and uniforms is not None:
        return sampled(axis, codes, uniforms(len(codes)))
    indices = pa.array(np.ascontiguousarray(codes, dtype=np.int32))
    if bins == "midpoint" and isinstance(axis, Bins):
        return midpoints(axis, len(attribute.own_cells)).take(indices)
    return pa.DictionaryArray.from_arrays(indices, pa.array(attribute.titles(), type=pa.string()))
