"""Domain and queries files that are malformed, contradict each other, or ask for what cannot be answered."""

from __future__ import annotations

import json

from support.command_desk import QUERIES
from support.refusal_form import Bad, asking, domain, each, refused

TEXT = json.dumps(QUERIES, indent=1)
AGE = {"type": "integer", "constraints": {"minimum": 0, "maximum": 99}}


def queries(name, says, content):
    return Bad(name, 3, says, files={"q.json": content})


def entry(name, says, *entries):
    return queries(name, says, asking(*entries))


def field(name, says, **changes):
    return queries(f"domain-{name}", says, {**QUERIES, "domain": domain(**changes)})


JSON = [
    queries("empty-file", "the file is empty", ""),
    queries("no-json", "not JSON at line 1 column 1", "sex, age"),
    queries("cut-short", "not JSON at line", TEXT[:-20]),
    queries("a-comma-too-many", "not JSON at line 2 column 1", '{"queries": [{"marginal": []}],\n}'),
    queries("not-utf-8", "is not UTF-8; save the file as UTF-8", TEXT.replace("sex", "s\u00e9x").encode("latin-1")),
    queries("a-list", "expected", "[]"),
    queries("a-number", "expected", "7"),
    queries("key-twice", "the key 'queries' stands twice", '{"queries": [], "queries": []}'),
    queries("nan", "NaN is not a JSON number", '{"domain": {"a": NaN}, "queries": [{"marginal": []}]}'),
    queries("too-deep", "nested deeper than 32 levels", '{"queries": ' + "[" * 500 + "]" * 500 + "}"),
    queries("number-bomb", "a number of more than 60 digits", '{"domain": {"a": 1e999999}, "queries": []}'),
    queries("half-a-surrogate", "half of a surrogate pair", '{"queries": ["\\ud800"]}'),
]
FORM = [
    queries("unknown-key", "unknown key 'querys'; did you mean 'queries'?", {**QUERIES, "querys": []}),
    queries("unknown-version", "allowed: 'queries/1'", asking({"marginal": []}, dpqr="queries/9")),
    queries("no-queries", "$.queries", asking()),
    queries("no-domain", "there is no domain: give --domain FILE", {"queries": [{"marginal": []}]}),
    queries("domain-file-missing", "cannot read 'none.json'", asking({"marginal": []}, domain="none.json")),
    queries("domain-name-with-nul", "$.domain", asking({"marginal": []}, domain="a\0b")),
    entry("unknown-entry", "did you mean 'marginal'?", {"margin": ["sex"]}),
    entry("asks-nothing", "asks nothing", {"name": "x"}),
    entry("two-entries-in-one", "are two entries; split them", {"marginal": [], "prefix": "age"}),
    entry("weight-zero", "$.queries[0].weight: must be above 0", {"marginal": [], "weight": 0}),
    entry("weight-negative", "$.queries[0].weight: must be above 0", {"marginal": [], "weight": -1}),
    entry("same-name-twice", "is also the name of $.queries[0]", {"marginal": ["sex"]}, {"marginal": ["sex"]}),
    entry("name-of-wrong-type", "$.queries[0].name: expected text", {"name": 7, "marginal": []}),
]
QUESTIONS = [
    entry("unknown-column", "did you mean 'age'?", {"marginal": ["agee"]}),
    entry("column-twice", "$.queries[0].marginal", {"marginal": ["age", "age"]}),
    entry("ways-beyond-the-columns", "$.queries[0].marginals", {"marginals": {"ways": 9}}),
    entry("ways-zero", "$.queries[0].marginals", {"marginals": {"ways": 0}}),
    entry("where-cut-short", "$.queries[0].where", {"where": "age >="}),
    entry("where-with-open-bracket", "$.queries[0].where", {"where": "(age > 3"}),
    entry("where-unknown-column", "did you mean 'income'?", {"where": "incone > 3"}),
    entry("where-unknown-label", "$.queries[0].where", {"where": "sex = 'X'"}),
    entry("where-inside-a-bin", "$.queries[0].where", {"where": "income > 150"}),
    entry("where-text-for-a-number", "$.queries[0].where", {"where": "age = 'old'"}),
    entry("where-command-injection", "$.queries[0].where", {"where": "__import__('os').system('true')"}),
    entry("where-endless", "$.queries[0].where", {"where": "(" * 20000 + "age > 25"}),
    entry("prefix-of-labels", "$.queries[0].prefix", {"prefix": "sex"}),
    entry("sum-of-labels", "$.queries[0].sum", {"sum": "sex"}),
    entry("ranges-reversed", "$.queries[0].between", {"ranges": "age", "between": [[50, 24]]}),
    entry("ranges-of-nothing", "$.queries[0]", {"ranges": "age"}),
    entry("random-zero", "$.queries[0].random", {"ranges": "age", "random": 0}),
    entry("coefficients-missing", "none.csv", {"coefficients": "none.csv"}),
]
COEFFICIENTS = [
    Bad(f"coefficients-{name}", 3, says, files={"c.csv": text, "q.json": asking({"coefficients": "c.csv"})})
    for name, says, text in [
        ("above-one", "[0, 1]", "sex,coefficient\nF,1.5\nM,0\n"),
        ("negative", "[0, 1]", "sex,coefficient\nF,-0.5\nM,0\n"),
        ("nan", "a coefficient is NaN", "sex,coefficient\nF,nan\nM,0\n"),
        ("in-words", "c.csv", "sex,coefficient\nF,all\nM,0\n"),
        ("unknown-label", "c.csv", "sex,coefficient\nX,1\n"),
        ("unknown-column", "did you mean 'sex'?", "sexx,coefficient\nF,1\n"),
        ("cell-twice", "c.csv", "sex,coefficient\nF,1\nF,0\n"),
        ("ragged", "c.csv", "sex,coefficient\nF\n"),
        ("empty", "c.csv", ""),
    ]
]
DOMAINS = [
    field("placeholder", "FILL-IN", age={"constraints": {"minimum": "FILL-IN", "maximum": 99}}),
    field("reversed-edges", "$.domain.fields[2].dpqr.edges", income={"dpqr": {"edges": [0, 200, 100]}}),
    field("equal-edges", "$.domain.fields[2].dpqr.edges", income={"dpqr": {"edges": [0, 100, 100]}}),
    field("one-edge", "$.domain.fields[2].dpqr.edges", income={"dpqr": {"edges": [0]}}),
    field("reversed-bounds", "$.domain.fields[1]", age={"constraints": {"minimum": 9, "maximum": 0}}),
    field("no-bounds", "$.domain.fields[1]", age={"constraints": {}}),
    field("width-zero", "$.domain.fields[1].dpqr.width", age={**AGE, "dpqr": {"width": 0}}),
    field("bins-zero", "$.domain.fields[1].dpqr.bins", age={**AGE, "dpqr": {"bins": 0}}),
    field("bins-beyond-reason", "$.domain.fields[1]", age={**AGE, "dpqr": {"bins": 10**12}}),
    field("two-cuts", "contradict each other", age={**AGE, "dpqr": {"bins": 2, "width": 50}}),
    field("infinite-edge", "$.domain.fields[2].dpqr.edges", income={"dpqr": {"edges": [0, "inf"]}}),
    field("no-labels", "$.domain.fields[0].constraints.enum", sex={"constraints": {"enum": []}}),
    field("label-twice", "stands twice", sex={"constraints": {"enum": ["F", "F"]}}),
    field("label-of-wrong-type", "$.domain.fields[0].constraints.enum", sex={"constraints": {"enum": [1.5]}}),
    field("unknown-rule", "$.domain.fields[0].dpqr.null", sex={"dpqr": {"null": "ignore"}}),
    field("clip-of-nulls", "$.domain.fields[1].dpqr.null", age={**AGE, "dpqr": {"width": 25, "null": "clip"}}),
    field("unknown-type", "$.domain.fields[0].type", sex={"type": "text"}),
    field("unknown-field-key", "unknown key 'constraint'", sex={"constraint": {}}),
    field("column-twice", "$.domain.fields", age={"name": "sex"}),
    field("column-without-name", "$.domain.fields[0].name", sex={"name": ""}),
    queries("no-fields", "$.domain", asking({"marginal": []}, domain={"fields": []})),
    queries("size-zero", "$.domain.age", asking({"marginal": []}, domain={"age": 0})),
    queries("size-in-words", "$.domain", asking({"marginal": []}, domain={"age": "many"})),
    queries(
        "more-cells-than-fit",
        "cells: a 5,000 x b 5,000",
        {"domain": {"a": 5000, "b": 5000}, "queries": [{"marginals": {"ways": 2}}]},
    ),
]
PATHS = [
    Bad("queries-missing", 2, "cannot read 'none.json'", queries="none.json"),
    Bad("queries-empty-name", 2, "'--queries': a file name is empty", queries=""),
    Bad("queries-are-a-directory", 2, "is not a regular file", queries="."),
    Bad("queries-are-a-device", 2, "is not a regular file", queries="/dev/zero"),
    Bad("domain-missing", 2, "cannot read 'none.json'", options=("--domain", "none.json")),
    Bad("domain-empty-name", 2, "'--domain': a file name is empty", options=("--domain", "")),
    Bad("domain-is-a-table", 2, "'table.csv' is a file of the private table", options=("--domain", "table.csv")),
    Bad("queries-are-a-table", 2, "'table.csv' is a file of the private table", queries="table.csv"),
    Bad(
        "replace-without-rules",
        3,
        "column 'sex': --neighbours replace needs a stated rule for null, outside",
        options=("--neighbours", "replace", "--n", "5"),
        files={"q.json": {**QUERIES, "domain": domain(sex={"dpqr": {}})}},
    ),
    Bad(
        "replace-over-sizes",
        3,
        'a domain of sizes states none: write it with "fields"',
        options=("--neighbours", "replace", "--n", "5"),
        files={"q.json": asking({"marginal": ["age"]}, domain={"age": 99})},
    ),
    Bad(
        "theory-with-a-sum",
        3,
        "coefficients outside [0, 1], which --schedule theory needs",
        options=("--schedule", "theory", "--n", "1000000000"),
        files={"q.json": asking({"sum": "income"})},
    ),
]


@each([*JSON, *FORM, *QUESTIONS, *COEFFICIENTS, *DOMAINS, *PATHS])
def test_document_is_refused(desk, case):
    refused(desk, case)


@each([*JSON, *FORM, *QUESTIONS, *COEFFICIENTS, *DOMAINS[:-1]])
def test_check_finds_it_too(desk, case):
    for name, content in case.files.items():
        desk.put(name, content)
    ended = desk.run("check", "--queries", "q.json")
    assert ended.code == case.code
    assert case.says in ended.err
    assert ended.out == ""
