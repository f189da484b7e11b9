"""CSVW: inherited properties, datatypes, labels in a regular expression."""

from __future__ import annotations

import json

import pytest
from support.cases import in_one_test
from support.codebooks import fields_of

from dpqr.kernel.errors import DocumentError

CONTEXT = ["http://www.w3.org/ns/csvw", {"@language": "en"}]


def columns(*described, **top):
    return json.dumps({"@context": CONTEXT, "url": "x/t.csv", "tableSchema": {"columns": described}, **top})


@in_one_test(
    ("datatype", "field"),
    [
        ("boolean", {"type": "boolean"}),
        (
            {"base": "positiveInteger", "maxExclusive": 10},
            {"type": "integer", "constraints": {"minimum": 1, "maximum": 9}},
        ),
        (
            {"base": "double", "minimum": "-1.5", "maximum": 2},
            {"type": "number", "constraints": {"minimum": -1.5, "maximum": 2}},
        ),
        ({"base": "dateTime", "minimum": "2020-01-01"}, {"type": "datetime", "constraints": {"minimum": "2020-01-01"}}),
        ({"format": "a|b"}, {"type": "string", "constraints": {"enum": ["a", "b"]}}),
        ({"format": r"^(a\.b|c d|)$"}, {"type": "string", "constraints": {"enum": ["a.b", "c d", ""]}}),
        ({"format": "[A-Z]+"}, {"type": "string"}),
        ({"base": "string", "minLength": 3}, {"type": "string"}),
        ("duration", {}),
        ({"base": "boolean", "format": "Y|N"}, {"type": "boolean", "trueValues": ["Y"], "falseValues": ["N"]}),
        (
            {"base": "decimal", "format": {"decimalChar": ",", "groupChar": "."}},
            {"type": "number", "decimalChar": ",", "groupChar": "."},
        ),
        ({"base": "integer", "format": "#,##0"}, {"type": "integer", "groupChar": ","}),
        ({"base": "decimal", "format": "0.0"}, {"type": "number"}),
        ({"base": "date", "format": "dd.MM.yyyy"}, {"type": "date", "format": "%d.%m.%Y"}),
        ({"base": "date", "format": "yyyy-MM-dd"}, {"type": "date"}),
        (
            {"base": "dateTime", "format": "dd/MM/yyyy HH:mm:ss.SSSXXX"},
            {"type": "datetime", "format": "%d/%m/%Y %H:%M:%S.%f%z"},
        ),
    ],
)
def test_datatypes(datatype, field, given):
    assert fields_of(given(columns({"titles": "a", "datatype": datatype}))) == {"a": field}


def test_a_column_without_a_datatype_is_left_open(given):
    assert fields_of(given(columns({"name": "a"}))) == {"a": {}}


def test_properties_of_the_group_and_the_table_are_inherited(given):
    described = {"titles": {"de": ["Alter", "age"]}}
    table = {
        "url": "t.csv",
        "null": ["-"],
        "tableSchema": {"datatype": "integer", "columns": [described, {"name": "b"}]},
    }
    found = given(json.dumps({"@context": CONTEXT, "null": "NA", "tables": [table]}))
    assert found.name == "t"
    assert fields_of(found)["Alter"] == {"type": "integer"}
    assert found.outline.fields[0].missing_values == ("-",)


def test_a_list_in_a_cell_is_no_column(given):
    found = given(columns({"titles": "a", "separator": ";", "datatype": "integer"}, {"name": "v", "virtual": True}))
    assert fields_of(found) == {"a": {}}
    assert "a holds lists" in found.remarks[0]


@in_one_test(
    ("content", "said"),
    [
        (columns({"datatype": "date"}), r"\$\.tableSchema\.columns\[0\]: has neither 'titles' nor a 'name'"),
        (columns("a"), "a column is an object"),
        (columns(tableSchema="t.json"), "stands in another file"),
        (columns(tableSchema={}), "has no list of 'columns'"),
        (columns(tables=["t"]), "has no list of 'columns'"),
    ],
)
def test_faults(content, said, given):
    with pytest.raises(DocumentError, match=said):
        given(content)
