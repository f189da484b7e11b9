"""Frictionless: foreign schemas, packages, and domain files."""

from __future__ import annotations

import json

import pytest
from support.cases import in_one_test
from support.codebooks import SAMPLES, fields_of

from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import DocumentError
from dpqr.tables.codebooks.columns import fill_gaps, outline_document
from dpqr.tables.codebooks.known import read_codebook

SURVEY = SAMPLES.parent / "domain.json"


AS_STATED = (
    {"type": "string", "missingValues": [{"value": "-", "label": "refused"}]},
    {"type": "date", "format": "%d/%m/%Y"},
    {"type": "number", "decimalChar": ",", "groupChar": ".", "bareNumber": False},
    {"type": "integer", "categories": [{"value": 0, "label": "no"}, 1], "categoriesOrdered": True},
    {"type": "integer", "constraints": {"enum": [2, 1]}},
)
BOUNDED = {"exclusiveMinimum": 0, "jsonSchema": {}, "minimum": 0}
SCALE, ENDS = {"enum": [2.5, 0]}, {"minimum": 0, "maximum": 2.5}


@in_one_test(
    ("stated", "field"),
    [
        ({"type": "year", "constraints": {"minimum": 1990}}, {"type": "integer", "constraints": {"minimum": 1990}}),
        ({"type": "geopoint", "format": "array"}, {}),
        ({}, {}),
        ({"type": "integer", "constraints": BOUNDED}, {"type": "integer", "constraints": {"minimum": 1}}),
        ({"type": "number", "constraints": SCALE}, {"type": "number", "constraints": ENDS}),
        ({"type": "number", "constraints": {"enum": [2, 1]}}, {"type": "integer", "constraints": {"enum": [2, 1]}}),
        ({"type": "boolean", "constraints": {"enum": [True]}}, {"type": "boolean"}),
        ({"type": "string", "format": "email", "example": "x", "private": 1}, {"type": "string", "example": "x"}),
        ({"type": "date", "format": "any"}, {"type": "date"}),
        *zip(AS_STATED, AS_STATED, strict=True),
    ],
)
def test_fields_of_foreign_schemas(stated, field, given):
    found = given(json.dumps({"fields": [{"name": "a", **stated}, {"name": "b", "type": "date"}], "primaryKey": "a"}))
    assert fields_of(found)["a"] == field


@in_one_test(
    ("content", "said"),
    [
        ({"fields": [{"name": 3}]}, r"\$\.fields\[0\]\.name: expected text"),
        ({"fields": ["a"]}, r"\$\.fields\[0\]: a field is an object"),
        ({"fields": [{"name": "a", "constraints": {"enum": "x"}}]}, r"constraints\.enum: expected a list"),
        (
            {"fields": [{"name": "a", "dpqr": {"bin": 3}}]},
            r"\$\.fields\[0\]\.dpqr: unknown key 'bin'; did you mean 'bins'",
        ),
        ({"resources": [{"name": "a"}]}, r"\$\.resources: no resource has its schema here"),
        ({"resources": [{"schema": "no.json"}]}, r"\$\.resources\[0\]\.schema: .*no\.json"),
        (
            {"resources": [{"schema": "https://x.org/s.json"}]},
            "is no relative path; save the schema beside the package",
        ),
        ({"resources": [{"schema": "/etc/passwd"}]}, "is no relative path"),
        ({"resources": [{"schema": "../s.json"}]}, "is no relative path"),
        ({"resources": [{"schema": {}}]}, r"\$\.resources\[0\]\.schema: a Table Schema has a list of 'fields'"),
        ({"fields": [{"name": "a"}], "missingValues": 3}, "missingValues: expected a list"),
        ({"fields": [{"name": "a"}], "missingValues": [3]}, r"missingValues\[0\]: expected "),
    ],
)
def test_faults(content, said, given):
    with pytest.raises(DocumentError, match=said):
        given(json.dumps(content))


def test_a_domain_file_comes_back_with_all_it_holds():
    whole = fill_gaps(read_codebook(str(SURVEY)).outline)
    assert (whole.to_fill, whole.proposed) == ((), ())
    assert read_domain(outline_document(whole.outline)) == read_domain(SURVEY)


def test_facts_and_the_rule_for_malformed_rows_come_along(given):
    domain = {
        "dpqr": "domain/1",
        "malformed": "fail",
        "impossible": [{"where": "a = 'x'"}],
        "totals": [{"count": 7}],
        "missingValues": ["NA"],
        "fields": [{"name": "a", "type": "string", "constraints": {"enum": ["x", "y"]}}],
    }
    found = outline_document(fill_gaps(given(json.dumps(domain)).outline).outline)
    rules = {"dpqr": {"otherwise": "drop"}}
    assert found == {**domain, "fields": [{**domain["fields"][0], **rules}]}


def test_what_a_skeleton_left_to_fill_in_is_left_open(given):
    limits = {"minimum": "FILL-IN", "maximum": 9}
    fields = [
        {"name": "a", "type": "integer", "constraints": limits},
        {"name": "b", "type": "string", "constraints": {"enum": ["FILL-IN"]}},
    ]
    begun = [
        {"name": "c", "type": "integer", "dpqr": {"edges": ["FILL-IN: minimum", 5, "FILL-IN: maximum"]}},
        {"name": "d", "type": "string", "constraints": {"enum": ["x", "FILL-IN: the other labels"]}},
    ]
    book = given(json.dumps({"fields": begun}))
    assert fill_gaps(book.outline).to_fill == ("outermost edges of c", "other labels of d")
    assert outline_document(fill_gaps(book.outline).outline)["fields"][1]["constraints"] == begun[1]["constraints"]
    assert fields_of(given(json.dumps({"fields": fields}))) == {
        "a": {"type": "integer", "constraints": {"maximum": 9}},
        "b": {"type": "string"},
    }


def test_a_schema_lies_in_a_file_beside_the_package(tmp_path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "s.yaml").write_text("fields:\n- {name: a, type: boolean}\n")
    (tmp_path / "datapackage.json").write_text(json.dumps({"resources": [{"name": "t", "schema": "parts/s.yaml"}]}))
    found = read_codebook(str(tmp_path / "datapackage.json"))
    assert (found.name, [column.name for column in found.outline.fields]) == ("t", ["a"])
