"""--types: columns on the command line."""

from __future__ import annotations

import pytest
from support.codebooks import fields_of

from dpqr.kernel.errors import UsageFault
from dpqr.tables.codebooks.columns import EXAMPLE, read_types


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("a=boolean", {"type": "boolean"}),
        (
            "a=boolean:trueValues=Y|J:falseValues=N:caseSensitive=false",
            {
                "type": "boolean",
                "trueValues": ["Y", "J"],
                "falseValues": ["N"],
                "dpqr": {"caseSensitive": False},
            },
        ),
        (
            "a=string:x, y|z:trim=true",
            {"type": "string", "constraints": {"enum": ["x, y", "z"]}, "dpqr": {"trim": True}},
        ),
        (
            "a=number:0..9:decimalChar=,:groupChar=.:bins=3",
            {
                "type": "number",
                "constraints": {"minimum": 0, "maximum": 9},
                "decimalChar": ",",
                "groupChar": ".",
                "dpqr": {"bins": 3},
            },
        ),
        ("a=date:format=%d/%m/%Y", {"type": "date", "format": "%d/%m/%Y"}),
        ("a=integer:categories=1|2", {"type": "integer", "categories": [1, 2]}),
        ("a=string:x|y z", {"type": "string", "constraints": {"enum": ["x", "y z"]}}),
        ("a=string:1|2", {"type": "string", "constraints": {"enum": ["1", "2"]}}),
        ("a=integer:1|2|9", {"type": "integer", "constraints": {"enum": [1, 2, 9]}}),
        ("a=integer:-5..99", {"type": "integer", "constraints": {"minimum": -5, "maximum": 99}}),
        ("a=integer:0..", {"type": "integer", "constraints": {"minimum": 0}}),
        (
            "a=number:0..2.5e5:bins=50",
            {"type": "number", "constraints": {"minimum": 0, "maximum": 250000}, "dpqr": {"bins": 50}},
        ),
        ("a=number:edges=0|1.5|9:closed=right", {"type": "number", "dpqr": {"edges": [0, 1.5, 9], "closed": "right"}}),
        (
            "a=date:2020-01-01..2024-12-31:every=year",
            {
                "type": "date",
                "constraints": {"minimum": "2020-01-01", "maximum": "2024-12-31"},
                "dpqr": {"every": "year"},
            },
        ),
        (
            "a=datetime:2020-01-01T06:30:00..2021-01-01T00:00:00:every=day",
            {
                "type": "datetime",
                "constraints": {"minimum": "2020-01-01T06:30:00", "maximum": "2021-01-01T00:00:00"},
                "dpqr": {"every": "day"},
            },
        ),
        (
            "a=integer:0..9:null=drop:outside=clip:title=Age",
            {
                "type": "integer",
                "constraints": {"minimum": 0, "maximum": 9},
                "dpqr": {"null": "drop", "outside": "clip"},
                "title": "Age",
            },
        ),
    ],
)
def test_columns(text, field):
    assert fields_of(read_types([text])) == {"a": field}


def test_several_columns_and_several_options():
    assert list(fields_of(read_types(["a=boolean, b=integer:0..9", "c=string:x"]))) == ["a", "b", "c"]
    assert fields_of(read_types([])) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "--types '': expected COLUMN=TYPE...; for example: "),
        ("a", "expected COLUMN=TYPE"),
        ("a=boolean,", "unknown type 'boolean,'; did you mean 'boolean'?"),
        ("a=int:0..9", "--types a: unknown type 'int'; did you mean 'integer'?"),
        ("a=qqq", "unknown type 'qqq'; types: integer, number, string"),
        ("a=boolean,a=string:x", "the column 'a' stands twice"),
        ("a=number:x|y", f"--types a: 'x|y' is no range; write LOW..HIGH; for example: {EXAMPLE}"),
        ("a=integer:0..9:bin=3", "--types: a: unknown key 'bin'"),
        ("a=integer:0..9:bins=many", "--types: a.dpqr.bins: expected a whole number"),
        ("a=integer:0..9:bins=0", "--types: a.dpqr.bins"),
        ("a=integer:0..9:every=century", "unknown value 'century'"),
    ],
)
def test_faults(text, said):
    with pytest.raises(UsageFault) as refused:
        read_types([text])
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
