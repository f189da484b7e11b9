"""The label: every kind of record, each sentence as the page says it, and nothing that a hostile text could do."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from support.handmade_release import make_release
from support.pages import require_accessible, require_alone, spending

from dpqr.kernel.errors import DocumentError, UsageFault
from dpqr.published.show import StoredRun
from dpqr.releases.record.release_document import release_document
from dpqr.report.label import WIDTH, LabelCard, label_card, label_html, label_svg, read_label
from dpqr.report.page.parts import ReportInput
from dpqr.report.page.release_page import asked_in_all, release_page

OLD = Path(__file__).parents[1] / "old_releases"
HOSTILE = "</text><script>alert(1)</script>\x1b[31m\u202e&\"'<b>"


def card(spent=None, **record):
    stated = {**release_document(make_release()), **record}
    return label_card(StoredRun(record=stated, receipt=(), entries=()), "out", spent)


def line(found, name):
    return next(text for each, text in found.lines if each == name)


def test_a_label_says_whom_it_protects_how_well_and_what_it_is_for():
    found = card()
    assert line(found, "Protects") == "one row of the table added or removed (the number of rows is private)"
    assert (line(found, "Epsilon"), line(found, "Delta")) == ("1", "0")
    assert "a guess that stood 1 to 99 stands at most 2.719 to 99 afterwards" in line(found, "Odds")
    assert line(found, "Use").startswith("What holds for many people can be learnt")


def test_under_a_delta_the_odds_follow_the_page_law():
    """odds times e^(2 eps), but with probability delta / (1 - e^-eps)."""
    plan = release_document(make_release())["plan"]
    figures = {"epsilon": {"exact": "1", "float": 1.0}, "delta": {"exact": "1/1000000", "float": 1e-6}}
    found = card(plan={**plan, "budget": figures})
    assert "stands at most 7.39 to 99 afterwards" in line(found, "Odds")
    assert "except with a probability of at most 1.6e-6" in line(found, "Odds")


def test_every_sentence_is_one_of_the_page():
    """Promise, odds, budget and notes stand on the page of the same release, word for word."""
    record = release_document(make_release())
    shown = repr(release_page(ReportInput(record=record, blocks=(), place="out")))
    lines = [text for name, text in card().lines if name in ("Promise", "Odds", "Budget", "Use", "")]
    assert len(lines) >= 5
    assert [text for text in lines if text not in shown] == []


def test_what_was_used_of_the_budget_and_by_how_many_releases():
    paid = {"dataset": "survey", "entry": 2, "seal": "0" * 64}
    found = card(spent=spending(spent=3, limit=4), ledger=paid)
    assert line(found, "Used") == "epsilon 3 of epsilon 4 for life; epsilon 1 left"
    assert line(found, "Paid runs") == "3 so far"
    assert found.title == "Privacy label of a release about survey"
    assert line(card(ledger=paid), "Paid runs").startswith("not known from the release alone")
    assert line(card(), "Budget").startswith("No ledger was used.")
    assert "Paid runs" not in dict(card().lines)


@pytest.mark.parametrize(
    "record", [{"rehearsal": True, "guarantee": "REHEARSAL: 5 rows"}, {"private": False, "guarantee": "NOT PRIVATE: x"}]
)
def test_what_protects_nobody_promises_nothing(record):
    found = card(**record)
    assert found.stamp.partition(":")[0] == line(found, "Promise").partition(":")[0]
    assert not {"Epsilon", "Odds", "Protects", "Budget"} & {name for name, _ in found.lines}


@pytest.mark.parametrize("version", sorted(path.name for path in OLD.iterdir()))
def test_labels_of_all_versions(version):
    found = read_label(str(OLD / version))
    assert (line(found, "Epsilon"), line(found, "Delta")) == ("1", "0")
    assert (found.stamp == "") == (
        version
        in (
            "0.16.0",
            "0.15.0",
            "0.14.0",
            "0.13.0",
            "0.12.0",
            "0.11.0",
            "0.10.0",
            "0.9.0",
            "0.8.0",
            "0.7.0",
            "0.6.0",
            "0.5.0",
            "0.4.0",
        )
    )


def test_a_page_for_everybody():
    text = label_html(card(purpose=HOSTILE, publisher=HOSTILE))
    require_alone(text)
    require_accessible(text)
    assert "<nav" not in text
    assert "\x1b" not in text


def test_a_drawing_stands_by_itself_and_shows_hostile_texts_as_they_are_written():
    text = label_svg(card(purpose=HOSTILE, publisher="\u7d71\u8a08" * 60, date=HOSTILE))
    drawn = ET.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    assert {each.tag.removeprefix(space) for each in drawn.iter()} == {
        "svg",
        "title",
        "desc",
        "style",
        "rect",
        "line",
        "text",
    }
    assert drawn.get("aria-labelledby") == "title desc"
    assert drawn.find(f"{space}title").text.startswith("Privacy label")
    assert "Odds: Of an attacker's guess" in drawn.find(f"{space}desc").text
    assert not re.findall(r"[\x00-\x09\x0b-\x1f\u202e]", text)
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert not [name for each in drawn.iter() for name in each.attrib if name.startswith("on") or "href" in name]


def test_no_line_of_a_drawing_leaves_the_card():
    """Words without blanks are broken; letters of double width count twice."""
    long = card(purpose="W" * 400, publisher="\u7d71" * 200)
    for each in ET.fromstring(label_svg(long)).iter("{http://www.w3.org/2000/svg}text"):
        wide = sum(2 if ord(sign) > 0x2E80 else 1 for sign in each.text)
        assert float(each.get("x")) + wide * float(each.get("font-size")) * 0.5 <= WIDTH


def test_equal_cards_give_equal_drawings():
    assert label_svg(card()) == label_svg(card())
    assert label_svg(LabelCard(title="t", lines=())).count("<text") == 1


@pytest.mark.parametrize(
    "budget",
    [
        None,
        {},
        {"epsilon": {"exact": "1e999999999", "float": 1}, "delta": {"exact": "0", "float": 0}},
        {"epsilon": {"exact": "0", "float": 0.0}, "delta": {"exact": "1/10", "float": 0.1}},
        {"epsilon": {"exact": "1" * 4000, "float": 1.0}, "delta": {"exact": "1/10", "float": 0.1}},
    ],
)
def test_a_damaged_record_of_predictions_is_refused_in_one_line(tmp_path, budget):
    plan = {"unit": "one row of the table", "budget": budget}
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"dpqr": "model/1", "guarantee": "g", "plan": plan, "private": True}))
    with pytest.raises(DocumentError, match="restore it"):
        read_label(str(path))


def test_what_is_no_release_is_refused():
    with pytest.raises(UsageFault, match="is no release"):
        read_label("nothing")
    with pytest.raises(UsageFault, match="--anchor is about a ledger"):
        read_label(str(OLD / "0.10.0"), anchor="a")


def test_its_figures_count_tables_of_persons_too():
    plan = {"workload": {"queries": 3, "blocks": [{}]}, "person_tables": [{"queries": 6}, {"queries": 3}]}
    assert asked_in_all(plan) == (12, 3)
    assert asked_in_all({"workload": {"queries": 3, "blocks": [{}]}}) == (3, 1)
