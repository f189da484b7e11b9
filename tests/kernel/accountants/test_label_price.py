"""What a selection of labels costs: a pair of sums under basic composition, and a refusal everywhere else."""

from fractions import Fraction
from itertools import product

import pytest
from support.cases import in_one_test

from dpqr.kernel.accountants.accountant import PairFilter, SumFilter, bound_across_runs, require_pure, summed_cost
from dpqr.kernel.accountants.analytic import require_mu
from dpqr.kernel.accountants.known import RELEASING
from dpqr.kernel.accountants.losses import ONLY_PAIRS, approximate_cost, concentrated_rho, pure_epsilon
from dpqr.kernel.accountants.sums import Basic
from dpqr.kernel.budget import Cost, Pricing, PrivacyBudget
from dpqr.kernel.currency import CURRENCIES, PAIR
from dpqr.kernel.errors import BudgetRefused
from dpqr.kernel.events import DiscreteGaussianEvent, ExponentialEvent, LabelSelectionEvent, LeftOutEvent, PureSumEvent
from dpqr.kernel.noise.bits import exp_bracket
from dpqr.kernel.noise.keeping import KeepingLaw

MILLIONTH = Fraction(1, 10**6)
LABELS = LabelSelectionEvent(epsilon=Fraction(1, 4), delta=MILLIONTH, labels=2)
CHOICE = ExponentialEvent(epsilon=Fraction(1, 8))
NORMAL = DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(1))
RUN = ((LABELS, 2), (CHOICE, 4))
WHOLE = Cost(Fraction(3, 2), 4 * MILLIONTH)


def test_one_draw_costs_both_figures_for_each_label_that_moves():
    assert approximate_cost(LABELS) == Cost(Fraction(1, 2), 2 * MILLIONTH)
    assert approximate_cost(CHOICE) == Cost(Fraction(1, 8))
    assert approximate_cost(NORMAL) is None
    assert pure_epsilon(LABELS) is None


@in_one_test("loss", [concentrated_rho, require_mu, require_pure])
def test_no_sum_of_one_figure_has_a_price(loss):
    with pytest.raises(BudgetRefused) as refused:
        loss(LABELS)
    assert str(refused.value) == ONLY_PAIRS


def test_a_run_adds_up_epsilons_and_deltas_whatever_records_it_reads():
    assert summed_cost(RUN) == WHOLE
    assert summed_cost(tuple((LeftOutEvent(event=event), count) for event, count in RUN)) == WHOLE
    assert summed_cost(((LABELS, 1), (LeftOutEvent(event=CHOICE), 1))) == Cost(Fraction(5, 8), 2 * MILLIONTH)
    assert summed_cost(((CHOICE, 1), (LeftOutEvent(event=CHOICE), 1))) == Cost(Fraction(1, 8))
    assert summed_cost(((LABELS, 1), (NORMAL, 1))) is None
    assert bound_across_runs(((LABELS, 1), (LeftOutEvent(event=CHOICE), 1))) == ((LABELS, 1), (CHOICE, 1))


def test_basic_composition_proves_an_epsilon_from_the_sum_of_deltas_on():
    assert Basic().epsilon(RUN, WHOLE.delta) == WHOLE.amount
    assert Basic().epsilon(RUN, WHOLE.delta - Fraction(1, 10**40)) is None
    assert Basic().epsilon(RUN, Fraction(0)) is None


@in_one_test("name", [name for name in RELEASING if name != "basic"])
def test_no_other_accountant_prices_it(name):
    assert RELEASING[name].epsilon(RUN, Fraction(1, 100)) is None


@in_one_test("name", CURRENCIES)
def test_no_budget_of_one_figure_pays_for_it_and_its_guard_admits_none(name):
    money = CURRENCIES[name]
    with pytest.raises(BudgetRefused) as refused:
        money.price(RUN)
    assert str(refused.value) == ONLY_PAIRS
    with pytest.raises(BudgetRefused):
        money.guard(Cost(Fraction(100))).charge(LABELS)


