from fractions import Fraction

import pytest
from support.handmade_release import BLOCKS, Stub, make_theory_plan
from support.plain_screen import printed
from support.plan_phases import changed, without

from dpqr.kernel.budget import Price
from dpqr.kernel.values import replace
from dpqr.releases.receipt import plan_facts
from dpqr.report.html import facts
from dpqr.strategies.plan import BlockForecast, Phase
from dpqr.strategies.schedules.drafts import search_phases

ROUNDS = """\
Guarantee   Differentially private with epsilon = 1 (pure: delta = 0), for one row of the table
            added or removed (the number of rows is private).
Workload    19 queries in 6 blocks
Error       depends on the table: the forecast of `dpqr plan` says it, question by question
Noise       typically 7 on a measured answer (standard deviation, in records)
            widest 220 in 'years', narrowest 7 in 'sex by age'; a sum's is in its column's unit
Universe    18 cells in 3 columns
Schedule    rounds
First       1 measurement before any selection, eps 0.2
Then        each of 2 rounds: choosing costs eps 0.08, measuring eps 0.32
Accountant  basic: the one theorem that holds without a delta
            Draws that are eps_i-DP each are (sum of eps_i)-DP together (Dwork and Roth 2014,
            Theorem 3.16).
            it proves eps 1 for this plan, within the budget's eps 1
Strategies  permute-and-flip selection, laplace noise, multiplicative-weights update
Time        about 1 s of one processor, and less than 1 s for each million rows of the table
Memory      about 202 MB
Note        ages above 60 are clipped
"""
THEORY = """\
Guarantee   Differentially private with epsilon = 0.5 and delta = 1e-9, for one row of the table
            replaced by another (the number of rows is public).
Workload    19 queries in 6 blocks
Records     4,000, as declared
Error       depends on the table: the forecast of `dpqr plan` says it, question by question
Noise       typically 23.4 on a measured answer (standard deviation, in records)
Universe    18 cells in 3 columns
Schedule    theory
Rounds      each of 26,616 rounds: choosing costs rho 1e-7 (eps 0.0008334 by itself), measuring rho
            4e-7 (eps 0.0008945 by itself)
Stop test   a noisy answer within 150 records (3/4 alpha n) ends the loop
Accuracy    alpha = 0.05 of the records, beta = 0.05: except with probability beta no answer is off
            by more than alpha n
            T0 = 26,616 rounds at most, all of them in the guarantee wherever the loop stops
Accountant  zcdp: of those that go with --check, the one whose plan is expected to err least
            Draws that are rho_i-zCDP each are (sum of rho_i)-zCDP together (Bun and Steinke 2016,
            Lemma 1.7); also as a filter.
            it proves eps 0.5 for this plan, within the budget's eps 0.5
Strategies  exponential selection, laplace noise, multiplicative-weights update
Time        about 50 s of one processor, and less than 1 s for each million rows of the table
Memory      about 200 MB
"""


def shown(plan):
    return printed(facts(plan_facts(plan)))


def test_the_whole_plan_which_every_terminal_can_show(plan):
    for made, text in ((plan, ROUNDS), (make_theory_plan(), THEORY)):
        assert shown(made) == text
        assert text.isascii()


def whole(plan):
    alone = without(plan, "selection", "measurement")
    return changed(alone, "opening", count=6, blocks=tuple((block,) for block in BLOCKS))


def of_twelve_prices(plan):
    """As a workload of twelve one-way marginals has them."""
    opening, shares = plan.named("opening")[0], (Fraction(number, 100) for number in range(5, 17))
    return replace(plan, phases=tuple(replace(opening, price=Price(epsilon=share)) for share in shares))


def staged(plan):
    shares = (Phase(noun="stage", count=1, price=Price(epsilon=Fraction(share, 10))) for share in (1, 3, 5))
    return replace(plan, phases=(*plan.named("opening"), *shares))


def gaussian(plan):
    priced = changed(plan, "measurement", price=Price(rho=Fraction(1, 50)))
    return replace(priced, roles=replace(plan.roles, check=Stub("gaussian", pure=False)))


WHOLE = "for the whole workload, nothing is selected"
LINES = [
    (whole, f"First       6 measurements {WHOLE}, each eps 0.2\n", "choosing"),
    (of_twelve_prices, f"First       12 measurements {WHOLE}, each eps 0.05 to 0.16\n", "choosing"),
    (lambda plan: plan, "Noise       typically 7 on a measured answer", "worst-case"),
    (
        lambda plan: replace(plan, phases=search_phases(plan.phases, Price(epsilon=Fraction(1)))),
        "Noise       worst-case plan: typically 7 on a measured answer",
        "Noise       typically",
    ),
    (staged, "up to 3 measurements, each decided by what was released before; together eps 0.9", "nothing is selected"),
    (
        lambda plan: changed(without(plan, "opening"), "selection", count=1),
        "Rounds      in the one round: choosing costs eps 0.08, measuring eps 0.32\n",
        "rounds:",
    ),
    (gaussian, "measuring rho 0.02\n", "by itself"),
    (lambda plan: without(plan, "selection"), "Schedule    rounds\n", "Then"),
]


@pytest.mark.parametrize(("change", "said", "unsaid"), LINES)
def test_a_line_of_a_plan(plan, change, said, unsaid):
    text = shown(change(plan))
    assert said in text
    assert unsaid not in text
    assert text.count("First") <= 1


@pytest.mark.parametrize(("rows", "typical"), [((1, 1, 1), "20"), ((4, 1, 1), "10"), ((1, 1, 9), "3,000")])
def test_typical_noise_is_the_median_over_answers(plan, rows, typical):
    blocks = zip("abc", rows, (10.0, 20.0, 3000.0), strict=True)
    forecast = tuple(BlockForecast(name=name, rows=many, deviation=deviation) for name, many, deviation in blocks)
    assert f"typically {typical} on" in printed(facts(plan_facts(replace(plan, forecast=forecast[::-1]))))


def test_names_from_documents_can_neither_draw_nor_colour(plan):
    forecast = tuple(replace(block, name="[red]\x1b[31m" + block.name) for block in plan.forecast)
    text = printed(facts(plan_facts(replace(plan, forecast=forecast, notes=("[bold]x[/bold]\x07",)))))
    assert "'[red]\\x1b[31myears'" in text.replace("\\\\", "\\")
    assert "[bold]x[/bold]\\x07" in text
    assert "\x1b" not in text
