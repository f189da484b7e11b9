from fractions import Fraction

import numpy as np
import pytest
from support.fakes import measured
from support.handmade_release import make_stopped_release
from support.plain_screen import kept, printed
from support.plan_phases import first

from dpqr.kernel.budget import Cost, Price
from dpqr.kernel.currency import EPSILON
from dpqr.kernel.unit import Neighbours, PrivacyUnit
from dpqr.kernel.values import replace
from dpqr.ledger.ledger import Reservation
from dpqr.releases.answers.answered import answered_block, trend
from dpqr.releases.draws import DroppedCount
from dpqr.releases.receipt import plan_facts, receipt
from dpqr.report.html import facts
from dpqr.report.release import FORMS, release_view, series_view, stored_block_view, stored_run_view
from dpqr.strategies.plan import Phase
from dpqr.strategies.schedules.split import DROPPED

FILES = ("answers.csv", "release.json")


def shown(release, place="a place", ledger=()):
    return printed(release_view(release, place, FILES, ledger), 80)


def test_the_whole_screen(release):
    assert shown(release) == kept("release")
    assert kept("release").count("\n") < 24


def test_who_paid_and_where_the_rest_of_the_budget_is(release):
    paid = Reservation(dataset="survey", number=7, currency=EPSILON, cost=Cost(Fraction(1)), events=(), receipt="ab")
    text = shown(replace(release, paid=paid))
    assert "Price      eps 1 by basic, paid by the budget of 'survey' (entry 7)\n" in text
    assert text.endswith("           dpqr budget show survey\n")
    named = shown(replace(release, paid=paid), ledger=("--ledger", "my budgets.sqlite"))
    assert named.endswith("           dpqr budget show survey --ledger 'my budgets.sqlite'\n")


def test_warnings_come_before_notes_and_none_is_left_out(release):
    trust = ("one", "two", "three", "four", "five", "warning: delta is large")
    lines = shown(replace(release, trust=trust)).splitlines()
    assert lines[3:9] == [
        "Warning    delta is large",
        "Note       1 measurement came first. Then the Iterative Construction ran 2",
        "           rounds: each chose what lay furthest from its model, up to noise, and",
        "           measured it. The answers to 6 questions follow from the model.",
        "           5 more notes: dpqr show 'a place'",
        "",
    ]


def test_nothing_is_left_out_where_nothing_is_kept(release):
    text = shown(replace(release, trust=("one", "two", "three", "four")), None)
    assert "Note       four\n" in text
    assert text.endswith("Kept       nothing but this screen; --out DIR keeps answers, record and receipt\n")


def test_a_certificate_is_shown_and_its_price_by_the_accountant_that_charged():
    text = " ".join(shown(make_stopped_release()).split())
    assert "Price eps 0.3334 by zcdp; no ledger" in text
    assert "Accuracy Certificate: with probability at least 0.95" in text


def test_test_noise_has_no_price(release):
    text = shown(replace(release, private=False))
    assert text.startswith("Guarantee  NOT PRIVATE")
    assert "Price" not in text


def test_a_price_that_the_accountant_does_not_state(release):
    assert "charged by basic" in shown(replace(release, spent={"basic": None, "zcdp": Fraction(1)}))


def test_the_receipt_and_the_queries_by_name():
    asked = [("a query", 1200, ("sex", "age")), ("all\x1b[0m", 1, ())]
    assert printed(stored_run_view([("Guarantee", "much")], asked)) == (
        "Guarantee  much\n\nquery       answers  columns\na query       1,200  sex, age\nall\\x1b[0m        1\n"
    )


def test_promise_and_warnings_come_before_the_queries_and_prices_after_them():
    receipt = [("Guarantee", "much"), ("", "paid"), ("Plan", "a hash"), ("Warning", "beware"), ("Total", "eps 1")]
    shown = printed(stored_run_view([*receipt, ("", "by zcdp")], [("a query", 2, ())]))
    assert [line.split()[-1] for line in shown.splitlines() if line] == [
        *("much", "paid", "beware", "columns", "2", "hash", "1", "zcdp")
    ]


def test_predictions_answer_no_queries():
    assert printed(stored_run_view([("Guarantee", "much")], [])) == "Guarantee  much\n"


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_headed_by_the_block(release, form):
    block = answered_block(release.answers[0], release.plan.problem.domain)
    lines = printed(stored_block_view(block, form, 9), 80).splitlines()
    assert lines[0] == "sex by age: 9 answers"
    assert len(lines) > 4


