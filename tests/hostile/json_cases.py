"""JSON documents and the files that they name."""

from __future__ import annotations

import io

import numpy as np
from support.command_desk import TABLE
from support.refusal_form import Bad, asking, domain


def entry(name, says, *entries, code=3):
    return Bad(name, code, says, files={"q.json": asking(*entries)})


def text(name, says, content):
    return Bad(name, 3, says, files={"q.json": content})


def edges(name, says, largest):
    income = {"dpqr": {"edges": [0, 1, largest], "otherwise": "drop"}}
    return Bad(name, 3, says, files={"q.json": asking({"sum": "income"}, domain=domain(income=income))})


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


JSON = [
    text("deep", "nested deeper than 32 levels", lambda: "[" * 10**6),
    text("deep-objects", "nested deeper than 32 levels", lambda: '{"a":' * 10**5 + "1" + "}" * 10**5),
    text("huge", "larger than 16777216 bytes", lambda: " " * (2**24 + 1)),
    text("wide", "$", lambda: "[" + "[]," * 10**5 + "[]]"),
    text("keys-many-twice", "the key 'k0' stands twice", lambda: "{" + ",".join(['"k0":1'] * 10**5) + "}"),
    text("number-of-a-million-digits", "more than 60 digits", lambda: '{"queries": ' + "9" * 10**6 + "}"),
    text("number-tiny", "more than 60 digits", '{"queries": 1e-999999999}'),
    text("null-in-text", "null character", '{"queries": ["a\\u0000b"]}'),
    text("null-in-key", "null character", '{"a\\u0000b": 1}'),
    text("null-bytes", "not JSON", bytes(1000)),
    text("infinity", "Infinity is not a JSON number", '{"queries": [Infinity]}'),
    text("utf-16", "is not UTF-8", TABLE.encode("utf-16")),
    text("overlong", "is not UTF-8", b'{"queries": "\xc0\xaf"}'),
    text("byte-order-mark-twice", "not JSON", "\ufeff\ufeff{}"),
    text("number-with-leading-zeros", "not JSON", '{"queries": 007}'),
    text("comment", "not JSON", '{"queries": [] /* all */}'),
    text("not-a-number", "NaN is not a JSON number", '{"queries": [NaN]}'),
    text("half-a-surrogate-pair", "half of a surrogate pair", '{"queries": ["\\ud800"]}'),
    text("two-documents", "not JSON", '{"queries": []}{"queries": []}'),
    text("domain-key-twice", "stands twice", '{"domain": {"a": 1, "a": 2}, "queries": [{"marginal": []}]}'),
    text("domain-is-a-device", "is not a regular file", '{"domain": "/dev/zero", "queries": [{"marginal": []}]}'),
    entry("ranges-beyond", "$.queries[0].random", {"ranges": "age", "random": 10**9, "seed": 1}),
    entry("name-endless", "$.queries[0]", {"marginal": [], "name": "x" * 10**6}),
    entry("columns-endless", "$.queries[0].marginal", {"marginal": ["age"] * 10**4}),
    entry("weight-beyond", "$.queries[0].weight", {"marginal": [], "weight": 10**50}),
    entry("where-nested", "$.queries[0].where", {"where": "not " * 10**5 + "age > 25"}),
    entry("where-endless-in", "$.queries[0].where", {"where": "sex in (" + "'F'," * 10**5}),
    entry("column-with-terminal-codes", "\\x1b", {"marginal": ["\x1b[31m"]}),
    entry("column-endless", "$.queries[0].marginal[0]", {"marginal": ["x" * 10**5]}),
    entry("coefficients-of-no-form", "ends in none of", {"coefficients": "/dev/zero"}),
    edges("sum-beyond-2-62", "its exact integers could reach 2^62", 2**41),
    edges("midpoints-without-a-grid", "the midpoints share no grid that fits 64 bits", 10**30 + 7),
    *(
        Bad(
            f"npz-{name}",
            3,
            "is no .npz of plain number arrays",
            files={"q.json": asking({"coefficients": "c.npz", "columns": ["sex"]}), "c.npz": content},
        )
        for name, content in {
            "pickle": lambda: npz(coefficients=np.array([[{}]])),
            "indices": lambda: npz(format=b"csr", shape=[1, 2], data=[1.0], indices=[2**30], indptr=[0, 1]),
            "indptr": lambda: npz(format=b"csr", shape=[2, 2], data=[1.0], indices=[0], indptr=[0, 2**20, 1]),
            "no-zip": b"PK nothing",
        }.items()
    ),
]
