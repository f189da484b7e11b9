"""Plots of forecasts."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from support.handmade_forecasts import forecasts
from support.plain_screen import printed

from dpqr.report.charts import LogScale, MarksPlot, forecast_svg

SVG = "{http://www.w3.org/2000/svg}"


def test_the_largest_error_is_on_top_and_epsilon_grows_to_the_right():
    lines = printed(MarksPlot(found=tuple(forecasts(0.5, 1, 2))), width=60).splitlines()
    places = [(number, line.index("*")) for number, line in enumerate(lines) if "*" in line]
    assert places == sorted(places)
    assert len(places) == 3
    assert lines[-1].split() == ["0.5", "1", "2"]


@pytest.mark.parametrize("epsilons", [(1,), (0.25, 0.5, 1, 2)])
def test_the_file_is_an_image_by_itself_with_words_for_those_who_do_not_see_it(epsilons):
    text = forecast_svg(forecasts(*epsilons))
    root = ElementTree.fromstring(text)
    assert len(root.findall(f"{SVG}circle")) == len(epsilons)
    assert all(f"epsilon {epsilon:g}: " in root.find(f"{SVG}desc").text for epsilon in epsilons)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_a_scale_without_length_puts_its_value_in_the_middle():
    assert LogScale.of([3.0]).at(3.0) == 0.5
    assert [LogScale.of([1.0, 100.0]).at(value) for value in (1.0, 10.0, 100.0)] == pytest.approx([0.0, 0.5, 1.0])
