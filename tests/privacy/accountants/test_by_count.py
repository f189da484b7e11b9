"""The accountant whose theorem follows a first draw: what its filter admits on either path, and what it proves."""

from fractions import Fraction

import pytest

from dpqr.errors import BudgetRefused
from dpqr.privacy.accountants.by_count import ByCount
from dpqr.privacy.accountants.gaussian_dp import GaussianDP, largest_squared_mu
from dpqr.privacy.budget import Pricing, PrivacyBudget
from dpqr.privacy.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    LeftOutEvent,
    MuSumEvent,
    PureSumEvent,
    RoundedGaussianEvent,
)
from dpqr.privacy.pair_currency import PAIR

BUDGET = PrivacyBudget(Fraction(1), Fraction(1, 10**6))
ACCOUNTANT = ByCount()
REST = ACCOUNTANT.rest(BUDGET)
FIRST = DiscreteLaplaceEvent(sensitivity=1, scale=1 / ACCOUNTANT.first(BUDGET).pure)
WHOLE_MU = largest_squared_mu(REST)
PLANNED = ((FIRST, 1), *ACCOUNTANT.sums(BUDGET))


def pure(epsilon):
    return ExponentialEvent(epsilon=Fraction(epsilon))


def normal(squared_mu):
    return RoundedGaussianEvent(squared_sensitivity=1, variance=1 / squared_mu)


def after_the_count():
    guard = ACCOUNTANT.filter(BUDGET)
    assert guard.charge(FIRST) == 0
    return guard


def test_the_parts_are_the_whole_budget():
    assert ACCOUNTANT.first(BUDGET).pure + REST.epsilon == BUDGET.epsilon
    assert REST.delta == BUDGET.delta
    assert ACCOUNTANT.epsilon(PLANNED, BUDGET.delta) == BUDGET.epsilon


def test_a_pure_second_draw_leads_to_sums_of_epsilon():
    guard = after_the_count()
    assert guard.charge(pure(REST.epsilon / 2)) == 1
    with pytest.raises(BudgetRefused):
        guard.charge(normal(WHOLE_MU / 100))
    assert guard.charge(pure(REST.epsilon / 2)) == 2
    with pytest.raises(BudgetRefused):
        guard.charge(pure("1/1000"))


def test_gaussian_noise_leads_to_sums_of_squared_mu():
    guard = after_the_count()
    assert guard.charge(normal(WHOLE_MU / 2)) == 1
    assert guard.charge(normal(WHOLE_MU / 2)) == 2
    with pytest.raises(BudgetRefused):
        guard.charge(pure("1/1000"))


def test_a_refused_draw_fixes_the_theorem_too():
    guard = after_the_count()
    with pytest.raises(BudgetRefused):
        guard.charge(normal(2 * WHOLE_MU))
    with pytest.raises(BudgetRefused):
        guard.charge(pure(REST.epsilon))


@pytest.mark.parametrize("event", [normal(WHOLE_MU / 100), pure("1/10")], ids=["no pure draw", "too dear"])
def test_the_first_draw_is_pure_and_has_a_share_of_its_own(event):
    with pytest.raises(BudgetRefused):
        ACCOUNTANT.filter(BUDGET).charge(event)


def test_left_out_records_have_a_sum_of_their_own_and_are_not_the_first_draw():
    guard = ACCOUNTANT.filter(BUDGET)
    guard.charge(LeftOutEvent(event=pure(BUDGET.epsilon)))
    guard.charge(FIRST)
    guard.charge(pure(REST.epsilon))
    with pytest.raises(BudgetRefused):
        guard.charge(LeftOutEvent(event=pure("1/1000")))


@pytest.mark.parametrize(
    "following", [((pure(REST.epsilon), 1),), ((normal(WHOLE_MU / 2), 1), (normal(WHOLE_MU / 4), 2))]
)
def test_what_a_run_was_charged_costs_no_more_than_its_plan(following):
    found = ACCOUNTANT.epsilon(((FIRST, 1), *following), BUDGET.delta)
    assert FIRST.scale**-1 < found <= BUDGET.epsilon


def test_other_theorems_add_up_both_sums_or_do_not_cover_them():
    either = [GaussianDP().epsilon(((FIRST, 1), one), BUDGET.delta) for one in ACCOUNTANT.sums(BUDGET)]
    assert GaussianDP().epsilon(PLANNED, BUDGET.delta) > max(either)


@pytest.mark.parametrize(
    ("events", "delta"),
    [
        (PLANNED, Fraction(0)),
        (((FIRST, 1), (normal(WHOLE_MU), 1)), Fraction(0)),
        (((DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(9)), 1),), BUDGET.delta),
        (((normal(WHOLE_MU), 1), (PureSumEvent(epsilon=Fraction(1)), 1)), BUDGET.delta),
    ],
)
def test_what_the_theorem_does_not_cover_has_no_price(events, delta):
    assert ACCOUNTANT.epsilon(events, delta) is None


def test_it_needs_a_delta():
    assert "delta" in ACCOUNTANT.refusal(PrivacyBudget(Fraction(1)))
    with pytest.raises(BudgetRefused):
        ACCOUNTANT.guard(PrivacyBudget(Fraction(1, 2), BUDGET.delta), PLANNED)


def test_a_ledger_of_pairs_charges_the_whole_and_gives_nothing_back():
    pricing = Pricing(accountant="by-count", delta=BUDGET.delta)
    paid = PAIR.price(PLANNED, pricing)
    assert (paid.amount, paid.delta) == (BUDGET.epsilon, BUDGET.delta)
    assert PAIR.settled(paid, ((FIRST, 1), (pure("1/10"), 1)), pricing) == paid
    guard = PAIR.guard(paid, PLANNED, pricing)
    guard.charge(FIRST)
    guard.charge(normal(WHOLE_MU))
    with pytest.raises(BudgetRefused):
        guard.charge(normal(WHOLE_MU / 1000))


def test_no_sum_of_squared_mu_counts_as_no_draw():
    assert ACCOUNTANT.epsilon((), BUDGET.delta) == 0
    assert ACCOUNTANT.epsilon(((MuSumEvent(squared_mu=WHOLE_MU), 1),), BUDGET.delta) <= REST.epsilon
