"""Likeness of two tables: SDNist's figures, checked on paper."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dpqr.domain.attribute import Attribute, Codes, Labels
from dpqr.domain.domain import Domain
from dpqr.report.page.likeness import CellCounts, likeness

DOMAIN = Domain(
    (
        Attribute(name="sex", axis=Labels(("F", "M"))),
        Attribute(name="job", axis=Codes(2)),
        Attribute(name="town", axis=Codes(3)),
    )
)


def rows(tensor):
    codes = np.argwhere(tensor)
    return CellCounts(codes=codes, counts=tensor[tuple(codes.T)])


def spread(seed):
    return rows(np.random.default_rng(seed).integers(50, 100, (2, 2, 3)))


@pytest.fixture
def bare(monkeypatch):
    """Without scikit-learn, which takes seconds to import."""
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)


@pytest.mark.usefixtures("bare")
def test_a_table_is_like_itself():
    table = spread(1)
    found = likeness(DOMAIN, table, table)
    assert [one.distance for one in found.univariates] == [0, 0, 0]
    assert found.scores == {2: 1000, 3: 1000}
    assert not found.correlations.any()
    assert found.told_apart is None


@pytest.mark.usefixtures("bare")
def test_tables_that_share_no_cell_score_nothing():
    one, other = np.zeros((2, 2, 3), dtype=np.int64), np.zeros((2, 2, 3), dtype=np.int64)
    one[0, 0, 0] = other[1, 1, 1] = 200
    found = likeness(DOMAIN, rows(one), rows(other))
    assert [one.distance for one in found.univariates] == [1, 1, 1]
    assert found.scores == {2: 0, 3: 0}


@pytest.mark.usefixtures("bare")
def test_correlations_are_the_difference_of_cramers_v():
    tied, free = np.zeros((2, 2, 1), dtype=np.int64), np.full((2, 2, 1), 50, dtype=np.int64)
    tied[0, 0, 0] = tied[1, 1, 0] = 100
    domain = Domain((*DOMAIN.attributes[:2], Attribute(name="town", axis=Codes(1))))
    found = likeness(domain, rows(tied), rows(free))
    assert found.correlations.round(9).tolist() == [[0, -1, 0], [-1, 0, 0], [0, 0, 0]]


@pytest.mark.usefixtures("bare")
def test_the_furthest_column_comes_first():
    other = np.full((2, 2, 3), 50, dtype=np.int64)
    other[1] = 150
    found = likeness(DOMAIN, rows(np.full((2, 2, 3), 100, dtype=np.int64)), rows(other))
    assert [one.name for one in found.univariates] == ["sex", "job", "town"]
    assert found.univariates[0].distance == pytest.approx(0.25)


@pytest.mark.slow
def test_a_tree_tells_tables_apart_where_they_differ():
    one, other = np.zeros((2, 2, 3), dtype=np.int64), np.zeros((2, 2, 3), dtype=np.int64)
    one[0, 0, 0] = other[1, 1, 1] = 200
    assert likeness(DOMAIN, rows(one), rows(other)).told_apart == 1
    assert likeness(DOMAIN, spread(1), spread(1)).told_apart == pytest.approx(0.5, abs=0.01)
    assert likeness(DOMAIN, spread(1), rows(np.ones((2, 2, 3), dtype=np.int64))).told_apart is None


@pytest.mark.usefixtures("bare")
def test_an_empty_table_has_figures_too():
    found = likeness(DOMAIN, spread(1), rows(np.zeros((2, 2, 3), dtype=np.int64)))
    assert found.scores[2] == pytest.approx(500)
