"""The page of an evaluation: stamped, and with SDNist's figures where rows were judged."""

from __future__ import annotations

import numpy as np
import pytest
from support.pages import Read, require_accessible, require_alone

from dpqr.releases.exact_errors import Accuracy, BlockError
from dpqr.report.page.likeness import Likeness, Univariate, evaluation_page
from dpqr.report.page.parts import html

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


def test_rows_are_judged_by_sdnists_figures():
    found = chapters(ALIKE)
    assert "0.1000" in found["univariates"]
    assert "-0.2500" in found["correlations"]
    assert "912.5" in found["marginals"]
    assert "0.610" in found["classifier"]


@pytest.mark.parametrize("alike", [None])
def test_answers_alone_are_judged_without_them(alike):
    assert "dpqr evaluate --rows" in chapters(alike)["rows"]


def test_without_scikit_learn_the_page_says_so():
    without = Likeness(
        univariates=ALIKE.univariates, names=ALIKE.names, correlations=ALIKE.correlations, scores={}, told_apart=None
    )
    assert "pip install 'dpqr[predict]'" in chapters(without)["classifier"]
