"""What a build knows and claims, from Python: the lists and texts of the commands, and its audit."""

from __future__ import annotations

import math

import pandas
import pytest

import dpqr


def test_the_guide_is_that_of_the_command(desk):
    assert dpqr.guide("ledger").rstrip("\n") == desk.run("guide", "ledger").out.rstrip("\n")
    assert dpqr.guide(search="seal") == desk.run("guide", "--search", "seal").out.rstrip("\n")
    assert "- python: " in dpqr.guide()
    assert repr(dpqr.guide("ledger")) == dpqr.guide("ledger")._repr_markdown_() == dpqr.guide("ledger")
    with pytest.raises(dpqr.UsageFault, match="did you mean 'ledger'"):
        dpqr.guide("leger")


def test_strategies_are_those_of_the_command(desk):
    assert dpqr.list_strategies().to_dict("records") == desk.run("strategies", "--json").json


@pytest.mark.slow
def test_strategies_are_explained_as_by_the_command(desk):
    given = ("--explain", "--queries", "q.json", "--eps", "1", "--n", "100000", "--json")
    told = desk.run("strategies", *given).json
    found = dpqr.list_strategies(queries="q.json", eps=1, n=100000).set_index(["role", "name"])
    assert [name for (role, name), chosen in found["chosen"].items() if chosen is True] == [told["chosen"]]
    for each in told["schedules"]:
        row = found.loc[("schedule", each["name"])]
        assert (each["refusal"] or None) == (None if pandas.isna(row["refusal"]) else row["refusal"])
        assert row["noise_deviation"] == each["noise"] or (each["noise"] is None and math.isnan(row["noise_deviation"]))
    for each in told["rules"]:
        bound = found.loc[("update", each["name"])]["alpha"]
        assert bound == min(each["alphas"].values(), default=None) or math.isnan(bound)
    with pytest.raises(dpqr.UsageFault, match="--explain needs --eps"):
        dpqr.list_strategies(queries="q.json")


def test_an_audit_is_run_and_refused_as_by_the_command(monkeypatch):
    seen = []
    monkeypatch.setattr("dpqr.audit.run.audit", lambda cases, runs, **more: seen.append(([*cases], runs, more)))
    dpqr.run_audit("laplace-*", short=True)
    dpqr.run_audit(runs=500)
    assert all(case.name.startswith("laplace-") for case in seen[0][0])
    assert (seen[0][1], seen[1][1]) == (1800, 500)
    assert len(seen[1][0]) > 50
    with pytest.raises(dpqr.UsageFault, match="there is no such case"):
        dpqr.run_audit("laplas")
    with pytest.raises(dpqr.UsageFault, match="exclude each other"):
        dpqr.run_audit(short=True, runs=5)
