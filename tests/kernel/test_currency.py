import random
from fractions import Fraction

import pytest
from support.cases import in_one_test
from support.ledger_jobs import draws

from dpqr.kernel.accountants.known import PREDICTING
from dpqr.kernel.accountants.sums import ZeroConcentrated, largest_rho, zcdp_to_epsilon
from dpqr.kernel.budget import PURE, Cost, Pricing, PrivacyBudget
from dpqr.kernel.currency import CURRENCIES, PAIR, ROUNDING, currency, is_installed
from dpqr.kernel.errors import BudgetRefused, UsageFault
from dpqr.kernel.events import (
    DiscreteGaussianEvent,
    DiscreteLaplaceEvent,
    ExponentialEvent,
    MuSumEvent,
    PermuteAndFlipEvent,
    RhoSumEvent,
    RoundedGaussianEvent,
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


@in_one_test("name", ["advanced", "optimal", "pld", "", "rho"])
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


@in_one_test("left", [Fraction(1, 3), Fraction(5), Fraction("0.123456789"), Fraction("1e-8")])
def test_the_largest_epsilon_fits_and_the_next_of_six_digits_does_not(left):
    found = currency("basic").largest_epsilon(left, Fraction(0))
    assert found <= left < found * (1 + Fraction(1, 10**5)) + Fraction(1, 10**20)


@in_one_test("left", ["0.0881526", "0.01", "1e-6", "3"])
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


@in_one_test("name", ["basic", "zcdp", "gdp"])
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


@in_one_test("name", ["basic", "zcdp", "gdp"])
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


# Costs in epsilon and delta: what a run's own accountant proves for its events, and what comes back.


MICRO = Fraction(1, 10**6)
PURE_EVENTS = ((ExponentialEvent(epsilon=Fraction(1, 10)), 20),)
GAUSSIAN_RUN = ((DiscreteGaussianEvent(squared_sensitivity=1, variance=Fraction(100)), 4),)
ROUNDED = ((RoundedGaussianEvent(squared_sensitivity=1, variance=Fraction(100)), 4),)
RUNS = [
    ("basic", PURE_EVENTS),
    ("advanced", PURE_EVENTS),
    ("optimal", PURE_EVENTS),
    ("zcdp", PURE_EVENTS),
    ("zcdp", GAUSSIAN_RUN),
    ("zcdp", ((RhoSumEvent(rho=Fraction(1, 50)), 1),)),
    ("pld", PURE_EVENTS),
    ("analytic", ROUNDED),
]


def by(accountant, delta=MICRO):
    return Pricing(accountant=accountant, delta=delta)


@in_one_test(("accountant", "events"), RUNS)
def test_a_run_costs_what_its_own_accountant_proves_and_its_delta(accountant, events):
    delta = Fraction(0) if accountant == "basic" else MICRO
    assert PAIR.price(events, by(accountant)) == Cost(PREDICTING[accountant].epsilon(events, delta), delta)


@in_one_test(
    ("pricing", "events", "said"),
    [
        (PURE, GAUSSIAN_RUN, "basic accountant has no price"),
        (by("pld"), GAUSSIAN_RUN, "pld accountant has no price"),
        (by("analytic"), GAUSSIAN_RUN, "analytic accountant has no price"),
        (by("zcdp", Fraction(0)), GAUSSIAN_RUN, "needs a delta"),
        (by("advanced", Fraction(0)), PURE_EVENTS, "needs a delta"),
        (by("somebody's"), PURE_EVENTS, "takes dpqr's own accountants only"),
    ],
)
def test_what_nobody_proves_is_refused(pricing, events, said):
    with pytest.raises(BudgetRefused, match=said):
        PAIR.price(events, pricing)


@in_one_test(("accountant", "events"), RUNS)
def test_only_pure_sums_give_back_what_was_not_drawn(accountant, events):
    paid = PAIR.price(events, by(accountant))
    half = tuple((event, count // 2) for event, count in events if count > 1) or events
    back = PAIR.settled(paid, half, by(accountant))
    assert back == (Cost(paid.amount / 2) if accountant == "basic" else paid)
    assert PAIR.settled(paid, (), by(accountant)) == 0


@in_one_test(("accountant", "events"), RUNS)
def test_a_guard_admits_the_events_that_were_paid_for_and_no_other_dearer_or_repeated_one(accountant, events):
    guard = PAIR.guard(PAIR.price(events, by(accountant)), events, by(accountant))
    with pytest.raises(BudgetRefused):
        guard.charge(ExponentialEvent(epsilon=Fraction(100)))
    for event, count in events:
        for _ in range(count):
            guard.charge(event)
    for other in (events[0][0], DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(10**6))):
        with pytest.raises(BudgetRefused):
            guard.charge(other)


def test_the_largest_request_fits_by_any_accountant():
    """A plan within (eps, delta) costs at most eps by its own accountant, and that delta or none."""
    moments = random.Random(0)
    for _ in range(50):
        largest = Cost(Fraction(moments.randrange(1, 10**12), 10**10), Fraction(moments.randrange(1, 10**9), 10**15))
        words = PAIR.request(largest, Fraction(1, 2)).split()
        asked = PrivacyBudget.parse(words[1], words[3])
        assert Cost(asked.epsilon, asked.delta) <= largest
        assert asked.epsilon >= largest.amount * (1 - Fraction(1, 10**5))


def test_without_a_delta_left_a_pure_request_fits():
    assert PAIR.request(Cost(Fraction(1, 3)), MICRO) == "--eps 0.333333"
    assert PAIR.request(Cost(Fraction(1), Fraction(1, 10**40)), MICRO) == "--eps 1"
    assert PAIR.request(Cost(Fraction(1, 10**10), MICRO), MICRO) is None
    assert PAIR.request(Cost(Fraction(0), MICRO), MICRO) is None


def test_the_limit_is_the_budget_and_what_was_spent_is_an_epsilon_at_any_delta_from_its_own_on():
    budget, spent = PrivacyBudget(Fraction(5), MICRO), Cost(Fraction(2), MICRO)
    assert PAIR.covers(budget, PAIR.limit(budget))
    for above in (Cost(Fraction(5), 2 * MICRO), Cost(Fraction(6))):
        assert not PAIR.covers(budget, above)
    assert [PAIR.epsilon(spent, delta) for delta in (MICRO, 2 * MICRO, MICRO / 2)] == [2, 2, None]


def test_a_price_may_differ_by_rounding_and_no_more():
    cost = Cost(Fraction(1), MICRO)
    assert Fraction(1, 2**30) == ROUNDING - 1, "far below what a release could hide"
    assert PAIR.proves(cost, Cost(ROUNDING, MICRO))
    assert not PAIR.proves(cost, Cost(ROUNDING + Fraction(1, 10**12), MICRO))
    assert not PAIR.proves(cost, Cost(Fraction(1), MICRO * ROUNDING))


def test_installed_is_asked_of_pld_alone(monkeypatch):
    monkeypatch.setattr("dpqr.kernel.currency.find_spec", lambda _: None)
    assert [name for name in PREDICTING if not is_installed(name)] == ["pld"]


def test_a_pure_run_may_draw_otherwise_than_planned_within_its_sum():
    """The draw is the filter's unit, as in a ledger of epsilon: any pure draws, whatever they are."""
    guard = PAIR.guard(Cost(Fraction(1)), draws("1/2", 2))
    ((quarter, _),), ((other, _),) = draws("1/4"), ((DiscreteLaplaceEvent(sensitivity=1, scale=Fraction(2)), 1),)
    for event in (quarter, other, quarter):
        guard.charge(event)
    with pytest.raises(BudgetRefused):
        guard.charge(quarter)
