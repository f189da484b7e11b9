"""This machine beside a plan: memory and disk are refused where they are short, before anything is paid."""

from collections import namedtuple

import pytest

from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.releases import resources as machine
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import OutputRequest, PlanRequest
from dpqr.releases.resources import Resources, machine_memory, require_resources

Disk = namedtuple("Disk", "total used free")


@pytest.fixture
def plan(desk):
    return plan_release(PlanRequest(queries="q.json", epsilon="1"))


def test_a_disk_that_cannot_hold_the_files_is_refused(plan, desk, monkeypatch):
    output = OutputRequest(directory=str(desk.path / "out"))
    needed = Resources.of(plan, output).files
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: Disk(needed, 0, needed))
    require_resources(plan, output)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: Disk(needed, 0, needed - 1))
    with pytest.raises(UsageFault, match=r"the files need about .* MB, and that disk has .* MB left"):
        require_resources(plan, output)
    require_resources(plan, OutputRequest())


def test_a_disk_that_is_full_ends_a_dry_run_and_a_release_alike(desk, monkeypatch):
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: Disk(1, 1, 0))
    dry, real = desk.release("--dry-run", "--out", "out"), desk.release("--out", "out")
    assert (dry.code, dry.out, dry.err) == (real.code, real.out, real.err)
    assert dry.code == 2


def test_a_small_machine_is_refused(plan, monkeypatch):
    monkeypatch.setattr(machine, "machine_memory", lambda: plan.bytes - 1)
    with pytest.raises(InfeasiblePlan, match="this machine has"):
        require_resources(plan, OutputRequest())


@pytest.mark.parametrize(
    ("text", "limit"), [("4096\n", 4096), ("max\n", None), ("9223372036854771712\n", None), ("", None)]
)
def test_a_container_has_the_memory_that_it_may_take(tmp_path, monkeypatch, text, limit):
    limits = tmp_path / "memory.max"
    limits.write_text(text)
    monkeypatch.setattr(machine, "CGROUP_LIMITS", ("/nowhere/memory.max",))
    whole = machine_memory()
    monkeypatch.setattr(machine, "CGROUP_LIMITS", (str(limits),))
    assert machine_memory() == (limit or whole)
