"""Queries files written in Python."""

import datetime
import json

import pytest
from support.cases import in_one_test

import dpqr
from dpqr.workload.form import KINDS

DOMAIN = {
    "fields": [*dpqr.domain_from({"sex": ["f", "m"], "age": range(0, 100, 10), "n": range(3)}).document["fields"]]
}
DOMAIN["fields"][2]["parent"] = {"map": {"0": "few", "1": "few", "2": "many"}, "levels": ["size"]}


def everything():
    return (
        dpqr.queries()
        .marginal(name="all")
        .marginal("sex", "age", weight=2)
        .marginals(ways=2, columns=["sex", "n"], name="pairs")
        .marginals(["sex"], ["n", "age"])
        .where("age >= 50 and sex = 'f'", by="n")
        .prefix("age", by=["sex"])
        .ranges("age", between=[(0, 19), (20, 49)])
        .ranges("age", "n", random=5, seed=1)
        .conjunctions(4, seed=7, ways=(1, 2))
        .sum("age", by="sex")
        .mean("age", by="sex", where="age >= 20")
        .median("age")
        .quantiles("age", [0.1, 0.9], by=["sex"])
        .variance("age")
        .ratio("age", to="n")
        .proportion("age >= 50", by="sex")
        .top("n", 1)
        .hierarchy("n", levels="size", by="sex")
    )


def test_tables_of_persons_and_their_means_are_asked_as_in_a_file():
    made = dpqr.queries(DOMAIN).persons(["sex"], max_cells=2).persons(total="age", within=(0, 200), name="years")
    made = made.persons(total="age", edges=(0, 40, 200), at=(0.5, 0.9))
    assert json.loads(json.dumps(made.document))["queries"] == [
        {"persons": {"by": ["sex"], "max_cells": 2}},
        {"persons": {"mean": {"sum": "age", "within": [0, 200]}}, "name": "years"},
        {"persons": {"quantiles": {"sum": "age", "edges": [0, 40, 200], "at": [0.5, 0.9]}}},
    ]


def test_every_kind_of_entry_is_what_a_file_would_hold():
    document = json.loads(json.dumps(everything().document))
    assert {next(iter(key for key in entry if key in KINDS)) for entry in document["queries"]} == set(KINDS) - {
        "coefficients",
        "persons",
    }
    assert (
        dpqr.plan(queries=document, domain=DOMAIN, eps=1).record
        == dpqr.plan(queries=everything().over(DOMAIN), eps=1).record
    )


def test_coefficients_are_found_from_anywhere(tmp_path, monkeypatch):
    (tmp_path / "half.csv").write_text("query,n,value\nhalf,0,0.5\n")
    monkeypatch.chdir(tmp_path)
    asked = dpqr.queries().coefficients("half.csv", columns=["n"])
    assert asked.document["queries"][0]["coefficients"] == str(tmp_path / "half.csv")


def test_a_builder_is_a_value():
    start = dpqr.queries()
    start.marginal("sex")
    assert start.document["queries"] == []
    assert start == dpqr.queries()
    grown = everything()
    grown.document["queries"].clear()
    assert len(grown.entries) == 18
    assert repr(grown).startswith("Queries(all, marginal, pairs, marginals, where,")
    assert repr(grown).endswith("and 10 more)")
    with pytest.raises(AttributeError):
        start.entries = ()


@in_one_test(
    ("wrong", "said"),
    [
        (lambda: dpqr.queries(DOMAIN).marginal("agee"), "age"),
        (lambda: dpqr.queries(DOMAIN).where("age > 5 and sexx = 'f'"), "sex"),
        (lambda: dpqr.queries().where("age > 5 and sexx = 'f'").over(DOMAIN), "sex"),
        (lambda: dpqr.queries(DOMAIN).prefix("sex"), "sex"),
        (lambda: dpqr.queries().marginals(ways="two"), "ways"),
        (lambda: dpqr.queries().sum(7), "sum"),
    ],
)
def test_invalid_use_says_so_at_once(wrong, said):
    with pytest.raises(dpqr.DocumentError, match=said):
        wrong()


def test_dates_bound_ranges():
    domain = {
        "fields": [{"name": "day", "type": "date", "dpqr": {"edges": ["2020-01-01", "2020-02-01", "2020-03-01"]}}]
    }
    ends = [(datetime.date(2020, 1, 1), datetime.date(2020, 1, 31))]
    assert dpqr.plan(queries=dpqr.queries(domain).ranges("day", between=ends), eps=1)
