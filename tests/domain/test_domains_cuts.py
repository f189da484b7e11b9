"""Bins that queries cut, and labels that are taken from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import in_one_test

from dpqr.domain.attribute import Attribute, Rule
from dpqr.domain.histogram import DenseHistogram
from dpqr.kernel.errors import DocumentError


def field(kind: str, low: Any, high: Any, **treatment: Any) -> dict[str, Any]:
    return {"name": "x", "type": kind, "constraints": {"minimum": low, "maximum": high}, "dpqr": treatment}


def edged(kind: str, *edges: Any, **treatment: Any) -> dict[str, Any]:
    return {"name": "x", "type": kind, "dpqr": {"edges": list(edges), **treatment}}


AGES = field("integer", 0, 99, width=50)
OPEN = {"name": "x", "type": "string"}


@pytest.fixture
def titles(ask):
    """Titles of the declared cells of column x, as these entries have it."""

    def found(column: dict[str, Any], *entries: Any) -> tuple[str, ...]:
        return attribute(ask, column, *entries).axis.titles()

    return found


def attribute(ask, column: dict[str, Any], *entries: Any) -> Attribute:
    asked = [{"where": entry} if isinstance(entry, str) else entry for entry in entries]
    document = ask(*asked, domain={"fields": [column, {"name": "y", "type": "boolean"}]})
    return document.domain.attributes[0]


@in_one_test(
    ("column", "where", "cells"),
    [
        (AGES, "x >= 65", ("[0, 50)", "[50, 65)", "[65, 99]")),
        (AGES, "x > 64.5", ("[0, 50)", "[50, 65)", "[65, 99]")),
        (AGES, "x <= 64", ("[0, 50)", "[50, 65)", "[65, 99]")),
        (AGES, "x between 18 and 64", ("[0, 18)", "[18, 50)", "[50, 65)", "[65, 99]")),
        (AGES, "not x in (7)", ("[0, 7)", "7", "[8, 50)", "[50, 99]")),
        (AGES, "x >= 99 or x < 1", ("0", "[1, 50)", "[50, 99)", "99")),
        (AGES, "x >= 50 or x < 200 or x > -3 or x >= 0 and x <= 99", ("[0, 50)", "[50, 99]")),
        (edged("integer", 0, 20, 40, closed="right"), "x < 8 or x < 1", ("0", "(0, 7]", "(7, 20]", "(20, 40]")),
        (edged("number", 0, 100), "x >= 20.5", ("[0, 20.5)", "[20.5, 100]")),
        (edged("number", 0, 100, closed="right"), "x > 20 or x <= 30", ("[0, 20]", "(20, 30]", "(30, 100]")),
        (field("number", 0, 9), "x >= 4", ("[0, 4)", "[4, 9]")),
        (field("number", 0, 9), "x > 4", ("[0, 4]", "(4, 9]")),
        (field("number", 0, 9, closed="left"), "x >= 4 and x <= 9", ("[0, 4)", "[4, 9]")),
        (
            field("date", "2024-01-01", "2024-12-31"),
            "x <= '2024-06-30'",
            ("[2024-01-01, 2024-07-01)", "[2024-07-01, 2024-12-31]"),
        ),
        (
            field("datetime", "2024-01-01", "2025-01-01"),
            "x >= '2024-07-01T12:00:00'",
            ("[2024-01-01T00:00:00, 2024-07-01T12:00:00)", "[2024-07-01T12:00:00, 2025-01-01T00:00:00]"),
        ),
    ],
)
def test_bins_are_cut_where_predicates_ask(titles, column, where, cells) -> None:
    assert titles(column, where) == cells


@in_one_test(
    ("column", "where"),
    [
        (edged("number", 0, 50, 100), "x > 20"),
        (edged("number", 0, 50, 100, closed="right"), "x >= 20"),
        (edged("number", 0, 50, 100), "x = 20"),
        (field("number", 0, 9), "x >= 4 or x > 5"),
        (AGES, "x = 7.5"),
    ],
)
def test_what_no_cut_decides_is_refused(titles, column, where) -> None:
    with pytest.raises(DocumentError, match=r"(cuts through|shares) the bin|no cell of column"):
        titles(column, where)
    with pytest.raises(DocumentError, match="closed on the left can be cut for < and >= only"):
        titles(edged("number", 0, 50, 100), "x > 20")


def test_strict_documents_are_taken_as_they_are(ask) -> None:
    for column, words in (
        (AGES, "nearest edges are 50 and 100"),
        (OPEN, "lists no label"),
        (field("number", 0, 9), "no bins"),
    ):
        with pytest.raises(DocumentError, match=words):
            ask({"where": "x >= 65" if column is not OPEN else "x = 'a'"}, domain={"fields": [column]}, strict=True)


def test_ranges_cut_too_and_declared_edges_keep_their_meaning(ask) -> None:
    """40 is a declared edge, so [20, 40] ends below it, whatever is cut; 45 is none, so it belongs."""
    ranges = {"ranges": "x", "between": [[20, 40], [18, 45]]}
    for others in ([], [{"where": "x <= 40 or x > 19"}]):
        document = ask(ranges, *others, domain={"fields": [field("integer", 0, 99, width=20)]})
        assert document.workload.blocks[0].factors[0].labels == ("[20, 40)", "[18, 46)")
    document = ask({"ranges": "x", "between": [[2, 4]]}, domain={"fields": [edged("number", 0, 9)]})
    assert document.workload.blocks[0].factors[0].labels == ("[2, 4)",)  # real values: as the closed side says


def test_answers_do_not_depend_on_cuts(ask, database) -> None:
    """A predicate counts the same records on the cut bins as on bins that were declared there."""
    entries = {"where": "x >= 7 and not x = 9", "by": ["y"]}, {"where": "x < 3 or y = true"}
    fields = [field("integer", 0, 12, width=5), {"name": "y", "type": "boolean"}]
    declared = [field("integer", 0, 12), fields[1]]
    cut, fine = (ask(*entries, domain={"fields": stated}) for stated in (fields, declared))
    sizes = [int(high - low) + 1 for low, high in map(cut.domain.attributes[0].axis.bounds, range(cut.domain.shape[0]))]
    assert sizes == [3, 2, 2, 2, 1, 3]
    counts = database(fine.domain).histogram
    whole = [block.answer(counts).tolist() for block in fine.workload.blocks]
    assert whole == [block.answer(merged(counts, sizes)).tolist() for block in cut.workload.blocks]


def merged(histogram, sizes):
    """The counts on bins of these sizes."""
    starts = np.cumsum([0, *sizes[:-1]])
    return DenseHistogram(np.add.reduceat(histogram.counts, starts, axis=0))


def test_the_document_says_what_was_added(ask) -> None:
    document = ask({"where": "x >= 65 or x < 18"}, domain={"fields": [AGES]})
    assert document.notes == ("bins of 'x' cut by the queries at 18, 65 (2 -> 4 cells)",)
    document = ask({"where": "x in ('b', 'a')"}, domain={"fields": [OPEN]})
    assert document.notes == ("labels of 'x' taken from the queries: b, a",)
    assert not ask({"where": "x >= 50"}, domain={"fields": [AGES]}).notes


def test_open_labels_are_those_of_the_queries_and_others_have_a_cell(ask) -> None:
    found = attribute(ask, OPEN, "x = 'north' and y = true", "x in ('south', 'north', 7)")
    assert found.titles() == ("north", "south", "7", "(outside)")
    stated = attribute(ask, {**OPEN, "dpqr": {"otherwise": "drop"}}, "x = 'north'")
    assert stated.titles() == ("north",)
    assert stated.rule("outside") is Rule.DROP


def test_open_labels_cannot_be_excluded(titles) -> None:
    for where in ("x != 'a'", "not x in ('a', 'b')", "not (x = 'a' and y = true)"):
        with pytest.raises(DocumentError, match="what is left is not known"):
            titles(OPEN, "x = 'a'", where)


def test_declared_labels_are_never_extended(titles) -> None:
    with pytest.raises(DocumentError, match="no label 'femal'; did you mean 'female'"):
        titles({**OPEN, "constraints": {"enum": ["female", "male"]}}, "x = 'femal'")
    with pytest.raises(DocumentError, match="lists no label"):
        titles(OPEN, {"marginal": ["x"]})


def test_facts_of_the_domain_speak_of_the_cut_bins(ask) -> None:
    fields = {"fields": [AGES, {"name": "y", "type": "boolean"}], "impossible": [{"where": "x < 50 and y = true"}]}
    document = ask({"where": "x >= 18 and y = true"}, domain=fields)
    assert document.domain.facts.impossible[0].cells.tolist() == [[False, True], [False, True], [False, False]]


def test_too_many_cuts_are_refused(titles, monkeypatch) -> None:
    monkeypatch.setattr("dpqr.domain.columns.MAX_CELLS", 3)
    with pytest.raises(DocumentError, match="makes 4 cells, more than the 3 of one column"):
        titles(AGES, "x >= 65 or x < 18")
