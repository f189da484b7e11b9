"""Forecasts as text."""

from __future__ import annotations

from support.handmade_forecasts import forecasts
from support.plain_screen import printed

from dpqr.releases.forecast import Goal
from dpqr.report.forecast import forecast_view


def shown(found, **more):
    return printed(forecast_view(found, ("the tables are made up",), **more), width=110)


def test_one_epsilon_has_a_line_a_query_with_its_spread():
    text = shown(forecasts(1))
    lines = [line.split() for line in text.splitlines()]
    assert ["one", "4", "10", "4.34", "to", "17.6", "0.4"] in lines
    assert ["years", "1", "500", "217", "to", "878", "0.5"] in lines
    assert "Basis  over 6 simulated releases of table (100 records)" in text
    assert "eps 1  rounds: mean of the blocks 7.5 (3.25 to 13.2 in 9 of 10 releases), L1 / n 0.45" in text
    assert "Note  the tables are made up" in text


def test_several_have_a_column_each_and_a_plot():
    text = shown(forecasts(1, 2), top=1)
    assert ["query", "answers", "eps", "1", "eps", "2"] in [line.split() for line in text.splitlines()]
    assert ["years", "1", "500", "250"] in [line.split() for line in text.splitlines()]
    assert "... and 1 more query of smaller error: --top N shows more" in text
    assert "0.45 |*" in text
    assert text.isascii()


def test_a_goal_is_said_with_what_is_reached():
    text = shown(forecasts(2), goal=Goal(most=10.0), seconds=12.0)
    assert "Goal     the blocks' mean error is at most 10 records with probability 0.95" in text
    assert "Epsilon  2 is the smallest that is forecast to keep it: 3.75 records on average, at most 6.584 with" in text
    assert "Time     about 10 s of one processor for the forecast of one epsilon" in text


def test_names_cannot_steer_a_terminal():
    assert "\x1b" not in shown(forecasts(1, name="\x1b[31mred"))
