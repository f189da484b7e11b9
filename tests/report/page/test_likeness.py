"""Likeness of two tables: SDNist's figures, checked on paper."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from support.pages import Read, require_accessible, require_alone

from dpqr.domain.attribute import Attribute, Codes, Labels
from dpqr.domain.domain import Domain
from dpqr.releases.exact_errors import Accuracy, BlockError
from dpqr.report.page.likeness import CellCounts, Likeness, Univariate, evaluation_page, likeness
from dpqr.report.page.parts import html

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


# The page of an evaluation: stamped, and with SDNist's figures where rows were judged.

FOUND = Accuracy(
    records=100,
    blocks=tuple(BlockError(name=f"block {n}", queries=4, l1=20.0 - n, l2=9.0, largest=6.0, worst=1) for n in range(3)),
)
ALIKE = Likeness(
    univariates=(
        Univariate(name="age", titles=tuple(map(str, range(40))), true=np.full(40, 1 / 40), given=np.full(40, 1 / 40)),
        Univariate(name="sex", titles=("F", "M"), true=np.array([0.5, 0.5]), given=np.array([0.6, 0.4])),
    ),
    names=("age", "sex"),
    correlations=np.array([[0.0, -0.25], [-0.25, 0.0]]),
    scores={2: 912.5},
    told_apart=0.61,
)


def chapters(alike):
    text = html(evaluation_page(FOUND, alike, "NOT FOR RELEASE: exact errors"))
    require_alone(text)
    require_accessible(text)
    assert Read(text).all_of("p")[0][2] == "NOT FOR RELEASE"
    return {given["id"]: words for _, given, words in Read(text).all_of("section")}


@pytest.mark.slow
def test_rows_are_judged_by_sdnists_figures():
    found = chapters(ALIKE)
    assert "0.1000" in found["univariates"]
    assert "-0.2500" in found["correlations"]
    assert "912.5" in found["marginals"]
    assert "0.610" in found["classifier"]


@pytest.mark.parametrize("alike", [None])
def test_answers_alone_are_judged_without_them(alike):
    assert "dpqr evaluate --rows" in chapters(alike)["rows"]


@pytest.mark.slow
def test_without_scikit_learn_the_page_says_so():
    without = Likeness(
        univariates=ALIKE.univariates, names=ALIKE.names, correlations=ALIKE.correlations, scores={}, told_apart=None
    )
    assert "pip install 'dpqr[predict]'" in chapters(without)["classifier"]