def test_a_proved_bound_stands_under_the_name_of_its_block(release):
    block = answered_block(release.answers[0], release.plan.problem.domain)
    lines = printed(stored_block_view(block, "table", 9, (123.4567, 0.95)), 80).splitlines()
    assert lines[1] == "L1 error of all its estimates: at most 123.5, with probability at least 0.95"


NAMES = ("2026-01", "2026-02")


def two_points(release):
    """Errors of 3 and 4; one answer moves by more than their 5 explain."""
    block = answered_block(release.answers[0], release.plan.problem.domain)
    moved = block.estimate + np.where(np.arange(block.rows) == 1, 20.0, 1.0)
    error = np.full(block.rows, 3.0)
    lower, upper = block.estimate - 6, block.estimate + 6
    first = replace(block, error=error, lower=lower, upper=upper)
    return trend((first, replace(first, estimate=moved, error=error + 1, lower=lower + 1, upper=upper + 1)))


def test_each_answer_from_point_to_point(release):
    lines = printed(series_view(NAMES, [two_points(release)])).splitlines()
    assert lines[0] == "sex by age: 9 answers"
    assert lines[1].split() == ["cells", "point", "estimate", "error", "change", "+-"]
    assert [line for line in lines if line.endswith("*")] == [line for line in lines if " 20 " in line]
    assert lines[2].startswith("sex=F, age=[0, 20)")
    assert lines[3].startswith(" ")
    assert lines[-1] == "error: standard error of the estimate"


def test_a_query_of_one_answer_has_no_cells(release):
    held = two_points(release)
    alone = trend(tuple(replace(one.first(1), columns=()) for one in held.points))
    assert printed(series_view(NAMES, [alone])).splitlines()[1].split()[0] == "point"


def test_curves_have_the_points_below_them(release):
    text = printed(series_view(NAMES, [two_points(release)], "curve"), 80)
    assert text.count("2026-01") == 9
    assert "sex=F, age=[0, 20)" in text


# The count of what was left out, in the plan and in the receipt.

REPLACED = PrivacyUnit(neighbours=Neighbours.REPLACE)
PERSONS = PrivacyUnit(columns=("pid",), rows=3)


def counting(plan, unit):
    count = Phase(noun="left out", count=1, price=Price(epsilon=Fraction(1, 20)))
    return first(replace(plan, problem=replace(plan.problem, unit=unit)), count)


def lines(view):
    return " ".join(printed(view).split())


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (REPLACED, "the records that the domain's rules left out"),
        (PERSONS, "the rows that the domain's rules or the bound left out, at most 3 rows of each person counted"),
    ],
)
def test_it_is_announced_and_told_with_its_noise(plan, release, unit, words) -> None:
    planned = counting(plan, unit)
    assert f"Left out a noisy count of {words}, eps 0.05 First" in lines(facts(plan_facts(planned)))
    count = DroppedCount(measurement=measured((DROPPED, [-1234])), charge=0)
    told = lines(facts(receipt(replace(release, plan=planned, dropped=count))))
    assert f"Left out -1,234 +-1.36 (noise): {words}; eps 0.05 Opening" in told


def test_a_release_for_persons_says_what_share_of_the_rows_it_used(plan, release) -> None:
    """By what was bought; else that nobody knows, and how to learn it."""
    persons = replace(release, plan=replace(plan, problem=replace(plan.problem, unit=PERSONS)))
    unknown = "what share of the rows was used is not known; a release with --count-dropped 0.05"
    assert unknown in lines(release_view(persons, None, (), ()))
    assert unknown not in lines(release_view(release, None, (), ()))  # of rows
    total = release.hypothesis.total
    for times, share in ((1.0, "50%"), (1.0 / 3.0, "75%")):
        count = DroppedCount(measurement=measured((DROPPED, [round(times * total)])), charge=0)
        told = lines(release_view(replace(persons, plan=counting(plan, PERSONS), dropped=count), None, (), ()))
        assert f"Used at most about {share} of the rows" in told
        assert unknown not in told
    count = DroppedCount(measurement=measured((DROPPED, [-1234])), charge=0)
    told = lines(release_view(replace(persons, plan=counting(plan, PERSONS), dropped=count), None, (), ()))
    assert "Used at most about 100% of the rows" in told


def test_nothing_is_said_where_none_was_bought(plan, release) -> None:
    assert "Left out" not in printed(facts(plan_facts(plan))) + printed(facts(receipt(release)))


def test_the_declared_number_of_persons_is_shown(plan) -> None:
    stated = replace(plan, problem=replace(plan.problem, unit=PERSONS, persons=5000))
    assert "Persons 5,000, as declared" in lines(facts(plan_facts(stated)))
