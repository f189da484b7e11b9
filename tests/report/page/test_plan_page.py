"""The page of a plan."""

from __future__ import annotations

import pytest
from support.handmade_release import make_plan, make_theory_plan
from support.pages import Read, require_accessible, require_alone

from dpqr.app.report import plan_html
from dpqr.construction.resources import Resources


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
    text = plan_html(plan, Resources.of(plan))
    assert "Expected error of an answer, block by block" in text
    assert "220" in text
    assert "SHA-256" in text
