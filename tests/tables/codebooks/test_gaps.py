"""Gaps: what is proposed, and what only the curator can fill in."""

from __future__ import annotations

import pytest

from dpqr.domain.domain_file import PLACEHOLDER, read_domain
from dpqr.domain.form import Constraints
from dpqr.kernel.errors import DocumentError
from dpqr.tables.codebooks.columns import CodebookColumn, Outline, fill_gaps, outline_document, read_types
from dpqr.tables.codebooks.plain_schemas import typed_columns

KINDS = ["integer", "number", "string", "boolean", "date", "datetime", "any"]
KNOWN = {
    "integer": {"minimum": 0, "maximum": 99},
    "number": {"minimum": 0, "maximum": 1.5},
    "string": {"enum": ["F"]},
    "date": {"minimum": "2024-01-01", "maximum": "2024-12-31"},
    "datetime": {"minimum": "2024-01-01", "maximum": "2024-12-31T23:59:59"},
    "any": {"enum": ["x"]},
}


def proposal(text):
    """The field that is made of a column's statement, and all that is said about it."""
    whole = fill_gaps(read_types([f"a={text}"]).outline)
    (field,) = outline_document(whole.outline)["fields"]
    return field, whole.to_fill, whole.proposed


def test_a_header_s_domain_is_refused_until_each_placeholder_is_filled_in():
    found = outline_document(fill_gaps(typed_columns([(kind, kind) for kind in KINDS]).outline).outline)
    for field in found["fields"]:
        for bound, value in KNOWN.get(field["name"], {}).items():
            with pytest.raises(DocumentError, match=rf"\$\.fields\[\d\]\.constraints\.\w+.*placeholder {PLACEHOLDER}"):
                read_domain(found)
            field["constraints"][bound] = value
    domain = read_domain(found)
    assert domain.names == tuple(KINDS)
    assert all(attribute.own_cells == ("null",) for attribute in domain.attributes)


def test_needs_and_proposals_are_told_by_kind():
    whole = fill_gaps(typed_columns([(kind, kind) for kind in KINDS]).outline)
    assert whole.to_fill == ("minimum and maximum of integer, number, date, datetime", "labels of string, any")
    assert whole.proposed == ("10 bins of integer, number", "one bin per month of date, datetime")


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("integer:0..119", {}),
        ("integer:0..120", {"bins": 10}),
        ("integer:0..120:width=1", {"width": 1}),
        ("integer:1|2", {}),
        ("number:edges=0|9", {"edges": [0, 9]}),
        ("number:0..9", {"bins": 10}),
        ("date:2020-01-01..2020-02-01:every=day", {"every": "day"}),
    ],
)
def test_what_is_stated_stays(text, cut):
    field, to_fill, _ = proposal(text)
    assert field["dpqr"] == {**cut, "null": "cell", "otherwise": "drop"}
    assert to_fill == ()


def test_one_bound_is_kept_and_the_other_one_asked_for():
    field, to_fill, _ = proposal("integer:0..")
    assert field["constraints"] == {"minimum": 0, "maximum": PLACEHOLDER}
    assert to_fill == ("maximum of a",)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("boolean:outside=cell", {"outside": "cell", "otherwise": "drop"}),
        ("boolean:otherwise=fail", {"otherwise": "fail"}),
    ],
)
def test_rules_that_are_stated_stay(text, rules):
    assert proposal(text)[0]["dpqr"] == rules


def test_a_required_column_has_no_cell_for_null():
    column = CodebookColumn(name="a", type="boolean", constraints=Constraints(required=True))
    assert outline_document(fill_gaps(Outline(fields=(column,))).outline)["fields"][0]["dpqr"] == {"otherwise": "drop"}


def test_bounds_that_are_equal_are_a_label():
    assert proposal("integer:3..3")[0]["constraints"] == {"enum": [3]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "integer:9..0",
            r"column 'a' as its sources state it: \$\.fields\[0\]\.constraints\.maximum: must be above the minimum",
        ),
        ("number:0..9:every=day", "only date and datetime columns have periods"),
        ("date:1.1.2020..2020-03-01", "expected a date like"),
        ("string:x|y:bins=3", "is not binned"),
    ],
)
def test_sources_that_contradict_themselves(text, said):
    with pytest.raises(DocumentError, match=said):
        proposal(text)
