from fractions import Fraction

import pytest
from support.handmade_release import make_stopped_release
from support.plain_screen import printed

from dpqr.kernel.accountants.fixed_schedules import Advanced
from dpqr.kernel.budget import Price
from dpqr.kernel.values import replace
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
Note         1 measurement came first. Then the Iterative Construction ran 2 rounds: each chose what
             lay furthest from its model, up to noise, and measured it. The answers to 6 questions
             follow from the model.
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
Note         1 measurement came first. Then the Iterative Construction ran 2 rounds: each chose what
             lay furthest from its model, up to noise, and measured it. The answers to 6 questions
             follow from the model.
"""


def receipt_view(release):
    return facts(receipt(release))


def test_the_whole_receipt_which_every_terminal_can_show(release):
    for made, text in ((release, ROUNDS), (make_stopped_release(), STOPPED)):
        assert printed(receipt_view(made)) == text
        assert text.isascii()


def replanned(release, **changed):
    return replace(release, plan=replace(release.plan, **changed))


def of_prices(release):
    """As a workload of twelve one-way marginals has them."""
    shares = (Fraction(1, 20), Fraction(1, 8), Fraction(1, 10))
    phases = (replace(release.plan.phases[0], price=Price(epsilon=share)) for share in shares)
    return replanned(release, phases=tuple(phases))


def of_advanced(release):
    made = of_prices(release)
    return replanned(made, roles=replace(made.plan.roles, accountant=Advanced()))


def staged(release):
    prices = (Price(epsilon=Fraction(1, 5)), Price(epsilon=Fraction(3, 5)))
    stages = (Phase(noun="stage", count=1, price=price) for price in prices)
    return replanned(release, phases=search_phases((*release.plan.named("opening"), *stages), prices[0]))


def sought(release):
    return replanned(release, phases=search_phases(release.plan.phases, Price(epsilon=Fraction(1))))


def ended_early(_):
    made = make_stopped_release()
    made.transcript.rounds[-1] = replace(made.transcript.rounds[-1], stopped=False)
    return replace(made, certificate=None)


CHARGED = (
    "Charged epsilon 0.4975, for the draws that were made; the rest is back in the budget, and the guarantee stays "
    "that of the whole plan by basic: the one theorem that holds without a delta; the others are shown for comparison"
)
LINES = [
    (of_prices, "Opening 3 measurements, each eps 0.05 to 0.125, together eps 0.275 ", "Selection"),
    (of_advanced, "Opening 3 measurements, each eps 0.05 to 0.125 ", "together"),
    (staged, "Later 2 measurements, together eps 0.8", "Selection"),
    (sought, "at prices that followed what was released, together at most eps 0.8", "Selection"),
    (lambda release: replace(release, charged="epsilon 0.4975"), "Total basic: eps 1 (reserved) [", "(charged)"),
    (lambda release: replace(release, charged="epsilon 0.4975"), CHARGED, "(charged)"),
    (lambda release: replace(release, private=False), "Guarantee NOT PRIVATE", "epsilon"),
    (ended_early, "the loop ended early after 3 rounds; the guarantee is that of the whole schedule; a ledger", "0.95"),
    (ended_early, "No certificate: the loop ended without meeting its stop test", "Certificate: with"),
]


@pytest.mark.parametrize(("change", "said", "unsaid"), LINES)
def test_a_line_of_a_receipt(release, change, said, unsaid):
    words = " ".join(printed(receipt_view(change(release))).split())
    assert said in words
    assert unsaid not in words
    assert words.count("Opening") <= 1
