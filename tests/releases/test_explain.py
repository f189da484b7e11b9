"""What the explanation says is what plans and rules say."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from support.cases import thinned

from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.releases.forecast.explain import USUAL_ALPHA, explain, explanation_document
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.strategies.known import SCHEDULES, UPDATES
from dpqr.strategies.problem import Level

NAMES = [name for name in SCHEDULES.builtins if name != "auto"]


def asked(**wishes):
    return PlanRequest(**{"queries": "q.json", "epsilon": "1", **wishes})


def sizes(desk, queries, **domain):
    desk.write(q__json={"domain": domain, "queries": queries})


@pytest.mark.parametrize(
    "query",
    thinned([{"prefix": "a"}, {"marginal": ["a"]}, {"conjunctions": {"random": 9, "seed": 1, "ways": [1, 3]}}], 3),
)
def test_the_chosen_schedule_is_that_of_the_plan(desk, query):
    sizes(desk, [query], a=16, b=2, c=2)
    told = explain(asked())
    assert told.chosen == plan_release(asked()).schedule.name
    assert told.reason


@pytest.mark.slow
def test_sizes_are_those_of_the_documents_and_what_cannot_be_taken_says_why(desk):
    sizes(desk, [{"prefix": "a"}, {"marginal": ["a", "b"]}], a=5, b=2, c=7)
    told = explain(asked(n=20))
    assert (told.cells, told.queries, told.blocks, told.n) == (10, 15, 2, 20)
    schedules = {forecast.name: forecast for forecast in told.schedules}
    assert "can certify nothing here" in schedules["theory"].refusal
    assert (schedules["theory"].noise, schedules["rounds"].refusal) == (None, "")
    sizes(desk, [{"marginal": ["a"]}], a=5000)
    rules = {rule.name: rule for rule in explain(asked()).rules}
    assert "at most 4096" in rules["median"].refusal
    assert rules["piecewise-weights"].bytes > 0


@pytest.mark.slow
def test_forecasts_are_those_of_the_plans(desk):
    sizes(desk, [{"prefix": "a"}], a=8)
    told = explain(asked(n=10**6))
    assert [forecast.name for forecast in told.schedules] == NAMES
    for forecast in told.schedules:
        n = 10**6 if forecast.name in ("theory", "queries") else None
        if forecast.name == "parts":
            assert "no query joins" in forecast.refusal
            continue
        plan = plan_release(asked(schedule=forecast.name, n=n))
        assert (forecast.rounds, forecast.noise) == (plan.rounds, plan.typical_noise)
        assert forecast.refusal == ""
        assert forecast.alpha == (None if plan.promised is None else float(plan.promised))


@pytest.mark.slow
def test_promises_and_mistakes_are_those_of_the_rules(desk):
    sizes(desk, [{"marginal": ["a", "b"]}], a=2, b=3)
    told = explain(asked(n=10**6, neighbours="replace", queries=full(desk)))
    promised = {(rule.name, variant): alpha for rule in told.rules for variant, alpha in rule.alphas.items()}
    names = ("multiplicative-weights", "perceptron", "median")
    assert set(promised) == {(name, variant) for name in names for variant in ("printed", "sharp")}
    theory = asked(n=10**6, neighbours="replace", schedule="theory")
    for (name, variant), alpha in promised.items():
        plan = plan_release(asked(**{**vars_of(theory), "update": name, "variant": variant}))
        assert plan.problem.alpha == alpha
    assert told.best == ("median", "printed", min(promised.values()))
    assert told.alpha == min(promised.values())
    for rule in told.rules:
        for variant, bound in rule.mistakes.items():
            level = Level(value=told.alpha / 2, variant=variant)
            assert bound == UPDATES.load(rule.name)().mistakes(plan.problem, level)


def full(desk):
    """The queries file, its domain with a stated rule for everything, as `replace` needs it."""
    fields = [
        {
            "name": name,
            "type": "integer",
            "constraints": {"minimum": 0, "maximum": size - 1},
            "dpqr": {"otherwise": "drop"},
        }
        for name, size in (("a", 2), ("b", 3))
    ]
    desk.write(q__json={"domain": {"malformed": "drop", "fields": fields}, "queries": [{"marginal": ["a", "b"]}]})
    return "q.json"


def vars_of(request):
    return {"n": request.n, "neighbours": request.neighbours, "schedule": request.schedule}


@pytest.mark.slow
def test_mistakes_are_told_at_the_alpha_that_is_stated(desk):
    sizes(desk, [{"prefix": "a"}], a=8)
    assert explain(asked()).alpha == USUAL_ALPHA
    told = explain(asked(alpha="0.2", n=4))
    assert told.alpha == Fraction(1, 5)
    rules = {rule.name: rule for rule in told.rules}
    assert rules["perceptron"].mistakes == {"printed": 800, "sharp": 175}
    assert rules["perceptron"].unlike == {"printed": 200, "sharp": 25}
    assert rules["multiplicative-weights"].mistakes["printed"] == 831
    assert rules["multiplicative-weights"].unlike == {}
    assert rules["least-squares"].mistakes == {"printed": None, "sharp": None}


def test_faults_of_options_and_documents(desk):
    sizes(desk, [{"prefix": "a"}], a=8)
    with pytest.raises(UsageFault, match="--alpha 2: must be at least"):
        explain(asked(alpha="2"))
    with pytest.raises(UsageFault, match="must be declared: add --n"):
        explain(asked(neighbours="replace"))
    sizes(desk, [{"prefix": "b"}], a=2)
    with pytest.raises(DocumentError, match="no column 'b'"):
        explain(asked())


@pytest.mark.slow
def test_the_document_is_plain_json(desk):
    sizes(desk, [{"marginal": ["a", "b"]}], a=2, b=3)
    told = explain(asked(n=10**6))
    found = json.loads(json.dumps(explanation_document(told)))
    assert found["chosen"] == told.chosen
    assert found["theory"] == {"update": "median", "variant": "printed", "alpha": float(told.alpha)}
    assert [rule["name"] for rule in found["rules"]] == list(UPDATES.builtins)
    assert explanation_document(explain(asked()))["theory"] is None
