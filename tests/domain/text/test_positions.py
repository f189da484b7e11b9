from __future__ import annotations

import json

from dpqr.domain.text.faults import line_of, member, spans

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
