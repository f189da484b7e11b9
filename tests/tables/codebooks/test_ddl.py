"""SQL: dialects, types, checks; rows of a dump."""

from __future__ import annotations

import sys

import pytest
from support.cases import in_one_test
from support.codebooks import fields_of

from dpqr.domain.text.decoding import Location
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.tables.codebooks.ddl import read_ddl


def fields(text):
    return {
        name: field for table in read_ddl(text.encode(), Location("t.sql")) for name, field in fields_of(table).items()
    }


@in_one_test(
    ("column", "field"),
    [
        ("a serial primary key", {"type": "integer", "constraints": {"required": True}}),
        ("a decimal(3)", {"type": "integer"}),
        ("a numeric(3, 1)", {"type": "number"}),
        ("a double precision", {"type": "number"}),
        ("a timestamp with time zone", {"type": "datetime"}),
        ("a time", {}),
        ("a jsonb", {}),
        (
            "`a` enum('x', 'it''s') not null",
            {"type": "string", "constraints": {"enum": ["x", "it's"], "required": True}},
        ),
        ("`a` int comment 'years'", {"type": "integer", "description": "years"}),
        ("[a] nvarchar(9) check ([a] in ('x'))", {"type": "string", "constraints": {"enum": ["x"]}}),
        ("a int check (a > 0 and 10 > a)", {"type": "integer", "constraints": {"minimum": 1, "maximum": 9}}),
        ("a int check (a in (1, -2) or a is null)", {"type": "integer", "constraints": {"enum": [1, -2]}}),
        ("a float check (a in (0.5, 2))", {"type": "number", "constraints": {"minimum": 0.5, "maximum": 2}}),
        ("a text, check (a = 'only')", {"type": "string", "constraints": {"enum": ["only"]}}),
        (
            "a timestamp check (a between '2020-01-01 00:00:00' and timestamp '2021-01-01')",
            {"type": "datetime", "constraints": {"minimum": "2020-01-01T00:00:00", "maximum": "2021-01-01"}},
        ),
        ("a boolean check (a in (true))", {"type": "boolean"}),
    ],
)
def test_columns(column, field):
    assert fields(f"create table t ({column})") == {"a": field}


@in_one_test("check", ["a + b < 3", "a > b", "length(c) > 2", "a = 1 or b = 2", "missing > 3", "a <> 1"])
def test_a_check_that_says_neither_labels_nor_bounds_is_left_out(check):
    (table,) = read_ddl(f"create table t (a int, b int, c text, check ({check}))".encode(), Location("t.sql"))
    assert fields_of(table) == {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "string"}}
    assert table.remarks == ("a CHECK that is no comparison of a column with constants is left out",)


def test_names_of_types_and_columns_have_no_case():
    text = "CREATE TYPE Mood AS ENUM ('ok', 'sad'); CREATE TABLE T (Feeling mood, Age int CHECK (AGE >= 3));"
    assert fields(text) == {
        "Feeling": {"type": "string", "constraints": {"enum": ["ok", "sad"]}},
        "Age": {"type": "integer", "constraints": {"minimum": 3}},
    }


def test_a_dump_s_rows_are_not_looked_at(capfd):
    text = "CREATE TABLE t (a text); INSERT INTO t VALUES ('SECRET'); UPDATE t SET a ((;"
    assert fields(text) == {"a": {"type": "string"}}
    with pytest.raises(DocumentError) as refused:
        fields("INSERT INTO t VALUES ('SECRET'); CREATE TABLE u (a integer CHECK (a = 'SECRET'")
    assert "SECRET" not in str(refused.value)
    assert "".join(capfd.readouterr()) == ""


def test_without_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(UsageFault, match=r"pip install 'dpqr\[codebooks\]'"):
        fields("create table t (a int)")
