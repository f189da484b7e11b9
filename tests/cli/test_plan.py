"""`dpqr plan`."""

from __future__ import annotations

import pytest
from support.refusal_form import assert_refusal

from dpqr.releases.forecast.simulation import TUNING

PLAN = ("plan", "--queries", "q.json", "--runs", "1")
ASKED = ("--queries", "q.json", "--eps", "1")


@pytest.mark.slow
def test_one_epsilon_prints_the_forecast_and_then_what_a_dry_run_prints(desk):
    before = desk.everything()
    ended = desk.run(*PLAN, "--eps", "1", "--n", "300")
    assert (ended.code, ended.err) == (0, "")
    dry = desk.run("release", "table.csv", *ASKED, "--dry-run").out
    assert ended.out.startswith("eps 1")
    assert ended.out.endswith(dry)
    assert "(300 records)" in ended.out
    assert desk.everything() == before


@pytest.mark.slow
def test_the_closed_form_is_the_same_figure_wherever_it_is_shown(desk):
    strategy = ("--schedule", "strategy")
    dry = desk.run("release", "table.csv", *ASKED, *strategy, "--dry-run").out
    forecast = desk.run(*PLAN, "--eps", "1", *strategy).out
    explained = desk.run("strategies", "--explain", *ASKED).out
    error = dry.split("Error       ")[1].split(" on average")[0]
    noise = dry.split("typically ")[1].split(" on")[0]
    assert f"mean of the queries {error} (" in forecast
    assert f"noise typically {noise} on a measured answer; mean error {error} of an answer" in explained


def test_several_epsilons_and_a_plot(desk):
    ended = desk.run(*PLAN, "--eps", "0.5,2", "--proxy", "table.csv", "--svg", "plot.svg")
    assert (ended.code, ended.err) == (0, "")
    assert "eps 0.5  eps 2" in ended.out
    assert "table.csv was declared public" in ended.out
    assert (desk.path / "plot.svg").read_text().startswith("<svg ")
    again = desk.run(*PLAN, "--eps", "0.5,2", "--proxy", "table.csv", "--svg", "plot.svg")
    assert_refusal(again, 8, "--svg plot.svg: the file exists")


@pytest.mark.slow
def test_the_inverse_in_json(desk):
    given = ("--relative", "50%", "--for", "prefix(income)", "--schedule", "strategy", "--n", "2000", "--json")
    told = desk.run(*PLAN, *given).json
    assert told["goal"] == {
        "of": "L1 over n",
        "most": 0.5,
        "relative": True,
        "confidence": 0.95,
        "queries": ["prefix(income)"],
    }
    (found,) = told["forecasts"]
    assert found["plan"]["budget"]["epsilon"]
    assert found["basis"] == "closed form"


@pytest.mark.slow
def test_a_distance_is_named_with_what_is_meant(desk):
    told = desk.run(*PLAN[:-2], "--within", "20", "--schedule", "strategy", "--n", "2000").out
    assert told.startswith("Goal       95% of the counts lie within 20 records of the truth\n")
    assert "averaged over the noise" in told


@pytest.mark.slow
def test_a_mean_error_has_a_name_that_says_so_and_its_old_one(desk):
    given = ("--schedule", "strategy", "--n", "2000", "--json")
    old, new = (desk.run(*PLAN[:-2], option, "20", *given).json for option in ("--error", "--mean-error"))
    assert old == new
    assert new["goal"]["of"] == "mean error"
    assert "mean error" in desk.run("plan", "--help").out


@pytest.mark.slow
def test_bounds_on_persons_rows_are_compared(desk):
    ended = desk.run(*PLAN, "--eps", "1", "--unit", "person", "--max-rows", "1,3")
    assert (ended.code, ended.err) == (0, "")
    assert "max-rows 1  max-rows 3" in " ".join(ended.out.split()).replace("max-rows 1 max", "max-rows 1  max")
    assert "how many rows that leaves out" in " ".join(ended.out.split())
    assert_refusal(desk.run(*PLAN, "--eps", "1", "--unit", "person", "--max-rows", "1,x"), 2, "--max-rows")


@pytest.mark.slow
def test_a_select_statement_is_explained(desk):
    ended = desk.run("explain", "--queries", "q.json", "--runs", "1", "--n", "300")
    assert (ended.code, ended.err) == (0, "")
    assert "Noise" in ended.out
    assert "Price  eps 1 buys" in ended.out
    assert desk.run("explain", "--queries", "q.json", "--runs", "1", "--json").json["dpqr"] == "explanation/1"
    assert_refusal(desk.run("explain"), 2, "nothing is asked")


@pytest.mark.slow
def test_progress_as_lines_says_what_is_simulated(desk):
    ended = desk.run(*PLAN, "--eps", "1", "--progress", "json")
    assert '"event": "forecast"' in ended.err


def test_help_states_the_default_numbers_of_simulated_releases(desk):
    words = " ".join(desk.run("explain", "--help").out.split())
    assert f"[default: {TUNING.single} on one, {TUNING.closed} where its errors are exact]" in words
