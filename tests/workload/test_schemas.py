"""The schemas come from the decoding forms; here each key they offer is shown to be read, and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import DocumentError
from dpqr.workload.form import KINDS, schema
from dpqr.workload.queries_file import read_queries

FIELD = {
    "name": "a", "type": "string", "title": "t", "description": "d", "format": "default", "example": "x",
    "examples": ["x"], "rdfType": "r", "missingValues": ["NA"],
    "constraints": {"enum": ["x", "y"], "required": True, "unique": False, "pattern": "x|y", "minLength": 1,
                    "maxLength": 1},
    "dpqr": {"null": "cell", "outside": "drop", "otherwise": "fail", "trim": True, "caseSensitive": False,
             "aliases": {"x": ["ex"]}},
}  # fmt: skip
YEAR, RULES = {"minimum": "2024-01-01", "maximum": "2024-12-31"}, {"unparsable": "drop", "nan": "cell"}
CLIPPED = {"edges": [0, 0.5, 2], "closed": "right", "infinite": "clip", "outside": "clip", **RULES}
NUMBERS = [
    {"name": "n", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "dpqr": {"bins": 2}},
    {"name": "w", "type": "number", "constraints": {"minimum": 0, "maximum": 9}, "dpqr": {"width": 2.5}},
    {"name": "e", "type": "number", "dpqr": CLIPPED},
    {"name": "d", "type": "date", "constraints": YEAR, "dpqr": {"every": "month"}},
]
SPELLED = [
    {"name": "b", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"],
     "parent": {"map": {"false": "any", "true": "any"}, "levels": ["all"]}},
    {"name": "c", "type": "integer", "categories": [{"value": 1, "label": "low"}, {"value": 2}],
     "categoriesOrdered": True, "missingValues": [{"value": "-99", "label": "refused"}]},
    {"name": "m", "type": "number", "decimalChar": ",", "groupChar": ".", "bareNumber": False,
     "dpqr": {"edges": [0, 10]}},
]  # fmt: skip
DOMAIN = {
    "dpqr": "domain/1", "malformed": "drop", "$schema": "s", "name": "n", "title": "t", "description": "d",
    "primaryKey": "a", "foreignKeys": [], "uniqueKeys": [], "fieldsMatch": "exact", "missingValues": [""],
    "impossible": [{"where": "a = 'x' and n >= 5"}], "totals": [{"where": "a = 'x'", "count": 5}, {"count": 9}],
    "fields": [FIELD, *NUMBERS, *SPELLED],
}  # fmt: skip
ENTRIES = [
    {"marginal": ["a", "n"], "name": "m", "weight": 0.5, "where": "n >= 5"},
    {"marginals": {"ways": 2, "columns": ["a", "w", "e"]}, "name": "two", "weight": 1},
    {"marginals": [["a"], []], "name": "listed"},
    {"where": "n >= 5", "by": ["a"], "name": "q", "weight": 1},
    {"prefix": "w", "by": ["a"], "name": "p", "weight": 1, "where": "n >= 5"},
    {"ranges": "n", "between": [[0, 5]], "by": ["a"], "name": "r", "weight": 1},
    {"ranges": ["n", "w"], "random": 5, "seed": 3},
    {"conjunctions": {"random": 3, "seed": 1, "ways": [1, 2], "columns": ["a", "n"]}, "name": "k", "weight": 1},
    {"sum": "e", "by": ["a"], "name": "s", "weight": 1, "where": "n >= 5"},
    {"mean": "e", "by": ["a"], "name": "f1", "weight": 1, "where": "n >= 5"},
    {"median": "e", "by": ["a"], "name": "f2", "weight": 1, "where": "n >= 5"},
    {"quantiles": "e", "at": [0.1, 0.9], "by": ["a"], "name": "f3", "weight": 1, "where": "n >= 5"},
    {"variance": "e", "by": ["a"], "name": "f4", "weight": 1, "where": "n >= 5"},
    {"ratio": {"of": "e", "to": "w"}, "by": ["a"], "name": "f5", "weight": 1, "where": "n >= 5"},
    {"proportion": "n >= 5", "by": ["a"], "name": "f6", "weight": 1, "where": "w >= 5"},
    {"top": "n", "k": 1, "by": ["a"], "name": "f7", "weight": 1, "where": "n >= 5"},
    {"hierarchy": "b", "levels": ["all"], "by": ["a"], "name": "h", "weight": 1, "where": "n >= 5"},
    {"coefficients": "c.csv", "columns": ["a"], "name": "c", "weight": 1},
]
PERSONS = {"persons": {"by": ["a"], "max_cells": 2}, "name": "people", "where": "n >= 5"}
QUERIES = {"$schema": "s", "dpqr": "queries/1", "domain": DOMAIN, "queries": ENTRIES}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "c.csv").write_text("a,coefficient\nx,0.5\n", encoding="utf-8")
    return tmp_path


def asked(folder: Path, document: dict[str, Any]) -> None:
    (folder / "queries.json").write_text(json.dumps(document), encoding="utf-8")
    read_queries(folder / "queries.json")


def keys(parts: dict[str, Any], name: str) -> set[str]:
    return set(parts["$defs"][name]["properties"])


def test_every_key_of_the_domain_schema_is_read() -> None:
    read_domain(DOMAIN)
    unit = {"column": "who", "max_rows": 3, "max_rows_per_cell": 1}
    several = {"columns": ["who", "day"], "per": "month", "max_rows": 3}
    read_domain({**DOMAIN, "totals": [], "unit": several})
    period = {"column": "day", "every": "month"}
    learned = {"columns": ["a"], "epsilon": "0.1", "delta": "0", "unit": "one row"}
    read_domain({**DOMAIN, "totals": [], "unit": unit, "period": period, "learned": learned})
    found = schema("domain")
    assert keys(found, "TableSchema") == {*DOMAIN, "unit", "period", "learned"}
    assert keys(found, "PeriodForm") == set(period)
    assert keys(found, "UnitForm") == {*unit, "columns", "per"}
    assert keys(found, "Field") == set().union(*DOMAIN["fields"])
    for form, key in (("Category", "categories"), ("MissingValue", "missingValues")):
        assert keys(found, form) == set(SPELLED[1][key][0])
    limits = set().union(*(field.get("constraints", {}) for field in DOMAIN["fields"]))
    assert keys(found, "Constraints") == limits
    for facts, form in (("impossible", "ImpossibleForm"), ("totals", "TotalForm")):
        assert keys(found, form) == set().union(*DOMAIN[facts])
    treated = set().union(*(field.get("dpqr", {}) for field in DOMAIN["fields"]))
    # Read by a release: tests/releases/test_learned_release.py
    learned_first = {"labels", "bounds", "grid", "cuts", "max_labels"}
    assert keys(found, "Treatment") == treated | learned_first


def test_every_key_of_the_queries_schema_is_read(folder: Path) -> None:
    asked(folder, QUERIES)
    survey = {"column": "e", "maximum": 3, "selection": 2}
    asked(folder, {**QUERIES, "queries": [{"marginal": ["a"], "weight": survey}], "weight": survey})
    found = schema("queries")
    assert keys(found, "QueriesForm") == {*QUERIES, "weight"}
    assert keys(found, "SurveyWeight") == set(survey)
    asked(folder, {**QUERIES, "queries": [*ENTRIES, PERSONS]})
    for kind, form in KINDS.items():
        shown = set().union(*(entry for entry in (*ENTRIES, PERSONS) if next(iter(entry)) == kind))
        unread = {"weight"} if kind == "persons" else set()  # a table of persons is measured outside the loop
        assert keys(found, form.__name__) == shown | unread
    assert keys(found, "Ways") == {"ways", "columns"}
    assert keys(found, "RandomConjunctions") == {"random", "seed", "ways", "columns"}


def test_the_schemas_are_versioned_and_closed() -> None:
    for document, version in (("domain", "urn:dpqr:domain:1"), ("queries", "urn:dpqr:queries:1")):
        found = schema(document)  # type: ignore[arg-type]
        assert found["$id"] == version
        assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert all(part["additionalProperties"] is False for part in found["$defs"].values())
        json.dumps(found)


BROKEN_DOMAINS = [
    {"fields": []},
    {"fields": [{"name": "a"}]},
    {"fields": [{**FIELD, "dqpr": {}}]},
    {"fields": [{**FIELD, "type": "text"}]},
    {"fields": [{**FIELD, "dpqr": {"null": "clip"}}]},
    {"fields": [FIELD], "impossible": [{}]},
    {"fields": [FIELD], "totals": [{"where": "a = 'x'"}]},
    {"fields": [FIELD], "totals": [{"count": -1}]},
    {"a": 0},
    {"a": "2"},
]
BROKEN_ENTRIES = [
    {},
    {"marginal": "a"},
    {"marginal": ["a"], "prefix": "n"},
    {"marginals": {"ways": 0}},
    {"ranges": "n", "random": 0, "seed": 1},
    {"conjunctions": {"random": 3}},
    {"conjunctions": {"random": 3, "seed": 1, "ways": 2}},
    {"marginal": ["a"], "wieght": 1},
    {"where": ""},
]


def test_documents_and_schemas_agree_and_what_a_schema_refuses_is_refused(folder: Path) -> None:
    for document in BROKEN_DOMAINS:
        with pytest.raises(DocumentError):
            read_domain(document)
    for entry in BROKEN_ENTRIES:
        with pytest.raises(DocumentError, match=r"queries\.json: \$\.queries\[0\]"):
            asked(folder, QUERIES | {"queries": [entry]})
    jsonschema = pytest.importorskip("jsonschema", reason="an independent validator of JSON Schema is not installed")
    domain, queries = (jsonschema.Draft202012Validator(schema(name)) for name in ("domain", "queries"))
    for validator in (domain, queries):
        validator.check_schema(validator.schema)
    assert all(map(domain.is_valid, (DOMAIN, {"age": 85, "fields": 2})))
    assert all(map(queries.is_valid, (QUERIES, {"queries": [{"marginal": []}], "domain": "domain.json"})))
    assert not any(map(domain.is_valid, BROKEN_DOMAINS))
    assert not any(queries.is_valid({"queries": [entry]}) for entry in BROKEN_ENTRIES)
