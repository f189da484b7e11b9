from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.pages import Read, require_accessible, require_alone

from dpqr.report.page.release_page import FIGURE_LINES, figures_section
from dpqr.report.reports import release_html

ROW: dict[str, Any] = {
    "figure": "mean(pay) by sex",
    "kind": "mean",
    "sex": "f",
    "detail": None,
    "estimate": 31.234,
    "error": 0.5,
    "lower": 30.2,
    "upper": 32.3,
    "basis": "measured",
    "flag": None,
}
ROWS = (
    ROW,
    {**ROW, "sex": "<m>", "error": None, "lower": 0.0, "upper": 50.0, "flag": "small denominator"},
    {**ROW, "figure": "median(pay)", "sex": None, "detail": "0.5"},
)


def test_figures_have_a_chapter_before_the_answers(found):
    text = release_html(replace(found, figures=ROWS, blocks=found.blocks[:1]))
    require_alone(text)
    require_accessible(text)
    chapters = [given["id"] for _, given, _ in Read(text).all_of("section")]
    assert chapters[3:5] == ["figures", "answers"]
    (figures,) = (words for _, given, words in Read(text).all_of("section") if given["id"] == "figures")
    for said in ("mean(pay) by sex", "sex=f", "sex=<m>", "+-0.50", "small denominator", "median(pay)", "0.5"):
        assert said in figures


def test_very_many_rows_are_counted(found):
    last = figures_section(replace(found, figures=(ROW,) * (FIGURE_LINES + 2))).parts[-1]
    assert last.lines == ("2 rows more stand in the file of figures.",)
