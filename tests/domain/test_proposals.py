"""Domain documents that are filled in from queries."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from support.cases import in_one_test

from dpqr.domain.domain_file import read_domain
from dpqr.domain.open_columns import QueriedValue, queried_columns
from dpqr.domain.predicates import Constant
from dpqr.domain.proposals import fill_placeholders, identifier_hint, named_like_identifier, type_by_name
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


@in_one_test(
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


# Names of columns that bring a hint to protect persons.


@in_one_test(
    "name", ["id", "ID", "person_id", "patient.ID", "customerId", "SSN", "work email", "uuid", "Full_Name", "surname"]
)
def test_names_of_identifiers(name) -> None:
    assert named_like_identifier(name)


@in_one_test("name", ["age", "paid", "identity", "idle", "street_name", "email_opt_in", "_", "7", "valid"])
def test_other_names(name) -> None:
    assert not named_like_identifier(name)


def test_the_hint_names_all_of_them_and_the_option() -> None:
    assert identifier_hint(["age", "sex"]) is None
    hint = identifier_hint(["age", "person_id", "Email"])
    assert hint is not None
    assert hint.startswith("columns 'person_id', 'Email' are named like identifiers; ")
    assert "--unit person_id --max-rows K" in hint
    # A name that holds a blank is quoted for the shell.
    assert "--unit 'Customer ID' --max-rows K" in str(identifier_hint(["Customer ID"]))


# What queries name of the columns.


def number(text: str) -> Constant:
    return Constant("number", text, 0)


def test_constants_of_predicates_with_their_signs() -> None:
    found = queried_columns(
        [{"where": "a >= 3 and not (b in (1, 2) or a between 4 and 5)"}, {"where": "a >= 3.0 and a is null"}]
    )
    assert found.of("a") == (
        QueriedValue(">=", number("3")),
        QueriedValue(">=", number("4"), negated=True),
        QueriedValue("<=", number("5"), negated=True),
        QueriedValue(">=", number("3.0")),
    )
    assert found.of("b") == (QueriedValue("=", number("1"), negated=True), QueriedValue("=", number("2"), negated=True))
    assert found.of("c") == ()


def test_ends_of_ranges_and_rectangles() -> None:
    rectangles = {"ranges": ["b", "c"], "between": [[[0, 1], ["2024-01-01", "2024-02-01"]]]}
    found = queried_columns(
        [{"ranges": "a", "between": [[0, Decimal("1.5")]]}, rectangles, {"ranges": "d", "random": 5}]
    )
    assert found.of("a") == (QueriedValue("from", number("0")), QueriedValue("to", number("1.5")))
    assert found.of("c")[0] == QueriedValue("from", Constant("text", "2024-01-01", 0))
    assert found.of("d") == ()


def test_what_cannot_be_read_names_nothing() -> None:
    entries = [{"where": "a >"}, {"where": 3}, {"ranges": 1, "between": [[0, 1]]}, {"ranges": "a", "between": [3, [1]]}]
    assert not queried_columns(entries).values


def test_cells_that_a_file_lists_are_fixed() -> None:
    where = {"where": "a > 1 and b > 1"}
    assert queried_columns([where, {"coefficients": "c.csv", "columns": ["a"]}]).of("a") == ()
    assert queried_columns([where, {"coefficients": "c.csv", "columns": ["a"]}]).of("b")
    assert (
        queried_columns([where, {"coefficients": "c.csv"}, {"coefficients": "c.csv", "columns": ["a"]}]).of("b") == ()
    )


@in_one_test(
    ("name", "proposed"),
    [
        ("age", ("integer", 0, 120)),
        ("AgeAtVisit", None),
        ("patientAge", ("integer", 0, 120)),
        ("month", ("integer", 1, 12)),
        ("year of birth", ("integer", None, None)),
        ("monthly_income", ("number", None, None)),
        ("share %", None),
        ("interview_date", ("date", None, None)),
        ("created_at", ("datetime", None, None)),
        ("is_member", ("boolean", None, None)),
        ("sex", None),
        ("language", None),
        ("", None),
        ("person_id", None),
    ],
)
def test_types_by_the_words_of_a_name(name, proposed) -> None:
    assert type_by_name(name) == proposed
