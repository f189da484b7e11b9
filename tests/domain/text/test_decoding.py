import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from support.cases import in_one_test

from dpqr.domain.domain_file import read_domain
from dpqr.domain.form import TableSchema
from dpqr.domain.text.decoding import Location, decode, describe_value, fitting, fix_shape, nearest, number, obvious
from dpqr.domain.text.faults import Faults
from dpqr.kernel.errors import DocumentError
from dpqr.workload.form import MarginalsEntry, WhereEntry


def test_paths_are_json_paths_and_errors_of_nouns_get_the_place() -> None:
    location = Location("f.json").key("queries").item(3).key("ways")
    assert str(location.fault("is wrong")) == "f.json: $.queries[3].ways: is wrong"
    assert Location("f").key("income>50K").path == '$["income>50K"]'
    with pytest.raises(DocumentError, match=r"^f: \$\.a: no such column$"), Location("f").key("a").blamed():
        raise DocumentError("no such column")


def test_nearest_suggests_or_lists_and_does_not_compare_long_words_and_lists() -> None:
    assert nearest("marginl", ("marginal", "prefix")) == "did you mean 'marginal'?"
    assert nearest("xyz", ("a", "b")) == "known: 'a', 'b'"
    assert nearest("xyz", map(str, range(30))).endswith("'19', ...")
    assert nearest("x", ()) == "none are known"
    assert nearest("x" * 10**6, ("y" * 10**6,)).startswith("known: ")
    assert nearest("cell 77", [f"cell {each}" for each in range(10**6)]).startswith("known: 'cell 0', ")


PLACE = Location("d.json")


def field(**parts: Any) -> dict[str, Any]:
    return {"fields": [{"name": "a", "type": "string", **parts}]}


@in_one_test(
    ("value", "expected"),
    [
        (field(dqpr={}), "d.json: $.fields[0]: unknown key 'dqpr'; did you mean 'dpqr'?"),
        (field(dpqr={"edge": []}), "d.json: $.fields[0].dpqr: unknown key 'edge'; did you mean 'edges'?"),
        (field(otherwise="cell"), "d.json: $.fields[0]: unknown key 'otherwise'; it belongs in 'dpqr'"),
        (field(minimum=0), "d.json: $.fields[0]: unknown key 'minimum'; it belongs in 'constraints'"),
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


def test_numbers_are_exact_and_what_is_none_is_refused() -> None:
    assert [number(value, PLACE) for value in (Decimal("0.1"), 0.1, -3)] == [Fraction(1, 10), Fraction(1, 10), -3]
    for value in (True, "1", None, [], {}, Decimal("NaN"), float("inf")):
        with pytest.raises(DocumentError, match=r"^d\.json: \$: expected a (finite )?number"):
            number(value, PLACE)


def test_values_are_shown_short() -> None:
    shown = ["'a\\nb'", "an object", "a list", "null", "false"]
    assert [describe_value(value) for value in ("a\nb", {"a": 1}, [], None, False)] == shown
    assert len(describe_value("x" * 500)) == 60


def test_a_misspelling_has_one_meaning_or_none() -> None:
    known = ("marginal", "marginals", "prefix", "missingValues", "v1", "form/1")
    meant = dict.fromkeys(("marginl", "margianl", "Marginal"), "marginal")
    meant |= {"missing_values": "missingValues", "pre-fix": "prefix"}
    meant |= dict.fromkeys(("marginale", "mrginl", "v2", "form/2", 3, "x" * 10**6))
    assert {word: obvious(word, known) for word in meant} == meant


def test_every_fault_of_a_shape_is_named() -> None:
    value = {"fields": [{"name": 3, "type": "x", "dpqr": {"bins": 0, "null": 1}}, 7], "malformed": "x", "y": 1}
    with pytest.raises(DocumentError) as caught:
        decode(value, TableSchema, PLACE)
    first = [f"$.fields[0].{key}" for key in ("name", "type", "dpqr.bins", "dpqr.null")]
    assert [fault.path for fault in caught.value.faults] == [*first, "$.fields[1]", "$.malformed", "$"]


def test_an_obvious_fix_is_shaped_as_if_it_were_made() -> None:
    faults = Faults()
    value = {"wheer": "a = 1", "by": "b", "weight": "2"}
    assert fix_shape(value, WhereEntry, PLACE, faults) == {"where": "a = 1", "by": ["b"], "weight": "2"}
    assert [fault.fix and fault.fix.text for fault in faults.found] == ['"where"', '["b"]']
    assert fitting(value, WhereEntry) is None


@in_one_test(
    ("field", "hint"),
    [
        ({"constraints": {"edges": [0, 1]}}, "unknown key 'edges'; it belongs in 'dpqr'"),
        ({"dpqr": {"minimum": 0}}, "unknown key 'minimum'; it belongs in 'constraints'"),
        ({"dpqr": {"groupChar": ","}}, "unknown key 'groupChar'; it belongs one level further out"),
        ({"dpqr": {"qqqq": ","}}, "unknown key 'qqqq'; known: 'bins'"),
    ],
)
def test_a_key_in_the_wrong_place_is_sent_to_the_right_one(field, hint) -> None:
    stated = {"name": "a", "type": "number", **field}
    with pytest.raises(DocumentError, match=re.escape(hint)):
        read_domain({"fields": [stated]})
