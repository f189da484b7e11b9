"""Resources: time, memory and disk that a run takes, forecast from its plan."""

from __future__ import annotations

import os
import shutil
from itertools import combinations
from pathlib import Path

from msgspec import Struct

from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.models.averaging import TUNING as AVERAGING
from dpqr.releases.answers.refits import can_refit
from dpqr.releases.files.formats import FORMATS, TableFormat
from dpqr.releases.requests import OutputRequest
from dpqr.strategies.plan import Plan
from dpqr.strategies.updates.interface import AveragedRule
from dpqr.workload.workload import detailed_rows, named_axes


class ResourceTuning(Struct, frozen=True, kw_only=True):
    """Constants of the forecast, set on made-up jobs of `python tests/benchmarks/resources.py` (seed 301) and a search
    over the sample queries; RESULTS.md, section "Resources", has its errors on other jobs (seed 302)."""

    start: float = 1.1
    """Seconds of one processor for any run, most of them for loading libraries."""
    block: float = 4e-4
    """For each block of the workload."""
    planned: float = 2.0
    """Seconds of planning from which on they count."""
    designed: float = 0.5
    """The part of planning that `ordered` takes again, for what it measures after its first draws."""
    candidate: float = 3e-4
    """For each block and each round that may choose it."""
    searched: float = 0.4
    """The part of its rounds that a search takes, mostly, before it stops."""
    fit: float = 0.02
    """For each fit of the model."""
    measured: float = 1.2e-3
    """For each fit and each measured block."""
    column_cell: float = 3e-5
    """For each fit and each cell of a column."""
    classes: float = 1.6e-5
    """For each cell of the tables that latent classes are fitted to: some 200 passes, mostly by up to 4 classes."""
    table: int = 300
    """Cells that take as long as what a table itself takes."""
    least: float = 0.1
    """For latent classes of any size."""
    other: float = 0.025
    """For each round that may measure another block than a marginal, in the fits of latent classes."""
    again: float = 1.4e-6
    """As `classes`, for each refit of error bars, which is short."""
    refitted: float = 2e-3
    """For each refit of error bars and each block."""
    answer: float = 4e-6
    """For each answer."""
    cell: float = 1e-7
    """For each cell of the table that is read."""
    program: int = 200_000_000
    """Bytes of memory of a run over a table of few cells."""
    figures: int = 90
    """Bytes of the figures of one answer, as text."""
    record: int = 400
    """Bytes of release.json for each draw and each block."""


TUNING = ResourceTuning()


class Resources(Struct, frozen=True, kw_only=True):
    """What a run takes, about; the time of most jobs is within a factor of two.

    seconds: of one processor, without the table. reading: seconds for every million rows of the table. memory: peak, in
    bytes. files: bytes of answers and record; None: nothing is written. Synthetic rows are not among them: how many
    there are is private.

    Privacy:
        A function of the plan and the files' form. The table is not looked at.
    """

    seconds: float
    reading: float
    memory: int
    files: int | None = None

    @classmethod
    def of(cls, plan: Plan, output: OutputRequest | None = None, *, planning: float = 0.0) -> Resources:
        """Of a run by `plan`, with its files where it has a directory. planning: seconds that the plan took."""
        again = 1.0 + (TUNING.designed if plan.schedule.name == "ordered" else 0.0)
        # Quick plans are in `start`, with the libraries that they load: what is said of them is always the same.
        planned = planning * again if planning >= TUNING.planned else 0.0
        return cls(
            seconds=TUNING.start + planned + loop_seconds(plan) + _refit_seconds(plan),
            reading=TUNING.cell * 10**6 * len(plan.problem.domain.attributes),
            memory=TUNING.program + plan.bytes,
            files=_file_bytes(plan, output.format) if output and output.directory is not None else None,
        )


def loop_seconds(plan: Plan) -> float:
    """Of one processor, for the draws, the fits and the answers, without the program's start and error bars."""
    workload, rounds = plan.problem.workload, _rounds(plan)
    choices = TUNING.candidate * len(workload.blocks) * rounds
    fits = (1.0 + rounds) * _fit_seconds(plan)
    if cells := _class_cells(plan):
        others = sum(not block.is_marginal for block in workload.blocks)
        fits += TUNING.least + TUNING.classes * cells + TUNING.other * min(others, rounds)
    return choices + fits + TUNING.block * len(workload.blocks) + TUNING.answer * workload.rows


