"""Drawings: small, in the page's colours, with foreign text as text."""

from __future__ import annotations

import numpy as np
import pytest

from dpqr.report.page.charts import LEVELS, bar_chart, draw_chart, label, shades


def test_a_drawing_has_no_foreign_address_and_the_pages_colours():
    chart = bar_chart(["a <b>", "$x^2$", "漢字"], [1.0, 2.0, 3.0], alt="three bars", salt="a")
    assert "http" not in chart.svg
    assert "xmlns" not in chart.svg
    assert "#0" not in chart.svg
    assert "var(--fill)" in chart.svg
    assert all(text in chart.svg for text in ("a &lt;b&gt;", "$x^2$", "漢字"))
    assert chart.alt == "three bars"


def test_two_drawings_share_no_names():
    def draw(figure):
        figure.add_axes((0, 0, 1, 1)).bar([0], [1], hatch="//")

    one, again, other = (draw_chart(draw, height=50, alt="", salt=salt).svg for salt in ("a", "a", "b"))
    assert one == again
    assert one != other


@pytest.mark.parametrize("log", [False, True])
def test_figures_are_written_as_everywhere(log):
    svg = bar_chart(["a", "b"], [900.0, 120_000.0], alt="", salt="a", log=log).svg
    assert "100,000" in svg or "120,000" in svg
    assert "mathdefault" not in svg


def test_shades_go_from_nothing_to_all_in_few_steps():
    found = shades(np.array([0.0, 1.0, 25.0, 100.0, 400.0, np.nan]), 100.0)
    assert found[:, 3].tolist() == [0, round(round(0.1 * LEVELS) / LEVELS * 255), 136, 255, 255, 0]
    assert len(np.unique(shades(np.linspace(0, 1, 10_000), 1.0)[:, 3])) == LEVELS + 1


def test_a_long_name_is_shortened_and_a_hostile_one_escaped():
    assert label("a" * 30, 10) == "a" * 9 + "…"
    assert label("a\x1b[2J") == "a\\x1b[2J"
