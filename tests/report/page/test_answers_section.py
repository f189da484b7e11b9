"""The chapter of answers: a card a block, tables that fit, and forecasts beside results."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from support.pages import made

from dpqr.report.page import release_page as section
from dpqr.report.page.release_page import answers_section, forecast_section, typical


@pytest.fixture
def plain(monkeypatch):
    """Without charts, which have tests of their own."""
    monkeypatch.setattr(section, "block_chart", lambda block, salt: None)


def test_every_block_is_a_card_with_chart_and_table(found):
    cards = answers_section(found).parts[1].cards
    assert [card.title for card in cards] == [block.name for block in found.blocks]
    assert all(card.chart and card.table for card in cards)
    assert cards[0].words == "9 answers, measured; typical error 2.5"
    assert cards[1].words == "3 answers, never measured; typical error 2.5"


@pytest.mark.usefixtures("plain")
def test_estimated_errors_are_called_estimated(found):
    said = " ".join(answers_section(found).parts[0].lines)
    assert "were measured at least once" in said
    assert "each for one answer alone" in said
    unknown = " ".join(answers_section(made(error_bars=None)).parts[0].lines)
    assert "Some answers have no error" in unknown


@pytest.mark.usefixtures("plain")
def test_more_blocks_than_a_page_holds_are_listed(found, monkeypatch):
    monkeypatch.setattr(section, "CHARTS", 2)
    *_, rest = answers_section(found).parts
    assert [row[0] for row in rest.rows] == [block.name for block in found.blocks[2:]]


@pytest.mark.usefixtures("plain")
def test_long_tables_are_cut_to_the_largest(found, monkeypatch):
    monkeypatch.setattr(section, "MOST", 2)
    monkeypatch.setattr(section, "LEAST", 2)
    table = answers_section(found).parts[1].cards[0].table
    assert len(table.rows) == 2
    assert table.caption.startswith("The 2 largest of 9 answers")


def test_forecast_and_result_stand_side_by_side(found):
    words, chart, table = forecast_section(found).parts
    assert "2 of 2 blocks came further than a factor 1.5" in words.text
    assert [row[0] for row in table.rows] == ["sex by age", "years"]
    assert [row[3] for row in table.rows] == ["0.36", "0.01"]
    assert "2 blocks" in chart.alt


def test_the_plan_s_forecast_comes_before_its_noise_and_the_simulated_one_first(found):
    plan = json.loads(json.dumps(found.plan))
    plan["forecast"] = [{"name": "sex by age", "error": 2.0, "noise_deviation": 7.0}]
    for more, row in (
        ({}, ("sex by age", "2.51", "2.5", "1.00")),
        (
            {"expected": {"blocks": [{"name": "sex by age", "error": {"mean": 4.0}}]}},
            ("sex by age", "5.01", "2.5", "0.50"),
        ),
    ):
        shown = replace(found, record={**found.record, "plan": plan | more})
        words, _, table = forecast_section(shown).parts
        assert table.rows == [row]
        assert "mean absolute error times 1.25" in words.text
    plan["forecast"][0]["error"] = None
    words, _, _ = forecast_section(replace(found, record={**found.record, "plan": plan})).parts
    assert "the noise of one measurement" in words.text


def test_without_errors_the_noise_is_typical():
    block = made().blocks[0]
    assert typical(block) == pytest.approx(block.deviation[0])
    assert np.isnan(typical(made().blocks[1]))


@pytest.mark.usefixtures("plain")
def test_proved_bounds_stand_on_their_cards(found):
    bounds = {"confidence": 0.95, "blocks": [{"name": "years", "records": 1234.2}]}
    legend, cards = answers_section(replace(found, record={**found.record, "bounds": bounds})).parts
    assert any("with probability 0.95" in line for line in legend.lines)
    assert [card.title for card in cards.cards if "at most 1,235" in card.words] == ["years"]


@pytest.mark.slow
def test_all_pairs_of_fourteen_columns_fit_into_two_megabytes(found):
    from report.page.test_block_charts import PAGE, PAIRS, grid

    from dpqr.report.reports import release_html

    rough = np.random.default_rng(1)
    sizes = [(100, 100)] * 12 + [(100, 42)] * 20 + [(42, 16)] * (PAIRS - 32)
    blocks = []
    for number, (down, across) in enumerate(sizes):
        block, unknown = grid(down, across), np.full(down * across, np.nan)
        drawn = rough.random((2, block.rows)) * 1000
        blocks.append(replace(block, name=f"pair {number}", estimate=drawn[0], error=drawn[1], measured=unknown))
    text = release_html(replace(found, blocks=tuple(blocks)))
    assert text.count("<svg") >= PAIRS
    assert len(text.encode()) < PAGE
