"""The forecast of time, memory and disk: a function of the plan, larger where there is more to do."""

import json
from collections import namedtuple
from pathlib import Path

import pytest
from support.cases import in_one_test

from dpqr.kernel.errors import InfeasiblePlan, UsageFault
from dpqr.kernel.noise.source import SeededNoise
from dpqr.releases.files.formats import FORMATS
from dpqr.releases.forecast import resources as machine
from dpqr.releases.forecast.resources import TUNING, Resources, loop_seconds, machine_memory, require_resources
from dpqr.releases.loop import SILENT
from dpqr.releases.planning import plan_release
from dpqr.releases.release import release
from dpqr.releases.requests import OutputRequest, PlanRequest, ReleaseRequest
from dpqr.tables.source import TableSource

TO_CSV = OutputRequest(directory="out")


def plan(desk, queries, **domain):
    desk.write(q__json={"domain": domain, "queries": queries})
    return plan_release(PlanRequest(queries="q.json", epsilon="1"))


def test_more_to_do_takes_more(desk):
    small = Resources.of(plan(desk, [{"marginals": [["a"], ["b"]]}], a=5, b=5), TO_CSV)
    large = Resources.of(plan(desk, [{"marginals": [["a", "b"], ["b", "c"]]}], a=500, b=50, c=50), TO_CSV)
    assert small.seconds < large.seconds
    assert small.memory < large.memory
    assert small.files < large.files
    assert small.reading < large.reading
    assert Resources.of(plan(desk, [{"marginal": ["a"]}], a=5)).files is None, "nothing is written to the screen"


def test_refits_of_error_bars_take_time_beside_the_loop(desk):
    pairs = [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"], ["a", "c"]]
    desk.write(q__json={"domain": dict.fromkeys("abcdefgh", 9), "queries": [{"marginals": pairs}]})
    bars, none = (
        plan_release(PlanRequest(queries="q.json", epsilon="1", schedule="marginals", error_bars=bars))
        for bars in ("free", "none")
    )
    assert Resources.of(bars).seconds > Resources.of(none).seconds
    assert loop_seconds(bars) == loop_seconds(none)


def test_latent_classes_take_time_by_the_cells_that_queries_join(desk):
    """As many columns, cells of columns and blocks: pairs of columns are what classes are fitted to."""
    one, two = (
        plan(desk, [{"marginals": columns}], a=400, b=400, c=400, d=400)
        for columns in ([["a"], ["b"], ["c"], ["d"]], [["a", "b"], ["b", "c"], ["c", "d"], ["a", "d"]])
    )
    cells, answers = 4 * 400**2, 4 * 400
    least = 50 * 1e-8 * cells  # 50 passes over these cells, by a tenth of what a processor needs for one
    assert loop_seconds(two) - loop_seconds(one) > least + TUNING.answer * (cells - answers)
    # Beyond the cells of which classes are fitted at all nothing is added for them.
    beyond = plan(desk, [{"marginal": ["a", "b"]}], a=4000, b=4000)
    assert loop_seconds(beyond) < 1.1 * TUNING.answer * 4000**2


def test_what_long_planning_took_is_taken_again(desk):
    made = plan(desk, [{"marginal": ["a"]}], a=5)
    assert Resources.of(made, planning=0.9) == Resources.of(made)
    assert Resources.of(made, planning=7.5).seconds == Resources.of(made).seconds + 7.5


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_files_are_about_as_large_as_forecast(desk, form):
    """Within a factor of two: texts are counted, figures have a typical length."""
    made = plan(desk, [{"marginals": [["a", "b"], ["b", "c"]]}, {"prefix": "a"}], a=50, b=30, c=20)
    rows = "".join(f"{row * row % 50},{row * 7 % 30},{row * 11 % 20}\n" for row in range(3000))
    desk.write(table__csv=f"a,b,c\n{rows}")
    output = OutputRequest(directory="out", format=form)
    release(
        ReleaseRequest(
            source=TableSource(paths=("table.csv",)),
            plan=PlanRequest(queries="q.json", epsilon="1"),
            output=output,
        ),
        SILENT,
        noise=SeededNoise(1),
    )
    written = sum(file.stat().st_size for file in Path("out").iterdir())
    assert json.loads(Path("out/release.json").read_text())["plan"]["schedule"]
    assert written / 2 < Resources.of(made, output).files < 2 * written


# This machine beside a planned: memory and disk are refused where they are short, before anything is paid.

Disk = namedtuple("Disk", "total used free")


@pytest.fixture
def planned(desk):
    return plan_release(PlanRequest(queries="q.json", epsilon="1"))


def test_a_disk_that_cannot_hold_the_files_is_refused(planned, desk, monkeypatch):
    output = OutputRequest(directory=str(desk.path / "out"))
    needed = Resources.of(planned, output).files
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: Disk(needed, 0, needed))
    require_resources(planned, output)
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: Disk(needed, 0, needed - 1))
    with pytest.raises(UsageFault, match=r"the files need about .* MB, and that disk has .* MB left"):
        require_resources(planned, output)
    require_resources(planned, OutputRequest())


def test_a_disk_that_is_full_ends_a_dry_run_and_a_release_alike(desk, monkeypatch):
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda _: Disk(1, 1, 0))
    dry, real = desk.release("--dry-run", "--out", "out"), desk.release("--out", "out")
    assert (dry.code, dry.out, dry.err) == (real.code, real.out, real.err)
    assert dry.code == 2


def test_a_small_machine_is_refused(planned, monkeypatch):
    monkeypatch.setattr(machine, "machine_memory", lambda: planned.bytes - 1)
    with pytest.raises(InfeasiblePlan, match="this machine has"):
        require_resources(planned, OutputRequest())


@in_one_test(("text", "limit"), [("4096\n", 4096), ("max\n", None), ("9223372036854771712\n", None), ("", None)])
def test_a_container_has_the_memory_that_it_may_take(tmp_path, monkeypatch, text, limit):
    limits = tmp_path / "memory.max"
    limits.write_text(text)
    monkeypatch.setattr(machine, "CGROUP_LIMITS", ("/nowhere/memory.max",))
    whole = machine_memory()
    monkeypatch.setattr(machine, "CGROUP_LIMITS", (str(limits),))
    assert machine_memory() == (limit or whole)