def _refit_seconds(plan: Plan) -> float:
    """Of the refits by which the errors of answers are estimated."""
    if not plan.error_bars or can_refit(plan) is not None:
        return 0.0
    blocks = plan.problem.workload.blocks
    return _fit_seconds(plan) + TUNING.again * _class_cells(plan) + TUNING.refitted * len(blocks)


def _rounds(plan: Plan) -> float:
    """Rounds, as they are expected to be."""
    return plan.rounds * (TUNING.searched if plan.schedule.adaptive else 1.0)


def _fit_seconds(plan: Plan) -> float:
    """Of one fit, in the middle of the run."""
    if can_refit(plan) is not None:  # a step by the newest measurement alone
        return 0.0
    blocks = sum(map(len, plan.opening)) + _rounds(plan) / 2
    return TUNING.fit + TUNING.measured * blocks + TUNING.column_cell * sum(plan.problem.domain.shape)


def _class_cells(plan: Plan) -> int:
    """Cells of the tables of all pairs that queries join, and these tables counted as cells: latent classes are fitted
    to them. 0 where none are."""
    if not isinstance(plan.roles.update, AveragedRule) or plan.problem.domain.facts.axes:
        return 0
    shape = plan.problem.domain.shape
    pairs = {pair for block in plan.problem.workload.blocks for pair in combinations(sorted(block.axes), 2)}
    cells = sum(shape[one] * shape[other] for one, other in pairs)
    return cells + TUNING.table * len(pairs) if cells * AVERAGING.least <= AVERAGING.work else 0


def _file_bytes(plan: Plan, form: TableFormat) -> int:
    """Of the answers in the asked form, and of the record."""
    draws = sum(phase.count for phase in plan.phases)
    blocks, titles = plan.problem.workload.blocks, [each.titles() for each in plan.problem.domain.attributes]
    means = [sum(map(len, each)) / len(each) for each in titles]
    named, texts = {axis for block in blocks for axis in named_axes(block)}, 0.0
    for block in blocks:
        # The mean length of one answer's line: its name, its titles, a sign between columns, and its figures.
        labels = len(named) + sum(means[axis] for axis in named_axes(block))
        detail = TUNING.figures / 3 if detailed_rows(block) else 0
        texts += block.rows * (len(block.name) + labels + detail + TUNING.figures)
    record = TUNING.record * (draws + len(blocks))
    return int(texts * FORMATS[form].size) + record


# This machine: its memory and disk, beside what a plan takes of them.

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says how much memory a container may take, version 2 and 1."""


def require_resources(plan: Plan, output: OutputRequest) -> None:
    """Raises: InfeasiblePlan where the machine has less memory than the plan's arrays need; UsageFault where the disk
    of --out has less room than its files. A plan by itself is the same everywhere."""
    present = machine_memory()
    if present is not None and present < plan.bytes:
        raise InfeasiblePlan(
            f"{plan.problem.domain.size:,} cells need about {plan.bytes / 10**9:,.0f} GB, and this machine has "
            f"{present / 10**9:,.0f} GB; ask about fewer columns, or merge bins"
        )
    if output.directory is None:
        return
    needed = _file_bytes(plan, output.format)
    parent = Path(os.path.abspath(output.directory)).parent
    free = shutil.disk_usage(parent).free if parent.is_dir() else needed  # a missing parent is refused elsewhere
    if free < needed:
        raise UsageFault(
            f"--out {output.directory}: the files need about {needed / 10**6:,.0f} MB, and that disk has "
            f"{free / 10**6:,.0f} MB left; choose another place, or ask fewer queries"
        )


def machine_memory() -> int | None:
    """Bytes of memory that this machine, or the container, has; None where the system does not say."""
    found = []
    if hasattr(os, "sysconf"):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for path in CGROUP_LIMITS:
        try:
            text = Path(path).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
        found.append(int(text) if text.isdecimal() else 0)
    return min((size for size in found if size > 0), default=None)
