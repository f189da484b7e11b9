"""Levers: what a plan says would make its answers better, held against the plan that follows the advice."""

from __future__ import annotations

import pytest
from support.cases import in_one_test

from dpqr.releases.forecast.levers import explain_queries, levers, price_of
from dpqr.releases.forecast.simulation import forecast, simulate_tables
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest


def planned(query, edges=(0, 100, 300, 500, 1300), eps="1", schedule="strategy", **more):
    cost = {"name": "cost", "type": "number", "dpqr": {"edges": list(edges), "outside": "clip"}}
    ward = {"name": "ward", "type": "string", "constraints": {"enum": ["a", "b"]}}
    document = {"dpqr": "queries/1", "domain": {"fields": [ward, cost]}, "queries": [query]}
    return plan_release(PlanRequest(queries=document, epsilon=eps, schedule=schedule, **more))


def foreseen(plan):
    return forecast(plan, simulate_tables(plan.problem.domain, 500, 0)[:2], 2)


@in_one_test(
    ("query", "edges", "span", "end", "less"),
    [
        ({"sum": "cost", "by": ["ward"]}, (0, 100, 300, 500, 1300), "0..900", 500, 400 / 900),
        ({"mean": "cost", "by": ["ward"]}, (0, 100, 300, 500, 1300), "50..900", 500, 350 / 850),
        ({"mean": "cost", "by": ["ward"]}, tuple(range(0, 1001, 100)), "50..950", 500, 400 / 900),
        ({"sum": "cost"}, (0, 800, 1000, 1100), "0..1050", 1000, 900 / 1050),
    ],
)
def test_the_noise_falls_as_the_plan_says_over_half_of_the_range(query, edges, span, end, less):
    plan = planned(query, edges)
    (words,) = levers(plan, foreseen(plan))
    assert f"noise is proportional to the range {span} of cost" in words
    joined = f"if all from {end} on counted in the bin before"
    assert f"{joined}, noise would be {less:.2g} of that, and an error of " in words
    # Measured by themselves; where the noise is wide, the grid that it is drawn on does not show.
    within = tuple(edge for edge in edges if edge <= end)
    wide, short = (planned(query, each, "0.02", "rounds") for each in (edges, within))
    assert short.forecast[0].deviation / wide.forecast[0].deviation == pytest.approx(less, rel=0.01)


def test_counts_have_no_range():
    plan = planned({"marginal": ["ward"]})
    assert levers(plan, foreseen(plan)) == ()
    assert price_of(plan) == "eps 1 buys these answers"


def test_the_bound_on_rows_is_a_lever_where_persons_are_protected():
    plan = planned({"marginal": ["ward"]}, unit="person", max_rows=3)
    (words,) = levers(plan, foreseen(plan))
    assert words == "noise is proportional to --max-rows 3; several, as --max-rows 1,3, are compared"
    assert plan.forecast[0].deviation == pytest.approx(
        3 * planned({"marginal": ["ward"]}).forecast[0].deviation, rel=0.05
    )


def test_a_mean_is_explained_in_its_own_unit_and_not_by_what_it_is_made_of():
    plan = planned({"mean": "cost", "by": ["ward"]})
    found = foreseen(plan)
    (one,) = explain_queries(plan, found)
    assert (one.name, one.kind, one.answers) == ("mean(cost) by ward", "mean", 2)
    assert (one.error, one.noise) == (found.figures[0].error.mean, plan.forecast[0].deviation)
    assert one.better[-1].startswith("fewer groups")


@in_one_test(("delta", "law", "less"), [(None, "8 + 3", 5 / 11), ("1e-6", "the root of 8 + 3", (5 / 11) ** 0.5)])
def test_the_bound_on_a_person_s_cells_is_a_lever(delta, law, less):
    def tables(*bounds):
        fields = [{"name": name, "type": "integer", "constraints": {"minimum": 0, "maximum": 9}} for name in "ab"]
        asked = [{"persons": {"by": [name], "max_cells": most}} for name, most in zip("ab", bounds, strict=True)]
        document = {"dpqr": "queries/1", "domain": {"fields": fields}, "queries": asked}
        return plan_release(PlanRequest(queries=document, epsilon="0.01", delta=delta, unit="p", max_rows=8))

    wide, narrow = tables(8, 3), tables(2, 3)
    words = f'noise is in proportion to {law}, the cells in which a person counts; "max_cells" can state fewer'
    assert levers(wide, foreseen(wide))[0] == f"tables of persons: {words}"
    assert [one.better for one in explain_queries(wide, foreseen(wide))][-2:] == [(words,)] * 2
    before, after = ([one.deviation for one in plan.person_forecast] for plan in (wide, narrow))
    fallen = [after[0] / before[0], after[1] / before[1]]
    assert fallen == pytest.approx([less] * 2, rel=0.01)
    assert [levers(tables(1, 1), foreseen(tables(1, 1)))[:1]] == [
        ("noise is proportional to --max-rows 8; several, as --max-rows 1,8, are compared",)
    ]
