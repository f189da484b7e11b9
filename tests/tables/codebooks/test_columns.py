"""Columns: labels and bounds by type, and statements that are joined."""

from __future__ import annotations

from decimal import Decimal

import pytest
from support.cases import in_one_test
from support.codebooks import fields_of

from dpqr.domain.domain_file import PLACEHOLDER, read_domain
from dpqr.domain.form import Constraints, Treatment
from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.tables.codebooks.columns import (
    EXAMPLE,
    CodebookColumn,
    Outline,
    exact,
    fill_gaps,
    outline_document,
    own_missing,
    read_types,
    require_sound,
)
from dpqr.tables.codebooks.columns import merge_columns as join
from dpqr.tables.codebooks.plain_schemas import typed_columns


def stated(text):
    return read_types([f"a={text}"]).outline.fields[0]


@in_one_test(
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


def test_numbers_are_exact():
    numbers = {"3": 3, " -1.50 ": Decimal("-1.5"), "1e3": 1000, **dict.fromkeys(("nan", "inf", "1e999999", "x"))}
    assert {text: exact(text) for text in numbers} == numbers
    assert all(type(exact(text)) is type(number) for text, number in numbers.items())


def test_null_texts_that_all_columns_share_stand_once():
    one, two = CodebookColumn(name="a"), CodebookColumn(name="b")
    other = CodebookColumn(name="b", missing_values=("?",))
    outline = own_missing(Outline(fields=(one, two), missing_values=("-",)))
    assert outline.missing_values == ("",)
    assert outline_document(outline) == {"missingValues": ["-"], "fields": [{"name": "a"}, {"name": "b"}]}
    apart = own_missing(Outline(fields=(one, other), missing_values=("-",)))
    assert [field["missingValues"] for field in outline_document(apart)["fields"]] == [["-"], ["?"]]


@in_one_test(
    ("kind", "keys"),
    [
        ("number", {"constraints": Constraints(minimum="x")}),
        ("integer", {"constraints": Constraints(enum=(1, True))}),
        ("date", {"constraints": Constraints(maximum=3)}),
        ("number", {"dpqr": Treatment(edges=(0, [1]))}),
        ("string", {"constraints": Constraints(enum=("x", 1))}),
    ],
)
def test_values_of_another_kind_are_refused(kind, keys):
    with pytest.raises(DocumentError, match=r"^book: column 'a': .* is no value of type '\w+'; correct it$"):
        require_sound(CodebookColumn(name="a", type=kind, **keys), "book")


def test_placeholders_and_open_types_are_sound():
    require_sound(CodebookColumn(name="a", constraints=Constraints(minimum="x")), "book")
    require_sound(CodebookColumn(name="a", type="number", dpqr=Treatment(edges=("FILL-IN", 1))), "book")


# Gaps: what is proposed, and what only the curator can fill in.

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


@in_one_test(
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


def test_what_a_release_is_to_learn_needs_no_filling_in():
    field, to_fill, _ = proposal("string:labels=learn")
    assert field == {"name": "a", "type": "string", "dpqr": {"null": "cell", "otherwise": "drop", "labels": "learn"}}
    assert to_fill == ()
    field, to_fill, _ = proposal("number:bounds=learn:bins=20")
    assert "constraints" not in field
    assert to_fill == ()


def test_one_bound_is_kept_and_the_other_one_asked_for_and_rules_that_are_stated_stay():
    field, to_fill, _ = proposal("integer:0..")
    assert field["constraints"] == {"minimum": 0, "maximum": PLACEHOLDER}
    assert to_fill == ("maximum of a",)
    assert proposal("integer:3..3")[0]["constraints"] == {"enum": [3]}
    assert proposal("boolean:outside=cell")[0]["dpqr"] == {"null": "cell", "outside": "cell", "otherwise": "drop"}
    assert proposal("boolean:otherwise=fail")[0]["dpqr"] == {"otherwise": "fail"}
    required = CodebookColumn(name="a", type="boolean", constraints=Constraints(required=True))  # no cell for null
    (field,) = outline_document(fill_gaps(Outline(fields=(required,))).outline)["fields"]
    assert field["dpqr"] == {"otherwise": "drop"}


@in_one_test(
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


# --types: columns on the command line.


def of(kind, low=None, high=None, *, enum=None, **keys):
    """A field of this type; other keys as they stand."""
    limits = {"minimum": low, "maximum": high, "enum": enum}
    limits = {key: value for key, value in limits.items() if value is not None}
    return {"type": kind, **({"constraints": limits} if limits else {}), **keys}


COLUMNS = {
    "a=boolean": of("boolean"),
    "a=boolean:0|1": of("boolean", trueValues=["1"], falseValues=["0"]),
    "a=boolean:trueValues=Y|J:falseValues=N:caseSensitive=false": of(
        "boolean", trueValues=["Y", "J"], falseValues=["N"], dpqr={"caseSensitive": False}
    ),
    "a=string:x, y|z:trim=true": of("string", enum=["x, y", "z"], dpqr={"trim": True}),
    "a=number:0..9:decimalChar=,:groupChar=.:bins=3": of(
        "number", 0, 9, decimalChar=",", groupChar=".", dpqr={"bins": 3}
    ),
    "a=date:format=%d/%m/%Y": of("date", format="%d/%m/%Y"),
    "a=integer:categories=1|2": of("integer", categories=[1, 2]),
    "a=datetime:format=%Y/%m/%d %H:%M:every=day": of("datetime", format="%Y/%m/%d %H:%M", dpqr={"every": "day"}),
    "a=datetime:2020-01-01T06:30..2021-01-01T00:00:format=%d.%m.%y %H:%M:%S": of(
        "datetime", "2020-01-01T06:30", "2021-01-01T00:00", format="%d.%m.%y %H:%M:%S"
    ),
    "a=date:format=%B %d, %Y": of("date", format="%B %d, %Y"),
    "a=string:1=male|2=not stated|x": of(
        "string",
        categories=[{"value": "1", "label": "male"}, {"value": "2", "label": "not stated"}, "x"],
    ),
    "a=integer:1=male": of("integer", categories=[{"value": 1, "label": "male"}]),
    "a=integer:-1=none|2=two": of("integer", categories=[{"value": -1, "label": "none"}, {"value": 2, "label": "two"}]),
    "a=string:m=male|f=female:null=drop": of(
        "string",
        categories=[{"value": "m", "label": "male"}, {"value": "f", "label": "female"}],
        dpqr={"null": "drop"},
    ),
    "a=string:x|y z": of("string", enum=["x", "y z"]),
    "a=string:U|A|A*:categoriesOrdered=true": of("string", categories=["U", "A", "A*"], categoriesOrdered=True),
    "a=string:1|2": of("string", enum=["1", "2"]),
    "a=integer:1|2|9": of("integer", enum=[1, 2, 9]),
    "a=integer:-5..99": of("integer", -5, 99),
    "a=integer:0..": of("integer", 0),
    "a=number:0..2.5e5:bins=50": of("number", 0, 250000, dpqr={"bins": 50}),
    "a=number:edges=0|1.5|9:closed=right": of("number", dpqr={"edges": [0, 1.5, 9], "closed": "right"}),
    "a=date:2020-01-01..2024-12-31:every=year": of("date", "2020-01-01", "2024-12-31", dpqr={"every": "year"}),
    "a=datetime:2020-01-01T06:30:00..2021-01-01T00:00:00:every=day": of(
        "datetime", "2020-01-01T06:30:00", "2021-01-01T00:00:00", dpqr={"every": "day"}
    ),
    "a=integer:0..9:null=drop:outside=clip:title=Age": of(
        "integer", 0, 9, dpqr={"null": "drop", "outside": "clip"}, title="Age"
    ),
}


@in_one_test("text", COLUMNS)
def test_columns(text):
    assert fields_of(read_types([text])) == {"a": COLUMNS[text]}


def test_codes_formats_and_missing_values_make_a_sound_domain_file():
    seen = "seen=datetime:2024-01-01..2025-01-01:every=month:format=%Y/%m/%d %H:%M:missingValues=never"
    texts = ["sex=integer:1=male|2=female:missingValues=|NA|-9=refused", seen]
    whole = outline_document(fill_gaps(read_types(texts).outline).outline)  # which decodes each column as check does
    assert [field["missingValues"] for field in whole["fields"]] == [
        ["", "NA", {"value": "-9", "label": "refused"}],
        ["never"],
    ]
    assert whole["fields"][1]["format"] == "%Y/%m/%d %H:%M"


def test_several_columns_and_several_options():
    assert list(fields_of(read_types(["a=boolean, b=integer:0..9", "c=string:x"]))) == ["a", "b", "c"]
    assert fields_of(read_types([])) == {}


@in_one_test(
    ("text", "said"),
    [
        ("", "--types '': expected COLUMN=TYPE...; for example: "),
        ("a", "expected COLUMN=TYPE"),
        ("a=boolean,", "unknown type 'boolean,'; did you mean 'boolean'?"),
        ("a=int:0..9", "--types a: unknown type 'int'; did you mean 'integer'?"),
        ("a=qqq", "unknown type 'qqq'; types: integer, number, string"),
        ("a=boolean,a=string:x", "the column 'a' stands twice"),
        ("a=text", "--types a: unknown type 'text'; did you mean 'string'?"),
        ("a=float:0..9", "--types a: unknown type 'float'; did you mean 'number'?"),
        ("a=learn", "a release learns the labels of string:labels=learn and the bounds of number:bounds=learn"),
        ("a=string:learn", "--types a: 'learn' alone is no label and no bound; a release learns the labels of string:"),
        ("a=integer:learn", "--types a: 'learn' alone is no label and no bound"),
        ("a=boolean:yes|no", "--types a: which word is true? write boolean:trueValues=yes:falseValues=no"),
        ("a=boolean:0..1", "--types a: which word is true?"),
        ("a=boolean:1|no", "--types a: which word is true?"),
        ("a=number:x|y", f"--types a: 'x|y' is no range; write LOW..HIGH; for example: {EXAMPLE}"),
        ("a=integer:0..9:bin=3", "--types: a: unknown key 'bin'"),
        ("a=integer:0..9:edgs=0|5|9", "--types: a: unknown key 'edgs'"),
        ("a=string:f|f", "--types a: the label 'f' stands twice; keep one"),
        ("a=integer:1|2|1.0", "--types a: the label 1 stands twice; keep one"),
        ("a=string:1=f|1=m", "--types a: the value '1' stands twice; keep one"),
        ("a=string:1=f|2=f", "--types a: the label 'f' stands twice; keep one"),
        ("a=string:f|", "--types a: a label is empty; missing values are stated by missingValues="),
        ("a=string:1=|2=m", "--types a: a label is empty"),
        ("a=number:1=low|2=high", "--types a: labels with codes are of columns of type string or integer"),
        ("a=integer:one=1|two=2", "--types a: 'one' is no whole number; text is of type string"),
        ("a=integer:0..:1|2", "--types a: values stand twice; keep one of '0..', '1|2'"),
        (
            "a=datetime:2024-01-01..2024-12-31:format=YYYY/MM/DD HH:mm",
            "--types a: format=YYYY/MM/DD HH is no pattern; write one such as '%Y/%m/%d %H:%M'",
        ),
        ("a=integer:0..9:bins=2:bins=3", "--types a: 'bins' stands twice; keep one"),
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
