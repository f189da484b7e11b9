"""Resources: time, memory and disk that a run takes, forecast from its plan."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from msgspec import Struct

from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.releases.answers.refits import can_refit
from dpqr.releases.formats import FORMATS, TableFormat
from dpqr.releases.requests import OutputRequest
from dpqr.strategies.plan import Plan
from dpqr.workload.workload import detailed_rows, named_axes


class ResourceTuning(Struct, frozen=True, kw_only=True):
    """Constants of the forecast, set by hand on made-up jobs of `python tests/benchmarks/resources.py` (seeds 1 and
    11); RESULTS.md, section "Resources", has its errors on other jobs (seed 21)."""

    start: float = 1.1
    """Seconds of one processor for any run, most of them for loading libraries."""
    block: float = 2e-4
    """For each block of the workload."""
    candidate: float = 3e-4
    """For each block and each round that may choose it."""
    refits: float = 1.0
    """The refits of error bars, over what the rounds take."""
    answer: float = 9e-7
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
    """What a run takes, about; the time of most jobs is within a factor of three.

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
    def of(cls, plan: Plan, output: OutputRequest | None = None) -> Resources:
        """Of a run by `plan`, with its files where it has a directory."""
        refits = TUNING.refits if plan.error_bars and can_refit(plan) is None else 0.0
        return cls(
            seconds=TUNING.start + loop_seconds(plan) + refits * _rounds_seconds(plan),
            reading=TUNING.cell * 10**6 * len(plan.problem.domain.attributes),
            memory=TUNING.program + plan.bytes,
            files=_file_bytes(plan, output.format) if output and output.directory is not None else None,
        )


def loop_seconds(plan: Plan) -> float:
    """Of one processor, for the draws, the updates and the answers, without the program's start and error bars."""
    workload = plan.problem.workload
    return _rounds_seconds(plan) + TUNING.block * len(workload.blocks) + TUNING.answer * workload.rows


def _rounds_seconds(plan: Plan) -> float:
    return TUNING.candidate * len(plan.problem.workload.blocks) * plan.rounds


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
    needed = Resources.of(plan, output).files
    if needed is None or output.directory is None:
        return
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