def test_a_budget_of_pairs_pays_the_sums_and_gives_back_what_was_not_drawn():
    for pricing in (Pricing(), Pricing(accountant="basic", delta=Fraction(1, 100))):
        assert PAIR.price(RUN, pricing) == WHOLE
        assert PAIR.settled(WHOLE, RUN[:1], pricing) == Cost(Fraction(1), 4 * MILLIONTH)
        assert PAIR.settled(WHOLE, (), pricing) == Cost()
    for name in ("advanced", "zcdp", "gdp", "optimal"):
        with pytest.raises(BudgetRefused):
            PAIR.price(RUN, Pricing(accountant=name, delta=Fraction(1, 100)))


GUARDS = [
    lambda: PAIR.guard(WHOLE, RUN),
    lambda: PairFilter(limit=WHOLE),
    lambda: Basic().guard(PrivacyBudget(WHOLE.amount, WHOLE.delta), RUN),
]


@in_one_test("make", GUARDS)
def test_a_guard_admits_the_run_and_not_one_draw_more_in_either_figure(make):
    guard = make()
    assert [guard.charge(event) for event, count in RUN for _ in range(count)] == list(range(6))
    for event in (CHOICE, PureSumEvent(epsilon=Fraction(1, 10**9)), LABELS):
        with pytest.raises(BudgetRefused, match="asks epsilon"):
            guard.charge(event)
    guard = make()
    guard.charge(LABELS)
    guard.charge(LabelSelectionEvent(epsilon=Fraction(1, 8), delta=2 * MILLIONTH, labels=1))
    with pytest.raises(BudgetRefused, match="are left"):  # of epsilon more than half is left, of delta nothing
        guard.charge(LabelSelectionEvent(epsilon=Fraction(1, 10**9), delta=Fraction(1, 10**30), labels=1))
    with pytest.raises(BudgetRefused, match="Gaussian"):
        guard.charge(NORMAL)
    guard.charge(LeftOutEvent(event=CHOICE))


def test_a_plan_beyond_the_budget_has_no_guard():
    for less in ((WHOLE.amount, WHOLE.delta - MILLIONTH), (WHOLE.amount - Fraction(1, 100), WHOLE.delta)):
        with pytest.raises(BudgetRefused):
            Basic().guard(PrivacyBudget(*less), RUN)
    assert isinstance(Basic().guard(PrivacyBudget(Fraction(1), MILLIONTH), ((CHOICE, 2),)), SumFilter)


def test_labels_and_a_choice_together_stay_within_their_sum():
    """Exact: the joint law of two labels and a randomised response of epsilon 1/2, on the worst neighbours, where all
    three move. Tight: without the choice's epsilon the sum is passed."""
    epsilon, delta, other = Fraction(1), Fraction(1, 50), Fraction(1, 2)
    law = KeepingLaw(epsilon, delta)

    def growth(amount):
        return Fraction(1 << 300, exp_bracket(amount, 300)[1])

    def joint(counts, truth):
        chances = [law.probability(count) for count in counts]
        honest = growth(other) / (1 + growth(other))
        found = {}
        for *flags, said in product((False, True), repeat=3):
            chance = honest if said == truth else 1 - honest
            for kept, one in zip(flags, chances, strict=True):
                chance *= one if kept else 1 - one
            found[(*flags, said)] = chance
        return found

    cost = Cost(2 * epsilon + other, 2 * delta)
    worst = Fraction(0)
    for counts in product(range(law.certain + 1), repeat=2):
        pair = joint(counts, True), joint([count + 1 for count in counts], False)
        for one, two in (pair, pair[::-1]):
            for amount, most in ((cost.amount, cost.delta), (cost.amount - other, None)):
                passed = sum((max(Fraction(0), one[out] - growth(amount) * two[out]) for out in one), Fraction(0))
                if most is None:
                    worst = max(worst, passed)
                else:
                    assert passed <= most
    assert worst > cost.delta
