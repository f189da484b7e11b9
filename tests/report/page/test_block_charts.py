"""Charts of blocks: the form that suits, what was never measured hatched, and a size that lets 91 pairs fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpqr.releases.answers.answered import DETAIL, AnsweredBlock, CellColumn
from dpqr.report.page.charts import (
    LEVELS,
    bar_chart,
    block_chart,
    draw_chart,
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
    [
        (block(column("a", 3)), "Bars of 3 answers"),
        (block(column("a", 40)), "Bars of the 14 largest of 40 answers"),
        (block(column("a", 40, ordered=True)), "Steps of 40 answers"),
        (block(), "Bars of 1 answer"),
        (grid(3, 4), "Heat map of 3 by 4 cells"),
        (curves(2, 6), "Cumulative curves of 12 answers"),
        (curves(6, 3), "2 of 6 curves are left out"),
        (block(column("a" * 40, 3)), "Bars of 3 answers"),
    ],
)
def test_every_block_has_the_chart_that_suits_it(made, words):
    chart = block_chart(made, "s")
    assert words in chart.alt
    assert "largest estimate" in chart.alt
    assert chart.svg.startswith("<svg")


def test_heat_maps_show_estimates_beside_errors():
    assert block_chart(grid(3, 4), "s").svg.count("<image") == 2
    assert block_chart(grid(3, 4, error=False), "s").svg.count("<image") == 1


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


def test_the_largest_heat_map_leaves_room_for_all_pairs():
    """Noise in every cell, which packs worst."""
    big = grid(100, 100)
    rough = np.random.default_rng(1).random(big.rows)
    chart = block_chart(replace(big, estimate=rough * 100, error=rough[::-1], measured=np.full(big.rows, np.nan)), "s")
    assert len(chart.svg) < PAGE / PAIRS


# Drawings: small, in the page's colours, with foreign text as text.


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
