"""Columns: labels and bounds by type, and statements that are joined."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dpqr.domain.form import Constraints, Treatment
from dpqr.kernel.errors import DocumentError
from dpqr.tables.codebooks.columns import (
    CodebookColumn,
    Outline,
    exact,
    outline_document,
    own_missing,
    read_types,
    require_sound,
)
from dpqr.tables.codebooks.columns import merge_columns as join


def stated(text):
    return read_types([f"a={text}"]).outline.fields[0]


@pytest.mark.parametrize(
    ("base", "over", "both"),
    [
        ("integer:0..99", "integer:width=10", "integer:0..99:width=10"),
        ("integer:0..99:width=10", "integer:bins=5", "integer:0..99:bins=5"),
        ("integer:0..99:width=10:null=cell", "integer:10..19", "integer:10..19:width=10:null=cell"),
        ("integer:0..99:width=10", "integer:1|2", "integer:1|2"),
        ("integer:1|2:title=A", "integer:0..99", "integer:0..99:title=A"),
        ("integer:1|2:title=A", "integer:edges=0|9", "integer:edges=0|9:title=A"),
        ("number:edges=0|9", "number:0..5:bins=5", "number:0..5:bins=5"),
        ("number:0..5:bins=5", "number:edges=0|9", "number:edges=0|9"),
        ("number:0..5:bins=5:title=A", "string:x|y", "string:x|y:title=A"),
        ("integer:categories=1|2", "integer:1|2|3", "integer:1|2|3"),
        ("integer:categories=1|2", "integer:0..9", "integer:0..9"),
        ("number:decimalChar=,", "number:0..9", "number:0..9:decimalChar=,"),
        ("integer:0..", "integer:..9", "integer:0..9"),
    ],
)
def test_the_later_statement_wins_and_takes_what_it_replaces_away(base, over, both):
    assert join(stated(base), stated(over)) == stated(both)


def test_an_open_type_takes_the_other_s():
    assert (
        join(CodebookColumn(name="a"), stated("boolean"))
        == join(stated("boolean"), CodebookColumn(name="a"))
        == stated("boolean")
    )


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3", 3),
        (" -1.50 ", Decimal("-1.5")),
        ("1e3", 1000),
        ("nan", None),
        ("inf", None),
        ("1e999999", None),
        ("x", None),
    ],
)
def test_numbers_are_exact(text, number):
    assert exact(text) == number
    assert type(exact(text)) is type(number)


def test_null_texts_that_all_columns_share_stand_once():
    outline = own_missing(Outline(fields=(CodebookColumn(name="a"), CodebookColumn(name="b")), missing_values=("-",)))
    assert outline.missing_values == ("",)
    assert outline_document(outline) == {"missingValues": ["-"], "fields": [{"name": "a"}, {"name": "b"}]}
    apart = own_missing(
        Outline(
            fields=(CodebookColumn(name="a"), CodebookColumn(name="b", missing_values=("?",))), missing_values=("-",)
        )
    )
    assert [field["missingValues"] for field in outline_document(apart)["fields"]] == [["-"], ["?"]]


@pytest.mark.parametrize(
    "column",
    [
        CodebookColumn(name="a", type="number", constraints=Constraints(minimum="x")),
        CodebookColumn(name="a", type="integer", constraints=Constraints(enum=(1, True))),
        CodebookColumn(name="a", type="date", constraints=Constraints(maximum=3)),
        CodebookColumn(name="a", type="number", dpqr=Treatment(edges=(0, [1]))),
        CodebookColumn(name="a", type="string", constraints=Constraints(enum=("x", 1))),
    ],
)
def test_values_of_another_kind_are_refused(column):
    with pytest.raises(DocumentError, match=r"^book: column 'a': .* is no value of type '\w+'; correct it$"):
        require_sound(column, "book")


def test_placeholders_and_open_types_are_sound():
    require_sound(CodebookColumn(name="a", constraints=Constraints(minimum="x")), "book")
    require_sound(CodebookColumn(name="a", type="number", dpqr=Treatment(edges=("FILL-IN", 1))), "book")
