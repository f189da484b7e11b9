"""The budget bar."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from support.pages import spending

from dpqr.kernel.budget import Cost
from dpqr.report.page.charts import budget_chart


def test_this_release_others_and_what_is_left_are_told():
    chart = budget_chart(spending())
    assert chart.alt == ("Budget bar: this release took 25.0%, others 50.0%; spent epsilon 3, left epsilon 1")
    assert "this release 25.0%" in chart.svg
    assert "left 25.0%" in chart.svg


def test_a_budget_of_two_figures_has_no_bar():
    found = spending()
    terms = replace(found.account.terms, limit=Cost(Fraction(4), Fraction(1, 10**6)))
    assert budget_chart(replace(found, account=replace(found.account, terms=terms))) is None
