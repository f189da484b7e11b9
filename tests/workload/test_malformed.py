"""Malformed documents: each is refused in one or two lines that name the file and the place."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest
from support.cases import in_one_test, slowly

from dpqr.domain.domain_file import read_domain
from dpqr.kernel.errors import DocumentError, Fault
from dpqr.workload.queries_file import read_queries


def refused(error: DocumentError, file: str, path: str, words: str) -> None:
    text = str(error)
    assert text.startswith(f"{file}: {path}: "), text
    assert words in text
    assert 1 <= len(text.splitlines()) <= 2
    assert all(len(line) < 300 for line in text.splitlines())


def column(kind: str = "integer", *, low: Any = ..., high: Any = ..., **cut: Any) -> dict[str, Any]:
    bounds = {key: value for key, value in (("minimum", low), ("maximum", high)) if value is not ...}
    return {"fields": [{"name": "a", "type": kind, "constraints": bounds, "dpqr": cut}]}


def labels(*enum: Any, kind: str = "string", **rules: Any) -> dict[str, Any]:
    return {"fields": [{"name": "a", "type": kind, "constraints": {"enum": enum}, "dpqr": rules}]}


FIELD = "$.fields[0]"
DOMAINS: list[tuple[Any, str, str]] = [
    ([], "$", "a domain is an object with 'fields'"),
    ("x", "$", "a domain is an object with 'fields'"),
    ({}, "$", "the key 'fields' is missing"),
    ({"sex": ["M", "F"]}, "$", "the key 'fields' is missing; add it (dpqr domain DATA writes it), or give sizes like"),
    ({"field": [{"name": "a", "type": "boolean"}]}, "$", "unknown key 'field'; did you mean 'fields'?"),
    ({"a": 0}, "$.a", "a whole number from 1 to 1048576"),
    ({"a": 3, "b": True}, "$.b", "a whole number from 1"),
    ({"a": 3, "b c": None}, '$["b c"]', "a whole number from 1"),
    ({"": 3}, "$", "length"),
    ({"fields": []}, "$.fields", "length >= 1"),
    ({"fields": [{"name": "", "type": "boolean"}]}, "$.fields[0].name", "length >= 1"),
    ({"fields": [{"name": "a", "type": "boolean"}] * 2}, "$.fields[1].name", "the domain names the column 'a' twice"),
    ({"fields": [{"name": "a", "type": "geopoint"}]}, f"{FIELD}.type", "unknown value 'geopoint'"),
    ({"fields": [{"name": "a"}]}, FIELD, "the key 'type' is missing"),
    ({"fields": [{"name": "a", "type": "boolean", "trueValue": ["y"]}]}, FIELD, "did you mean 'trueValues'"),
    ({"fields": [{"name": "a", "type": "boolean"}], "dpqr": "domain/2"}, "$.dpqr", "allowed: 'domain/1'"),
    (column("string"), f"{FIELD}.constraints.enum", "lists no label"),
    (labels("x", "y", "x"), f"{FIELD}.constraints.enum[2]", "the label 'x' stands twice"),
    (labels("x", 3), f"{FIELD}.constraints.enum[1]", "3 is no label of a column of type 'string'"),
    (labels("3", kind="integer"), f"{FIELD}.constraints.enum[0]", "'3' is no label of a column of type 'integer'"),
    (labels("yes", kind="boolean"), f"{FIELD}.constraints.enum[0]", "'yes' is no label"),
    (labels(0.5, kind="number"), f"{FIELD}.constraints.enum", "has no labels; cut it by dpqr.edges"),
    (labels("x", ""), f"{FIELD}.constraints.enum[1]", "also stands in missingValues"),
    (labels("x", "(null)", null="cell"), FIELD, "two cells of this column would print alike"),
    (labels("x", bins=3), f"{FIELD}.dpqr.bins", "a column of labels (enum, string, boolean) is not binned"),
    (labels("x", outside="clip"), f"{FIELD}.dpqr.outside", "labels have no nearest bin to clip to"),
    (labels("x", nan="drop"), f"{FIELD}.dpqr.nan", "no cell of this kind of column is nan; rules here: null, outside"),
    (column("boolean", low=0), f"{FIELD}.constraints.minimum", "a column of labels has no bounds"),
    (column(), f"{FIELD}.constraints", "the minimum is missing; state both minimum and maximum, or an enum"),
    (column(low=0), f"{FIELD}.constraints", "the maximum is missing"),
    (column("number", low=0, high=1), f"{FIELD}.dpqr", "needs one of bins, width or edges"),
    (column("number", bins=3), f"{FIELD}.constraints", "the minimum is missing"),
    (column(low=5, high=5), f"{FIELD}.constraints.maximum", "must be above the minimum"),
    (column(low=0.5, high=5), f"{FIELD}.constraints.minimum", "must be a whole number"),
    (column(low="0", high=5), f"{FIELD}.constraints.minimum", "expected a number, got '0'"),
    (column(low=0, high=None), f"{FIELD}.constraints.maximum", "expected a number, got null"),
    (column(low=0, high=10**9), f"{FIELD}.constraints", "makes 1000000001 cells, more than the 1048576"),
    (column(low=0, high=5, bins=0), f"{FIELD}.dpqr.bins", ">= 1"),
    (column(low=0, high=5, bins=7), f"{FIELD}.dpqr.bins", "7 bins are more than the 6 whole values"),
    (column(low=0, high=5, bins=2, width=3), f"{FIELD}.dpqr", "bins and width contradict each other"),
    (column(low=0, high=5, width=0), f"{FIELD}.dpqr.width", "must be above 0"),
    (column(low=0, high=5, width=1.5), f"{FIELD}.dpqr.width", "must be a whole number"),
    (column("number", low=0, high=1, width=1e-9), f"{FIELD}.dpqr.width", "makes 1000000000 cells"),
    (column("number", low=0, high=1, bins=10**8), f"{FIELD}.dpqr.bins", "makes 100000000 cells"),
    (column(low=0, high=5, closed="both"), f"{FIELD}.dpqr.closed", "allowed: 'left', 'right'"),
    (column("number", edges=[]), f"{FIELD}.dpqr.edges", "0 edge(s) make no bin"),
    (column("number", edges=[1]), f"{FIELD}.dpqr.edges", "1 edge(s) make no bin"),
    (column("number", edges=[0, 1, 1, 2]), f"{FIELD}.dpqr.edges[2]", "equals the edge before it"),
    (column("number", edges=[0, 5, 3, 9]), f"{FIELD}.dpqr.edges[2]", "so bins would overlap"),
    (column("number", edges=[9, 0]), f"{FIELD}.dpqr.edges[1]", "is below the edge before it"),
    (column("number", edges=[0, "1"]), f"{FIELD}.dpqr.edges[1]", "expected a number, got '1'"),
    (column("number", edges=[[0, 1], 1, 2]), f"{FIELD}.dpqr.edges[0]", "expected a number, got a list"),
    (column(edges=[0, 1.2, 1.8, 3]), f"{FIELD}.dpqr.edges[2]", "holds no whole value"),
    (column(low=1, edges=[0, 5]), f"{FIELD}.constraints.minimum", "differs from the outermost edge, 0"),
    (column(high=6, edges=[0, 5]), f"{FIELD}.constraints.maximum", "differs from the outermost edge, 5"),
    (column(low=0, high=5, every="month"), f"{FIELD}.dpqr.every", "only date and datetime columns have periods"),
    (column("date"), f"{FIELD}.dpqr", "needs edges, or every with minimum and maximum"),
    (column("date", every="month"), f"{FIELD}.constraints", "the minimum is missing"),
    (column("date", low="2024-02-01", high="2024-01-01", every="day"), f"{FIELD}.constraints.maximum", "above the"),
    (column("date", low="2024-13-01", high="2025-01-01", every="day"), f"{FIELD}.constraints.minimum", "calendar"),
    (column("date", low="2024-01-01", high="2025-01-01", every="hour"), f"{FIELD}.dpqr.every", "allowed: 'day'"),
    (column("date", bins=3), f"{FIELD}.dpqr.bins", "cut by edges or by every, not by bins"),
    (column("date", edges=["2024-01-02", "2024-01-01"]), f"{FIELD}.dpqr.edges[1]", "below the edge before it"),
    (column("datetime", edges=["2024-01-01", 3]), f"{FIELD}.dpqr.edges[1]", "expected a datetime like"),
    (column("date", nan="drop", edges=["2024-01-01", "2024-01-02"]), f"{FIELD}.dpqr.nan", "no cell of this kind"),
    (
        column("date", low="0001-01-01", high="9999-12-31", every="day"),
        f"{FIELD}.dpqr.every",
        "more than the 1048576 of one column",
    ),
    (
        column("date", low="2024-01-01", high="2025-01-01", every="day", closed="right"),
        f"{FIELD}.dpqr.closed",
        "a calendar period owns its first instant",
    ),
    (
        {"fields": [{"name": "a", "type": "date", "format": "%d/%m", "dpqr": {"edges": ["2024-01-01", "2025-01-01"]}}]},
        f"{FIELD}.format",
        "does not say the day, month and year of a date",
    ),
    (column(low="FILL-IN", high=3), f"{FIELD}.constraints.minimum", "still holds the placeholder"),
    (column(low=0, high=3, null="clip"), f"{FIELD}.dpqr.null", "allowed: 'cell', 'drop', 'fail'"),
    (column(low=0, high=3, outside="ignore"), f"{FIELD}.dpqr.outside", "allowed: 'cell', 'clip', 'drop', 'fail'"),
    (column(low=0, high=3, otherwise="clip"), f"{FIELD}.dpqr.otherwise", "allowed: 'cell', 'drop', 'fail'"),
]


@in_one_test(("document", "path", "words"), DOMAINS)
def test_malformed_domains(document: Any, path: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "domain.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        read_domain(file)
    refused(caught.value, "domain.json", path, words)


ENTRY = "$.queries[0]"
SOME = {"random": 3, "seed": 1}
PAIR = [[0, 20], [0, 20]]
ENTRIES: list[tuple[dict[str, Any], str, str]] = [
    ({}, ENTRY, "asks nothing: one of marginal, marginals, where"),
    ({"margnial": ["sex"]}, ENTRY, "did you mean 'marginal'?"),
    ({"marginal": ["sex"], "sum": "age"}, ENTRY, "'marginal' and 'sum' are two entries; split them"),
    ({"marginal": ["sex"], "by": ["age"]}, ENTRY, "unknown key 'by'"),
    ({"marginal": "sex"}, f"{ENTRY}.marginal", "expected a list, got text"),
    ({"marginal": ["sxe"]}, f"{ENTRY}.marginal[0]", "the domain has no column 'sxe'; did you mean 'sex'?"),
    ({"marginal": ["sex", "age", "sex"]}, f"{ENTRY}.marginal[2]", "the column 'sex' stands twice"),
    ({"marginal": ["sex"], "name": ""}, f"{ENTRY}.name", "length >= 1"),
    ({"marginal": ["sex"], "weight": 0}, f"{ENTRY}.weight", "must be above 0"),
    ({"marginal": ["sex"], "weight": "1"}, f"{ENTRY}.weight", "expected a number, got '1'"),
    ({"marginal": ["sex"], "weight": 1e12}, f"{ENTRY}.weight", "at most 1000000000"),
    ({"marginals": {"ways": 0}}, f"{ENTRY}.marginals.ways", ">= 1"),
    ({"marginals": {"ways": 9}}, f"{ENTRY}.marginals.ways", "9 columns cannot be chosen from 7"),
    ({"marginals": {"ways": 2.5}}, f"{ENTRY}.marginals.ways", "expected a whole number"),
    ({"marginals": {"ways": 2, "colums": ["age", "sex"]}}, f"{ENTRY}.marginals", "did you mean 'columns'?"),
    ({"marginals": [["sex"], ["agee"]]}, f"{ENTRY}.marginals[1][0]", "did you mean 'age'?"),
    ({"marginals": []}, f"{ENTRY}.marginals", "length >= 1"),
    ({"where": 3}, f"{ENTRY}.where", "expected text"),
    ({"where": "age >"}, f"{ENTRY}.where", "at character 6: expected a number or 'text'"),
    ({"where": "agge > 3"}, f"{ENTRY}.where", "did you mean 'age'?"),
    ({"where": "home region = 'north'"}, f"{ENTRY}.where", "at character 6: expected a comparison"),
    ({"where": "hours > 30"}, f"{ENTRY}.where", "with <= or > the nearest edges are 19 and 39"),
    ({"where": "age > 2 and age < 2"}, f"{ENTRY}.where", "is true for no cell of the domain"),
    ({"where": "sex is outside"}, f"{ENTRY}.where", "has no cell for outside (its rule is drop)"),
    ({"where": "age = 1", "by": "sex"}, f"{ENTRY}.by", "expected a list, got text"),
    ({"where": "age = 1", "by": ["sex", "sex"]}, f"{ENTRY}.by[1]", "stands twice"),
    ({"prefix": "sex"}, f"{ENTRY}.prefix", "column 'sex' holds labels, which have no order"),
    ({"prefix": "age", "by": ["age"]}, f"{ENTRY}.by[0]", "is what this entry asks about"),
    ({"ranges": "age"}, ENTRY, "ranges need either 'between' (a list) or 'random'"),
    ({"ranges": "age", "random": 3}, ENTRY, "need a public 'seed'"),
    ({"ranges": "age", "random": 0, "seed": 1}, f"{ENTRY}.random", ">= 1"),
    ({"ranges": "age", "random": 3, "seed": -1}, f"{ENTRY}.seed", ">= 0"),
    ({"ranges": "age", "random": 3, "seed": 2**64}, f"{ENTRY}.seed", "expected a whole number <="),
    ({"ranges": "age", "random": 3, "seed": 1, "between": [[0, 1]]}, f"{ENTRY}.random", "contradicts 'between'"),
    ({"ranges": ["age", "age"], "random": 3, "seed": 1}, f"{ENTRY}.ranges[1]", "stands twice"),
    ({"ranges": ["age", "hours"], "between": [PAIR], "by": ["sex"]}, f"{ENTRY}.by", "rectangles are not cut"),
    ({"ranges": ["age", "hours"], "between": [[0, [0, 19]]]}, f"{ENTRY}.between[0][0]", "expected a pair [low, high]"),
    ({"ranges": ["age", "hours"], "between": [[[0, 3]]]}, f"{ENTRY}.between[0]", "a list of 2 pairs"),
    ({"ranges": "hours", "between": []}, f"{ENTRY}.between", "length >= 1"),
    ({"ranges": "hours", "between": [[0, 20], [0, 30]]}, f"{ENTRY}.between[1][1]", "nearest edges are 20 and 40"),
    ({"ranges": "hours", "between": [[10, 40]]}, f"{ENTRY}.between[0][0]", "nearest edges are 0 and 20"),
    ({"ranges": "hours", "between": [[40, 20]]}, f"{ENTRY}.between[0]", "low is above high"),
    ({"ranges": "hours", "between": [[20, 20]]}, f"{ENTRY}.between[0]", "holds no bin"),
    ({"ranges": "hours", "between": [["0", 20]]}, f"{ENTRY}.between[0][0]", "expected a number, got '0'"),
    ({"conjunctions": {"seed": 1}}, f"{ENTRY}.conjunctions", "the key 'random' is missing"),
    ({"conjunctions": {"random": 3}}, f"{ENTRY}.conjunctions", "the key 'seed' is missing"),
    ({"conjunctions": {**SOME, "random": 0}}, f"{ENTRY}.conjunctions.random", ">= 1"),
    ({"conjunctions": {**SOME, "random": 10**7}}, f"{ENTRY}.conjunctions.random", "<= 4000000"),
    ({"conjunctions": {**SOME, "ways": 2}}, f"{ENTRY}.conjunctions.ways", "expected"),
    ({"conjunctions": {**SOME, "ways": [0, 2]}}, f"{ENTRY}.conjunctions.ways", "1 <= from <= to"),
    ({"conjunctions": {**SOME, "ways": [1, 6]}}, f"{ENTRY}.conjunctions.ways", "from <= to <= 5"),
    ({"conjunctions": {**SOME, "columns": ["age"]}}, f"{ENTRY}.conjunctions.ways", "from <= to <= 1"),
    ({"conjunctions": {**SOME, "columns": ["age", "agee"]}}, f"{ENTRY}.conjunctions.columns[1]", "'agee'"),
    ({"conjunctions": SOME, "by": ["sex"]}, ENTRY, "unknown key 'by'"),
    ({"ranges": "day", "between": [[0, 20]]}, f"{ENTRY}.between[0][0]", "expected a date like"),
    ({"sum": "sex"}, f"{ENTRY}.sum", "holds labels"),
    ({"sum": "day"}, f"{ENTRY}.sum", "holds a date, which has no sum"),
    ({"sum": "age", "by": ["age"]}, f"{ENTRY}.by[0]", "is what this entry asks about"),
    ({"coefficients": "none.npz"}, f"{ENTRY}.coefficients", "cannot read"),
    ({"coefficients": "x.json"}, f"{ENTRY}.coefficients", "ends in none of .npz, .csv, .parquet"),
    ({"coefficients": "x.npz", "columns": ["x"]}, f"{ENTRY}.columns[0]", "no column 'x'"),
]


@in_one_test(("entry", "path", "words"), ENTRIES)
def test_malformed_entries(entry: dict[str, Any], path: str, words: str, ask) -> None:
    with pytest.raises(DocumentError) as caught:
        ask(entry, strict=True)
    refused(caught.value, "queries.json", path, words)


SIZES = {"a": 2}
ONE = [{"marginal": ["a"]}]
DOCUMENTS: list[tuple[str, str, str]] = [
    ("[1]", "$", "expected an object, got a list"),
    ("{", "$", "not JSON at line 1 column 2"),
    ('{"queries": [\n{"marginal": ["a"],}]}', "$", "not JSON at line 2 column"),
    ("{}", "$", "the key 'queries' is missing"),
    ('{"queries": []}', "$.queries", "length >= 1"),
    ('{"queries": {"marginal": []}}', "$.queries", "expected a list"),
    ('{"domain": {"a": 2}, "queries": ["a"]}', "$.queries[0]", "expected an object, got text"),
    (json.dumps({"domain": SIZES, "queries": ONE, "querys": []}), "$", "did you mean 'queries'?"),
    (json.dumps({"dpqr": "queries/2", "domain": SIZES, "queries": ONE}), "$.dpqr", "allowed: 'queries/1'"),
    (json.dumps({"dpqr": "domain/1", "domain": SIZES, "queries": ONE}), "$.dpqr", "allowed: 'queries/1'"),
    (json.dumps({"domain": 3, "queries": ONE}), "$.domain", "expected"),
    (json.dumps({"domain": "", "queries": ONE}), "$.domain", "length >= 1"),
    (json.dumps({"domain": ".", "queries": ONE}), "$.domain", "not a regular file"),
    (json.dumps({"queries": ONE}), "$", "there is no domain"),
    (json.dumps({"domain": SIZES, "queries": ONE + ONE}), "$.queries[1]", "is also the name of $.queries[0]"),
    ('{"queries": [{"marginal": ["a"], "weight": NaN}]}', "$.queries[0].weight", "NaN is not a JSON number"),
    ('{"queries": [{"marginal": ["a"], "marginal": []}]}', "$.queries[0]", "the key 'marginal' stands twice"),
    (json.dumps({"domain": SIZES | {"b": 0}, "queries": ONE}), "$.domain.b", "a whole number from 1"),
]


@in_one_test(("text", "path", "words"), DOCUMENTS)
def test_malformed_queries_files(text: str, path: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "queries.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        read_queries(file)
    refused(caught.value, "queries.json", path, words)


SOUND: list[dict[str, Any]] = [
    {"marginals": {"ways": 2, "columns": ["sex", "age"]}, "weight": 0.5},
    {"where": "age >= 5 and (sex = 'F' or rich = true)", "by": ["hours"]},
    {"ranges": ["age", "hours"], "between": [[[0, 5], [0, 20]]]},
    {"ranges": "age", "random": 3, "seed": 1, "by": ["sex"]},
    {"conjunctions": {"random": 3, "seed": 1, "ways": [1, 2], "columns": ["age", "sex"]}},
    {"sum": "income", "name": "s"},
]
PARTS: list[Any] = [None, True, -1, 0, 1, 3, 2.5, 10**40, "", "age", "é", "\0", [], {}, [[]], ["age"], {"a": 1}]


def spots(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    here = [(value, key) for key, _ in members]
    return here + [spot for container, key in here for spot in spots(container[key])]


@pytest.mark.parametrize("changes", [100, *slowly(400)])
def test_any_change_of_a_sound_document_is_read_or_refused_in_its_place(
    changes: int, tmp_path: Path, survey_document: Any
) -> None:
    chance, file = random.Random(11), tmp_path / "queries.json"
    outcomes = {"read": 0, "refused": 0}
    for _ in range(changes):
        document = copy.deepcopy({"domain": survey_document, "queries": SOUND})
        container, key = chance.choice(spots(document["queries"]) + spots(document["domain"]["fields"]))
        container[key] = copy.deepcopy(chance.choice(PARTS))
        file.write_text(json.dumps(document), encoding="utf-8")
        faults = outcome(file)
        outcomes["refused" if faults else "read"] += 1
        assert all(str(fault).startswith("queries.json: $") for fault in faults), document
        assert all(fault.line == 1 and len(str(fault).splitlines()) <= 2 for fault in faults)
    assert min(outcomes.values()) > 5, outcomes


def outcome(file: Path) -> tuple[Fault, ...]:
    """Why a queries file is refused; nothing where it is read. Any other exception is the test's failure."""
    try:
        read_queries(file)
    except DocumentError as error:
        return error.faults
    return ()
