"""The page of a plan."""

from __future__ import annotations

import pytest
from support.handmade_release import make_plan, make_theory_plan
from support.pages import Read, require_accessible, require_alone

from dpqr.releases.record.plan_document import plan_document, seal_document
from dpqr.releases.resources import Resources
from dpqr.report.reports import plan_html


@pytest.mark.parametrize("made", [make_plan, make_theory_plan])
def test_a_plan_is_a_page_before_there_is_data(made):
    plan = made()
    text = plan_html(plan, Resources.of(plan))
    require_alone(text)
    require_accessible(text)
    names = [given["id"] for _, given, _ in Read(text).all_of("section")]
    assert names == ["promise", "plan", "forecast", "domain", "checklist", "hashes"]
    assert "A PLAN: nothing was drawn" in text


def test_it_shows_expected_errors_and_its_hash():
    plan = make_plan()
    name = plan.problem.workload.blocks[0].name
    parts = {"expected": {"blocks": [{"name": name, "error": {"mean": 220.0}}]}}
    text = plan_html(plan, Resources.of(plan), parts)
    assert "Expected error of an answer, block by block" in text
    assert "220" in text
    assert seal_document(plan_document(plan) | parts)["sha256"] in text
    assert "forecasts no error" in plan_html(plan, Resources.of(plan))
