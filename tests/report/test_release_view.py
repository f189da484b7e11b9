from dataclasses import replace
from fractions import Fraction

from support.handmade_release import make_stopped_release
from support.plain_screen import printed

from dpqr.privacy.budget import Price
from dpqr.report.release_view import answers_view, receipt_view
from dpqr.strategies.plan import Phase
from dpqr.strategies.schedules.drafts import search_phases

ROUNDS = """\
Guarantee    Differentially private with epsilon = 1 (pure: delta = 0), for one row of the table
             added or removed (the number of rows is private).
             It covers this run alone: no ledger was used, and the costs of several releases of one
             table add up.
Opening      1 measurement, eps 0.2
Selection    2 draws, each eps 0.08, together eps 0.16
Measurement  2 draws, each eps 0.32, together eps 0.64
Total        basic: eps 1 (charged) [opening 0.2, selection 0.16, measurement 0.64]
             zcdp: does not cover this run
             optimal: eps 0.6667
             figures in brackets: each phase by itself; only those of basic add up to the total
Charged      by basic: the one theorem that holds without a delta; the others are shown for
             comparison
Accuracy     No certificate: this schedule has no stop test, so no bound on the error of all answers
             was bought. Noise deviation and interval speak of the measured value beside them, not
             of the estimate.
Note         ages above 60 are clipped
Note         the fit is heuristic
"""
STOPPED = """\
Guarantee    Differentially private with epsilon = 0.5 and delta = 1e-9, for one row of the table
             replaced by another (the number of rows is public).
             It covers this run alone: no ledger was used, and the costs of several releases of one
             table add up.
Selection    26,616 draws, each rho 1e-7, together rho 0.002662
Measurement  26,616 draws, each rho 4e-7, together rho 0.01065
Stop test    costs nothing of its own: it compares what the measurements released
             the loop ended by its stop test after 3 rounds; the guarantee is that of the whole
             schedule; a ledger gives back at most what was not drawn
Total        basic: does not cover this run
             zcdp: eps 0.3334 (charged) [selection 0.1, measurement 0.3]
             figures in brackets: each phase by itself; only those of basic add up to the total
Charged      by zcdp: of those that go with --check, the one whose plan has the least noise; the
             others are shown for comparison
Accuracy     Certificate: with probability at least 0.95, over the noise of this run, none of the 19
             estimates is off by more than 198.005 records (0.04951 of the declared n).
"""
ANSWERS = """\
query        cells                     estimate  measured   noise  lower  upper
sex by age   sex=F, age=[0, 20)               5        -4  +-7.06    -19     11
sex by age   sex=F, age=[20, 40)            4.5        -3  +-7.06    -18     12
sex by age   sex=F, age=[40, 60]              4        -2  +-7.06    -17     13
sex by age   sex=M, age=[0, 20)               5        -1  +-7.06    -16     14
sex by age   sex=M, age=[20, 40)              0         0  +-7.06    -15     15
sex by age   sex=M, age=[40, 60]              7         1  +-7.06    -14     16
sex by age   sex=(null), age=[0, 20)          1         2  +-7.06    -13     17
sex by age   sex=(null), age=[20, 40)         0         3  +-7.06    -12     18
sex by age   sex=(null), age=[40, 60]         0         4  +-7.06    -11     19
cdf          < 20                            11
cdf          < 40                          15.5
cdf          <= 60                         26.5
young women                                 9.5
years        sex=F, sum of age              385       3.5   +-2.2     -1      8
years        sex=M, sum of age              400        -1   +-2.2   -5.5    3.5
years        sex=(null), sum of age          10         0   +-2.2   -4.5    4.5
boxes        age < 20, region 0              10
boxes        age >= 20, any region         15.5
all                                        26.5
"""


def test_the_whole_receipt(release):
    assert printed(receipt_view(release)) == ROUNDS


def test_the_whole_receipt_of_a_stopped_loop():
    assert printed(receipt_view(make_stopped_release())) == STOPPED


def test_a_loop_that_ended_early_without_its_stop_test_says_so(release):
    stopped = make_stopped_release()
    last = replace(stopped.transcript.rounds[-1], stopped=False)
    stopped.transcript.rounds[-1] = last
    text = printed(receipt_view(replace(stopped, certificate=None)))
    words = " ".join(text.split())
    assert "the loop ended early after 3 rounds; the guarantee is that of the whole schedule; a ledger gives" in words
    assert "No certificate: the loop ended without meeting its stop test" in text


def test_later_measurements_are_told_with_their_sum(release):
    prices = (Price(epsilon=Fraction(1, 5)), Price(epsilon=Fraction(3, 5)))
    stages = (Phase(noun="stage", count=1, price=price) for price in prices)
    plan = replace(release.plan, phases=search_phases((*release.plan.named("opening"), *stages), prices[0]))
    words = " ".join(printed(receipt_view(replace(release, plan=plan))).split())
    assert "Later 2 measurements, together eps 0.8" in words


def test_a_release_from_test_noise_claims_nothing(release):
    text = printed(receipt_view(replace(release, private=False)))
    assert text.startswith("Guarantee    NOT PRIVATE")
    assert "epsilon" not in text


def test_all_answers_where_they_are_few(release):
    assert printed(answers_view(release)) == ANSWERS


def test_the_first_answers_where_they_are_many(release):
    lines = ANSWERS.splitlines()
    shown = printed(answers_view(release, limit=15)).splitlines()
    assert shown[:16] == lines[:16]
    assert shown[16:] == ["... and 4 more answers: --out DIR writes them all, --json prints them"]
    assert printed(answers_view(release, limit=18)).splitlines()[-1].startswith("... and 1 more answer:")


def test_forty_answers_are_shown_unless_asked_otherwise(release):
    many = replace(release.answers[0])
    problem = release.plan.problem
    blocks = tuple(replace(many.block, name=f"m{number}") for number in range(6))
    workload = replace(problem.workload, blocks=blocks)
    plan = replace(release.plan, problem=replace(problem, workload=workload))
    shown = printed(answers_view(replace(release, plan=plan, answers=tuple(replace(many, block=b) for b in blocks))))
    assert len(shown.splitlines()) == 1 + 40 + 1
    assert "... and 14 more answers" in shown


def test_labels_can_neither_draw_nor_colour(release):
    block = replace(release.answers[0].block, name="[red]q\x1b[0m")
    text = printed(answers_view(replace(release, answers=(replace(release.answers[0], block=block),))))
    assert "[red]q\\x1b[0m" in text
    assert "\x1b" not in text


def test_every_terminal_can_show_it(release):
    assert printed(receipt_view(release)).isascii()
    assert printed(answers_view(release, limit=5)).isascii()


def test_a_search_tells_what_it_drew_and_what_it_could_cost_at_most(release):
    sought = replace(release.plan, phases=search_phases(release.plan.phases, Price(epsilon=Fraction(1))))
    shown = " ".join(printed(receipt_view(replace(release, plan=sought))).split())
    assert "at prices that followed what was released, together at most eps 0.8" in shown
    assert "Selection" not in shown
