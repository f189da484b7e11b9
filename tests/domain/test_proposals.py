"""Domain documents that are filled in from queries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpqr.domain.domain_file import read_domain
from dpqr.domain.proposals import fill_placeholders
from dpqr.kernel.errors import DocumentError
from dpqr.tables.codebooks.columns import fill_gaps as with_gaps
from dpqr.tables.codebooks.columns import outline_document
from dpqr.tables.codebooks.plain_schemas import typed_columns


def proposed(field: dict[str, Any], *where: str) -> dict[str, Any]:
    queries = {"queries": [{"where": one} for one in where]}
    (found,) = fill_placeholders({"fields": [{"name": "x", **field}]}, queries)["fields"]
    return found


BOUNDS = {"minimum": "FILL-IN", "maximum": "FILL-IN"}
ENDS = ("FILL-IN: minimum", "FILL-IN: maximum")


@pytest.mark.parametrize(
    ("field", "where", "kind", "edges"),
    [
        ({"type": "integer", "constraints": BOUNDS, "dpqr": {"bins": 10}}, "x between 18 and 64", "integer", [18, 65]),
        ({"type": "number", "constraints": BOUNDS}, "x >= 0.5 or x < 1e3", "number", [0.5, 1000]),
        ({"type": "string", "constraints": {"enum": ["FILL-IN"]}}, "x >= 65", "number", [65]),
        ({"type": "string"}, "x between 18 and 64 and x = 40", "integer", [18, 40, 41, 65]),
        ({"type": "string"}, "x < '1990-05-01'", "date", ["1990-05-01"]),
        (
            {"type": "date", "constraints": BOUNDS, "dpqr": {"every": "month"}},
            "x <= '2024-06-30'",
            "date",
            ["2024-07-01"],
        ),
        ({"type": "string"}, "x < '1990-05-01T12:00'", "datetime", ["1990-05-01T12:00:00"]),
    ],
)
def test_thresholds_become_inner_edges(field, where, kind, edges) -> None:
    found = proposed(field, where)
    assert found["type"] == kind
    assert found["dpqr"]["edges"] == [ENDS[0], *edges, ENDS[1]]
    assert "constraints" not in found


def test_what_is_publicly_known_already_stays() -> None:
    bounded = proposed({"type": "number", "constraints": {"minimum": 0, "maximum": 9, "required": True}}, "x > 4")
    assert bounded["dpqr"] == {"edges": [0, 4, 9], "closed": "right"}
    assert bounded["constraints"] == {"required": True}
    for whole in (
        {"type": "integer", "constraints": {"minimum": 0, "maximum": 9}, "dpqr": {"width": 5}},
        {"type": "string", "constraints": {"enum": ["a", "b"]}},
        {"type": "boolean"},
    ):
        assert proposed(whole, "x > 4 or x = 'c'") == {"name": "x", **whole}


def test_labels_become_an_enum_and_others_a_cell() -> None:
    found = proposed(
        {"type": "string", "constraints": {"enum": ["FILL-IN"]}, "dpqr": {"null": "cell"}}, "x in ('b', 'a')"
    )
    assert found["constraints"]["enum"] == ["b", "a"]
    assert found["dpqr"] == {"null": "cell", "outside": "cell"}
    assert proposed({"type": "string"}, "x != 'a'")["constraints"]["enum"] == ["a", "FILL-IN: the other labels"]


def test_a_skeleton_is_a_domain_once_the_placeholders_are_replaced() -> None:
    columns = typed_columns([("age", "any"), ("region", "any"), ("seen", "date")])
    skeleton = outline_document(with_gaps(columns.outline).outline)
    where = "age >= 18 and age < 65 and region = 'north' and seen < '2024-01-01'"
    found = fill_placeholders(skeleton, {"queries": [{"where": where}]})
    with pytest.raises(DocumentError, match="placeholder"):
        read_domain(found)
    text = json.dumps(found)
    for end, value in (("minimum", "0"), ("maximum", "99")):
        text = text.replace(f'"FILL-IN: {end}"', value, 1)
    text = text.replace("FILL-IN: minimum", "2020-01-01").replace("FILL-IN: maximum", "2024-12-31")
    assert read_domain(json.loads(text)).shape == (3 + 1, 1 + 2, 2 + 1)


def test_sizes_stay() -> None:
    assert fill_placeholders({"x": 5}, {"queries": [{"where": "x > 3"}]}) == {"x": 5}
