"""Two releases or plans side by side."""

from __future__ import annotations

import json
import math
from math import nan
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.plain_screen import printed
from support.verified_release import make

import dpqr
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.values import replace
from dpqr.releases.files.read_release import read_answers, read_figures, read_release
from dpqr.report.comparison import FIGURES, CompareRequest, compare, compared_view

OLD = Path(__file__).parents[1] / "old_releases"
PAIR = "marginal(sex,age)"
BY_SEX_AND_AGE = np.array([0, 2, 0, 0, 0, 0, 0, 1, 0, 1])
"""What `command_desk.TABLE` holds: women, then men, of four ages and of none; a row of no known sex is left out."""


@pytest.fixture
def desk(free_release):
    return Path(free_release.release).parent


def test_figures_of_two_releases_on_paper(desk):
    out = str(desk / "out")
    found = compare(CompareRequest(first=out, second=out))
    block = next(each for each in found.blocks if each.name == PAIR)
    error = read_answers(read_release(out), PAIR).error
    assert block.error[0] == block.error[1] == pytest.approx(math.sqrt(np.mean(error**2)))
    assert (block.apart, block.ratio) == (0, 0)
    assert found.alone == ((), ())
    assert len(block.figures) == len(FIGURES)


def test_tables_of_persons_are_compared_too(tmp_path):
    fields = [{"name": "ward", "type": "string", "constraints": {"enum": ["east", "west"]}}]
    domain = {"unit": {"column": "who", "max_rows": 2}, "fields": fields}
    queries = {"queries": [{"marginal": ["ward"]}, {"persons": {"by": ["ward"]}}]}
    table = pd.DataFrame({"who": ["1", "2", "2", "3"], "ward": ["east", "east", "west", "west"]})
    places = [str(tmp_path / name) for name in "ab"]
    for place in places:
        dpqr.release(table, queries=queries, domain=domain, eps=1000).save(place)
    found = compare(CompareRequest(first=places[0], second=places[1]))
    assert [(block.name, block.queries) for block in found.blocks][-1] == ("persons by ward", 2)
    assert found.blocks[-1].error == found.blocks[-1].noise
    assert found.sides[0].facts["queries"] == "4 in 2 blocks"


def test_figures_are_compared_as_themselves(tmp_path):
    """Not the sums that they are computed from, and without what is not known of a group of nobody."""
    labels = {"name": "ward", "type": "string", "constraints": {"enum": ["east", "west", "none"]}}
    number = {"name": "kwh", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}
    queries = {"queries": [{"mean": "kwh", "by": ["ward"]}, {"marginal": ["ward"]}, {"median": "kwh"}]}
    table = pd.DataFrame({"ward": ["east", "west"] * 200, "kwh": [0, 3, 4, 9] * 100})
    places, plan = [str(tmp_path / name) for name in "ab"], tmp_path / "plan.json"
    for place in places:
        dpqr.release(table, queries=queries, domain={"fields": [labels, number]}, eps=5).save(place)
    found = compare(CompareRequest(first=places[0], second=places[1]))
    stored = [read_figures(read_release(place)) for place in places]
    assert [(block.name, block.queries) for block in found.blocks] == [
        ("mean(kwh) by ward", 3), ("marginal(ward)", 3), ("median(kwh)", 1),
    ]  # fmt: skip
    mean, count, _ = found.blocks
    rows = [[row for row in side if row["figure"] == mean.name] for side in stored]
    errors, values = (
        np.array([[row[name] for row in side] for side in rows], dtype=float) for name in ("error", "estimate")
    )
    apart, explained = values[0] - values[1], errors[0] ** 2 + errors[1] ** 2 + 0 * (values[0] - values[1])
    assert mean.error == pytest.approx(np.sqrt(np.nanmean(errors**2, axis=1)))
    assert mean.ratio == pytest.approx(math.sqrt(np.mean(apart[~np.isnan(explained)] ** 2) / np.nanmean(explained)))
    assert found.sides[0].facts["rows of"] == "the whole table"
    assert math.isnan(mean.noise[0]), "of the sums, in another unit"
    assert count.noise[0] > 0
    plan.write_text(json.dumps(read_release(places[0]).record["plan"]))
    beside = compare(CompareRequest(first=str(plan), second=places[1])).blocks[0]
    assert (beside.name, beside.queries, beside.noise[0] > 0) == (mean.name, 6, True), "a plan has sums alone"


def test_how_far_they_lie_apart():
    first, second = (str(OLD / name) for name in ("0.1.0", "0.2.0"))
    found = compare(CompareRequest(first=first, second=second))
    estimates = [read_answers(read_release(place), PAIR).estimate for place in (first, second)]
    block = next(each for each in found.blocks if each.name == PAIR)
    assert block.apart == pytest.approx(math.sqrt(np.mean((estimates[0] - estimates[1]) ** 2)))
    assert math.isnan(block.ratio), "releases of 0.3 and before state no errors"
    assert found.document()["blocks"][0]["ratio"] is None


