"""What queries name of the columns."""

from __future__ import annotations

from decimal import Decimal

from dpqr.domain.open_columns import QueriedValue, queried_columns
from dpqr.domain.predicates import Constant


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
