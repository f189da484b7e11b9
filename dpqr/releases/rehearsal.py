"""A rehearsal: the whole run of a release, or of predictions, on rows drawn from its public domain.

No table is opened, nothing is paid. Its noise and its plan are those of the run that is paid for, so documents,
options, time, memory, screens and files can be tried before anything is spent. What it says of the rows says nothing
of any table.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from dpqr.domain.domain import Domain
from dpqr.domain.histogram import DenseHistogram, PersonCounts
from dpqr.kernel.arrays import AnyArray
from dpqr.kernel.errors import AlreadyThere, UsageFault
from dpqr.kernel.noise.public import public_generator
from dpqr.kernel.sealed import Private
from dpqr.kernel.values import replace
from dpqr.releases.files.read_release import read_release
from dpqr.releases.forecast.simulation import possible_rows
from dpqr.releases.requests import ReleaseRequest
from dpqr.strategies.problem import Problem
from dpqr.tables.limits import Limits
from dpqr.tables.load import LoadedTable
from dpqr.tables.tallies import tally
from dpqr.workload.block import QueryBlock

ROWS, MOST = 10_000, 1_000_000
"""Rows where no number of them is declared, and at most."""


def rehearsed_rows(problem: Problem) -> int:
    """How many rows a rehearsal draws."""
    return rows_to_draw(problem.domain, problem.declared or problem.n)


def rows_to_draw(domain: Domain, declared: int | None) -> int:
    """As many rows as are declared, or as public facts say, within MOST."""
    return min(declared or domain.facts.records or ROWS, MOST)


def rehearsed_table(problem: Problem, limits: Limits, persons: Sequence[QueryBlock] = ()) -> LoadedTable:
    """Rows drawn uniformly from the cells of the domain that the public facts allow, as a loaded table is. Each row is
    a person, where persons are counted.

    Privacy: public, a function of the plan. The rows repeat with the seed; the noise of the run does not.
    """
    shape = problem.domain.shape
    codes = drawn_rows(problem.domain, shape, rehearsed_rows(problem), problem.seed)
    loaded = loaded_rows(shape, codes, limits)
    if not persons:
        return loaded
    tables = {}
    for table in filter(None, (block.person_table for block in persons)):
        axes, sizes = table.axes, [shape[axis] for axis in table.axes]
        tables[table] = table.empty(shape)
        cells = np.ravel_multi_index([codes[axis] for axis in axes], sizes) if axes else np.zeros_like(codes[0])
        total = table.total
        totals = np.zeros_like(cells) if total is None else np.array(total.values)[codes[total.axis]]
        kept = table.fulfilled(codes)
        table.add(tables[table], cells[kept].astype(np.int64), totals[kept])
    return replace(loaded, persons=Private(PersonCounts(shape, tables)))


def drawn_rows(domain: Domain, shape: tuple[int, ...], rows: int, seed: int) -> list[AnyArray]:
    """A code of each row for every column of the domain, and for what axes the shape has beyond them."""
    generator = public_generator(seed)
    return list(possible_rows(domain, [generator.integers(size, size=rows) for size in shape], generator))


def loaded_rows(shape: tuple[int, ...], codes: list[AnyArray], limits: Limits) -> LoadedTable:
    """Rows of codes, counted and sealed as a table's are."""
    cells = tally(shape, limits.cells)
    cells.add(codes, len(codes[0]), None)
    nothing_dropped = DenseHistogram(np.zeros((), dtype=np.int64))
    nobody = PersonCounts(shape, {})
    return LoadedTable(counts=Private(cells.histogram()), dropped=Private(nothing_dropped), persons=Private(nobody))


def require_rehearsable(request: ReleaseRequest) -> None:
    """AlreadyThere where a rehearsal would take the place of a release, which was paid for; UsageFault for --resume."""
    if request.payer and request.payer.resume:
        raise UsageFault("--rehearse pays nothing, so nothing can be continued; leave --resume out")
    given = request.output.directory
    if given is None or not os.path.isdir(given) or read_release(given).record.get("rehearsal"):
        return
    raise AlreadyThere(f"--out {given}: holds a release, and a rehearsal never replaces one; choose another directory")
