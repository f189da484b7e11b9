from dataclasses import replace
from fractions import Fraction

from support.handmade_release import make_stopped_release
from support.plain_screen import printed

from dpqr.kernel.budget import Cost
from dpqr.kernel.currency import EPSILON
from dpqr.ledger.ledger import Reservation
from dpqr.report.release import release_view

SCREEN = """\
Guarantee  Differentially private with epsilon = 1 (pure: delta = 0), for one
           row of the table added or removed (the number of rows is private).
Price      eps 1 by basic; no ledger: several releases of a table add up
Note       ages above 60 are clipped
Note       the fit is heuristic

Answers    19 in 6 blocks; the 6 largest of 9 in 'sex by age':
sex     age       estimate  95% interval
M       [40, 60]       7.0     -14 to 16       ░░░░░░░░░░░░░░░▓▓▓▓▓▓▓░░░░░░░░░░
F       [0, 20)        5.0     -19 to 11  ░░░░░░░░░░░░░░░░░░░░▓▓▓▓▓░░░░░░░
M       [0, 20)        5.0     -16 to 14     ░░░░░░░░░░░░░░░░░▓▓▓▓▓░░░░░░░░░░
F       [20, 40)       4.5     -18 to 12   ░░░░░░░░░░░░░░░░░░░▓▓▓▓▓░░░░░░░░
F       [40, 60]       4.0     -17 to 13    ░░░░░░░░░░░░░░░░░░▓▓▓▓░░░░░░░░░░
(null)  [0, 20)        1.0     -13 to 17        ░░░░░░░░░░░░░░▓░░░░░░░░░░░░░░░░░
shaded: 95% interval for the true answer, query by query

Files      a place: answers.csv, release.json
Next       dpqr show 'a place'  (the full receipt, and all queries by name)
           dpqr show 'a place' --query 'sex by age' --as heatmap
"""
FILES = ("answers.csv", "release.json")


def shown(release, place="a place", ledger=()):
    return printed(release_view(release, place, FILES, ledger), 80)


def test_the_whole_screen(release):
    assert shown(release) == SCREEN
    assert SCREEN.count("\n") < 24


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
    assert lines[3:8] == [
        "Warning    delta is large",
        "Note       one",
        "Note       two",
        "Note       three",
        "           2 more notes: dpqr show 'a place'",
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
