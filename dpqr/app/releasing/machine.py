"""This machine: its memory and disk, beside what a plan takes of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from dpqr.app.requests import OutputRequest
from dpqr.construction.forecasts.resources import Resources
from dpqr.errors import InfeasiblePlan, UsageFault
from dpqr.strategies.plan import Plan

CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says how much memory a container may take, version 2 and 1."""


def resources(plan: Plan, output: OutputRequest) -> Resources:
    """What a release by `plan` takes, about."""
    return Resources.of(plan, output.format if output.directory is not None else None)


def require_resources(plan: Plan, output: OutputRequest) -> None:
    """Raises: InfeasiblePlan where the machine has less memory than the plan's arrays need; UsageFault where the disk
    of --out has less room than its files. A plan by itself is the same everywhere."""
    present = machine_memory()
    if present is not None and present < plan.bytes:
        raise InfeasiblePlan(
            f"{plan.problem.domain.size:,} cells need about {plan.bytes / 10**9:,.0f} GB, and this machine has "
            f"{present / 10**9:,.0f} GB; ask about fewer columns, or merge bins"
        )
    needed = resources(plan, output).files
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
