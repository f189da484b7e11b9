"""Every fault of a domain and a queries file in one error, and no fault twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import in_one_test
from support.planted_faults import DOMAIN, FAULTS, QUERIES

from dpqr.domain.domain_file import PLACEHOLDER, read_domain
from dpqr.domain.text.decoding import Location
from dpqr.domain.text.faults import LIMIT, Faults, FollowUp, line_of, member, spans
from dpqr.kernel.errors import DocumentError, Fault
from dpqr.workload.queries_file import read_queries


def faults_of(tmp_path: Path, domain: Any, *entries: Any) -> list[str]:
    """The faults as texts; none where the documents are sound."""
    for name, content in (("d.json", domain), ("q.json", {"domain": "d.json", "queries": entries})):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    try:
        read_queries(tmp_path / "q.json")
    except DocumentError as error:
        return [str(fault) for fault in error.faults]
    return []


def test_twenty_planted_faults_are_reported_in_one_run(tmp_path: Path) -> None:
    (tmp_path / "domain.json").write_text(DOMAIN, encoding="utf-8")
    (tmp_path / "q.json").write_text(QUERIES, encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        read_queries(tmp_path / "q.json")
    faults = caught.value.faults
    assert [(fault.document, fault.line, fault.path) for fault in faults] == [planted[:3] for planted in FAULTS]
    assert len(faults) == LIMIT
    assert not caught.value.more
    for fault, (*_, words) in zip(faults, FAULTS, strict=True):
        assert words in fault.message


FIELDS = {"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "number", "dpqr": {"edges": [1]}}]}


@in_one_test(
    "entry",
    [
        {"marginal": ["a", "b"]},
        {"where": "b > 3 and a = true"},
        {"prefix": "b"},
        {"sum": "b", "by": ["a"]},
        {"marginals": {"ways": 2}},
        {"conjunctions": {"random": 3, "seed": 1, "ways": [2, 2]}},
    ],
)
def test_a_column_at_fault_is_not_blamed_again(entry: dict[str, Any], tmp_path: Path) -> None:
    assert faults_of(tmp_path, FIELDS, entry) == [
        "d.json: $.fields[1].dpqr.edges: 1 edge(s) make no bin; give at least 2"
    ]


def test_other_columns_are_checked_beside_it(tmp_path: Path) -> None:
    found = faults_of(tmp_path, FIELDS, {"marginal": ["b"]}, {"marginal": ["c"]}, {"where": "a > 3"})
    assert [fault.split(": ")[1] for fault in found] == [
        "$.fields[1].dpqr.edges",
        "$.queries[1].marginal[0]",
        "$.queries[2].where",
    ]


@in_one_test("field", [{"type": "boolean"}, {"name": 7, "type": "boolean"}, "a"])
def test_a_field_without_a_name_may_be_the_column_asked_for(field: Any, tmp_path: Path) -> None:
    assert len(faults_of(tmp_path, {"fields": [field]}, {"marginal": ["sex"]})) == 1


def test_a_domain_that_is_no_json_does_not_hide_the_shape_of_queries(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text("{")
    (tmp_path / "q.json").write_text('{"queries": [{"marginal": ["x"]}, {"marginal": 3}]}')
    with pytest.raises(DocumentError) as caught:
        read_queries(tmp_path / "q.json", tmp_path / "d.json")
    assert [(fault.document, fault.path) for fault in caught.value.faults] == [
        ("d.json", "$"),
        ("q.json", "$.queries[1].marginal"),
    ]


def test_an_obvious_misspelling_hides_nothing(tmp_path: Path) -> None:
    field = {"nmae": "a", "type": "intger", "constraints": {"minimum": 9, "maximum": 0}}
    found = faults_of(tmp_path, {"fields": [field]}, {"marginl": ["a"]})
    assert [fault.split(": ", 2)[2].split(";")[0] for fault in found] == [
        "unknown key 'nmae'",
        "unknown value 'intger'",
        "must be above the minimum",
        "unknown kind 'marginl'",
    ]


def test_every_placeholder_of_a_skeleton_is_named() -> None:
    fields = [{"name": name, "type": "string", "constraints": {"enum": [PLACEHOLDER]}} for name in "abc"]
    with pytest.raises(DocumentError) as caught:
        read_domain({"fields": fields})
    assert [fault.path for fault in caught.value.faults] == [f"$.fields[{at}].constraints.enum[0]" for at in range(3)]


def test_at_most_twenty_are_named(tmp_path: Path) -> None:
    entries = [{"marginal": [f"x{index}"]} for index in range(LIMIT + 1)]
    for count, more in ((LIMIT, False), (LIMIT + 1, True)):
        (tmp_path / "q.json").write_text(json.dumps({"domain": {"a": 2}, "queries": entries[:count]}))
        with pytest.raises(DocumentError) as caught:
            read_queries(tmp_path / "q.json")
        assert (len(caught.value.faults), caught.value.more) == (LIMIT, more)
        assert str(caught.value).startswith(f"{'more than ' if more else ''}20 faults in q.json\n")


def test_one_fault_is_its_own_error_and_consequences_and_repetitions_are_not_kept() -> None:
    faults = Faults()
    with faults.kept():
        raise Location("d").key("a").fault("is wrong")
    with pytest.raises(DocumentError, match=r"^d: \$\.a: is wrong$"):
        faults.finish()
    faults = Faults()
    for error in (Location("d").fault("first"), Location("d").fault("second"), FollowUp("third")):
        faults.keep(error)
    assert faults.found == [Fault(message="first", document="d", path="$")]
    faults = Faults()
    for text in ("no place", "none either"):  # errors of no document are kept as they are
        faults.keep(DocumentError(text))
    with pytest.raises(DocumentError, match=r"^2 faults\nno place\nnone either$"):
        faults.finish()


def test_documents_that_were_swapped_are_one_fault_each(tmp_path: Path) -> None:
    queries, domain = tmp_path / "q.json", tmp_path / "d.json"
    queries.write_text(json.dumps({"domain": "d.json", "queries": [{"marginal": []}]}))
    domain.write_text(json.dumps({"fields": [{"name": "a", "type": "boolean"}], "malformed": "drop"}))
    with pytest.raises(DocumentError) as caught:
        read_queries(domain, queries)
    assert [fault.message.split(";")[0] for fault in caught.value.faults] == [
        "is a domain, and no queries file",
        "is a queries file, and no domain",
    ]


WRONG = {
    "name": "a",
    "type": "integer",
    "constraints": {"minimum": "x", "maximum": 0.5, "enum": [0]},
    "dpqr": {"bins": 3, "nan": "cell", "outside": "clip"},
    "groupChar": "1",
    "bareNumber": False,
    "trueValues": ["ja"],
}


def places_of(tmp_path: Path, field: dict[str, Any]) -> list[str]:
    found = faults_of(tmp_path, {"fields": [{"name": "a", **field}]}, {"marginal": []})
    return [text.split(": ")[1].removeprefix("$.fields[0].") for text in found]


def test_every_fault_of_a_column_is_reported(tmp_path: Path) -> None:
    expected = "dpqr.bins constraints.minimum constraints.maximum dpqr.nan dpqr.outside groupChar bareNumber trueValues"
    assert places_of(tmp_path, WRONG) == expected.split()
    bounds = {**WRONG, "constraints": {"minimum": "x", "maximum": "y"}, "dpqr": {"nan": "cell"}}
    assert places_of(tmp_path, bounds) == ["constraints.minimum", "constraints.maximum", "trueValues", "groupChar"]


@in_one_test(
    ("field", "places"),
    [
        ({"type": "string", "constraints": {"enum": [1, "b", 2, "b"]}}, ["constraints.enum[0]", "constraints.enum[2]"]),
        (
            {"type": "string", "constraints": {"enum": ["a", "b", "a", "b"]}},
            ["constraints.enum[2]", "constraints.enum[3]"],
        ),
        ({"type": "number", "dpqr": {"edges": ["x", 1, "y"]}}, ["dpqr.edges[0]", "dpqr.edges[2]"]),
        ({"type": "number", "dpqr": {"every": "day"}}, ["dpqr.every"]),
    ],
)
def test_every_fault_of_one_part_is_reported(field: dict[str, Any], places: list[str], tmp_path: Path) -> None:
    assert places_of(tmp_path, field) == places


def test_every_fault_of_a_query_is_reported(tmp_path: Path) -> None:
    domain = {"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "number", "dpqr": {"edges": [0, 1]}}]}
    entries = (
        {"where": "b > ", "by": ["aa", "c"], "weight": 0},
        {"marginal": ["x", "y"]},
        {"ranges": "b", "between": [[1, 0], [0, 1], [2]], "by": ["z"]},
        {"prefix": "b", "by": ["b"]},
    )
    found = [text.split(": ")[1].removeprefix("$.queries") for text in faults_of(tmp_path, domain, *entries)]
    first, second = "[0].weight [0].by[0] [0].by[1] [0].where", "[1].marginal[0] [1].marginal[1]"
    assert found == f"{first} {second} [2].by[0] [2].between[0] [2].between[2] [3].by[0]".split()


TEXT = """{
  "a": [1, {"b c": "x\\"}"}, []],
  "d": {},
  "e": -1.5e3
}"""


def test_paths_are_json_paths() -> None:
    assert member("$", "a") == "$.a"
    assert member("$.a", 3) == "$.a[3]"
    assert member("$", "b c") == '$["b c"]'


def test_every_part_has_its_place() -> None:
    found = dict(spans(TEXT))
    shown = {
        path: (TEXT[slice(*span.key)] if span.key else "", TEXT[slice(*span.value)]) for path, span in found.items()
    }
    assert shown == {
        "$": ("", TEXT),
        "$.a": ('"a"', '[1, {"b c": "x\\"}"}, []]'),
        "$.a[0]": ("", "1"),
        "$.a[1]": ("", '{"b c": "x\\"}"}'),
        '$.a[1]["b c"]': ('"b c"', '"x\\"}"'),
        "$.a[2]": ("", "[]"),
        "$.d": ('"d"', "{}"),
        "$.e": ('"e"', "-1.5e3"),
    }
    assert line_of(TEXT, found["$.e"].start) == 4


def test_values_are_those_of_the_parser() -> None:
    value = {"x": [[], [[1]], {"y": None, "": [True, "]"]}], "é": "ü"}
    for indent in (None, 1):
        text = json.dumps(value, indent=indent, ensure_ascii=False)
        parts = {path: json.loads(text[slice(*span.value)]) for path, span in spans(text)}
        assert parts["$"] == value
        assert parts['$.x[2][""][1]'] == "]"
        assert parts["$.x[1][0][0]"] == 1
