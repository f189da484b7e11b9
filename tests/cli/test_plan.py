"""`dpqr plan`."""

from __future__ import annotations

from support.refusal_form import assert_refusal

PLAN = ("plan", "--queries", "q.json", "--runs", "1")
ASKED = ("--queries", "q.json", "--eps", "1")


def test_one_epsilon_prints_the_forecast_and_then_what_a_dry_run_prints(desk):
    before = desk.everything()
    ended = desk.run(*PLAN, "--eps", "1", "--n", "300")
    assert (ended.code, ended.err) == (0, "")
    dry = desk.run("release", "table.csv", *ASKED, "--dry-run").out
    assert ended.out.startswith("eps 1")
    assert ended.out.endswith(dry)
    assert "(300 records)" in ended.out
    assert desk.everything() == before


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


def test_progress_as_lines_says_what_is_simulated(desk):
    ended = desk.run(*PLAN, "--eps", "1", "--progress", "json")
    assert '"event": "forecast"' in ended.err
