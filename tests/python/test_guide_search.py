"""The guide is searched by the words of a question: sections are ranked, and thirty questions find their answer."""

from __future__ import annotations

from functools import cache

import pytest
from cli.guide_questions import FIRST, REPORTING, SETTING, USERS
from support.guide_pages import GUIDE
from support.slow_cases import slow_but

from dpqr.kernel.errors import UsageFault
from dpqr.python.guide_search import SHOWN, search_guide, stem


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
    wanted = {section for answers in (SETTING | REPORTING | USERS).values() for section in answers}
    assert {*wanted, *FIRST.values()} - sections == set()


@pytest.mark.slow
def test_27_of_30_questions_are_answered_among_the_first_three():
    assert (len(SETTING), len(REPORTING)) == (15, 15)
    asked = SETTING | REPORTING
    shown = {question: found(question)[:3] for question in asked}
    missed = [
        (question, shown[question]) for question, answers in asked.items() if not set(answers) & set(shown[question])
    ]
    assert len(missed) <= 3, missed
    assert sum(question in REPORTING for question, _ in missed) <= 2, missed


@pytest.mark.slow
def test_17_of_20_questions_of_users_are_answered_among_the_first_three():
    shown = {question: found(question)[:3] for question in USERS}
    missed = [(question, shown[question]) for question in USERS if not set(USERS[question]) & set(shown[question])]
    assert (len(USERS), len(missed) <= 3) == (20, True), missed


@pytest.mark.parametrize(("question", "section"), slow_but({0, 3, 6}, FIRST.items()))
def test_what_is_asked_most_is_among_the_first_two(question, section):
    assert section in found(question)[:2]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(("question", "topics", "said"), [(" ? ", ("ci",), "is empty"), ("a", ("leger",), "no topic")])
def test_what_cannot_be_searched_is_refused(question, topics, said):
    with pytest.raises(UsageFault, match=said):
        search_guide(question, topics)
