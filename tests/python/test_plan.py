"""Plans through the Python interface."""

from __future__ import annotations

import pytest

import dpqr


def test_a_plan_says_what_a_release_would_do():
    planned = dpqr.plan(queries=dpqr.queries().marginals(ways=1), domain={"a": 2, "b": 3}, eps="0.5")
    assert repr(planned) == "Plan(5 queries in 2 blocks, eps 0.5)"
    assert planned.forecast["answers"].tolist() == [2, 3]
    assert planned.guarantee.startswith("Differentially private with epsilon = 0.5")
    assert planned.guarantee[:40] in str(planned)
    assert planned.record["dpqr"] == "plan/1"
    assert isinstance(planned.notes, tuple)


# Forecasts through the Python interface.


ASKED = {"queries": "q.json", "runs": 1}


def test_errors_by_epsilon_and_query(desk, frame):
    found = dpqr.forecast(**ASKED, eps=[0.5, "2"], proxy=frame)
    assert repr(found) == "Forecast(eps 0.5, 2, 2 queries)"
    assert list(found.frame.columns) == ["eps", "query", "answers", "error", "deviation", "l1_over_n"]
    assert found.frame["eps"].tolist() == [0.5, 0.5, 2.0, 2.0]
    assert (found.frame["error"] > 0).all()
    assert found.record["forecasts"][0]["records"] == 4
    assert found.notes[0].startswith("the proxy was declared public")
    assert found.svg.startswith("<svg ")
    assert "prefix(income)" in found._repr_html_()


@pytest.mark.slow
def test_it_agrees_with_the_command_line(desk):
    told = desk.run("plan", "--queries", "q.json", "--runs", "1", "--eps", "1", "--n", "200", "--json").json
    assert dpqr.forecast(**ASKED, eps=1, n=200).record == told


@pytest.mark.slow
def test_the_smallest_epsilon(desk):
    found = dpqr.forecast(**ASKED, relative="50%", confidence=0.9, n=2000, schedule="strategy")
    assert found.epsilon == float(found.record["forecasts"][0]["epsilon"])
    assert (found.record["goal"]["of"], found.record["goal"]["most"]) == ("L1 over n", 0.5)
    assert "is the smallest that is forecast to keep it" in str(found)


def test_refusals(desk):
    with pytest.raises(dpqr.UsageFault, match="goal_queries: is a text"):
        dpqr.forecast(**ASKED, error=5, goal_queries="prefix(income)")
    with pytest.raises(dpqr.UsageFault, match="state either --eps"):
        dpqr.forecast(**ASKED)
