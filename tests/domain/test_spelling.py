"""Keys that say how values are written: what they come to, and which are refused."""

import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import PLAIN, Attribute, Spelling
from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import DocumentError


def one(**field) -> Attribute:
    return read_domain({"fields": [{"name": "a", **field}]}).attributes[0]


EDGES = {"number": [0, 1], "integer": [0, 1], "date": ["2024-01-01", "2025-01-01"]}
EDGES["datetime"] = EDGES["date"]


def binned(kind, own=None, **keys) -> Attribute:
    return one(type=kind, dpqr={"edges": EDGES[kind], **(own or {})}, **keys)


def test_marks_of_numbers_patterns_of_dates_and_missing_values_with_labels() -> None:
    money = binned("number", decimalChar=",", groupChar=".", bareNumber=False)
    assert money.spelling == Spelling(decimal=",", group=".", bare=False)
    assert binned("integer", groupChar=" ").spelling == Spelling(group=" ")
    assert binned("date", format="%d/%m/%Y").spelling == Spelling(pattern="%d/%m/%Y")
    assert binned("date", format="fmt:%d %B %y").spelling == Spelling(pattern="%d %B %y")
    assert binned("datetime", format="%Y %j %I%p %%").spelling == Spelling(pattern="%Y %j %I%p %%")
    assert binned("number", missingValues=[{"value": "-99", "label": "refused"}, {"value": ""}]).missing == ("-99", "")
    assert one(type="boolean", dpqr={"trim": True}).spelling == Spelling(trim=True)


def test_keys_that_state_the_default_change_nothing() -> None:
    for kind, keys in (
        ("number", {"decimalChar": ".", "bareNumber": True, "format": "default"}),
        ("date", {"format": "default"}),
        ("datetime", {"own": {"trim": False}}),
    ):
        assert binned(kind, **keys) == binned(kind)
        assert binned(kind).spelling == PLAIN


@in_one_test(
    ("kind", "keys", "says"),
    [
        ("date", {"format": "any"}, r"format: 'any' would guess which number is the month; write the pattern"),
        ("date", {"format": "dd/mm/yyyy"}, r"format: 'dd/mm/yyyy' is no pattern; write 'default' or one such"),
        ("date", {"format": "%d/%m"}, "does not say the day, month and year of a date"),
        ("datetime", {"format": "%H:%M"}, "does not say the day, month and year of a datetime"),
        ("date", {"format": "%d/%m/%Y %c"}, "'%c' is not read; known: "),
        ("date", {"format": "%d/%m/%Y%"}, "'%' is not read"),
        ("date", {"format": "%d/%d/%m/%Y"}, "%d: the pattern says this twice"),
        ("date", {"format": "%d/%m/%Y %y"}, "%Y and %y: the pattern says this twice"),
        ("date", {"format": "%d/%m/%Y %I"}, r"%I and %p \(AM or PM\) go together"),
        ("number", {"decimalChar": ",", "groupChar": ","}, "groupChar: ',' is the decimal mark too"),
        ("number", {"groupChar": "."}, "groupChar: '.' is the decimal mark too; state another decimalChar"),
        ("number", {"decimalChar": "-"}, "decimalChar: '-' cannot stand in a number"),
        ("number", {"decimalChar": " "}, "decimalChar: ' ' cannot stand in a number"),
        ("number", {"groupChar": "5"}, "groupChar: '5' cannot stand in a number"),
        ("number", {"groupChar": ""}, "groupChar: expected text of length >= 1"),
        ("number", {"groupChar": "ab"}, "groupChar: expected text of length <= 1"),
        ("integer", {"decimalChar": ","}, "decimalChar: only columns of type 'number' have it"),
        ("date", {"groupChar": ","}, "groupChar: only binned columns of numbers have it"),
        ("date", {"bareNumber": True}, "bareNumber: only binned columns of numbers have it"),
        ("number", {"trueValues": ["1"]}, "trueValues: only columns of type 'boolean' have it"),
        ("number", {"categoriesOrdered": True}, "categoriesOrdered: only columns with categories have it"),
        ("number", {"own": {"caseSensitive": False}}, "dpqr.caseSensitive: only columns of labels have it"),
        ("date", {"own": {"aliases": {}}}, "dpqr.aliases: only columns of labels have it"),
    ],
)
def test_what_is_refused(kind, keys, says) -> None:
    with pytest.raises(DocumentError, match=says.replace("$", r"\$")) as caught:
        binned(kind, **keys)
    assert str(caught.value).startswith("domain: $.fields[0]")