def test_a_plan_beside_a_release(desk):
    found = compare(CompareRequest(first=str(desk / "plan.json"), second=str(desk / "out")))
    assert [side.facts["kind"] for side in found.sides] == ["plan", "release"]
    assert {side.facts["price"] for side in found.sides} == {f"epsilon {found.sides[0].facts['epsilon']}"}
    assert found.blocks[0].noise[0] == found.blocks[0].noise[1]
    assert math.isnan(found.blocks[0].apart)


def test_the_budget_is_that_with_what_the_learned_domain_has_cost(desk):
    found = compare(CompareRequest(first=str(desk / "plan.json"), second=str(desk / "out"))).sides[0]
    whole = {"epsilon": {"exact": "5/4", "float": 1.25}, "delta": {"exact": "0", "float": 0.0}}
    assert replace(found, plan=found.plan | {"whole": whole}).facts["epsilon"] == "1.25"


def test_blocks_that_one_of_them_lacks(desk):
    found = compare(CompareRequest(first=str(OLD / "0.3.0"), second=str(desk / "out")))
    assert "old women" in found.alone[0]
    assert "prefix(income) by sex" in found.alone[1]
    assert PAIR not in {block.name for block in found.blocks}, "of another size"


@pytest.mark.slow
def test_errors_against_a_public_table(desk, tmp_path):
    """Of each side its own: the mean distance of its estimates from the table's counts."""
    places = (str(desk / "out"), make(tmp_path, paid=False, epsilon="50").release)
    found = compare(CompareRequest(first=places[0], second=places[1], proxy=str(desk / "table.csv")))
    block = next(each for each in found.blocks if each.name == PAIR)
    estimates = [read_answers(read_release(place), PAIR).estimate for place in places]
    off = [float(np.abs(estimate - BY_SEX_AND_AGE).mean()) for estimate in estimates]
    assert block.off == pytest.approx(off)
    assert off[1] < off[0], "fifty times the budget"
    assert len(found.blocks) == 4
    assert all(each.off[0] > 0 <= each.off[1] for each in found.blocks)


def test_one_public_table_for_one_release_is_one_error(desk):
    out = str(desk / "out")
    found = compare(CompareRequest(first=out, second=out, proxy=str(desk / "table.csv")))
    assert {block.off[0] == block.off[1] for block in found.blocks} == {True}


def test_a_private_dataset_is_not_held_against_a_table(paid_release, monkeypatch):
    place = Path(paid_release.release).parent
    monkeypatch.setenv("DPQR_LEDGER", str(place / "ledger.sqlite"))
    monkeypatch.setenv("DPQR_ANCHOR", str(place / "outside.anchor"))
    out = str(place / "out")
    with pytest.raises(BudgetRefused, match="is private, by the ledger"):
        compare(CompareRequest(first=out, second=out, proxy=str(place / "table.csv")))


def test_what_cannot_be_compared(desk, tmp_path):
    (tmp_path / "x.json").write_text(json.dumps({"dpqr": "queries/1"}))
    for place in (tmp_path / "x.json", tmp_path / "nowhere", desk / "table.csv"):
        with pytest.raises(UsageFault, match="is neither a release directory nor a plan"):
            compare(CompareRequest(first=str(place), second=str(desk / "out")))
    plan = json.loads((desk / "plan.json").read_text())
    for damaged in ([], {"dpqr": 1}, {"budget": {"epsilon": {"exact": "1/0"}}}, {"workload": {}}, {"forecast": [[]]}):
        (tmp_path / "x.json").write_text(json.dumps(plan | damaged if damaged else damaged))
        with pytest.raises(UsageFault, match="is neither a release directory nor a plan"):
            compare(CompareRequest(first=str(tmp_path / "x.json"), second=str(desk / "out")))
    with pytest.raises(UsageFault, match="holds its documents"):
        compare(CompareRequest(first=str(OLD / "0.3.0"), second=str(desk / "out"), proxy=str(desk / "table.csv")))


# Two releases or plans side by side, as text.


def figures(**known):
    return tuple(known.get(name, nan) for name in FIGURES)


def test_facts_then_blocks_then_others():
    facts = {"epsilon": "1.0", "unit": "a\x1b"}, {"epsilon": "2.0", "unit": "a\x1b"}
    shown = printed(compared_view(facts, [("by sex", 2, figures(apart=3.25)), ("all", 1, figures())], [["cdf"], []]))
    assert "in records (a sum's in its column's unit, a figure's in its own)" in " ".join(shown.split())
    assert shown.splitlines()[:7] == [
        "         A      B",
        "epsilon  1.0    2.0",
        "unit     a\\x1b  same",
        "",
        "query   answers  apart",
        "by sex        2   3.25",
        "all           1",
    ]
    assert shown.splitlines()[-1] == "only A: cdf"


def test_nothing_in_common():
    shown = printed(compared_view(({"epsilon": "1"}, {"epsilon": "1"}), [], [["a"], ["b"]]))
    assert shown.splitlines()[-3:] == ["they share no block of queries", "only A: a", "only B: b"]
