"""The guide is searched by the words of a question: sections are ranked, and thirty questions find their answer."""

from __future__ import annotations

from functools import cache

import pytest
from cli.guide_questions import (
    BLIND_REPORTING,
    BLIND_SETTING,
    FIRST,
    FRESH,
    NEW_REPORTING,
    NEW_SETTING,
    OTHERS,
    REPORTING,
    ROLES_REPORTING,
    ROLES_SETTING,
    SETTING,
    THREADS,
    USERS,
)
from support.cases import in_one_test, slow_but
from support.guide_pages import GUIDE

from dpqr.kernel.errors import UsageFault
from dpqr.python.guide_search import SHOWN, index, search_guide, stem


@cache
def found(question):
    """The places of the hits, as the questions name sections."""
    return [
        hit.topic if hit.heading.startswith(f"{hit.topic}: ") else f"{hit.topic}/{hit.heading}"
        for hit in search_guide(question)
    ]


def test_the_answers_of_the_questions_stand_in_the_guide():
    sections = {page.name for page in GUIDE}
    for page in GUIDE:
        sections |= {f"{page.name}/{line[3:]}" for line in page.text.splitlines() if line.startswith("## ")}
    asked = SETTING | REPORTING | USERS | NEW_SETTING | NEW_REPORTING | THREADS | FRESH
    asked |= ROLES_SETTING | ROLES_REPORTING | OTHERS | BLIND_SETTING | BLIND_REPORTING
    wanted = {section for answers in asked.values() for section in answers}
    assert {*wanted, *FIRST.values(), *index()} - sections == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "least"),
    [
        (SETTING, 14),
        (REPORTING, 14),
        (USERS, 18),
        (NEW_SETTING, 19),
        (NEW_REPORTING, 19),
        (THREADS, 19),
        (ROLES_SETTING, 28),
        (ROLES_REPORTING, 25),
        (OTHERS, 26),
        (BLIND_SETTING, 38),
        (BLIND_REPORTING, 33),
        pytest.param(FRESH, 24, id="nobody set anything by these"),
    ],
)
def test_questions_are_answered_among_the_first_three(asked, least):
    shown = {question: found(question)[:3] for question in asked}
    missed = [(question, shown[question]) for question in asked if not set(asked[question]) & set(shown[question])]
    assert len(asked) - len(missed) >= least, missed


@pytest.mark.parametrize(("question", "section"), slow_but({0, 3, 6}, FIRST.items()))
def test_what_is_asked_most_is_among_the_first_two(question, section):
    assert section in found(question)[:2]


@in_one_test(
    ("one", "other"), [("query", "queries"), ("round", "rounded"), ("stop", "stopping"), ("release", "released")]
)
def test_forms_of_a_word_are_one(one, other):
    assert stem(one) == stem(other)


def test_a_word_is_not_found_in_another():
    lines = [hit.line.casefold() for hit in search_guide("round")]
    assert lines
    assert stem("round") != stem("ground") != stem("background")
    assert not [line for line in lines if "ground" in line and "round" not in line.replace("ground", "")]


def test_hits_are_few_and_of_the_topics_asked_for():
    assert len(search_guide("the release")) == SHOWN
    assert {hit.topic for hit in search_guide("release", ("audit", "ci"))} == {"audit", "ci"}
    assert search_guide("xylophone") == []


def test_topics_for_reference_come_last_and_are_few_beside_the_guide():
    names = [hit.topic for hit in search_guide("spherical laplace noise")]
    assert names[-2:] == ["proofs", "proofs"]
    assert "proofs" not in names[:-2]
    assert {hit.topic for hit in search_guide("laplace", ("proofs",))} == {"proofs"}


@in_one_test(("question", "topics", "said"), [(" ? ", ("ci",), "is empty"), ("a", ("leger",), "no topic")])
def test_what_cannot_be_searched_is_refused(question, topics, said):
    with pytest.raises(UsageFault, match=said):
        search_guide(question, topics)
