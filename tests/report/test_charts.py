from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from support.handmade_forecasts import forecasts
from support.plain_screen import kept, printed

from dpqr.kernel.errors import UsageFault
from dpqr.kernel.values import replace
from dpqr.releases.answers.answered import CellColumn, answered_block
from dpqr.releases.answers.errors import MEASURED
from dpqr.report.charts import LEGEND, Bar, LogScale, MarksPlot, bars_view, curve_view, forecast_svg, heat_map_view

NAN = float("nan")


@pytest.fixture
def block(release):
    return answered_block(release.answers[0], release.plan.problem.domain)


def drawn(value, lower=NAN, upper=NAN):
    """One bar of 20 columns, on a scale from -4 to 6."""
    return printed(Bar(low=-4, high=6, value=value, lower=lower, upper=upper), 20).rstrip("\n")


def test_bars_with_their_intervals(block):
    assert printed(bars_view(block, 2), 60) == kept("bars")


def test_bars_start_at_nothing_to_either_side():
    assert drawn(6) == " " * 8 + "█" * 12
    assert drawn(-4) == "█" * 8
    assert drawn(2, -4, 6) == "░" * 8 + "▓" * 4 + "░" * 8
    assert drawn(0) == ""


def test_an_estimate_outside_its_interval_is_seen_to_be():
    assert drawn(6, 1, 3) == " " * 8 + "██▓▓▓▓██████"
    assert drawn(1, 3, 5) == " " * 8 + "██" + " " * 4 + "░░░░"


def test_answers_that_are_all_nothing(block):
    nothing = replace(block, **dict.fromkeys(("estimate", "lower", "upper"), block.estimate * 0))
    assert "█" not in printed(bars_view(nothing, 9), 60)


def test_no_error_is_known(release):
    block = answered_block(release.answers[1], release.plan.problem.domain)
    assert "no error is known" in printed(bars_view(block, 3), 60)
    assert "95%" not in printed(bars_view(block, 3), 60)


def test_a_pair(block):
    assert printed(heat_map_view(block, 9)) == kept("heat-map") + f"{LEGEND}\n"


def test_on_a_narrow_screen_columns_follow_below(block):
    lines = printed(heat_map_view(block, 9), 30).splitlines()
    assert lines[0].split() == ["sex", "[0,", "20)", "[20,", "40)"]
    assert max(map(len, lines)) <= 30
    assert all(word in " ".join(lines) for word in ("40)", "60]", "7.0"))


def test_a_map_for_every_cell_of_the_columns_before(block):
    year = CellColumn(name="year", texts=("2024",), places=block.columns[0].places * 0, ordered=True)
    shown = printed(heat_map_view(replace(block, columns=(year, *block.columns)), 9))
    assert shown == "\nyear=2024\n" + kept("heat-map") + f"{LEGEND}\n"


def test_some_of_it(block):
    assert "... and 2 more answers; --rows N" in printed(heat_map_view(block, 7))


@pytest.mark.parametrize("place", [1, 2])
def test_one_column_is_no_pair(release, place):
    block = answered_block(release.answers[place], release.plan.problem.domain)
    with pytest.raises(UsageFault, match="is not about a pair of columns; --as bars shows it"):
        heat_map_view(block, 9)


def curve_block(release, place):
    return answered_block(release.answers[place], release.plan.problem.domain)


def test_a_prefix_block_is_its_own_curve(release):
    assert printed(curve_view(curve_block(release, 1), 3), 40) == kept("curve")


def test_bins_are_added_up_and_own_cells_are_left_out(release):
    by_sex = curve_block(release, 0)
    lines = printed(curve_view(by_sex, 9), 60).splitlines()
    assert [line for line in lines if "=" in line] == ["sex=F", "sex=M", "sex=(null)"]
    assert lines[2].startswith("13.50 │")  # F: 5 + 4.5 + 4
    age = replace(by_sex.columns[1], own=1)
    assert "[40, 60]" not in printed(curve_view(replace(by_sex, columns=(by_sex.columns[0], age)), 9), 60)


def test_the_interval_is_shaded_and_steps_go_down_too(release):
    cdf = curve_block(release, 1)
    proved = np.full(3, MEASURED, dtype=np.int8)
    ends = {"lower": cdf.estimate * 0, "upper": np.full(3, 20.0), "basis": proved}
    certain = replace(cdf, estimate=np.array([20.0, 10.0, 20.0]), **ends)
    lines = printed(curve_view(certain, 3), 38).splitlines()
    assert lines[0] == "20 │────────────┐░░░░░░░░░░┌──────────"
    assert lines[4] == "10 │░░░░░░░░░░░░└──────────┘░░░░░░░░░░"
    assert lines[-2].startswith("shaded: 95% interval")


def test_a_curve_of_nothing(release):
    """Flat, at the foot: a step or another height would show records where there are none."""
    cdf = curve_block(release, 1)
    assert printed(curve_view(replace(cdf, estimate=np.zeros(3)), 3), 40) == kept("flat-curve")


@pytest.mark.parametrize("place", [2, 4])
def test_what_has_no_order_has_no_curve(release, place):
    with pytest.raises(UsageFault, match="has no order to add up in; --as bars shows it"):
        curve_view(curve_block(release, place), 9)


# Plots of forecasts.

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
