from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from dpqr.errors import DocumentError
from dpqr.io.documents.decoding import decode, number, spoken
from dpqr.io.documents.domain_form import TableSchema
from dpqr.io.documents.place import Place
from dpqr.io.documents.query_form import MarginalsEntry

PLACE = Place("d.json")


def field(**parts: Any) -> dict[str, Any]:
    return {"fields": [{"name": "a", "type": "string", **parts}]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (field(dqpr={}), "d.json: $.fields[0]: unknown key 'dqpr'; did you mean 'dpqr'?"),
        (field(dpqr={"edge": []}), "d.json: $.fields[0].dpqr: unknown key 'edge'; did you mean 'edges'?"),
        (field(type="text"), "d.json: $.fields[0].type: unknown value 'text'; allowed: 'boolean', 'date'"),
        (field(name=3), "d.json: $.fields[0].name: expected text, got a whole number"),
        (field(missingValues="x"), "d.json: $.fields[0].missingValues: expected a list, got text"),
        (field(dpqr=None), "d.json: $.fields[0].dpqr: expected an object, got null"),
        (field(dpqr={"bins": True}), "d.json: $.fields[0].dpqr.bins: expected a whole number, got true or false"),
        (field(dpqr={"bins": Decimal("2.5")}), "d.json: $.fields[0].dpqr.bins: expected a whole number, got a decimal"),
        ({"fields": [{"type": "string"}]}, "d.json: $.fields[0]: the key 'name' is missing; add it"),
        ({}, "d.json: $: the key 'fields' is missing; add it"),
        ([], "d.json: $: expected an object, got a list"),
    ],
)
def test_errors_name_the_place_and_the_remedy(value: Any, expected: str) -> None:
    with pytest.raises(DocumentError) as caught:
        decode(value, TableSchema, PLACE)
    assert str(caught.value).startswith(expected)


def test_paths_follow_unions() -> None:
    with pytest.raises(DocumentError, match=r"d\.json: \$\.marginals: unknown key 'way'; did you mean 'ways'\?"):
        decode({"marginals": {"way": 2}}, MarginalsEntry, PLACE)


def test_numbers_are_exact() -> None:
    assert number(Decimal("0.1"), PLACE) == Fraction(1, 10)
    assert number(0.1, PLACE) == Fraction(1, 10)
    assert number(-3, PLACE) == -3


@pytest.mark.parametrize("value", [True, "1", None, [], {}, Decimal("NaN"), float("inf")])
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(DocumentError, match=r"^d\.json: \$: expected a (finite )?number"):
        number(value, PLACE)


def test_values_are_shown_short() -> None:
    assert spoken("a\nb") == "'a\\nb'"
    assert spoken({"a": 1}) == "an object"
    assert spoken([]) == "a list"
    assert spoken(None) == "null"
    assert spoken(False) == "false"
    assert len(spoken("x" * 500)) == 60
