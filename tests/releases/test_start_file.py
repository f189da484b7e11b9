"""Start files: what is written is read, by the names of columns; what anybody else has written is refused."""

import json

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Codes
from dpqr.domain.domain import Domain
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.models.fit.evidence import EarlierTables, LinearMeasurement
from dpqr.releases.planning import plan_release
from dpqr.releases.requests import PlanRequest
from dpqr.releases.start import read_start, start_bytes, start_name

STATED = {"fields": [{"name": "a", "type": "integer"}, {"name": "b", "type": "integer"}]}
DOMAIN = Domain((Attribute(name="a", axis=Codes(3)), Attribute(name="b", axis=Codes(2))))
VALUES = np.array([[1.5, 2.0, -3.0], [4.0, 5.0, 1 / 3]])
TABLES = EarlierTables(
    sha256="ab" * 32, records=10.0, tables=(LinearMeasurement(key=(1, 0), axes=(1, 0), values=VALUES, deviation=2.5),)
)
CONTENT = start_bytes(TABLES, DOMAIN.names, STATED)


def changed(**parts):
    return json.dumps(json.loads(CONTENT) | parts).encode()


def with_table(**parts):
    table = json.loads(CONTENT)["tables"][0]
    return changed(tables=[table | parts])


def test_what_is_written_is_read():
    found = read_start(CONTENT, STATED, DOMAIN)
    (table,) = found.tables
    assert (found.sha256, found.records, table.axes, table.deviation) == ("ab" * 32, 10.0, (1, 0), 2.5)
    assert np.allclose(table.values, VALUES, rtol=1e-8)
    assert start_name(CONTENT) == start_name(bytes(CONTENT)) != start_name(changed(records=11.0))


def test_columns_are_found_by_name():
    """Where other columns are asked for, positions are others too."""
    wider = Domain((Attribute(name="c", axis=Codes(5)), *DOMAIN.attributes))
    (table,) = read_start(CONTENT, STATED, wider).tables
    assert table.axes == (2, 1)


def test_another_domain_is_refused_by_the_column_that_differs():
    other = {"fields": [STATED["fields"][0], {"name": "b", "type": "string"}]}
    with pytest.raises(DocumentError, match=r"another domain \(column 'b' differs\)"):
        read_start(CONTENT, other, DOMAIN)
    with pytest.raises(DocumentError, match="no table of the columns that are asked for"):
        read_start(CONTENT, STATED, Domain(DOMAIN.attributes[:1]))


@in_one_test(
    "content",
    [
        b"",
        b"[]",
        changed(dpqr="start/2"),
        changed(more=1),
        changed(records=0),
        changed(records=-1.0),
        with_table(deviation=0),
        with_table(cells=[1.0]),
        with_table(columns=["a", "a"]),
        with_table(columns=[]),
        with_table(cells=["x"] * 6),
        changed(tables=[]),
    ],
)
def test_what_dpqr_has_not_written_is_refused(content):
    with pytest.raises(DocumentError, match="--start"):
        read_start(content, STATED, DOMAIN)


# Earlier releases that a plan starts from: of the same domain, for a schedule that fits a model, and said.

COLUMNS = {"a": 3, "b": 2}
QUERIES = {"queries": [{"marginal": ["a", "b"]}], "domain": COLUMNS}


def content(**parts):
    table = {"columns": ["a", "b"], "deviation": 2.0, "cells": [10.0] * 6}
    stated = {"dpqr": "start/1", "release": "ab" * 32, "records": 60.0, "domain": COLUMNS, "tables": [table]}
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


@in_one_test("more", [{"schedule": "strategy"}, {"schedule": "rounds"}, {"update": "least-squares"}, {"replay": False}])
def test_a_plan_that_fits_no_such_model_is_refused(more):
    with pytest.raises(UsageFault, match="--s"):
        planned(start=content(), **more)


def test_another_domain_is_refused():
    with pytest.raises(DocumentError, match=r"another domain \(column 'b' differs\)"):
        planned(start=content(domain={"a": 3, "b": 4}))
