from fractions import Fraction

import pytest

from dpqr.kernel.accountants.sums import ZeroConcentrated, largest_rho, zcdp_to_epsilon
from dpqr.kernel.budget import Cost, Pricing, PrivacyBudget
from dpqr.kernel.currency import CURRENCIES, PAIR, currency
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    MuSumEvent,
    PermuteAndFlipEvent,
    RhoSumEvent,
)

HALF = Fraction(1, 2)
DELTA = Fraction(1, 10**9)
EVENTS = ((DiscreteLaplaceEvent(sensitivity=3, scale=Fraction(6)), 2), (PermuteAndFlipEvent(epsilon=HALF), 1))


def test_epsilon_and_rho_add_up_by_the_law_of_each_draw():
    noise = DiscreteGaussianEvent(squared_sensitivity=2, variance=HALF)
    assert (currency("basic").price(EVENTS), currency("basic").price(())) == (Fraction(3, 2), 0)
    events = (*EVENTS, (ExponentialEvent(epsilon=HALF), 4), (noise, 1))
    assert currency("zcdp").price(events) == 3 * Fraction(1, 8) + 4 * Fraction(1, 32) + 2
    with pytest.raises(BudgetRefused, match="zcdp"):
        currency("basic").price(((noise, 1),))


@pytest.mark.parametrize("name", ["advanced", "optimal", "pld", "", "rho"])
def test_only_filters_are_charged_for_life(name):
    assert set(CURRENCIES) == {"basic", "zcdp", "gdp"}
    with pytest.raises(UsageFault, match="basic"):
        currency(name)


def test_the_limit_in_mu_stays_within_the_budget_and_is_what_a_run_of_it_takes():
    budget, money = PrivacyBudget(Fraction(2), DELTA), currency("gdp")
    limit = money.limit(budget).amount
    assert money.covers(budget, Cost(limit))
    assert not money.covers(budget, Cost(limit * Fraction(1001, 1000)))
    assert money.largest_epsilon(limit, DELTA) == 2
    assert money.request(Cost(limit), DELTA) == "--eps 2 --delta 1e-9 --accountant gdp"
    assert money.words(Cost(HALF), lambda value, digits: str(value)) == "mu^2 1/2"


def test_a_run_in_mu_is_paid_from_rho_and_from_pairs_and_one_in_rho_is_not_paid_from_mu():
    run = ((MuSumEvent(squared_mu=HALF), 1),)
    proved = PAIR.price(run, Pricing(accountant="gdp", delta=DELTA))
    assert currency("zcdp").price(run) == HALF / 2
    assert proved.amount == currency("gdp").epsilon(Cost(HALF), DELTA)
    PAIR.guard(proved, run, Pricing(accountant="gdp", delta=DELTA)).charge(run[0][0])
    with pytest.raises(BudgetRefused, match="accountant gdp"):
        currency("gdp").price(((RhoSumEvent(rho=HALF), 1),))


def test_delta_is_asked_where_it_is_needed_and_only_there():
    assert currency("basic").limit(PrivacyBudget(Fraction(2))) == 2
    assert currency("basic", pure=False).limit(PrivacyBudget(Fraction(2), DELTA)) == Cost(Fraction(2), DELTA)
    with pytest.raises(UsageFault, match="needs a delta"):
        currency("zcdp").limit(PrivacyBudget(Fraction(2)))


@pytest.mark.parametrize("left", [Fraction(1, 3), Fraction(5), Fraction("0.123456789"), Fraction("1e-8")])
def test_the_largest_epsilon_fits_and_the_next_of_six_digits_does_not(left):
    found = currency("basic").largest_epsilon(left, Fraction(0))
    assert found <= left < found * (1 + Fraction(1, 10**5)) + Fraction(1, 10**20)


@pytest.mark.parametrize("left", ["0.0881526", "0.01", "1e-6", "3"])
def test_the_largest_epsilon_in_rho_fits_a_plan_of_that_budget(left):
    left = Fraction(left)
    found = currency("zcdp").largest_epsilon(left, DELTA)
    assert largest_rho(PrivacyBudget(found, DELTA)) <= left
    assert largest_rho(PrivacyBudget(found * (1 + Fraction(1, 10**5)), DELTA)) > left
    assert ZeroConcentrated().refusal(PrivacyBudget(found, DELTA)) is None
    for given in map(Fraction, ("1", "0.1", "2.5")):  # a budget that was given is asked back as it was
        assert currency("zcdp").largest_epsilon(largest_rho(PrivacyBudget(given, DELTA)), DELTA) == given


def test_next_to_nothing_fits_no_run():
    for left in (Fraction(0), Fraction(1, 10**40)):
        assert currency("basic").largest_epsilon(left, Fraction(0)) is None
        assert currency("zcdp").largest_epsilon(left, DELTA) is None


def test_a_guard_admits_what_was_paid_and_no_more():
    guard = currency("basic").guard(Cost(Fraction(1)))
    guard.charge(ExponentialEvent(epsilon=HALF))
    guard.charge(DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(2)))
    with pytest.raises(BudgetRefused):
        guard.charge(ExponentialEvent(epsilon=Fraction(1, 10**30)))


GAUSSIAN = DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(100))


@pytest.mark.parametrize("name", ["basic", "zcdp", "gdp"])
def test_a_run_that_stopped_early_pays_for_what_it_drew(name):
    money = currency(name)
    paid = money.price(EVENTS)
    assert money.settled(paid, EVENTS) == paid
    assert money.settled(paid, EVENTS[1:]).amount == money.sums.loss(EVENTS[1][0])
    assert money.settled(paid, ()) == 0


def test_a_budget_covers_the_rho_that_is_converted_and_no_sum_with_a_delta():
    budget = PrivacyBudget(Fraction(2), DELTA)
    rho = largest_rho(budget)
    assert currency("zcdp").covers(budget, Cost(rho))
    assert not currency("zcdp").covers(budget, Cost(rho * Fraction(1001, 1000)))
    assert not currency("zcdp").covers(budget, Cost(rho / 2, DELTA))
    assert currency("basic").covers(PrivacyBudget(Fraction(2)), Cost(Fraction(2)))
    assert not currency("basic").covers(PrivacyBudget(Fraction(2)), Cost(Fraction(2) + Fraction(1, 10**30)))
    assert not currency("basic").covers(PrivacyBudget(Fraction(2)), Cost(Fraction(1), DELTA))


@pytest.mark.parametrize("name", ["basic", "zcdp", "gdp"])
def test_a_recorded_cost_proves_itself_and_what_is_cheaper(name):
    money, cost = currency(name), Cost(HALF)
    assert money.proves(cost, cost)
    assert money.proves(cost, Cost(HALF / 2))
    assert not money.proves(cost, Cost(HALF + Fraction(1, 10**30)))


def test_what_was_spent_is_shown_as_an_epsilon_that_is_proved():
    assert currency("basic").epsilon(Cost(HALF), DELTA) == HALF
    assert currency("zcdp").epsilon(Cost(HALF), DELTA) == zcdp_to_epsilon(HALF, DELTA) > HALF
    assert currency("gdp").epsilon(Cost(2 * HALF), DELTA) < zcdp_to_epsilon(HALF, DELTA)
    assert currency("zcdp").epsilon(Cost(HALF), Fraction(0)) is None
    assert currency("zcdp").epsilon(Cost(), Fraction(0)) == 0
    assert currency("zcdp").price(((GAUSSIAN, 3),)) == Fraction(3, 200)
