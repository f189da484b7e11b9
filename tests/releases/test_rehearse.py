"""--rehearse: the whole run on rows of the public domain, stamped and free."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.command_desk import DOMAIN, QUERIES
from support.refusal_form import assert_refusal

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain, PublicFacts, Region
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.releases.forecast.exact_errors import true_answers
from dpqr.releases.rehearsal import MOST, ROWS, rehearsed_rows, rehearsed_table
from dpqr.strategies.problem import Problem
from dpqr.tables.limits import Limits
from dpqr.workload.block import Factor, QueryBlock
from dpqr.workload.matrix import Identity
from dpqr.workload.workload import Workload

LEDGER = ("--dataset", "survey", "--ledger", "l.sqlite")


def problem(*sizes, **more):
    """A problem with one block: the full table."""
    facts = more.pop("facts", PublicFacts())
    attributes = tuple(Attribute(name=f"c{index}", axis=Codes(size)) for index, size in enumerate(sizes))
    factors = tuple(Factor(axes=(axis,), sizes=(size,), matrix=Identity(size)) for axis, size in enumerate(sizes))
    workload = Workload((QueryBlock(name="all", factors=factors),))
    return Problem(domain=Domain(attributes, facts), workload=workload, unit=more.pop("unit", PrivacyUnit()), **more)


def cells(asked, limits=Limits()):  # noqa: B008 (frozen)
    """Counts of the rehearsed rows by cell."""
    truth = true_answers(rehearsed_table(asked, limits).counts, asked.workload.blocks)
    return truth.answers[0].reshape(asked.domain.shape)


def test_nothing_is_opened_or_paid_and_everything_is_stamped(desk, monkeypatch):
    def opened(*_, **__):
        raise AssertionError("a table was looked at")

    for place in ("check_table", "load_table"):
        monkeypatch.setattr(f"dpqr.releases.release.{place}", opened)
    assert desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite").code == 0
    before = (desk.path / "l.sqlite").read_bytes()
    ended = desk.release(*LEDGER, "--rehearse", "--out", "out", "--synthetic", "rows", data="nowhere.csv")
    assert ended.code == 0, ended.err
    assert (desk.path / "l.sqlite").read_bytes() == before
    assert desk.everything() - {"table.csv", "q.json", "l.sqlite", "out"} == {
        "out/rehearsal-answers.csv",
        "out/rehearsal-synthetic.parquet",
        "out/release.json",
    }
    record = json.loads((desk.path / "out" / "release.json").read_text())
    assert (record["rehearsal"], record["ledger"]) == (True, "none")
    assert record["guarantee"].startswith("REHEARSAL: 10,000 rows were drawn from the public domain")
    assert "REHEARSAL" in ended.err
    assert "no ledger was used" not in ended.err


@pytest.mark.slow
def test_every_unit_and_a_domain_with_facts_are_rehearsed_by_the_plan_of_the_release(desk):
    """The stamp comes first on the screen."""
    for more in (
        ("--neighbours", "replace", "--n", "50"),
        ("--unit", "person", "--max-rows", "2"),
        ("--counts", "count"),
        ("--delta", "1e-9"),
    ):
        ended = desk.release("--rehearse", *more, "--json")
        assert ended.code == 0, ended.err
        assert ended.json["guarantee"].startswith(f"REHEARSAL: {50 if '--n' in more else ROWS:,} rows")
    assert desk.release("--rehearse", "--json").json["plan"] == desk.release("--json").json["plan"]
    domain = {**DOMAIN, "impossible": [{"where": "sex = 'F' and age < 25"}], "totals": [{"count": 900}]}
    desk.write(q__json={**QUERIES, "domain": domain})
    ended = desk.release("--rehearse", data="nowhere.csv")
    assert (ended.code, ended.out[:10]) == (0, "REHEARSAL:")
    line = desk.release("--rehearse", "--progress", "json", "--out", "out").err.splitlines()[-1]
    assert json.loads(line)["guarantee"].startswith("REHEARSAL")


@pytest.mark.slow
def test_a_rehearsal_is_looked_at_as_its_release_will_be_and_says_what_it_is(desk):
    assert desk.release("--rehearse", "--out", "out").code == 0
    ended = desk.run("show", "out", "--query", "marginal(sex,age)")
    assert (ended.code, ended.err) == (0, "rehearsal: the figures are of made-up rows, and describe nobody\n")
    ended = desk.run("answer", "out", "--by", "sex")
    assert (ended.code, ended.err) == (0, "note: the figures are of made-up rows, and describe nobody\n")
    assert desk.run("report", "out", "--html", "page.html").code == 0
    assert "REHEARSAL: no table was opened" in (desk.path / "page.html").read_text()


def test_a_rehearsal_and_a_release_never_stand_for_each_other(desk):
    assert desk.release("--out", "out").code == 0
    says = "--out out: holds a release, and a rehearsal never replaces one"
    assert_refusal(desk.release("--out", "out", "--rehearse", "--if-exists", "replace"), 8, says)
    assert_refusal(desk.release("--out", "out", "--rehearse", "--if-exists", "skip"), 8, "of another request")
    assert desk.release("--out", "try", "--rehearse").code == 0
    assert_refusal(desk.release("--out", "try", "--if-exists", "skip"), 8, "or a rehearsal")
    assert desk.release("--out", "try", "--rehearse", "--if-exists", "skip").code == 0
    assert desk.release("--out", "try", "--rehearse", "--if-exists", "replace").code == 0
    evaluated = desk.run("evaluate", "table.csv", "try", "--queries", "q.json")
    assert (evaluated.code, evaluated.out) == (3, "")
    assert desk.release("--out", "try", "--if-exists", "replace").code == 0
    assert (desk.path / "try" / "answers.csv").exists()


def test_what_a_release_refuses_a_rehearsal_refuses(desk):
    assert_refusal(desk.release("--rehearse", *LEDGER), 2, "there is no ledger")
    assert desk.run("budget", "init", "survey", "--eps", "5", "--ledger", "l.sqlite").code == 0
    assert_refusal(desk.release("--rehearse", "--resume", *LEDGER, "--out", "out"), 2, "leave --resume out")
    assert_refusal(desk.release("--rehearse", *LEDGER, eps="6"), 4, "asked epsilon 6, spent 0 of 5")
    assert_refusal(desk.release("--rehearse", "--max-cells", "10", "--no-replay"), 3, "cells: age 5")


def test_rows_are_uniform_and_repeat_with_the_seed():
    """Each of 8 cells is binomial(10000, 1/8): within 6.5 deviations (215) for this seed, as for all but 1 of 1e9."""
    counts = cells(problem(2, 4))
    assert counts.sum() == ROWS
    assert np.abs(counts - ROWS / 8).max() < 215
    assert (cells(problem(2, 4)) == counts).all()
    assert (cells(problem(2, 4, seed=1)) != counts).any()
    assert (cells(problem(2, 4), Limits(cells=1)) == counts).all()


def test_impossible_cells_stay_empty():
    barred = np.zeros((2, 3), dtype=bool)
    barred[1, 1:] = True
    region = Region(text="made up", axes=(0, 2), cells=barred)
    counts = cells(problem(2, 4, 3, facts=PublicFacts(impossible=(region,))))
    assert counts.sum() == ROWS
    assert counts[1, :, 1:].sum() == 0
    assert (counts[0] > 0).all()


def test_as_many_rows_as_are_declared():
    replaced = PrivacyUnit(neighbours=Neighbours.REPLACE)
    assert rehearsed_rows(problem(2)) == ROWS
    assert rehearsed_rows(problem(2, n=70)) == 70
    assert rehearsed_rows(problem(2, n=70, unit=replaced)) == 70
    assert rehearsed_rows(problem(2, n=10**9, unit=replaced)) == MOST
