"""A rehearsal: the whole run of a release on rows drawn from its public domain. No table is opened, nothing is paid.

Its noise and its schedule are those of a release, so documents, options, time, memory, screens and files can be tried
before anything is spent. What it says of the rows says nothing of any table.
"""

from __future__ import annotations

import os

import numpy as np

from dpqr.app.requests import ReleaseRequest
from dpqr.construction.public_tables import possible_rows
from dpqr.data.histogram import DenseHistogram
from dpqr.errors import AlreadyThere, UsageFault
from dpqr.io.outputs.read_release import read_release
from dpqr.io.tables.intake import tally
from dpqr.io.tables.limits import Limits
from dpqr.io.tables.load import LoadedTable
from dpqr.noise.public import public_generator
from dpqr.privacy.sealed import Private
from dpqr.strategies.problem import Problem

ROWS, MOST = 10_000, 1_000_000
"""Rows where no number of them is declared, and at most."""


def rehearsed_rows(problem: Problem) -> int:
    """How many rows a rehearsal draws: as many as are declared, within MOST."""
    declared = problem.declared or problem.n or problem.domain.facts.records
    return min(declared or ROWS, MOST)


def rehearsed_table(problem: Problem, limits: Limits) -> LoadedTable:
    """Rows drawn uniformly from the cells of the domain that the public facts allow, as a loaded table is.

    Privacy: public, a function of the plan. The rows repeat with the seed; the noise of the run does not.
    """
    rows, shape = rehearsed_rows(problem), problem.domain.shape
    generator = public_generator(problem.seed)
    codes = possible_rows(problem.domain, [generator.integers(size, size=rows) for size in shape], generator)
    cells = tally(shape, problem.domain.size, limits.cells)
    cells.add(codes, rows, None)
    nothing_dropped = DenseHistogram(np.zeros((), dtype=np.int64))
    return LoadedTable(counts=Private(cells.histogram()), dropped=Private(nothing_dropped))


def require_rehearsable(request: ReleaseRequest) -> None:
    """AlreadyThere where a rehearsal would take the place of a release, which was paid for; UsageFault for --resume."""
    if request.payer and request.payer.resume:
        raise UsageFault("--rehearse pays nothing, so nothing can be continued; leave --resume out")
    given = request.output.directory
    if given is None or not os.path.isdir(given) or read_release(given).record.get("rehearsal"):
        return
    raise AlreadyThere(f"--out {given}: holds a release, and a rehearsal never replaces one; choose another directory")
