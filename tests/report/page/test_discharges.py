"""The page of a release of made-up hospital discharges, read by those whom it is for.

A journalist asks whether the mean cost of Cardiology is above that of Surgery. The card "mean(cost) by department"
shows both as dots with intervals, in euros; the chapter below says that figures whose intervals do not overlap differ.

An officer asks whether the tables may be published. The checklist says how many points the program has checked, in
part, and not at all; beside it stand unit, purpose and who asked. The bar on top shows what the budget has left.

A statistician, or an attacker, asks what could be learnt about one person. The promise stands on top, and what it does
to the odds of a guess in a chapter of its own.
"""

from __future__ import annotations

import re

import pytest
from support.discharges import write
from support.pages import Read, require_accessible, require_alone
from support.repeatable_noise import repeatable_noise

import dpqr
from dpqr.releases.files.read_release import read_release
from dpqr.report.page.release_page import release_page
from dpqr.report.reports import release_html, reported_files

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Of 4,000 rows, for an epsilon that shows much in so small a table."""
    desk = tmp_path_factory.mktemp("discharges")
    write(desk, 4_000)
    dpqr.Ledger(desk / "l.sqlite").init("hospital", eps=20, unit="patient_id")
    with repeatable_noise():
        dpqr.release(
            desk / "discharges.csv",
            queries=desk / "queries.json",
            eps=8,
            unit="patient_id",
            max_rows=3,
            dataset="hospital",
            ledger=desk / "l.sqlite",
            purpose="Hospital statistics 2024",
            by="M. Weber",
            out=desk / "release",
        )
    return reported_files(read_release(str(desk / "release")), str(desk / "l.sqlite"))


@pytest.fixture(scope="module")
def page(found):
    return release_page(found)


@pytest.fixture(scope="module")
def text(found):
    return release_html(found)


def cards(page):
    return {card.title: card for card in page.sections[0].parts[-1].cards}


def test_one_file_for_everybody(text):
    require_alone(text)
    require_accessible(text)


def test_each_question_is_one_card_in_its_own_unit(page):
    units = {
        "discharges by month": "in records",
        "mean(cost) by department": "mean of cost (in euros)",
        "median(cost)": "median of cost (in euros)",
        "median(age) by sex": "median of age",
        "ratio(cost / days) by department": "ratio cost / days (in euros)",
        "proportion(age >= 70) by department": "share of the records",
        "diagnoses": "in records",
    }
    found = cards(page)
    assert {name: unit for name, unit in units.items() if unit not in found[name].chart.alt} == {}
    assert (found["discharges"].unit, found["discharges"].chart) == ("records", None)
    assert not [name for name in found if ": " in name]
    assert ">Jan 2024<" in found["discharges by month"].chart.svg
    assert page.sections[0].title == "Answers, of the rows used"


def test_the_journalist_compares_two_means(page, text):
    table = cards(page)["mean(cost) by department"].table
    spans = {row[0]: [float(end.replace(",", "")) for end in row[2].split(" to ")] for row in table.rows}
    assert spans["Cardiology"][1] < spans["Surgery"][0]
    assert "Two figures whose intervals do not overlap differ" in text


def test_the_officer_finds_what_was_checked_and_what_is_left(text):
    chapters = {given["id"]: words for _, given, words in Read(text).all_of("section")}
    assert re.search(r"Of 15 points the program has checked \d, and \d in part", chapters["checklist"])
    for said in ("M. Weber", "Hospital statistics 2024", "at most 3 rows of each are used", "A ledger paid"):
        assert said in chapters["checklist"]
    assert re.search(r"this release 3\d\.\d%", text.partition("<main>")[0])
    assert "The budget has paid for this and 0 other runs" in chapters["budget"]


def test_the_attacker_is_told_what_a_guess_is_worth(text):
    top, _, rest = text.partition("<main>")
    assert "Each person (column &#39;patient_id&#39;) with all their rows is protected" in top
    assert "a guess that stood 1 to 99 stands at most 2,981 to 99 afterwards" in rest
    assert "promise little by themselves" in rest


def test_notes_for_the_maker_stay_with_the_maker(text):
    for said in ("--schedule", "one-way marginals", "bin's midpoint", "dpqr release", "not stated", "49500 - cost"):
        assert said not in text, said


def test_bins_of_whole_numbers_read_as_people_write_them(page):
    assert "[0, 10)" not in repr(page.sections[0])
    assert ">0 to 9<" in cards(page)["marginal(department,age)"].chart.svg
