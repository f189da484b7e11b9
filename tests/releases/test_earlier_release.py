"""Earlier releases that a plan starts from: of the same domain, for a schedule that fits a model, and said."""

import json

import pytest

from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest

DOMAIN = {"a": 3, "b": 2}
QUERIES = {"queries": [{"marginal": ["a", "b"]}], "domain": DOMAIN}


def content(**parts):
    table = {"columns": ["a", "b"], "deviation": 2.0, "cells": [10.0] * 6}
    stated = {"dpqr": "start/1", "release": "ab" * 32, "records": 60.0, "domain": DOMAIN, "tables": [table]}
    return json.dumps(stated | parts).encode()


def planned(schedule="marginals", start=None, **more):
    return plan_release(PlanRequest(queries=QUERIES, epsilon="1", schedule=schedule, start=start, **more))


def test_a_plan_holds_the_tables_and_says_so():
    plan = planned(start=content())
    assert plan.problem.start.sha256 == "ab" * 32
    assert [table.axes for table in plan.problem.start.tables] == [(1, 0)]
    assert any("starts from the tables of release abababababab" in note for note in plan.notes)
    assert planned().problem.start is None


def test_prices_and_draws_are_those_of_a_plan_without_a_start():
    plain, started = planned(), planned(start=content())
    assert (started.events, started.epsilon) == (plain.events, plain.epsilon)


@pytest.mark.parametrize(
    "more", [{"schedule": "strategy"}, {"schedule": "rounds"}, {"update": "least-squares"}, {"replay": False}], ids=str
)
def test_a_plan_that_fits_no_such_model_is_refused(more):
    with pytest.raises(UsageFault, match="--s"):
        planned(start=content(), **more)


def test_another_domain_is_refused():
    with pytest.raises(DocumentError, match=r"another domain \(column 'b' differs\)"):
        planned(start=content(domain={"a": 3, "b": 4}))
