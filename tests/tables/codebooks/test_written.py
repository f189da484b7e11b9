"""What a form has no place for."""

from __future__ import annotations

import msgspec

from dpqr.tables.codebooks.columns import (
    CodebookColumn,
    Outline,
    Written,
    bounded,
    left_out,
    own_titles,
    plain,
    ranged,
    read_types,
)


def outline(*texts):
    return read_types(texts).outline


def test_all_that_is_stated_and_not_held_is_named_once_with_its_columns():
    columns = outline("a=number:0..9:bins=3:null=cell", "b=number:0..9:bins=4:otherwise=drop", "c=boolean:title=C")
    whole = Outline(fields=columns.fields, malformed="drop", name="t", description="d")
    assert left_out(whole, {"constraints.minimum", "description"}) == (
        "left out, for the form has no place for it: "
        "constraints.maximum (a, b); dpqr.bins (a, b); dpqr.null (a); title (c); malformed",
    )
    assert left_out(outline("a=boolean"), set()) == ()


def test_edges_and_whole_labels_become_bounds():
    columns = outline("a=number:edges=0|5|9", "b=integer:1|2|3", "c=integer:2|9", "d=string:x").fields
    assert (bounded(columns[0]).constraints.minimum, bounded(columns[0]).constraints.maximum) == (0, 9)
    whole, remarks = ranged(Outline(fields=columns))
    bounds = [(column.constraints.minimum, column.constraints.maximum) for column in whole.fields[:3]]
    assert bounds == [(0, 9), (1, 3), (2, 9)]
    assert whole.fields[3] == columns[3]
    assert remarks == ("whole numbers between the labels are allowed as well: c",)


def test_categories_become_an_enum_and_stay_where_they_have_titles():
    field = {"name": "a", "type": "integer", "categories": [{"value": 1, "label": "one"}, 2]}
    titled = plain(msgspec.convert(field, CodebookColumn))
    assert titled.constraints.enum == (1, 2)
    assert own_titles(titled) == {1: "one"}
    assert left_out(Outline(fields=(titled,)), {"constraints.enum"})[0].endswith(": categories (a)")
    (bare,) = map(plain, outline("a=integer:categories=1|2").fields)
    assert bare == outline("a=integer:1|2").fields[0]


def test_the_text_of_json_keeps_every_letter():
    assert Written(content={"größe": 1}).text == '{\n  "größe": 1\n}\n'
    assert Written(content="a\n").text == "a\n"
