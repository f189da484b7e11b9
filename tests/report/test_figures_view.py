from __future__ import annotations

from dpqr.report.answers import figures_view, views_view
from dpqr.report.html import text

ROW = {"figure": "mean(pay) by sex", "kind": "mean", "sex": "f", "detail": None, "basis": "measured"}


def test_a_row_names_its_group_and_its_flag() -> None:
    rows = [
        {**ROW, "estimate": 31.234, "error": 0.5, "lower": 30.2, "upper": 32.3, "flag": None},
        {**ROW, "sex": "m", "estimate": 12.0, "error": None, "lower": 0.0, "upper": 50.0, "flag": "small denominator"},
    ]
    shown = text(figures_view(rows))
    assert "sex=f" in shown
    assert "+-0.50" in shown
    assert "small denominator: the interval is all that a table can give" in shown
    assert "all that a table can give" not in text(figures_view(rows[:1]))


def test_views_show_their_bias() -> None:
    row = {"query": "sex", "sex": "f", "answer": 12.4, "integer": 12, "rounded": 10, "mark": None}
    shown = text(views_view([row], ("integer: moves an answer by -0.4",), 5))
    assert all(word in shown for word in ("sex=f", "12", "by 5", "10", "moves an answer by -0.4"))
