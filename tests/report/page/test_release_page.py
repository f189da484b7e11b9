"""The page of a release: nine chapters, for eyes, ears and paper, from what the record holds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.pages import Read, made, require_accessible, require_alone

from dpqr.report.page.release_page import NOT_PRIVATE, REHEARSAL
from dpqr.report.reports import release_html

CHAPTERS = ["promise", "budget", "price", "answers", "forecast", "synthetic", "domain", "checklist", "verify"]


def test_the_page_stands_alone_and_can_be_read_by_everybody(page):
    require_alone(page)
    require_accessible(page)


def test_it_has_nine_chapters_in_their_order(page):
    assert [given["id"] for _, given, _ in Read(page).all_of("section")] == CHAPTERS


def test_promise_unit_who_when_and_why_stand_first(page):
    (_, _, promise), *_ = Read(page).all_of("section")
    assert "Differentially private with epsilon = 1 (pure: delta = 0)" in promise
    assert "at most 2.719 times as likely" in promise
    assert "City of X" in promise
    assert "2026-11-22" in promise
    assert "one row of the table added or removed" in promise


def test_the_same_release_gives_the_same_page(found):
    one, again = (release_html(replace(found, blocks=found.blocks[:2])) for _ in range(2))
    assert one == again


def test_a_large_epsilon_is_called_a_weak_promise(found):
    plan = found.plan
    budget = {"epsilon": {"exact": "20", "float": 20.0}, "delta": {"exact": "1/1000000", "float": 1e-6}}
    text = release_html(replace(found, blocks=(), record={**found.record, "plan": {**plan, "budget": budget}}))
    assert "at most more than a million times" not in text
    assert "more than a million" in text
    assert "promises little by itself" in text
    assert "plus a probability of at most 1e-6" in text


@pytest.mark.parametrize(("field", "stamp"), [({"rehearsal": True}, REHEARSAL), ({"private": False}, NOT_PRIVATE)])
def test_what_protects_nobody_is_stamped(found, field, stamp):
    text = release_html(replace(found, blocks=(), record={**found.record, **field}))
    assert stamp in Read(text).all_of("p")[0][2]


def test_an_older_record_says_what_it_lacks_and_fails_nowhere():
    lacking = dict.fromkeys(
        ("date", "publisher", "hashes", "sha256", "versions", "spent", "events", "certainty", "trust")
    )
    old = made(**lacking)
    plan = {name: part for name, part in old.plan.items() if name not in ("request", "sha256", "forecast")}
    text = release_html(replace(old, record={**old.record, "plan": plan}, blocks=old.blocks[:1]))
    require_accessible(text)
    assert text.count("not stated in the record") >= 4
    assert "which this record does not hold" in text
    assert "The record holds no forecast" in text
    assert "The record says nothing of phases and prices." in text


def test_a_bare_record_still_makes_a_page(found):
    require_accessible(release_html(replace(found, record={"dpqr": "release/1"}, blocks=(), spending=None)))


def test_foreign_text_is_text():
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J'
    text = release_html(replace(made(purpose=hostile, by=hostile, publisher=hostile, warning=hostile), blocks=()))
    require_alone(text)
    require_accessible(text)
    assert "\x1b" not in text
