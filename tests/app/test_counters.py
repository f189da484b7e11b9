"""Counters from options: what they become, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from support.counters import DOMAIN, QUERIES

from dpqr.app.counters import as_counter
from dpqr.app.planning import plan_release
from dpqr.app.requests import PlanRequest
from dpqr.errors import UsageFault

ASKED = PlanRequest(
    queries=QUERIES, domain=DOMAIN, epsilon="1", delta="1e-9", period="2024-10", cumulative=24, first="2024-01"
)


def changed(**options):
    return replace(ASKED, **options)


def test_a_release_gets_a_node_s_share_and_reads_its_periods():
    plan = plan_release(ASKED)
    turn, rows = plan.problem.turn, plan.problem.period
    assert (turn.counter.tree.base, turn.counter.tree.levels, turn.number) == (5, 2, 10)
    assert plan.budget == turn.counter.node
    assert plan.budget.epsilon < 1
    assert [rows.since.name, rows.period.name] == ["2024-06", "2024-10"]
    assert (plan.schedule.name, plan.roles.accountant.name) == ("strategy", "zcdp")
    assert "2024-06 to 2024-10" in plan.notes[0]
    assert "epsilon 1, delta 1e-9: it is read by 2 of them at most" in plan.notes[1]


def test_few_periods_at_a_pure_budget_are_released_one_by_one():
    plan = plan_release(changed(delta=None))
    assert plan.budget.epsilon == Fraction(1)
    assert plan.problem.turn.since.name == "2024-10"


def test_other_requests_stay_as_they_are():
    other = changed(cumulative=None, first=None)
    assert as_counter(other) is other


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"period": None}, "add --period"),
        ({"schedule": "marginals"}, "--schedule marginals: a counter adds up answers"),
        ({"accountant": "pld"}, "choose basic, zcdp, gdp"),
        ({"unit": "person", "max_rows": 2}, "protects rows that are added or removed"),
        ({"period": "2026-01"}, "runs from 2024-01 to 2025-12"),
        ({"cumulative": 10**6}, "over 1 to 1,024 periods"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(UsageFault, match=words):
        plan_release(changed(**options))
