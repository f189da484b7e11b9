"""The page of a release: answers first, for eyes, ears and paper, from what the record holds."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cases import slow_but, thinned
from support.handmade_release import make_plan, make_theory_plan
from support.pages import Read, made, require_accessible, require_alone, spending

from dpqr.kernel.budget import Cost
from dpqr.kernel.values import replace
from dpqr.releases.answers.errors import CERTIFIED, COMPARED, ESTIMATE
from dpqr.releases.files.read_release import read_release
from dpqr.releases.forecast.resources import Resources
from dpqr.releases.record.plan_document import plan_document, seal_document
from dpqr.releases.sentences import CHECK
from dpqr.report.page import release_page as section
from dpqr.report.page.charts import budget_chart
from dpqr.report.page.release_page import (
    NOT_PRIVATE,
    REHEARSAL,
    answers_section,
    budget_section,
    certainty_section,
    figure_card,
    notes_of,
    price_section,
    release_page,
    typical,
)
from dpqr.report.reports import plan_html, release_html, reported_files

OLD = Path(__file__).parents[2] / "old_releases"

CHAPTERS = ["answers", "certainty", "promise", "checklist", "budget", "synthetic", "domain", "price", "verify"]
FOLDED = {"domain", "price", "verify"}


def test_the_page_stands_alone_and_can_be_read_by_everybody(page):
    require_alone(page)
    require_accessible(page)


@pytest.mark.slow
def test_answers_come_first_then_certainty_then_the_officer_and_draws_are_folded(page):
    assert [given["id"] for _, given, _ in Read(page).all_of("section")] == CHAPTERS
    assert {section.name for section in release_page(made(synthetic={})).sections if section.folded} == FOLDED


@pytest.mark.parametrize(
    ("since", "words"),
    [
        ({}, ", rows of 2026-W41"),
        ({"since": "2026-W41"}, ", rows of 2026-W41"),
        ({"since": "2026-W40"}, ", rows of 2026-W40 to 2026-W41"),
    ],
)
def test_the_periods_of_its_rows_stand_in_the_title(found, since, words):
    """Of a counter too, whose answers are those of the node that the release reads: not of all rows so far."""
    plan = {**found.plan, "period": {"name": "2026-W41", "every": "week", "column": "ts", **since}}
    title = release_page(replace(found, record={**found.record, "plan": plan})).title
    assert title == release_page(found).title + words


def test_promise_and_warnings_stand_above_the_answers(found):
    found = replace(found, record={**found.record, "warning": f"much is lost; {CHECK}"}, blocks=found.blocks[:1])
    top = release_html(found).partition("<main>")[0]
    assert "at most 2.719 times as likely with them in the table as without" in top
    assert "Warning: much is lost<" in top
    assert "2026-11-22" in top


def test_the_officer_finds_guarantee_publisher_and_unit(page):
    chapters = {given["id"]: text for _, given, text in Read(page).all_of("section")}
    assert "Differentially private with epsilon = 1 (pure: delta = 0)" in chapters["promise"]
    assert "a guess that stood 1 to 99 stands at most 2.719 to 99 afterwards" in chapters["promise"]
    assert "City of X" in chapters["checklist"]
    assert "one row of the table added or removed" in chapters["checklist"]


@pytest.mark.slow
def test_the_same_release_gives_the_same_page(found):
    one, again = (release_html(replace(found, blocks=found.blocks[:2])) for _ in range(2))
    assert one == again


def test_a_large_epsilon_is_called_a_weak_promise(found):
    plan = found.plan
    budget = {"epsilon": {"exact": "20", "float": 20.0}, "delta": {"exact": "1/1000000", "float": 1e-6}}
    text = release_html(replace(found, blocks=(), record={**found.record, "plan": {**plan, "budget": budget}}))
    assert "at most more than a million times" not in text
    assert "more than a million" in text
    assert "a million or more to 99 afterwards" in text
    assert "promise little by themselves" in text
    assert "plus a probability of at most 1e-6" in text


@pytest.mark.parametrize(
    ("field", "stamp"), slow_but({0}, [({"rehearsal": True}, REHEARSAL), ({"private": False}, NOT_PRIVATE)])
)
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
    assert "which this record does not hold" in text
    assert "The record says nothing of phases and prices." in text


def test_a_bare_record_still_makes_a_page(found):
    require_accessible(release_html(replace(found, record={"dpqr": "release/1"}, blocks=(), spending=None)))


def test_foreign_text_is_text():
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(1)>\x1b[2J'
    text = release_html(replace(made(purpose=hostile, by=hostile, publisher=hostile, warning=hostile), blocks=()))
    require_alone(text)
    require_accessible(text)
    assert "\x1b" not in text


# The chapter of answers: a card a block, tables that fit, and forecasts beside results.


@pytest.fixture
def plain(monkeypatch):
    """Without charts, which have tests of their own."""
    monkeypatch.setattr(section, "block_chart", lambda block, salt, unit: None)


@pytest.mark.slow
def test_every_block_is_a_card_with_chart_and_table(found):
    cards = answers_section(found).parts[-1].cards
    assert [card.title for card in cards] == [block.name for block in found.blocks]
    assert all((card.chart and card.table) or card.number for card in cards)
    assert cards[0].words == "9 answers, measured; typical error 2.5"
    assert cards[1].words == "3 answers, estimated from other measurements; typical error 2.5"


@pytest.mark.usefixtures("plain")
def test_estimated_errors_are_called_estimated(found):
    said = " ".join(certainty_section(found).parts[0].lines)
    assert "were measured at least once" in said
    assert "each for one figure alone" in said
    unknown = " ".join(certainty_section(made(error_bars=None)).parts[0].lines)
    assert "Some answers have no error" in unknown


def test_a_choice_of_the_first_candidate_is_a_choice(found):
    transcript = [{"choice": choice} for choice in (None, 0, 3, None)]
    (said,) = (words for words in notes_of(replace(found, record={"transcript": transcript})) if "came first" in words)
    assert said.startswith("1 measurement came first. Then the Iterative Construction ran 2 rounds")


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("basis", "told", "words"),
    [
        (CERTIFIED, "their intervals are proved, for all answers together, by the certificate", "3 answers, estimated"),
        (
            COMPARED,
            "the model answered, for the true answer was found near it",
            "3 answers, free: found near the model",
        ),
        (ESTIMATE, "Hatched: 3 that never were; they come from the model, and their intervals", "3 answers, estimated"),
    ],
)
def test_intervals_of_answers_that_were_never_measured_say_what_they_rest_on(found, basis, told, words):
    block = replace(found.blocks[1], basis=np.full(3, basis, dtype=np.int8))
    found = replace(found, blocks=(found.blocks[0], block))
    said = " ".join(certainty_section(found).parts[0].lines)
    assert told in said
    assert ("intervals are estimated" in said) == (basis == ESTIMATE)
    assert answers_section(found).parts[-1].cards[1].words.startswith(words)


@pytest.mark.usefixtures("plain")
def test_more_blocks_than_a_page_holds_are_listed(found, monkeypatch):
    monkeypatch.setattr(section, "CHARTS", 2)
    *_, rest = answers_section(found).parts
    assert [row[0] for row in rest.rows] == [block.name for block in found.blocks[2:]]


@pytest.mark.usefixtures("plain")
def test_long_tables_are_cut_to_the_largest(found, monkeypatch):
    monkeypatch.setattr(section, "MOST", 2)
    monkeypatch.setattr(section, "LEAST", 2)
    table = answers_section(found).parts[-1].cards[0].table
    assert len(table.rows) == 2
    assert table.caption.startswith("The 2 largest of 9 answers")


def test_forecast_and_result_stand_side_by_side(found):
    _, words, table = certainty_section(found).parts
    assert "2 of 2 blocks came further than a factor 1.5" in words.text
    assert [row[0] for row in table.rows] == ["sex by age", "years"]
    assert [row[3] for row in table.rows] == ["0.36", "0.01"]


def test_the_plan_s_forecast_comes_before_its_noise_and_the_simulated_one_first(found):
    plan = json.loads(json.dumps(found.plan))
    plan["forecast"] = [{"name": "sex by age", "error": 2.0, "noise_deviation": 7.0}]
    for more, row in (
        ({}, ("sex by age", "2.51", "2.5", "1.00")),
        (
            {"expected": {"blocks": [{"name": "sex by age", "error": {"mean": 4.0}}]}},
            ("sex by age", "5.01", "2.5", "0.50"),
        ),
    ):
        shown = replace(found, record={**found.record, "plan": plan | more})
        _, words, table = certainty_section(shown).parts
        assert table.rows == [row]
        assert "mean absolute error times 1.25" in words.text
    plan["forecast"][0]["error"] = None
    _, words, _ = certainty_section(replace(found, record={**found.record, "plan": plan})).parts
    assert "the noise of one measurement" in words.text


def test_without_errors_the_noise_is_typical():
    block = made().blocks[0]
    assert typical(block) == pytest.approx(block.deviation[0])
    assert np.isnan(typical(made().blocks[1]))


@pytest.mark.usefixtures("plain")
def test_proved_bounds_stand_on_their_cards(found):
    bounds = {"confidence": 0.95, "blocks": [{"name": "years", "records": 1234.2}]}
    bounded = replace(found, record={**found.record, "bounds": bounds})
    assert any("with probability 0.95" in line for line in certainty_section(bounded).parts[0].lines)
    *_, cards = answers_section(bounded).parts
    assert [card.title for card in cards.cards if "at most 1,235" in card.words] == ["years"]


@pytest.mark.slow
def test_all_pairs_of_fourteen_columns_fit_into_two_megabytes(found):
    from report.page.test_block_charts import PAGE, PAIRS, grid

    from dpqr.report.reports import release_html

    rough = np.random.default_rng(1)
    sizes = [(100, 100)] * 12 + [(100, 42)] * 20 + [(42, 16)] * (PAIRS - 32)
    blocks = []
    for number, (down, across) in enumerate(sizes):
        block, unknown = grid(down, across), np.full(down * across, np.nan)
        drawn = rough.random((2, block.rows)) * 1000
        blocks.append(replace(block, name=f"pair {number}", estimate=drawn[0], error=drawn[1], measured=unknown))
    text = release_html(replace(found, blocks=tuple(blocks)))
    assert text.count("<svg") >= PAIRS
    assert len(text.encode()) < PAGE


ROW: dict[str, Any] = {
    "figure": "mean(pay) by sex",
    "kind": "mean",
    "sex": "f",
    "detail": None,
    "estimate": 31.234,
    "error": 0.5,
    "lower": 30.2,
    "upper": 32.3,
    "basis": "measured",
    "flag": None,
}
ROWS = (
    ROW,
    {**ROW, "sex": "<m>", "error": None, "lower": 0.0, "upper": 50.0, "flag": "small denominator"},
    {**ROW, "figure": "median(pay)", "kind": "median", "sex": None, "detail": "0.5"},
)


@pytest.mark.slow
def test_a_figure_stands_where_the_blocks_do_that_it_rests_on(found):
    """As dots in its own unit; the sums behind it are listed among the draws, not drawn."""
    behind = replace(found.blocks[0], name="mean(pay) by sex: pay")
    found = replace(found, figures=ROWS, blocks=(found.blocks[1], behind))
    text = release_html(found)
    require_alone(text)
    require_accessible(text)
    cards = answers_section(found).parts[-1].cards
    assert [card.title for card in cards] == [found.blocks[0].name, "mean(pay) by sex", "median(pay)"]
    assert "mean of pay" in cards[1].chart.svg
    assert [row[:2] for row in cards[1].table.rows] == [("f", "31.23"), ("<m>", "31")]
    assert cards[1].table.rows[1][-1] == "measured; small denominator"
    assert cards[2].table.rows[0][0] == "all"
    assert price_section(found).parts[-1].rows[0][0] == behind.name


def test_one_answer_is_a_number_and_not_a_bar(found):
    block = next(block for block in found.blocks if block.rows == 1 and not block.columns)
    (card,) = answers_section(replace(found, blocks=(block,))).parts[-1].cards
    assert (card.unit, card.chart, card.table) == ("records", None, None)
    assert card.number


@pytest.mark.slow
def test_a_figure_of_very_many_rows_is_drawn_in_part():
    card = figure_card((ROW,) * 60, {"pay": "a month, in euros"}, "s")
    assert card.chart.alt.startswith("Dots and 95% intervals of 40 figures, mean of pay (a month, in euros)")
    assert len(card.table.rows) == 60


def test_groups_of_a_figure_go_by_their_values():
    card = figure_card(({**ROW, "sex": "female", "age": "18 to 27"},), {}, "s")
    assert "female, 18 to 27 " in card.chart.alt


RULES = [
    {"name": "sex", "dpqr": {"null": "cell", "otherwise": "drop"}},
    {"name": "age", "dpqr": {"outside": "clip"}},
    {"name": "unasked", "dpqr": {"otherwise": "drop"}},
]


@pytest.mark.slow
def test_answers_of_rows_that_a_bound_or_a_rule_cuts_are_called_answers_of_the_rows_used():
    plain = made()
    assert answers_section(plain).title == "Answers"
    plan = plain.plan | {"unit": {"column": "person", "max_rows": 3}, "request": {"domain": {"fields": RULES}}}
    section = answers_section(made(plan=plan))
    assert section.title == "Answers, of the rows used"
    assert section.parts[0].text == (
        "At most 3 rows of each 'person' are used. What share of all rows that is, is not known: nobody paid for a "
        "count of the others. Rows are left out whose value of sex is none that the domain allows. Values of age "
        "beyond the bounds count as the nearest bound."
    )
    learned = plan | {"request": {"domain": {"fields": RULES, "learned": {"rows": {"numbers": [1]}}}}}
    assert "is not known" not in answers_section(made(plan=learned)).parts[0].text


def test_tables_of_persons_count_persons(monkeypatch):
    """Or what is summed of each."""
    units = {}
    monkeypatch.setattr(section, "block_chart", lambda block, salt, unit: units.update({block.name: unit}))
    plain = made()
    answers_section(plain)
    assert set(units.values()) == {"records"}
    one, two, three, *_ = units
    totals = {"name": two, "total": {"column": "cost", "least": 0, "most": 9}}
    numbers = {"name": three, "total": {"column": "cost", "bins": 3}}
    answers_section(made(plan=plain.plan | {"person_tables": [{"name": one}, totals, numbers]}))
    assert [units[name] for name in (one, two, three)] == ["persons", "total of cost", "persons"]


@pytest.mark.parametrize("path", thinned(sorted(OLD.iterdir()), 4), ids=lambda path: path.name)
def test_old_releases_still_make_a_page(path, monkeypatch):
    monkeypatch.setattr(section, "block_chart", lambda block, salt, unit: None)
    text = release_html(reported_files(read_release(str(path))))
    require_alone(text)
    require_accessible(text)


# The page of a plan.


@pytest.mark.parametrize("made", [make_plan, make_theory_plan])
def test_a_plan_is_a_page_before_there_is_data(made):
    plan = made()
    text = plan_html(plan, Resources.of(plan))
    require_alone(text)
    require_accessible(text)
    names = [given["id"] for _, given, _ in Read(text).all_of("section")]
    assert names == ["promise", "plan", "forecast", "domain", "checklist", "hashes"]
    assert "A PLAN: nothing was drawn" in text


def test_it_shows_expected_errors_and_its_hash():
    plan = make_plan()
    name = plan.problem.workload.blocks[0].name
    parts = {"expected": {"blocks": [{"name": name, "error": {"mean": 220.0}}]}}
    text = plan_html(plan, Resources.of(plan), parts)
    assert "Expected error of an answer, block by block" in text
    assert "220" in text
    assert seal_document(plan_document(plan) | parts)["sha256"] in text
    assert "forecasts no error" in plan_html(plan, Resources.of(plan))


# The budget bar.


def test_this_release_others_and_what_is_left_are_told():
    chart = budget_chart(spending())
    assert chart.alt == ("Budget bar: this release took 25.0%, others 50.0%; spent epsilon 3, left epsilon 1")
    assert "this release 25.0%" in chart.svg
    assert "left 25.0%" in chart.svg


def test_a_release_whose_domain_the_budget_has_paid_for_is_two_entries_of_it(found):
    charges = [replace(each, own=each.number in (2, 6)) for each in spending(5).charges]
    found = replace(found, spending=replace(spending(5), charges=charges))
    told = [row[2] for row in budget_section(found).parts[0].rows]
    assert told == ["an earlier one", "its domain, learned", "an earlier one", "this release", "a later one", "left"]


def test_a_budget_of_two_figures_has_no_bar():
    found = spending()
    terms = replace(found.account.terms, limit=Cost(Fraction(4), Fraction(1, 10**6)))
    assert budget_chart(replace(found, account=replace(found.account, terms=terms))) is None
