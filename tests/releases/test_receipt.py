from dataclasses import replace
from fractions import Fraction

from support.handmade_release import make_stopped_release
from support.plain_screen import printed

from dpqr.kernel.accountants.fixed_schedules import Advanced
from dpqr.kernel.budget import Price
from dpqr.releases.receipt import receipt
from dpqr.report.html import facts
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
             was bought. Noise deviation and interval speak of the measured value beside them.
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
Charged      by zcdp: of those that go with --check, the one whose plan is expected to err least;
             the others are shown for comparison
Accuracy     Certificate: with probability at least 0.95, over the noise of this run, none of the 19
             estimates is off by more than 198.005 records (0.04951 of the declared n).
"""


def receipt_view(release):
    return facts(receipt(release))


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


def test_openings_at_several_prices_are_one_line_with_their_sum(release):
    """As a workload of twelve one-way marginals has them."""
    shares = (Fraction(1, 20), Fraction(1, 8), Fraction(1, 10))
    phases = (replace(release.plan.phases[0], price=Price(epsilon=share)) for share in shares)
    plan = replace(release.plan, phases=tuple(phases))
    text = printed(receipt_view(replace(release, plan=plan)))
    assert "Opening    3 measurements, each eps 0.05 to 0.125, together eps 0.275\n" in text
    assert text.count("Opening") == 1
    advanced = replace(plan, roles=replace(plan.roles, accountant=Advanced()))
    assert "each eps 0.05 to 0.125\n" in printed(receipt_view(replace(release, plan=advanced)))


def test_what_the_ledger_charged_is_said_where_it_is_less_than_was_proved(release):
    text = printed(receipt_view(replace(release, charged="epsilon 0.4975")))
    words = " ".join(text.split())
    assert "Total basic: eps 1 (reserved) [" in words
    assert "(charged)" not in words
    assert (
        "Charged epsilon 0.4975, for the draws that were made; the rest is back in the budget, and the guarantee stays "
        "that of the whole plan by basic: the one theorem that holds without a delta; the others are shown for "
        "comparison"
    ) in words


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


def test_every_terminal_can_show_it(release):
    assert printed(receipt_view(release)).isascii()


def test_a_search_tells_what_it_drew_and_what_it_could_cost_at_most(release):
    sought = replace(release.plan, phases=search_phases(release.plan.phases, Price(epsilon=Fraction(1))))
    shown = " ".join(printed(receipt_view(replace(release, plan=sought))).split())
    assert "at prices that followed what was released, together at most eps 0.8" in shown
    assert "Selection" not in shown
