"""Charts of blocks: the form that suits, what was never measured hatched, and a size that lets 91 pairs fit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support.cases import slow_but

from dpqr.kernel.values import replace
from dpqr.releases.answers.answered import DETAIL, AnsweredBlock, CellColumn
from dpqr.report.page.charts import (
    LEVELS,
    block_chart,
    draw_chart,
    interval_chart,
    is_grid,
    is_prefix,
    label,
    never_measured,
    shades,
)

PAGE, PAIRS = 2_000_000, 91


def column(name, count, places=None, *, ordered=False, prefix=""):
    places = np.arange(count) if places is None else places
    return CellColumn(
        name=name, texts=tuple(f"{prefix}{name} {n}" for n in range(count)), places=places, ordered=ordered
    )


def block(*columns, measured=True, error=True):
    rows = len(columns[0].places) if columns else 1
    estimate, unknown = np.linspace(0, 1000, rows), np.full(rows, np.nan)
    return AnsweredBlock(
        name="b",
        columns=columns,
        estimate=estimate,
        error=np.linspace(1, 5, rows) if error else unknown,
        measured=estimate + 1 if measured else unknown,
        deviation=np.full(rows, 5.0) if measured else unknown,
        lower=estimate - 10,
        upper=estimate + 10,
        basis=np.zeros(rows, dtype=np.int8),
    )


def grid(down, across, **more):
    return block(
        column("a", down, np.repeat(np.arange(down), across)),
        column("b", across, np.tile(np.arange(across), down)),
        **more,
    )


def curves(groups, steps):
    return block(
        column("sex", groups, np.repeat(np.arange(groups), steps)),
        column(DETAIL, steps, np.tile(np.arange(steps), groups), prefix="< "),
    )


@pytest.mark.parametrize(
    ("made", "words"),
    slow_but(
        {0, 5},
        [
            (block(column("a", 3)), "Bars of 3 answers, in records"),
            (block(column("a", 40)), "Bars of the 14 largest of 40 answers"),
            (block(column("a" * 20, 40)), "Bars of the 8 largest of 40 answers"),
            (block(column("a", 40, ordered=True)), "Steps of 40 answers"),
            (block(), "Bars of 1 answer"),
            (grid(3, 4), "Heat map of 4 by 3 cells, in records"),
            (curves(2, 6), "Cumulative curves of 12 answers"),
            (curves(6, 3), "the 4 curves that end highest of 6"),
            (block(column("a" * 40, 3)), "Bars of 3 answers"),
        ],
    ),
)
def test_every_block_has_the_chart_that_suits_it(made, words):
    chart = block_chart(made, "s")
    assert words in chart.alt
    assert "largest estimate" in chart.alt
    assert chart.svg.startswith("<svg")
    assert ("est of" in chart.svg) == ("est of" in words)  # whoever sees the chart is told too


@pytest.mark.slow
def test_heat_maps_have_a_scale_of_colours_and_every_name_that_fits():
    """The longer column stands below each other, so that its names have room."""
    for made in (grid(3, 18), grid(18, 3)):
        svg = block_chart(made, "s", "euros").svg
        assert svg.count("<image") == 2
        assert all(f">a {place}<" in svg and f">b {place}<" in svg for place in range(3))
        assert svg.count("<text") == 21 + 3
        assert "1,000 euros" in svg
    assert "Not every name has room" in block_chart(grid(100, 100), "s").alt
    assert "Not every name has room" not in block_chart(grid(3, 18), "s").alt


def test_cells_without_a_place_in_the_order_stand_above_the_line():
    days = replace(column("a", 40, ordered=True), own=2)
    drawn = block_chart(block(days), "s")
    assert drawn.alt.startswith("Steps of 38 answers, in records; a 38 974; a 39 1,000; ")
    assert "records; a 38 974; a 39 1,000" in drawn.svg
    assert block_chart(block(replace(days, own=0)), "s").alt.startswith("Steps of 40 answers, in records; largest")


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("steps", [5, 8, 13, 300])
def test_names_below_curves_are_equally_far_apart_and_do_not_meet(groups, steps):
    svg = block_chart(curves(groups, steps), "s").svg
    shown = [number for number in range(steps) if f"{DETAIL} {number}<" in svg]
    assert shown[0] == 0
    assert 3 <= len(shown) <= 5
    assert {later - earlier for earlier, later in pairwise(shown)} == {shown[1]}


def dots(estimate, lower, upper, names=None, **more):
    names = names or [f"group {place}" for place in range(len(estimate))]
    figures = (np.array(each, dtype=float) for each in (estimate, lower, upper, [1.0] * len(estimate)))
    return interval_chart(names, *figures, **{"axis": "mean of cost (in euros)", "zero": False, "salt": "s", **more})


def test_figures_are_dots_with_intervals_in_their_own_unit():
    chart = dots([10.0, 12.25], [9.0, 11.0], [11.0, 13.5])
    assert "mean of cost (in euros)" in chart.svg
    assert "12.2 (11 to 13.5)" in chart.svg
    assert chart.alt == (
        "Dots and 95% intervals of 2 figures, mean of cost (in euros): group 0 10.0 (9 to 11.0); group 1 12.2 (11 to "
        "13.5)"
    )


def test_an_interval_without_an_end_and_one_far_beyond_the_others_are_said_not_drawn_whole():
    """The axis stays that of the estimates: its ticks lie near them."""
    svg = dots([10.0, 12.0, 11.0], [9.0, 0.0, 0.0], [11.0, np.nan, 90_000.0]).svg
    assert "12 (0 or more)" in svg
    assert "11 (0 to 90,000)" in svg
    assert "0,000<" not in svg


def test_texts_of_a_chart_keep_their_digits():
    named = replace(block(column("a", 1)), estimate=np.array([0.2384]), error=np.array([0.005]))
    assert "0.238" in block_chart(named, "s").svg


@pytest.mark.slow
@pytest.mark.parametrize("made", [block(column("a", 3)), grid(3, 4), curves(2, 6)], ids=["bars", "map", "curves"])
def test_what_was_never_measured_is_hatched_and_said(made):
    alone = replace(made, measured=np.full(made.rows, np.nan))
    part = replace(made, measured=np.where(np.arange(made.rows) == 1, np.nan, 1.0))
    assert never_measured(alone).all()
    assert "<pattern" not in block_chart(made, "s").svg
    for hatched, words in ((alone, "all answers were never measured"), (part, f"1 answer of {made.rows} were never")):
        chart = block_chart(hatched, "s")
        assert "<pattern" in chart.svg
        assert words in chart.alt


def test_forms_are_told_by_columns_and_places():
    assert is_prefix(curves(2, 6))
    assert not is_prefix(grid(3, 4))
    assert is_grid(grid(3, 4))
    assert not is_grid(grid(1, 4))
    assert not is_grid(grid(3, 4).first(5))


@pytest.mark.slow
def test_the_largest_heat_map_leaves_room_for_all_pairs():
    """Noise in every cell, which packs worst."""
    big = grid(100, 100)
    rough = np.random.default_rng(1).random(big.rows)
    chart = block_chart(replace(big, estimate=rough * 100, error=rough[::-1], measured=np.full(big.rows, np.nan)), "s")
    assert len(chart.svg) < PAGE / PAIRS


# Drawings: small, in the page's colours, with foreign text as text.


def test_a_drawing_has_no_foreign_address_and_the_pages_colours():
    chart = dots([1.0, 2.0, 3.0], [0.0, 1.0, 2.0], [2.0, 3.0, 4.0], ["a <b>", "$x^2$", "漢字"], zero=True, alt="bars")
    assert "http" not in chart.svg
    assert "xmlns" not in chart.svg
    assert "#0" not in chart.svg
    assert "var(--fill)" in chart.svg
    assert all(text in chart.svg for text in ("a &lt;b&gt;", "$x^2$", "漢字"))
    assert chart.alt == "bars"


def test_two_drawings_share_no_names():
    def draw(figure):
        figure.add_axes((0, 0, 1, 1)).bar([0], [1], hatch="//")

    one, again, other = (draw_chart(draw, height=50, alt="", salt=salt).svg for salt in ("a", "a", "b"))
    assert one == again
    assert one != other


def test_figures_are_written_as_everywhere():
    svg = dots([900.0, 120_000.0], [800.0, 110_000.0], [1000.0, 130_000.0]).svg
    assert "100,000" in svg or "120,000" in svg
    assert "mathdefault" not in svg


def test_shades_go_from_nothing_to_all_in_few_steps():
    found = shades(np.array([0.0, 1.0, 25.0, 100.0, 400.0, np.nan]), 100.0)
    assert found[:, 3].tolist() == [0, round(round(0.1 * LEVELS) / LEVELS * 255), 136, 255, 255, 0]
    assert len(np.unique(shades(np.linspace(0, 1, 10_000), 1.0)[:, 3])) == LEVELS + 1


def test_a_long_name_is_shortened_and_a_hostile_one_escaped():
    assert label("a" * 30, 10) == "a" * 9 + "…"
    assert label("a\x1b[2J") == "a\\x1b[2J"
