"""Forecasts as text."""

from __future__ import annotations

from fractions import Fraction

from support.handmade_forecasts import forecasts
from support.plain_screen import kept, printed

from dpqr.kernel.values import replace
from dpqr.releases.forecast.by_epsilon import Goal
from dpqr.releases.forecast.simulation import ErrorDistribution, ExpectedFigureError, RowsLeftOut
from dpqr.report.forecast import explanation_view, forecast_view
from dpqr.strategies.explanation import Explanation, RuleBounds, ScheduleForecast


def shown(found, **more):
    return printed(forecast_view(found, ("the tables are made up",), **more), width=110)


def test_one_epsilon_has_a_line_a_query_with_its_spread():
    text = shown(forecasts(1))
    lines = [line.split() for line in text.splitlines()]
    assert ["one", "4", "10", "4.34", "to", "17.6", "0.4"] in lines
    assert ["years", "1", "500", "217", "to", "878", "0.5"] in lines
    assert "Basis  over 6 simulated releases of table (100 records)" in text
    assert "eps 1  rounds: mean of the queries 7.5 (3.25 to 13.2 in 9 of 10 releases), L1 / n 0.45" in text
    assert "Note   the tables are made up" in text


def test_no_error_in_any_simulated_release_is_no_forecast_of_0():
    seen = [ErrorDistribution(mean=mean, deviation=mean) for mean in (0.0, 2.0)]
    figures = [
        ExpectedFigureError(name=f"m{place}", kind="median", values=1, error=each) for place, each in enumerate(seen)
    ]
    (one,) = forecasts(1)
    lines = [line.split() for line in shown([replace(one, figures=tuple(figures))]).splitlines()]
    assert ["m0", "1", "none", "seen"] in lines
    assert any(line[:3] == ["m1", "1", "2"] for line in lines)


def test_several_have_a_column_each_and_a_plot():
    text = shown(forecasts(1, 2), top=1)
    assert ["query", "answers", "eps", "1", "eps", "2"] in [line.split() for line in text.splitlines()]
    assert ["years", "1", "500", "250"] in [line.split() for line in text.splitlines()]
    assert "... and 1 more query of smaller error: --top N shows more" in text
    assert "0.45 |*" in text
    assert text.isascii()


def test_a_goal_is_said_with_what_is_reached():
    text = shown(forecasts(2), goal=Goal(most=10.0))
    assert "Goal     the queries' mean error is at most 10 records in 95% of the releases" in text
    assert "Epsilon  2 is the smallest that is forecast to keep it: 3.75 records on average, at most 6.584 in" in text


def test_each_bound_says_which_rows_it_leaves_out_and_what_that_adds():
    one, two = forecasts(1, 2)
    counted = RowsLeftOut(share=0.1234, deviation=0.015, error=45.6, over_n=0.0123)
    cuts = (counted, replace(counted, share=0.02, deviation=0.0, error=7.25, over_n=0.002))
    text = " ".join(shown([replace(each, left_out=cut) for each, cut in zip((one, two), cuts, strict=True)]).split())
    more = "answers about all rows err by at most"
    assert f"leaves out 12.3% of the rows (+-1.5%, the noise of these counts): {more} 45.6 more, L1 / n 0.0123" in text
    assert f"leaves out 2.0% of the rows: {more} 7.25 more, L1 / n 0.002" in text  # by a public table
    assert text.index("eps 1 ") < text.index("12.3%") < text.index("eps 2 ") < text.index("2.0%")
    assert "leaves out" not in shown(forecasts(1, 2))


def test_names_cannot_steer_a_terminal():
    assert "\x1b" not in shown(forecasts(1, name="\x1b[31mred"))


FORECASTS = (
    ScheduleForecast(name="strategy", use="for prefixes", noise=9.61, error=6.52),
    ScheduleForecast(name="queries", use="for single queries", rounds=60, noise=189.4),
    ScheduleForecast(name="theory", use="for a bound", rounds=1, noise=461.2, alpha=0.8224),
    ScheduleForecast(name="rounds", use="for marginals", refusal="too many cells"),
)
HALF = Fraction(1, 2)
RULES = (
    RuleBounds(name="weights", use="for all", mistakes={"printed": 1234, "sharp": 56}, alphas={"sharp": HALF}, bytes=9),
    RuleBounds(
        name="perceptron", use="for few", mistakes={"printed": 7}, unlike={"printed": 5, "sharp": None}, bytes=8
    ),
    RuleBounds(name="median", use="for a dozen", mistakes={"printed": None}, refusal="5 cells are too many"),
)


def told(rules=RULES, n=100_000):
    return Explanation(
        cells=1024,
        queries=3,
        blocks=1,
        n=n,
        chosen="strategy",
        reason="--schedule auto: strategy, for it is ordered",
        schedules=FORECASTS,
        alpha=HALF,
        rules=rules,
    )


def test_everything_is_said() -> None:
    assert printed(explanation_view(told()), width=160) == kept("explanation")


def test_no_bound_at_this_alpha_is_not_no_bound() -> None:
    rule = RuleBounds(name="median", use="for a dozen", mistakes={"printed": None}, alphas={"printed": HALF}, bytes=9)
    assert "no bound is proved at this alpha; 9 bytes\n" in printed(explanation_view(told(rules=(rule,))), width=160)


def test_nothing_is_promised_without_a_number_of_records() -> None:
    text = printed(explanation_view(told(rules=RULES[1:], n=None)), width=160)
    assert "Records       not declared; --n N tells what depends on it\n" in text
    assert text.endswith("theory        promises nothing here\n")
