"""A request and its public form: each stands for the other, and no public change goes unnoticed."""

import json
from dataclasses import fields

import numpy as np
import pytest
from support.cases import thinned

from dpqr.kernel.errors import DocumentError
from dpqr.kernel.values import replace
from dpqr.releases.reading import DOCUMENTS, parse_release_request, public_inputs, resolve_reading
from dpqr.releases.record.plan_document import plan_document
from dpqr.releases.release import checked_plan
from dpqr.releases.requests import PlanRequest, ReleaseRequest
from dpqr.tables.limits import Limits
from dpqr.tables.source import TableSource
from dpqr.workload.queries_file import read_queries

TABLE = TableSource(paths=("table.csv",))
DOMAIN = {
    "malformed": "drop",
    "impossible": [{"where": "sex = 'F' and age >= 75"}],
    "totals": [{"count": 1000, "where": "sex = 'M'"}],
    "missingValues": ["", {"value": "NA"}],
    "fields": [
        {"name": "sex", "type": "string", "categories": [{"value": "f", "label": "F"}, "M"]},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}, "dpqr": {"null": "cell"}},
        {"name": "pay", "type": "number", "dpqr": {"edges": [0, 0.1, 99.95], "outside": "clip", "closed": "left"}},
        {"name": "day", "type": "date", "constraints": {"minimum": "2024-01-01", "maximum": "2024-12-31"}},
        {"name": "paid", "type": "boolean"},
    ],
}
DOMAIN["fields"][1]["dpqr"] = {"width": 25, "null": "cell", "otherwise": "drop"}
DOMAIN["fields"][3]["dpqr"] = {"every": "quarter"}
ENTRIES = [
    {"marginal": ["sex", "age"], "weight": 2},
    {"marginals": {"ways": 2, "columns": ["sex", "age", "pay"]}, "name": "pairs"},
    {"where": "age >= 30 or not sex = 'F'", "by": ["paid"]},
    {"prefix": "age", "by": ["sex"]},
    {"ranges": "age", "random": 5, "seed": 3},
    {"ranges": ["age", "pay"], "between": [[[0, 50], [0, 0.1]]], "name": "box"},
    {"conjunctions": {"random": 8, "seed": 1, "ways": [1, 2]}},
    {"sum": "pay"},
    {"coefficients": "weights.npz", "columns": ["sex"]},
    {"marginal": ["day"]},
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez(tmp_path / "weights.npz", coefficients=np.array([[1.0, 0.25]]))
    return tmp_path


def document(asked):
    """The plan's document, as a file holds it."""
    plan, _ = checked_plan(asked)
    return json.loads(json.dumps(plan_document(plan))), plan


def asked(queries, domain=DOMAIN, **options):
    plan = PlanRequest(queries={"queries": queries}, domain=domain, **{"epsilon": "1", **options})
    return ReleaseRequest(source=TABLE, plan=plan)


def again(found, plan, folder):
    """The plan of what a document states."""
    for name, content in plan.inputs.files.items():
        (folder / name).write_bytes(content)
    return document(parse_release_request(found["request"], TABLE, folder))[0]


@pytest.mark.parametrize("entry", thinned(ENTRIES, 5), ids=lambda entry: next(iter(entry)))
def test_every_kind_of_query_comes_back(folder, entry):
    found, plan = document(asked([entry]))
    assert again(found, plan, folder) == found


@pytest.mark.parametrize(
    "options",
    [
        {"delta": "1e-9", "accountant": "zcdp", "update": "multiplicative-weights"},
        {"schedule": "theory", "alpha": "0.25", "beta": "0.1", "n": 10**6, "variant": "sharp"},
        {"strict": True, "seed": 5, "cells": 1000, "count_dropped": "0.2", "rounds": 3, "opening": False},
    ],
    ids=range(3),
)
def test_every_option_comes_back(folder, options):
    found, plan = document(asked([{"marginal": ["sex", "pay"]}], domain={**DOMAIN, "totals": []}, **options))
    assert again(found, plan, folder) == found


def test_domains_of_sizes_and_units_come_back(folder):
    person = {"fields": DOMAIN["fields"], "unit": {"column": "id", "max_rows": 2}}
    for domain, column in (({"sex": 3, "age": 7}, "sex"), (person, "age")):
        found, plan = document(asked([{"marginal": [column]}], domain=domain))
        assert again(found, plan, folder) == found


OTHER = {
    "epsilon": "2",
    "delta": "1e-9",
    "strict": True,
    "neighbours": "replace",
    "n": 10,
    "unit": ("id", "day"),
    "per": "month",
    "max_rows": 2,
    "max_rows_per_cell": 1,
    "counts": "count",
    "count_dropped": "0.1",
    "no_count_dropped": True,
    "schedule": "rounds",
    "distinguisher": "exponential",
    "check": "laplace",
    "update": "multiplicative-weights",
    "accountant": "basic",
    "rounds": 3,
    "opening": False,
    "alpha": "0.1",
    "beta": "0.1",
    "variant": "sharp",
    "replay": True,
    "max_model_size": 2**20,
    "trust": ("mine",),
    "seed": 1,
    "cells": 99,
    "error_bars": "0.02",
    "certify": "0.05",
    "period": "2024-03",
    "cumulative": 24,
    "first": "2024-01",
    "start": b"{}",
    "surprises": 3,
    "questions": 20,
}


def test_every_option_is_part_of_the_request(folder):
    """Each one changed alone changes the document; a new option must be named here."""
    read = read_queries({"queries": [{"marginal": ["sex"]}]}, DOMAIN)
    base = asked([{"marginal": ["sex"]}])

    def form(request):
        held = resolve_reading(request.source, request.limits, read.domain, None)
        return json.dumps(public_inputs(request, held, read).request, sort_keys=True)

    names = [each.name for each in fields(PlanRequest) if each.name not in DOCUMENTS]
    others = [replace(base, plan=replace(base.plan, **{name: OTHER[name]})) for name in names]
    smaller = ({name: getattr(Limits(), name) - 1} for name in Limits.__struct_fields__)
    others += [replace(base, limits=replace(Limits(), **limit)) for limit in smaller]
    others += [replace(base, source=replace(TABLE, **each)) for each in ({"delimiter": ";"}, {"encoding": "cp1252"})]
    others.append(replace(base, notes=("other words",)))
    assert len({form(base), *map(form, others)}) == 1 + len(others)


@pytest.mark.parametrize(
    "change",
    [
        {"dpqr": "request/2"},
        {"options": {"epsilon": "1", "later": 1}},
        {"options": {"epsilon": 1}},
        {"queries": None},
        {"more": 1},
        {"reading": {"delimiter": None, "encoding": None, "limits": {"cells": "x"}}},
    ],
    ids=str,
)
def test_a_request_of_a_later_version_is_refused(folder, change):
    found, _ = document(asked([{"marginal": ["sex"]}]))
    with pytest.raises(DocumentError, match="no request that this version"):
        parse_release_request({**found["request"], **change}, TABLE, folder)


def test_figures_of_one_value_are_one_request(folder):
    texts = {document(asked([{"marginal": ["sex"]}], epsilon=text))[0]["sha256"] for text in ("1", "1.0", "1e0")}
    assert len(texts) == 1
