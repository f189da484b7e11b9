"""The order of a release: everything public first, then the budget, then the table, then the disk."""

from __future__ import annotations

import json

import pytest
from support.command_desk import PRIVATE

from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.errors import BudgetRefused, DpqrError, InfeasiblePlan, UsageFault
from dpqr.kernel.noise.source import SeededNoise
from dpqr.kernel.values import replace
from dpqr.releases import release as module
from dpqr.releases.loop import SILENT
from dpqr.releases.release import dry_run, release
from dpqr.releases.requests import OutputRequest, PlanRequest, ReleaseRequest
from dpqr.tables.source import TableSource

SOURCE = TableSource(paths=("table.csv",))
REQUEST = PlanRequest(queries="q.json", epsilon="1", schedule="rounds")
STEPS = (
    "plan_with_documents",
    "require_sampleable",
    "reserve",
    "check_table",
    "load_table",
    "iterative_construction",
    "write",
)


def run(request=REQUEST, output=None, **more):
    output = output or OutputRequest(directory="out")
    return release(ReleaseRequest(source=SOURCE, plan=request, output=output), SILENT, **more)


@pytest.fixture
def steps(monkeypatch):
    """The steps of a release, in the order in which they were begun."""
    begun = []

    def noted(name, original):
        def step(*given, **more):
            begun.append(name)
            return original(*given, **more)

        return step

    for name in STEPS[:-1]:
        monkeypatch.setattr(module, name, noted(name, getattr(module, name)))
    monkeypatch.setattr(module, "write_release", noted("write", module.write_release))
    monkeypatch.setattr(Basic, "guard", noted("guard", Basic.guard))
    return begun


def test_pay_then_look(desk, steps):
    run(output=OutputRequest(directory="out", synthetic="rows"))
    assert steps == [*STEPS[:4], "guard", *STEPS[4:]]


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        ({"epsilon": "0"}, "plan_with_documents"),
        ({"queries": "none.json"}, "plan_with_documents"),
        ({"update": "perceptron"}, "require_sampleable"),
    ],
    ids=str,
)
def test_what_is_wrong_with_the_request_is_found_before_the_table_is_touched(desk, steps, changes, last):
    with pytest.raises(DpqrError):
        run(replace(REQUEST, **changes), OutputRequest(directory="out", synthetic="rows"))
    assert steps[-1] == last
    (desk.path / "out").mkdir()
    with pytest.raises(UsageFault):
        run()
    assert steps[-1] == "reserve"


def test_a_caller_may_refuse_the_plan(desk, steps):
    def unwilling(plan):
        raise BudgetRefused(f"{plan.problem.workload.rows} answers are too many")

    with pytest.raises(BudgetRefused, match="13 answers"):
        run(planned=unwilling)
    assert steps == ["plan_with_documents"]


def test_a_budget_that_does_not_cover_the_plan_keeps_the_table_closed(desk, steps, monkeypatch):
    def refuse(*_):
        raise BudgetRefused("too dear")

    monkeypatch.setattr(Basic, "guard", refuse)
    with pytest.raises(BudgetRefused):
        run()
    assert "load_table" not in steps
    assert desk.everything() == {"table.csv", "q.json"}


def test_figures_that_cannot_be_computed_stop_the_run_before_it_costs_anything(desk, steps, monkeypatch):
    def broken(*_):
        raise ArithmeticError

    monkeypatch.setattr("dpqr.kernel.accountants.sums.ZeroConcentrated.epsilon", broken)
    with pytest.raises(ArithmeticError):
        run()
    assert "load_table" not in steps


def test_a_plan_that_this_machine_cannot_hold(desk, steps, monkeypatch):
    monkeypatch.setattr(module.os, "sysconf", lambda name: 4096 if name == "SC_PAGE_SIZE" else 1)
    with pytest.raises(InfeasiblePlan, match=r"30 cells need about 0 GB, and this machine has 0 GB; ask about fewer"):
        run()
    assert steps == ["plan_with_documents", "reserve"], "the table is not looked at"


@pytest.mark.parametrize("pages", [-1, 0])
def test_a_machine_that_does_not_tell_its_memory(desk, monkeypatch, pages):
    monkeypatch.setattr(module.os, "sysconf", lambda name: 4096 if name == "SC_PAGE_SIZE" else pages)
    run()
    assert (desk.path / "out" / "release.json").exists()


def test_a_repeatable_source_marks_everything_it_touches(desk):
    finished = run(noise=SeededNoise(1))
    record = json.loads((desk.path / "out/release.json").read_text())
    assert not finished.private
    assert record["private"] is False
    assert record["guarantee"].startswith("NOT PRIVATE")
    assert finished.trust[0].startswith("NOT PRIVATE")


def test_the_same_noise_gives_the_same_files(desk):
    for name in ("one", "two"):
        run(output=OutputRequest(directory=name, synthetic="rows"), noise=SeededNoise(7))
    for file in ("answers.csv", "release.json", "synthetic.parquet"):
        assert (desk.path / "one" / file).read_bytes() == (desk.path / "two" / file).read_bytes()


def test_a_release_is_that_of_its_dry_run_priced_under_every_accountant_with_nothing_private_in_it(desk):
    planned, _ = dry_run(ReleaseRequest(source=SOURCE, plan=REQUEST))
    made = run()
    assert planned.events == made.plan.events
    assert made.spent["basic"] == 1
    assert {"advanced", "optimal", "zcdp"} <= set(made.spent)
    assert made.spent["zcdp"] is None, "no rho gives an epsilon at delta 0"
    assert not any(hidden in repr(made) for hidden in PRIVATE)
